//! A turn is interrupted while a command of the engine runs. The command must not remain, and the conversation continues
//! in its session.

use skillrun_model::{RunId, TurnState};

use super::talk::{FIRST, LATER, Talk};
use crate::bounded::until;
use crate::engines::Group;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::Trial;

/// The order, and its command as it looks in the list of processes. Claude does not run a `sleep` alone.
const SLEEPS: &str = "[[run echo started; sleep 300; echo ended]]";
const COMMAND: [&str; 2] = ["sleep", "300"];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let talk = Talk::begin(trial, FIRST, &[])?;
    talk.must_rest(1, &[TurnState::Completed])?;
    talk.prompt(SLEEPS, "reply-1")?;
    must_start(trial, talk.run)?;
    let interrupted = trial.finish(trial.command(&["interrupt", &talk.run.to_string(), "--json"]), "interrupt")?;
    must(interrupted.code == Some(0), "not interrupted", || {
        format!("skillrun interrupt: {}", interrupted.stderr.trim())
    })?;
    talk.must_rest(2, &[TurnState::Interrupted])?;
    processes::command_gone(&trial.place.tag, &COMMAND)?;
    match trial.engine.group {
        Group::Clis => processes::gone(&trial.place.tag, trial.place.root())?,
        // The agent stays for the next prompt.
        Group::Agents => {}
    }
    talk.prompt(LATER, "reply-2")?;
    talk.must_rest(3, &[TurnState::Completed])?;
    talk.must_know_the_first_answer()?;
    let over = talk.close()?;
    must(over.result.attempts == 3, "attempts", || format!("{} attempts instead of three", over.result.attempts))
}

/// Waits for the command of the second turn.
fn must_start(trial: &Trial<'_>, run: RunId) -> Result<(), Miss> {
    let runs = until(&trial.deadline, "the start of the command", || {
        let runs = processes::runs(&trial.place.tag, &COMMAND);
        (runs || trial.turn_records(run).is_ok_and(|turns| turns.len() > 1) || trial.is_over(run)).then_some(runs)
    })?;
    must(runs, "no command", || format!("the command was not started: {}", trial.last_words(run)))
}
