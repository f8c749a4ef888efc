//! Why a run is in its state: the evidence for the state, what looks wrong, and what can be done.
//!
//! [`diagnose`] gathers the material and changes nothing; `tell` makes a [`Diagnosis`] of it and is pure. The texts for
//! states come from one table, [`words`], which every view of a run uses.
//!
//! - `check`: what every run is checked for, with a severity.
//! - `story`: a fold over the Log. `passage`: bytes that a verdict is based on. `finding`: what looks wrong. `tell`:
//!   all of it together. `lines`: the same as labelled text.

mod assemble;
mod check;
mod finding;
mod lines;
mod passage;
mod story;
pub mod words;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_evidence::HostRecord;
use skillrun_log::{EventLog, FileLog, LogLine};
use skillrun_model::codes::NextAction;
use skillrun_model::interaction::{InteractionKind, OnDeadline, Scope};
use skillrun_model::presenters::RunState;
use skillrun_model::rasp::Event;
use skillrun_model::rasp::data::{Exit, ResolutionMode, TurnLimit};
use skillrun_model::verdict::{Rule, RunError};
use skillrun_model::{AttemptNumber, Code, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp, TurnState};
use skillrun_replay::Replay;
use skillrun_runs::data_folder::{DataFolder, RunFolder};
use skillrun_runs::record::RunRecord;

use crate::error::InspectError;
use crate::verify::LogEnd;
pub use check::{CheckSeverity, CheckTopic, DiagnosisCheck};
pub use finding::{Finding, FindingKind};
pub use lines::DiagnosisLine;
pub use passage::{Passage, PassageKind};
use story::Story;

/// The process that works on a run at this moment. Only the run's lock shows it, and the caller checks that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DiagnosisOwner")]
pub enum RunOwner {
    #[serde(rename = "somebody")]
    Process {
        pid: Option<u32>,
    },
    #[serde(rename = "nobody")]
    NoProcess,
    Unknown,
}

/// Why a run is in its state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Diagnosis {
    pub run_id: RunId,
    /// Null for a run without a skill.
    pub skill: Option<String>,
    /// The beginning of the prompt of a run without a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub engine: String,
    pub engine_version: Option<String>,
    pub mode: ExecutionMode,
    pub status: RunStatus,
    /// The status as presenters show it: a waiting run by what it waits for, a failed run by its reason.
    pub state: RunState,
    pub since: Timestamp,
    /// The time so far, or the total time of a run that is over.
    pub elapsed_ms: u64,
    /// The run does not begin before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    pub owner: RunOwner,
    pub decided: Option<Decided>,
    pub error: Option<RunError>,
    pub session_id: Option<String>,
    pub attempts: Vec<AttemptStory>,
    pub questions: Vec<DiagnosisQuestion>,
    pub timeline: Vec<Moment>,
    /// What was checked, and with which outcome.
    pub checks: Vec<DiagnosisCheck>,
    pub findings: Vec<Finding>,
    pub next_actions: Vec<NextAction>,
}

/// What put the run into its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DiagnosisDecided")]
pub struct Decided {
    /// The row of the settle table; none where no turn decided.
    pub rule: Option<Rule>,
    /// That row in one sentence.
    pub words: String,
    pub reason_code: Code,
    pub summary: String,
}

/// What happened in one attempt, and where it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttemptStory {
    pub attempt: AttemptNumber,
    pub started_at: Timestamp,
    pub bytes: OutputBytes,
    /// The same process continues in the next attempt.
    pub process_continues: bool,
    /// None while it is open.
    pub ending: Option<AttemptEnding>,
    pub evidence: Vec<Passage>,
}

/// How much the engine wrote, as far as the Log has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputBytes {
    pub stdout: u64,
    pub stderr: u64,
    /// Of both, what could not be read as the engine's format.
    pub raw: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AttemptEnding")]
pub struct AttemptEnding {
    pub at: Timestamp,
    pub turn: TurnState,
    pub rule: Rule,
    pub reason_code: Code,
    pub confidence: f64,
    pub exit: Exit,
    /// The limit that the turn has reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    /// When a time limit that the turn has reached was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// What the user could do after a turn that did not complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}

/// A question and how it was resolved, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DiagnosisQuestion")]
pub struct DiagnosisQuestion {
    pub interaction_id: InteractionId,
    pub kind: InteractionKind,
    /// `prompt` where nothing is asked: the run waits for the next prompt.
    pub scope: Scope,
    /// Its beginning.
    pub prompt: String,
    pub asked_at: Timestamp,
    pub deadline: Option<Timestamp>,
    pub on_deadline: OnDeadline,
    pub resolution: Resolution,
}

/// How a question was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
#[schemars(rename = "QuestionResolution")]
pub enum Resolution {
    Open,
    Answered {
        mode: ResolutionMode,
        at: Timestamp,
    },
    /// No answer came, and the run failed because of it.
    TimedOut {
        fails_with: Code,
        at: Timestamp,
    },
    /// The run, or the turn that asked, ended first.
    Closed,
}

/// When something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moment {
    pub what: MomentKind,
    pub attempt: Option<AttemptNumber>,
    pub at: Timestamp,
    /// Since the previous moment.
    pub after_ms: u64,
}

