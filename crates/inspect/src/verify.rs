//! Checks a run: derives everything that can be derived from its evidence and its Log again, and compares.
//!
//! ```text
//! evidence files ──▶ events ──▶ Log ──▶ result.json, fcmp.jsonl, parser_diagnostics.jsonl, meta.N.json
//!        │              │        ▲ │
//!   hashes of      facts, gate ──┘ └──▶ hashes: run.json, skill/, inputs/, artifacts, host.N.json
//!   the host
//! ```
//!
//! One pass over the Log, in bounded memory: the events of an attempt are derived as far as the Log has them, and each
//! pair is compared. Nothing is written and nothing is locked, so a run that another process works on can be checked
//! too, as far as it has come.
//!
//! - `order`, `chain`: the Log by itself. `run_checks`: commands that were run after the turn. `attempt`: one attempt against its evidence. `files`: hashes of the host.
//!   `kept`: hashes in the Log and the record. `meta`, `views`: files derived from the Log. `difference`: where two
//!   texts differ, as a message.

mod attempt;
mod chain;
mod difference;
mod files;
mod kept;
mod meta;
mod order;
mod pass;
mod run_checks;
mod views;

use std::borrow::Cow;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_log::{
    Cursor, Damage, EventLog, FileLog, Limits, LineHash, LogError, LogErrorKind, LogLine, ReadEnd, Seq,
};
use skillrun_model::rasp::{Event, LogHead};
use skillrun_model::{AttemptNumber, RunId, RunStatus};
use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::record::RunRecord;

use crate::error::InspectError;
use pass::Pass;

/// What was checked, and the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyReport")]
pub struct VerifyReport {
    pub run_id: RunId,
    /// As far as the Log can be read.
    pub status: Option<RunStatus>,
    /// How far the Log was read; absent where its last line was written by a version before the chain.
    pub log_head: Option<LogHead>,
    pub checks: Vec<Check>,
}

impl VerifyReport {
    /// No check failed. What could not be compared is not a failure.
    pub fn is_good(&self) -> bool {
        self.first_break().is_none()
    }

    /// The first check that failed. Earlier checks explain later ones: the Log, then what it covers, then what is
    /// derived from it.
    pub fn first_break(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.outcome.is_good())
    }
}

/// A report as it is returned to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verification {
    #[serde(flatten)]
    pub report: VerifyReport,
    /// No check failed. What could not be compared is not a failure.
    pub is_good: bool,
    /// The first check that failed.
    pub first_break: Option<Check>,
}

impl From<VerifyReport> for Verification {
    fn from(report: VerifyReport) -> Self {
        let first_break = report.first_break().cloned();
        Self { is_good: first_break.is_none(), first_break, report }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyCheck")]
pub struct Check {
    pub what: CheckKind,
    /// None for a check of the whole run.
    pub attempt: Option<AttemptNumber>,
    #[serde(flatten)]
    pub outcome: VerifyOutcome,
}

/// What is compared with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyKind")]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// No gap, no damage, every line an event that is allowed in its place, one end.
    Log,
    /// Every line of the Log carries the hash of the line before it.
    Chain,
    /// The Log had the head that was noted earlier.
    Head,
    /// `run.json` against the hash in the first event, and the folder's name.
    Record,
    /// The copy of the skill against the hash in `run.json`.
    Skill,
    /// Files that came with the request or an answer.
    Inputs,
    /// The files of an attempt against what its host recorded of them.
    EvidenceFiles,
    /// Events made from the bytes, in order and to the byte.
    EvidenceEvents,
    /// Every byte is in the range of an event.
    Coverage,
    /// The gate, applied again.
    Verdict,
    /// An output that was too large for an event.
    LargeOutput,
    /// `meta.N.json` against the host's record and the verdict.
    Meta,
    /// The evidence of commands that were run after the turn, against the hashes of their hosts and the Log.
    RunChecks,
    /// Files that the run made, against the hashes in the Log.
    Artifacts,
    Result,
    Conversation,
    Diagnostics,
}

impl CheckKind {
    /// What is checked, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Log => "events.jsonl itself",
            Self::Chain => "events.jsonl, against its chain of hashes",
            Self::Head => "events.jsonl, against the given head",
            Self::Record => "run.json, against the Log",
            Self::Skill => "copy of the skill, against run.json",
            Self::Inputs => "input files, against run.json and the Log",
            Self::EvidenceFiles => "evidence files, against the hashes of the host",
            Self::EvidenceEvents => "events, against the evidence",
            Self::Coverage => "every byte belongs to an event",
            Self::Verdict => "verdict, against the evidence",
            Self::LargeOutput => "output outside of the Log, against the evidence",
            Self::Meta => "meta file, against the host and the Log",
            Self::RunChecks => "evidence of checks, against the hosts and the Log",
            Self::Artifacts => "artifacts, against the Log",
            Self::Result => "result.json, against the Log",
            Self::Conversation => "fcmp.jsonl, against the Log",
            Self::Diagnostics => "parser_diagnostics.jsonl, against the Log",
        }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyOutcome")]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum VerifyOutcome {
    Same,
    Different {
        /// The first difference, and where it is.
        difference: String,
    },
    /// It is in a place where the user and other programs may change it, and differs from the end of the run. Nothing
    /// that skillrun keeps is wrong.
    ChangedSince {
        what_changed: String,
    },
    /// Another version made it, it was removed as configured, or it is not over.
    NotComparable {
        why: String,
    },
    Missing {
        why: String,
        absence: Absence,
    },
}

