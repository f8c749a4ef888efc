//! A conversation is silent for longer than the agent's process may wait. The process is ended, and the next prompt loads
//! the session in another one.

use skillrun_model::TurnState;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::status::Phase;

use super::question;
use super::talk::{FIRST, LATER, Talk};
use crate::bounded::{pause, until};
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::Trial;

/// Seconds that the process waits for the next prompt.
const IDLE: [&str; 2] = ["--idle", "2"];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let talk = Talk::begin(trial, FIRST, &IDLE)?;
    talk.must_rest(1, &[TurnState::Completed])?;
    let has_ended = |data: &Data| matches!(data, Data::Control(ControlData::RunStatus(it)) if it.phase == Some(Phase::ProcessEnded));
    until(&trial.deadline, "the end of the process", || {
        let log = trial.log(talk.run).ok()?;
        (log.iter().any(|event| has_ended(&event.data)) || trial.is_over(talk.run)).then_some(())
    })?;
    must(!trial.is_over(talk.run), "over already", || trial.last_words(talk.run))?;
    processes::gone(&trial.place.tag, trial.place.root())?;
    pause(&trial.deadline, trial.engine.loads_after())?;
    talk.prompt(LATER, "reply")?;
    talk.must_rest(2, &[TurnState::Completed])?;
    must(question::loads(trial, talk.run, 2), "not loaded", || "the session was not loaded".to_owned())?;
    talk.must_know_the_first_answer()?;
    let over = talk.close()?;
    must(over.result.attempts == 2, "attempts", || format!("{} attempts instead of two", over.result.attempts))
}