/// The kinds of moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    Created,
    AttemptStarted,
    FirstOutput,
    LastOutput,
    AttemptSettled,
    Asked,
    Answered,
    NotAnswered,
    /// The run rests, and waits for the next prompt.
    Rested,
    /// The next prompt came.
    Prompted,
    CancelAsked,
    InterruptAsked,
    CloseAsked,
    Ended,
}

impl MomentKind {
    pub const ALL: &'static [Self] = &[
        Self::Created,
        Self::AttemptStarted,
        Self::FirstOutput,
        Self::LastOutput,
        Self::AttemptSettled,
        Self::Asked,
        Self::Answered,
        Self::NotAnswered,
        Self::Rested,
        Self::Prompted,
        Self::CancelAsked,
        Self::InterruptAsked,
        Self::CloseAsked,
        Self::Ended,
    ];
}

/// Everything a diagnosis is made of.
#[derive(Debug)]
struct Material {
    run_id: RunId,
    record: RunRecord,
    story: Story,
    hosts: BTreeMap<AttemptNumber, HostRecord>,
    /// Of the same events as the story.
    replay: Option<Replay>,
    /// Files of attempts that should exist and do not.
    missing: Vec<(AttemptNumber, String)>,
    evidence: EvidenceLeft,
    passages: BTreeMap<AttemptNumber, Vec<Passage>>,
    /// Ends of the Log that were not events and were kept aside.
    torn: Vec<String>,
    damage: Option<String>,
    /// Events that a newer version of skillrun wrote.
    newer_events: u64,
    owner: RunOwner,
    now: Timestamp,
}

/// Whether there can be evidence at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EvidenceLeft {
    Kept,
    /// To save space.
    Removed,
}

/// Diagnoses a run, whichever process owns it. `now` is used to measure how long something has lasted.
pub fn diagnose(
    data: &DataFolder,
    log: &FileLog,
    run: RunId,
    owner: RunOwner,
    now: Timestamp,
) -> Result<Diagnosis, InspectError> {
    let folder = data.run(run);
    let record = RunRecord::read(&folder.record())?;
    let mut story = Story::new(record.created_at);
    let until = log.head(run)?.next_seq;
    let mut newer_events = 0;
    let each = |_: LogLine<'_>, event: Option<Event>| match event {
        Some(event) => story.event(&event),
        None => newer_events += 1,
    };
    let damage = match crate::verify::read(log, run, until, each)? {
        LogEnd::Reached => None,
        LogEnd::Damaged(damage) => Some(damage.to_string()),
        LogEnd::Changed => Some("its owner repaired the Log while it was read".to_owned()),
    };
    let audit = folder.audit();
    let removed = skillrun_runs::retention::is_evidence_removed(&audit);
    let evidence = if removed { EvidenceLeft::Removed } else { EvidenceLeft::Kept };
    let mut material = Material {
        run_id: run,
        record,
        story,
        hosts: BTreeMap::new(),
        // A replay that cannot be read is reported by its check.
        replay: crate::replay::replay(data, log, run, Some(until.0.saturating_sub(1))).ok().map(|found| found.replay),
        missing: Vec::new(),
        evidence,
        passages: BTreeMap::new(),
        torn: torn(&folder),
        damage,
        newer_events,
        owner,
        now,
    };
    for attempt in &material.story.attempts {
        let number = attempt.number;
        // A record that cannot be read counts as missing, and is reported below.
        let host = HostRecord::read(&audit, number).ok().flatten();
        let Some(ended) = &attempt.ended else { continue };
        if evidence == EvidenceLeft::Kept {
            let expected = host.as_ref().map(|host| host.hashes.keys().cloned().collect()).unwrap_or_default();
            material.missing.extend(missing(&audit, expected).into_iter().map(|name| (number, name)));
            material.passages.insert(number, passage::of(&audit, number, &ended.verdict.evidence));
        }
        material.hosts.extend(host.map(|host| (number, host)));
    }
    Ok(assemble::diagnosis(&material))
}

fn missing(audit: &Path, names: Vec<String>) -> Vec<String> {
    let is_gone = |name: &String| {
        let found = audit.join(name).symlink_metadata();
        found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    names.into_iter().filter(is_gone).collect()
}

/// Names of the ends that were cut off the Log.
fn torn(folder: &RunFolder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.root()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut torn: Vec<String> = names.filter(|name| name.starts_with("events.torn.")).collect();
    torn.sort();
    torn
}
