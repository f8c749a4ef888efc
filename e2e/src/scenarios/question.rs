//! Steps that all scenarios with questions share.

use skillrun_model::RunId;
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::{ControlData, Data};

use crate::bounded::until;
use crate::problem::{Miss, must};
use crate::trial::{Over, Trial};

/// Waits for the question of this number.
pub(super) fn asked(trial: &Trial<'_>, run: RunId, number: usize) -> Result<Pending, Miss> {
    let question = |data| {
        if let Data::Control(ControlData::InteractionRequested(question)) = data { Some(question) } else { None }
    };
    let asked = until(&trial.deadline, "the question", || {
        let log = trial.log(run).ok()?;
        let question = log.into_iter().filter_map(|event| question(event.data)).nth(number - 1);
        (question.is_some() || trial.is_over(run)).then_some(question)
    });
    let why = || Miss::new("no question", format!("it did not ask question {number}: {}", trial.last_words(run)));
    asked.ok().flatten().ok_or_else(why)
}

/// Answers as a person would.
pub(super) fn reply(trial: &Trial<'_>, run: RunId, text: &str, name: &str) -> Result<(), Miss> {
    let replied = trial.finish(trial.command(&["reply", &run.to_string(), text, "--no-wait"]), name)?;
    must(replied.code == Some(0), "no reply", || format!("skillrun reply: {}", replied.stderr.trim()))
}

/// Waits for the end of a run.
pub(super) fn ended(trial: &Trial<'_>, run: RunId) -> Result<(), Miss> {
    until(&trial.deadline, "the run", || trial.is_over(run).then_some(()))
        .map_err(|miss| Miss::new(&miss.word, format!("{}; {}", miss.why, trial.last_words(run))))
}

/// What it left then.
pub(super) fn over(trial: &Trial<'_>, run: RunId) -> Result<Over, Miss> {
    ended(trial, run)?;
    trial.over(run)
}

/// Answered once and ended in its second attempt, in the session of the first.
pub(super) fn must_go_on_once(over: &Over) -> Result<(), Miss> {
    over.must_give_the_answer()?;
    must(over.result.attempts == 2, "attempts", || format!("{} attempts instead of two", over.result.attempts))?;
    must(over.sessions().len() == 1, "session", || format!("the session changed: {:?}", over.sessions()))
}

/// Whether the process of an attempt was asked to load a session, and so is not the one that began it.
pub(super) fn loads(trial: &Trial<'_>, run: RunId, attempt: u32) -> bool {
    let told = trial.told(run, attempt);
    ["session/load", "session/resume"].iter().any(|method| told.contains(&format!("\"{method}\"")))
}
