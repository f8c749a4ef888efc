//! The connection is cut in the middle of the answer, every time one is streamed.

use skillrun_model::RunStatus;

use crate::engines::Expected;
use crate::problem::{Miss, must};
use crate::trial::Trial;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let over = trial.run(&[])?;
    match trial.engine.expected(trial.scenario, Expected::Fails) {
        Expected::Succeeds => over.must_give_the_answer(),
        Expected::Fails => {
            over.must_be(RunStatus::Failed)?;
            must(over.result.output.is_none(), "has output", || {
                format!("half an answer counts: {}", over.json["output"])
            })
        }
    }
}
