//! A conversation with a good and a broken turn is continued on another engine, whose model must receive what the first
//! engine completed, and no text of the broken turn.

use serde_json::Value;
use skillrun_model::continues::LeftOut;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{RunId, RunStatus, TurnState};

use super::question;
use super::talk::{FIRST, FIRST_ANSWER, LATER, Talk, last_request};
use crate::engines::Engine;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::{Trial, WAITS};

/// A message and a command, and then an error as often as the engine asks.
const BREAKS: &str = "[[break topaz]]";

/// The message before the error, and what the command prints; no order contains either.
const BROKEN_TEXT: &str = "The word may be topaz.";
const PRINTED: &str = "to-stderr";

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let missing = || Miss::new("no engine", format!("{} is not installed", trial.engine.heir()));
    let heir = trial.lab.engine(trial.engine.heir()).ok_or_else(missing)?;
    let talk = Talk::begin(trial, FIRST, &[])?;
    talk.must_rest(1, &[TurnState::Completed])?;
    talk.prompt(BREAKS, "reply")?;
    talk.must_rest_if_allowed(2, &[TurnState::Failed, TurnState::PartialFailed])?;
    let told = last_request(trial, BREAKS)?;
    must(told.contains(BROKEN_TEXT), "no broken text", || {
        "the first engine had no text of the broken turn".to_owned()
    })?;
    let old = talk.run;
    talk.close()?;
    let new = continued(trial, &heir, old)?;
    let received = last_request(trial, LATER)?;
    for word in [FIRST, FIRST_ANSWER, BREAKS, PRINTED] {
        must(received.contains(word), "text missing", || format!("the other model did not receive \"{word}\""))?;
    }
    must(!received.contains(BROKEN_TEXT), "broken text", || {
        "the other model received the text of the broken turn".to_owned()
    })?;
    must_say_what_was_left_out(trial, new, old)
}

/// The conversation on the other engine, from its first prompt until it is closed.
fn continued(trial: &Trial<'_>, heir: &Engine, old: RunId) -> Result<RunId, Miss> {
    let old_id = old.to_string();
    let mut words = vec![
        "continue",
        &old_id,
        LATER,
        "--engine",
        &heir.name,
        "--permission",
        trial.lab.confinement.widest(),
        "--json",
    ];
    words.extend(["--env", processes::TAG]);
    words.extend(heir.model.iter().flat_map(|model| ["--model", model]));
    let mut starter = trial.start(trial.command_with(heir, &words), "continue")?;
    let new = trial.new_run(&mut starter, &[old])?;
    question::asked(trial, new, 1)?;
    let records = trial.turn_records(new)?;
    let states: Vec<_> = records.iter().map(|record| record.verdict.turn).collect();
    must(states == [TurnState::Completed], "turn differs", || format!("the turns of the new run are {states:?}"))?;
    let closed = trial.finish(trial.command_with(heir, &["close", &new.to_string(), "--json"]), "close-new")?;
    must(closed.code == Some(0), "not closed", || format!("skillrun close: {}", closed.stderr.trim()))?;
    let code = starter.finish(&trial.deadline)?.code;
    must(code == Some(WAITS) || code == Some(0), "exit code", || format!("skillrun continue exits with {code:?}"))?;
    question::ended(trial, new)?;
    trial.over_with(heir, new)?.must_be(RunStatus::Closed)?;
    Ok(new)
}

/// The Log of the new run names the old one, and the text that it did not get.
fn must_say_what_was_left_out(trial: &Trial<'_>, new: RunId, old: RunId) -> Result<(), Miss> {
    let log = trial.log(new)?;
    let continues = log.iter().find_map(|event| match &event.data {
        Data::Control(ControlData::RunStarted(started)) => started.continues.as_ref(),
        Data::Control(_) | Data::Evidence(_) => None,
    });
    let is_said = continues.is_some_and(|continues| {
        let is_broken_text = |reason| matches!(reason, LeftOut::TextOfBrokenTurn | LeftOut::PartialMessage);
        continues.run_id == old && continues.left_out.iter().any(|left_out| is_broken_text(left_out.reason))
    });
    must(is_said, "not said", || {
        let said = continues.and_then(|continues| serde_json::to_value(continues).ok());
        format!("the Log of the new run says it continues {}", said.unwrap_or(Value::Null))
    })
}
