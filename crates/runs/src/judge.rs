//! Judges an attempt: passes what the run, its record and its evidence say to the gate. The same whether the attempt
//! has just ended, is settled after a crash, or is checked again by `verify`.

use serde_json::{Map, Value};
use skillrun_evidence::Meta;
use skillrun_lifecycle::closing::ProcessEnding;
use skillrun_lifecycle::run::State;
use skillrun_lifecycle::{Control, OutputValidator, ProcessExit, Settled, settle};
use skillrun_model::{AttemptNumber, EndedBy, InteractionId};
use skillrun_skill::{OutputSchema, Skill};
use skillrun_translate::Facts;

use crate::data_folder::RunFolder;
use crate::record::{RunRecord, seconds};

/// What a skill declares about results, from the copy that the engine never saw.
#[derive(Debug)]
pub struct Rules {
    pub skill: Option<Skill>,
    schema: Option<Expected>,
}

/// What an output must match.
#[derive(Debug)]
enum Expected {
    Schema(OutputSchema),
    /// It existed when the run was accepted, and cannot be read any more.
    Unreadable(String),
}

impl OutputValidator for Expected {
    fn errors(&self, output: &Map<String, Value>) -> Vec<String> {
        match self {
            Self::Schema(schema) => schema.errors(output),
            Self::Unreadable(why) => vec![why.clone()],
        }
    }
}

impl Rules {
    /// Reads the copy of the skill in the folder of the run.
    pub fn read(folder: &RunFolder) -> Self {
        match Skill::load(&folder.skill()) {
            Ok(skill) => {
                let path = skill.runner.schemas.output.as_ref().map(|path| skill.root.join(path.as_path()));
                let schema = path.map(|path| match OutputSchema::read(&path) {
                    Ok(schema) => Expected::Schema(schema),
                    Err(error) => Expected::Unreadable(error.to_string()),
                });
                Self { skill: Some(skill), schema }
            }
            // Whether there was a schema is unknown, so no output can be called valid.
            Err(error) => Self { skill: None, schema: Some(Expected::Unreadable(error.to_string())) },
        }
    }
}

/// The verdict about an attempt. `state` is that of the run before it.
pub fn judge(
    record: &RunRecord,
    rules: &Rules,
    state: &State,
    attempt: AttemptNumber,
    facts: &Facts,
    meta: &Meta,
) -> Settled {
    // Ended by the host because no answer came, which is not a cancel.
    let unanswered = state.failing.is_some() && state.canceling.is_none();
    let ended_by = match meta.ended_by {
        Some(EndedBy::Canceled) if unanswered => Some(EndedBy::WaitTimeout),
        other => other,
    };
    let runner = rules.skill.as_ref().map(|skill| &skill.runner);
    let control = Control {
        mode: record.request.mode,
        attempt,
        max_attempt: record.request.max_attempt,
        require_marker: record.request.require_marker,
        continuation: record.engine.continuation,
        known_session: state.session_id.as_deref(),
        cancel_recorded: state.canceling.is_some() || ended_by == Some(EndedBy::Canceled),
        ended_by,
        exit: ProcessExit::of(meta),
        host_words: meta.host_words.as_deref(),
        schema: rules.schema.as_ref().map(|schema| schema as &dyn OutputValidator),
        next_interaction: InteractionId(state.interactions + 1),
        request_policy: record.request.default_decision_policy,
        skill_policy: runner.and_then(|runner| runner.default_decision_policy),
    };
    settle(facts, &control)
}

/// How the process of an attempt ended, as far as its recording shows.
pub fn ending(record: &RunRecord, meta: &Meta, elapsed_ms: Option<u64>, host_hash: Option<String>) -> ProcessEnding {
    let timeouts = record.request.timeouts;
    let limit = match meta.ended_by {
        Some(EndedBy::HardTimeout) => Some(timeouts.hard_sec),
        Some(EndedBy::Stall) => Some(timeouts.stall_sec),
        Some(
            EndedBy::Exited
            | EndedBy::Linger
            | EndedBy::WaitTimeout
            | EndedBy::Canceled
            | EndedBy::Interrupted
            | EndedBy::Budget
            | EndedBy::HostError
            | EndedBy::HostLost
            | EndedBy::NotStarted,
        )
        | None => None,
    };
    let timeout_ms = limit.and_then(|limit| u64::try_from(seconds(limit).as_millis()).ok());
    ProcessEnding { exit: ProcessExit::of(meta), ended_by: meta.ended_by, elapsed_ms, timeout_ms, host_hash }
}
