//! A command, then the result.

use crate::problem::{Miss, must};
use crate::trial::Trial;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let over = trial.run(&[])?;
    over.must_give_the_answer()?;
    must(over.commands() == 1, "no command", || format!("{} commands were seen instead of one", over.commands()))?;
    must(over.result.attempts == 1, "attempts", || format!("it took {} attempts", over.result.attempts))?;
    must(over.sessions().len() == 1, "session", || format!("sessions: {:?}", over.sessions()))?;
    let usage = over.result.usage.as_ref();
    let is_counted = usage.is_some_and(|usage| usage.input_tokens.is_some_and(|tokens| tokens > 0));
    must(is_counted, "no usage", || format!("usage is {}", over.json["usage"]))?;
    must(over.result.warnings.is_empty(), "warnings", || format!("it has warnings: {:?}", over.result.warnings))
}
