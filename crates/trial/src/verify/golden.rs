//! Streams that each kind of engine once wrote, in small, and what must be made of them. They are part of the program,
//! so that any machine can check whether it still parses them the same way.
//!
//! They were recorded with `skillrun engines record`; `golden/README.md` says from which versions.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillrun_evidence::{EvidenceError, Folder, Stream, names};
use skillrun_lifecycle::{Control, OutputValidator, ProcessExit, settle};
use skillrun_model::verdict::Verdict;
use skillrun_model::{AttemptNumber, Code, EngineName, ExecutionMode, ProfileId, RunStatus, Timestamp};
use skillrun_skill::OutputSchema;
use skillrun_translate::{EventBuilder, Replay};

use super::drift::Types;

/// One recorded run.
#[derive(Debug)]
pub struct Golden {
    pub profile: ProfileId,
    pub scenario: &'static str,
    /// Names in `.audit`, and contents.
    files: &'static [(&'static str, &'static [u8])],
    /// What each attempt must be judged as.
    expected: &'static [Expected],
}

/// How an attempt must be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub status: RunStatus,
    pub reason: Code,
}

const DONE: Expected = Expected { status: RunStatus::Succeeded, reason: Code::DoneMarkerFound };
const ASKS: Expected = Expected { status: RunStatus::WaitingUser, reason: Code::TurnEndedWithoutMarker };
const FAILS: Expected = Expected { status: RunStatus::Failed, reason: Code::EngineFailed };

macro_rules! golden {
    ($($profile:ident, $engine:literal, $scenario:literal, $expected:expr, [$($number:literal),+];)+) => {
        /// All of them.
        pub const ALL: &[Golden] = &[$(Golden {
            profile: ProfileId::$profile,
            scenario: $scenario,
            files: &[$(
                (
                    concat!("stdout.", $number, ".log"),
                    include_bytes!(concat!("../../golden/", $engine, "-", $scenario, "/.audit/stdout.", $number, ".log")),
                ),
                (
                    concat!("stderr.", $number, ".log"),
                    include_bytes!(concat!("../../golden/", $engine, "-", $scenario, "/.audit/stderr.", $number, ".log")),
                ),
                (
                    concat!("meta.", $number, ".json"),
                    include_bytes!(concat!("../../golden/", $engine, "-", $scenario, "/.audit/meta.", $number, ".json")),
                ),
            )+],
            expected: $expected,
        },)+];
    };
}

golden! {
    CodexNdjson, "codex", "auto", &[DONE], ["1"];
    CodexNdjson, "codex", "interactive", &[ASKS, DONE], ["1", "2"];
    CodexNdjson, "codex", "err401", &[FAILS], ["1"];
    GeminiStreamJson, "gemini", "auto", &[DONE], ["1"];
    GeminiStreamJson, "gemini", "interactive", &[ASKS, DONE], ["1", "2"];
    GeminiStreamJson, "gemini", "err401", &[FAILS], ["1"];
    OpencodeNdjson, "opencode", "auto", &[DONE], ["1"];
    OpencodeNdjson, "opencode", "interactive", &[ASKS, DONE], ["1", "2"];
    OpencodeNdjson, "opencode", "err401", &[FAILS], ["1"];
    ClaudeStreamJson, "claude", "auto", &[DONE], ["1"];
    ClaudeStreamJson, "claude", "interactive", &[ASKS, DONE], ["1", "2"];
    ClaudeStreamJson, "claude", "err401", &[FAILS], ["1"];
    QwenStreamJson, "qwen", "auto", &[DONE], ["1"];
    QwenStreamJson, "qwen", "interactive", &[ASKS, DONE], ["1", "2"];
    QwenStreamJson, "qwen", "err401", &[FAILS], ["1"];
}

#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    #[error("{}: cannot be written ({error})", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    #[error(transparent)]
    Schema(#[from] skillrun_skill::SchemaError),
    #[error("attempt {attempt} is read as {found}, not as {wanted}")]
    Judged { attempt: u32, found: String, wanted: String },
    #[error("{found} attempts are read, not {wanted}")]
    Attempts { found: usize, wanted: usize },
    #[error("{count} events are not understood any more")]
    Unknown { count: u64 },
}

/// Those of a profile.
pub fn of(profile: ProfileId) -> impl Iterator<Item = &'static Golden> {
    ALL.iter().filter(move |golden| golden.profile == profile)
}

impl Golden {
    /// Reads it as a recording in a temporary folder, and compares.
    pub fn check(&self, scratch: &Path, schema: &Path) -> Result<(), GoldenError> {
        let root = scratch.join(format!("{}-{}", self.profile, self.scenario));
        let audit = root.join(".audit");
        let failed = |error| GoldenError::Write { path: audit.clone(), error };
        fs::create_dir_all(&audit).map_err(failed)?;
        for (name, bytes) in self.files {
            fs::write(audit.join(name), bytes).map_err(failed)?;
        }
        let schema = OutputSchema::read(schema)?;
        let (verdicts, unknown) = read(&root, self.profile, &schema)?;
        if verdicts.len() != self.expected.len() {
            return Err(GoldenError::Attempts { found: verdicts.len(), wanted: self.expected.len() });
        }
        for ((verdict, wanted), attempt) in verdicts.iter().zip(self.expected).zip(1..) {
            let found = Expected { status: verdict.run_status, reason: verdict.reason_code };
            if found != *wanted {
                let words = |of: Expected| format!("{} ({})", of.status, of.reason);
                return Err(GoldenError::Judged { attempt, found: words(found), wanted: words(*wanted) });
            }
        }
        if unknown > 0 { Err(GoldenError::Unknown { count: unknown }) } else { Ok(()) }
    }

    /// Types of events in it.
    pub fn types(&self, types: &mut Types) {
        let is_stdout = |name: &str| {
            (1..=self.expected.len()).any(|number| {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                name == names::log(Stream::Stdout, AttemptNumber(number))
            })
        };
        for (_, bytes) in self.files.iter().filter(|(name, _)| is_stdout(name)) {
            types.add(self.profile, bytes);
        }
    }
}

/// The verdict of every attempt, and how many events no parser understands.
fn read(root: &Path, profile: ProfileId, schema: &dyn OutputValidator) -> Result<(Vec<Verdict>, u64), EvidenceError> {
    let folder = Folder::open(root)?;
    let mut builder = EventBuilder::new(folder.run_id()?, EngineName::new(EngineName::UNKNOWN));
    let (mut verdicts, mut unknown) = (Vec::new(), 0);
    let mut session: Option<String> = None;
    for number in folder.attempts() {
        let attempt = folder.attempt(number)?;
        let replay = Replay::new(attempt.feed()?, number, profile, Timestamp::EPOCH);
        let facts = replay.read(&mut builder, |_| {})?.facts;
        unknown += facts.parse.unknown;
        session = session.or_else(|| facts.session_id.clone());
        let meta = &attempt.meta;
        let mode = meta.execution_mode.unwrap_or(ExecutionMode::Auto);
        let control = Control {
            known_session: session.as_deref(),
            ended_by: meta.ended_by,
            host_words: meta.host_words.as_deref(),
            schema: Some(schema),
            ..Control::new(mode, number, profile.continuation(), ProcessExit::of(meta))
        };
        verdicts.push(settle(&facts, &control).verdict);
    }
    Ok((verdicts, unknown))
}
