//! Arguments of `skillrun normalize`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use skillrun_model::{EndedBy, ExecutionMode, ProfileId};

use super::parsers::{count, exit_code, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per attempt: the verdict and what it stands on
    Summary,
    /// The events of the Log, one JSON object per line
    Rasp,
    /// What a conversation frontend reads, one JSON object per line
    Fcmp,
    /// Warnings and errors of parsers, engine and gate
    Diagnostics,
    /// Readable text
    Conversation,
}

#[derive(Debug, Parser)]
pub(crate) struct Normalize {
    /// A folder that has .audit/ in it, or the .audit folder itself
    pub(crate) dir: PathBuf,
    /// Engine that wrote the recording [default: as meta.N.json says]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Format to read the streams with [default: the engine's]
    #[arg(long, value_parser = words(ProfileId::ALL, ProfileId::as_str))]
    pub(crate) profile: Option<ProfileId>,
    /// Whether the user could be asked [default: as meta.N.json says, else auto]
    #[arg(long, value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
    pub(crate) mode: Option<ExecutionMode>,
    /// Read this attempt alone [default: all, as one run]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    /// JSON Schema of the skill's output [default: none, any answer will do]
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Fail an interactive run that is not done after this many attempts [default: no limit]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_attempt: Option<u32>,
    /// Fail an auto run whose agent gives no done marker
    #[arg(long)]
    pub(crate) require_marker: bool,
    /// Exit code of the engine [default: as meta.N.json says]
    #[arg(long, value_name = "N", conflicts_with = "signal", allow_negative_numbers = true, value_parser = exit_code)]
    pub(crate) exit_code: Option<i32>,
    /// Signal that ended the engine, such as SIGKILL [default: as meta.N.json says]
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) signal: Option<String>,
    /// Why the process is gone [default: as meta.N.json says, else exited]
    #[arg(long, value_name = "WHY", value_parser = words(EndedBy::ALL, EndedBy::as_str))]
    pub(crate) ended_by: Option<EndedBy>,
    /// Read what matches this regular expression in a line as `*`; may be repeated, and adds to what run.json says
    #[arg(long, value_name = "PATTERN")]
    pub(crate) redact: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value = "summary")]
    pub(crate) format: Format,
    /// Also write events.jsonl, fcmp.jsonl, parser_diagnostics.jsonl, summary.jsonl, stdout.txt and stderr.txt into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
