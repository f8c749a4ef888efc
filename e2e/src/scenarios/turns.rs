//! The conversation continues in its session after a turn in which the model's server fails.

use skillrun_model::TurnState;

use super::talk::{FIRST, LATER, Talk};
use crate::problem::{Miss, must};
use crate::trial::Trial;

const FAILS: &str = "[[fail 500]]";

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let talk = Talk::begin(trial, FIRST, &[])?;
    talk.must_rest(1, &[TurnState::Completed])?;
    talk.prompt(FAILS, "reply-1")?;
    let failed = talk.must_rest(2, &[TurnState::Failed, TurnState::PartialFailed])?;
    must(failed.verdict.error.is_some(), "no error", || "the turn that failed has no error".to_owned())?;
    talk.prompt(LATER, "reply-2")?;
    talk.must_rest(3, &[TurnState::Completed])?;
    talk.must_know_the_first_answer()?;
    let over = talk.close()?;
    must(over.result.attempts == 3, "attempts", || format!("{} attempts instead of three", over.result.attempts))
}
