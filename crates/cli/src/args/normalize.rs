//! Arguments of `skillrun normalize`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use skillrun_model::{EndedBy, ExecutionMode, ProfileId};

use super::parsers::{count, whole_number, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per attempt: the verdict and its reasons
    Summary,
    /// The events of the Log, one JSON object per line
    Rasp,
    /// The events for conversation frontends, one JSON object per line
    Fcmp,
    /// Warnings and errors of the parsers, the engine and the gate
    Diagnostics,
    /// Readable text
    Conversation,
}

#[derive(Debug, Parser)]
pub(crate) struct Normalize {
    /// Folder that contains .audit/, or the .audit folder itself
    pub(crate) dir: PathBuf,
    /// Engine that wrote the recording [default: from meta.N.json]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Format of the streams [default: the format of the engine]
    #[arg(long, value_parser = words(ProfileId::ALL, ProfileId::as_str))]
    pub(crate) profile: Option<ProfileId>,
    /// Whether the agent worked alone (`auto`), could ask questions (`interactive`), or took one prompt after another
    /// (`conversation`) [default: from meta.N.json, else auto]
    #[arg(long, value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
    pub(crate) mode: Option<ExecutionMode>,
    /// Only this attempt [default: all attempts, as one run]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    /// JSON Schema of the skill's output [default: none; any output is accepted]
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Fail an interactive run that is not done after N attempts [default: no limit]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_attempt: Option<u32>,
    /// Fail an auto run whose agent writes no done marker
    #[arg(long)]
    pub(crate) require_marker: bool,
    /// Judge as a run without a skill, which has no done marker and no output
    #[arg(long, conflicts_with_all = ["require_marker", "schema"])]
    pub(crate) no_skill: bool,
    /// Exit code of the engine [default: from meta.N.json]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "signal",
        allow_negative_numbers = true,
        value_parser = whole_number
    )]
    pub(crate) exit_code: Option<i32>,
    /// Signal that ended the engine, such as SIGKILL [default: from meta.N.json]
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) signal: Option<String>,
    /// Why the engine process ended [default: from meta.N.json, else exited]
    #[arg(long, value_name = "WHY", value_parser = words(EndedBy::ALL, EndedBy::as_str))]
    pub(crate) ended_by: Option<EndedBy>,
    /// Replace every match of this regular expression within a line with `*`, in addition to the
    /// patterns in run.json (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) redact: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value = "summary")]
    pub(crate) format: Format,
    /// Also write events.jsonl, fcmp.jsonl, parser_diagnostics.jsonl, summary.jsonl, stdout.txt and
    /// stderr.txt to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