/// Whether a missing file should exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyAbsence")]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    Lost,
    /// It is written later.
    NotYet,
}

impl VerifyOutcome {
    pub fn is_good(&self) -> bool {
        match self {
            Self::Same | Self::ChangedSince { .. } | Self::NotComparable { .. } => true,
            Self::Missing { absence, .. } => match absence {
                Absence::NotYet => true,
                Absence::Lost => false,
            },
            Self::Different { .. } => false,
        }
    }

    fn different(difference: impl Into<String>) -> Self {
        Self::Different { difference: difference.into() }
    }

    fn not_comparable(why: impl Into<String>) -> Self {
        Self::NotComparable { why: why.into() }
    }

    fn lost(why: impl Into<String>) -> Self {
        Self::Missing { why: why.into(), absence: Absence::Lost }
    }

    fn not_yet(why: impl Into<String>) -> Self {
        Self::Missing { why: why.into(), absence: Absence::NotYet }
    }
}

/// Checks a run, which another process may own, as far as it has come.
pub fn verify(data: &DataFolder, log: &FileLog, run: RunId) -> Result<VerifyReport, InspectError> {
    verify_against(data, log, run, None)
}

/// A head of a Log that was noted: the hash, and the event it belongs to if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotedHead {
    pub seq: Option<u64>,
    pub hash: LineHash,
}

impl std::str::FromStr for NotedHead {
    type Err = String;

    /// `HASH`, or `SEQ:HASH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (seq, hash) = match text.split_once(':') {
            Some((seq, hash)) => (Some(seq.parse().map_err(|_| format!("{seq:?} is not an event number"))?), hash),
            None => (None, text),
        };
        let hash = LineHash::from_hex(hash).ok_or("a head must be 64 hexadecimal digits, or SEQ:DIGITS")?;
        Ok(Self { seq, hash })
    }
}

/// The same, and also checks that the Log has a head that was noted before.
pub fn verify_against(
    data: &DataFolder,
    log: &FileLog,
    run: RunId,
    noted: Option<NotedHead>,
) -> Result<VerifyReport, InspectError> {
    let folder = data.run(run);
    let record = RunRecord::read(&folder.record())?;
    // Later events are not checked: for a run that writes faster than this reads, it would never end.
    let until = log.head(run)?.next_seq;
    let damage = log.check(run)?;
    let mut pass = Pass::new(run, &folder, &record, noted);
    // What is in the file, not what its writer may have in memory.
    let end = read(&FileLog::new(log.runs()), run, until, |line, event| match event {
        Some(event) => pass.event(line, event),
        None => pass.newer_event(line),
    })?;
    Ok(pass.finish(damage, end))
}

/// Why a Log was read no further. An event of a newer version is passed on as none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogEnd {
    Reached,
    Damaged(Damage),
    /// Its owner truncated it while it was read.
    Changed,
}

pub(crate) fn read(
    log: &FileLog,
    run: RunId,
    until: Seq,
    mut each: impl FnMut(LogLine<'_>, Option<Event>),
) -> Result<LogEnd, InspectError> {
    let end = log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        if line.seq >= until {
            return Ok(ControlFlow::Break(()));
        }
        each(line, line.known_event().map(Cow::into_owned));
        Ok::<_, LogError>(ControlFlow::Continue(()))
    });
    match end {
        Ok(ReadEnd::At(_)) => Ok(LogEnd::Reached),
        Ok(ReadEnd::Reset(_)) => Ok(LogEnd::Changed),
        Err(LogError { kind: LogErrorKind::Damaged(damage), .. }) => Ok(LogEnd::Damaged(damage)),
        Err(error) => Err(error.into()),
    }
}
