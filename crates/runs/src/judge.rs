//! Judges an attempt: passes what the run, its record and its evidence say to the gate. The same whether the attempt
//! has just ended, is settled after a crash, or is checked again by `verify`.

use serde_json::{Map, Value};
use skillrun_evidence::Meta;
use skillrun_lifecycle::closing::{ProcessEnding, limit_of};
use skillrun_lifecycle::run::State;
use skillrun_lifecycle::{CompletionLayer, Control, OutputValidator, ProcessExit, Settled, settle};
use skillrun_model::rasp::data::TurnLimit;
use skillrun_model::{AttemptNumber, EndedBy, InteractionId};
use skillrun_skill::{OutputSchema, Skill};
use skillrun_translate::Facts;

use crate::data_folder::RunFolder;
use crate::record::{RecordedTask, RunRecord, seconds};

/// What a skill declares about results, from the copy that the engine never saw. A run without a skill declares
/// nothing.
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
    /// What applies to the turns of a run.
    pub fn of(folder: &RunFolder, record: &RunRecord) -> Self {
        match record.task() {
            RecordedTask::Skill(_) => Self::read(folder),
            RecordedTask::Prompt(_) | RecordedTask::Workflow(_) => Self { skill: None, schema: None },
        }
    }

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
    let ended_by = ended_by(state, meta);
    let runner = rules.skill.as_ref().map(|skill| &skill.runner);
    let control = Control {
        mode: record.request.mode,
        layer: match record.task() {
            RecordedTask::Skill(_) => CompletionLayer::OfSkill,
            RecordedTask::Prompt(_) | RecordedTask::Workflow(_) => CompletionLayer::Absent,
        },
        attempt,
        max_attempt: record.request.max_attempt,
        require_marker: record.request.require_marker,
        continuation: record.engine.continuation,
        known_session: state.session_id.as_deref(),
        cancel_recorded: state.canceling.is_some() || ended_by == Some(EndedBy::Canceled),
        ended_by,
        exit: ProcessExit::of(meta),
        host_words: meta.host_words.as_deref(),
        mcp_servers: Some(&record.request.mcp_servers),
        schema: rules.schema.as_ref().map(|schema| schema as &dyn OutputValidator),
        next_interaction: InteractionId(state.interactions + 1),
        request_policy: record.request.default_decision_policy,
        skill_policy: runner.and_then(|runner| runner.default_decision_policy),
    };
    settle(facts, &control)
}

/// Why the process ended. A process that the host ended because no answer came was not canceled.
fn ended_by(state: &State, meta: &Meta) -> Option<EndedBy> {
    let unanswered = state.failing.is_some() && state.canceling.is_none();
    match meta.ended_by {
        Some(EndedBy::Canceled) if unanswered => Some(EndedBy::WaitTimeout),
        other => other,
    }
}

/// How the process of an attempt ended, as far as its recording shows. `state` is that of the run before the attempt
/// was settled.
pub fn ending(
    record: &RunRecord,
    state: &State,
    meta: &Meta,
    elapsed_ms: Option<u64>,
    host_hash: Option<String>,
) -> ProcessEnding {
    let (timeouts, limit) = (record.request.timeouts, ended_by(state, meta).and_then(limit_of));
    // The Log has the deadline of a question; the host only knows when it must have been answered at the latest.
    let answer_by = || state.missed_deadline.or(state.question.as_ref().and_then(|question| question.deadline));
    let (length, deadline_at) = match limit {
        Some(TurnLimit::HardSec) => (Some(timeouts.hard_sec), meta.deadline_at),
        Some(TurnLimit::StallSec) => (Some(timeouts.stall_sec), meta.deadline_at),
        Some(TurnLimit::SessionTimeoutSec) => {
            (Some(record.request.session_timeout_sec), answer_by().or(meta.deadline_at))
        }
        Some(
            TurnLimit::MaxBytes
            | TurnLimit::MemoryBytes
            | TurnLimit::Processes
            | TurnLimit::CpuSec
            | TurnLimit::DiskBytes,
        )
        | None => (None, None),
    };
    let timeout_ms = length.and_then(|length| u64::try_from(seconds(length).as_millis()).ok());
    let exit = ProcessExit::of(meta);
    ProcessEnding { exit, ended_by: meta.ended_by, elapsed_ms, limit, timeout_ms, deadline_at, host_hash }
}
