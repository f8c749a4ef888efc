//! Checks a run: derives again, from its evidence and its Log, everything that can be, and compares.
//!
//! ```text
//! evidence files ──▶ events ──▶ Log ──▶ result.json, fcmp.jsonl, parser_diagnostics.jsonl
//!        │              │        ▲
//!   hashes of      facts, gate ──┘ verdicts
//!   the host
//! ```
//!
//! One pass over the Log, in bounded memory: the events of an attempt are derived as far as the Log has them, and each
//! pair is compared. Nothing is written and nothing is locked, so a run that somebody works on can be checked too, as far
//! as it has come.
//!
//! - `order`: the Log by itself. `attempt`: one attempt against its evidence. `files`: hashes. `views`: what was made of
//!   the Log. `difference`: where two texts part, in words.

mod attempt;
mod difference;
mod files;
mod order;
mod pass;
mod views;

use serde::Serialize;
use skillrun_log::{Answer, Cursor, Damage, EventLog, FileLog, Limits, LogError, LogErrorKind, LogLine, Seq};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, RunId, RunStatus};

use crate::data_folder::DataFolder;
use crate::error::RuntimeError;
use crate::record::RunRecord;
use pass::Pass;

/// What was looked at, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub run_id: RunId,
    /// As far as the Log can be read.
    pub status: Option<RunStatus>,
    pub checks: Vec<Check>,
}

impl Report {
    /// Nothing is wrong. What could not be compared is not wrong.
    pub fn is_good(&self) -> bool {
        self.checks.iter().all(|check| check.outcome.is_good())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub what: CheckKind,
    /// None for what belongs to the whole run.
    pub attempt: Option<AttemptNumber>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// No gap, no damage, every line an event that can stand where it stands, one end.
    Log,
    /// The files of an attempt against what its host recorded of them.
    EvidenceFiles,
    /// Events made from the bytes, in order and to the byte.
    EvidenceEvents,
    /// Every byte lies in the range of an event.
    Coverage,
    /// The gate, asked again.
    Verdict,
    /// An output that was too large to stand in an event.
    LargeOutput,
    Result,
    Conversation,
    Diagnostics,
}

impl CheckKind {
    /// What is checked, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Log => "events.jsonl, by itself",
            Self::EvidenceFiles => "evidence files, by the hashes of the host",
            Self::EvidenceEvents => "events, by the evidence",
            Self::Coverage => "every byte in an event",
            Self::Verdict => "verdict, by the evidence",
            Self::LargeOutput => "output beside the Log, by the evidence",
            Self::Result => "result.json, by the Log",
            Self::Conversation => "fcmp.jsonl, by the Log",
            Self::Diagnostics => "parser_diagnostics.jsonl, by the Log",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Same,
    Different {
        /// The first one, and where it is.
        difference: String,
    },
    /// Another version made it, it was removed as agreed, or it is not over.
    NotComparable {
        why: String,
    },
    Missing {
        why: String,
        absence: Absence,
    },
}

/// Whether something that is missing ought to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    Lost,
    /// It is made later.
    NotYet,
}

impl Outcome {
    pub fn is_good(&self) -> bool {
        match self {
            Self::Same | Self::NotComparable { .. } => true,
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

/// Checks a run that may be somebody else's, as far as it has come.
pub fn verify(data: &DataFolder, log: &FileLog, run: RunId) -> Result<Report, RuntimeError> {
    let folder = data.run(run);
    let record = RunRecord::read(&folder.record())?;
    // What comes later is not looked at: a run that writes faster than this reads would never be done.
    let until = log.head(run)?.next_seq;
    let damage = log.check(run)?;
    let mut pass = Pass::new(&folder, &record);
    let end = read(log, run, until, |line, event| pass.event(line.json(), event))?;
    Ok(pass.finish(damage, end))
}

/// Why a Log was read no further.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogEnd {
    Reached,
    Damaged(Damage),
    /// It was cut by its owner while it was read.
    Changed,
}

pub(crate) fn read(
    log: &FileLog,
    run: RunId,
    until: Seq,
    mut each: impl FnMut(LogLine<'_>, Event),
) -> Result<LogEnd, RuntimeError> {
    let mut cursor = Cursor::BEGINNING;
    loop {
        let page = match log.read(run, cursor, Limits::default()) {
            Ok(Answer::Page(page)) if page.is_empty() => return Ok(LogEnd::Reached),
            Ok(Answer::Page(page)) => page,
            Ok(Answer::Reset(_)) => return Ok(LogEnd::Changed),
            Err(error) => return damaged(error),
        };
        for line in page.lines() {
            if line.seq >= until {
                return Ok(LogEnd::Reached);
            }
            match line.event() {
                Ok(event) => each(line, event),
                Err(error) => return damaged(error),
            }
        }
        cursor = page.cursor();
    }
}

fn damaged(error: LogError) -> Result<LogEnd, RuntimeError> {
    if let LogErrorKind::Damaged(damage) = error.kind {
        return Ok(LogEnd::Damaged(damage));
    }
    Err(error.into())
}
