//! Arguments as plain data.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Parser, Subcommand, ValueEnum};
use skillrun_model::{EndedBy, ExecutionMode, ProfileId};

/// Runs agent skills on real coding agents and tells the truth about what happened.
#[derive(Debug, Parser)]
#[command(name = "skillrun", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn the recorded output of an engine into events, a conversation and a verdict
    Normalize(Normalize),
    /// Print the JSON Schema of an event protocol
    Schema {
        /// Which protocol
        #[arg(value_enum)]
        protocol: Protocol,
    },
    /// Explain a code, such as ENGINE_END_MISSING, or list all codes
    Explain {
        /// The code, in any case; without one, all codes are listed
        code: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Protocol {
    /// The events of the Log
    Rasp,
    /// What a conversation frontend reads
    Fcmp,
}

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
    /// Exit code of the engine [default: as meta.N.json says]
    #[arg(long, value_name = "N", conflicts_with = "signal", allow_negative_numbers = true, value_parser = exit_code)]
    pub(crate) exit_code: Option<i32>,
    /// Signal that ended the engine, such as SIGKILL [default: as meta.N.json says]
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) signal: Option<String>,
    /// Why the process is gone [default: as meta.N.json says, else exited]
    #[arg(long, value_name = "WHY", value_parser = words(EndedBy::ALL, EndedBy::as_str))]
    pub(crate) ended_by: Option<EndedBy>,
    /// What to print
    #[arg(long, value_enum, default_value = "summary")]
    pub(crate) format: Format,
    /// Also write events.jsonl, fcmp.jsonl, parser_diagnostics.jsonl and summary.jsonl into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A closed list of words, for help, completion and errors alike.
fn words<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + std::str::FromStr<Err = skillrun_model::status::UnknownWord> + Send + Sync + 'static,
{
    clap::builder::PossibleValuesParser::new(all.iter().map(|word| name(*word))).try_map(|word| word.parse::<T>())
}

fn count(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("not a whole number from 1")
}

fn exit_code(text: &str) -> Result<i32, &'static str> {
    text.parse().map_err(|_| "not a whole number")
}
