//! The result in a fence between prose.

use crate::problem::{Miss, must};
use crate::trial::Trial;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let over = trial.run(&[])?;
    over.must_give_the_answer()?;
    let text = over.result.text.as_deref().unwrap_or_default();
    must(!text.is_empty() && !text.contains("__SKILL_DONE__"), "text", || format!("the text is {text:?}"))
}
