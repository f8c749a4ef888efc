//! Arguments as plain data.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Parser, Subcommand, ValueEnum};
use skillrun_model::{EndedBy, ExecutionMode, ProfileId, Wiring};

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
    /// Run an engine, or any command, and record every byte it writes
    Capture(Capture),
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
    /// The host of one attempt; reads its plan from standard input
    #[command(hide = true)]
    AttemptHost,
    /// An engine that plays a script, for demonstrations and tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateScripted {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// An engine that does as it is told, for tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateSteps {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
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

#[derive(Debug, clap::Args)]
#[command(after_help = CAPTURE_HELP)]
pub(crate) struct Capture {
    /// The command to run, in the workspace, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// Name of the engine, so that `normalize` knows how to read it
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// How its streams are connected
    #[arg(long, value_name = "HOW", default_value = "pipes", value_parser = words(Wiring::ALL, Wiring::as_str))]
    pub(crate) wiring: Wiring,
    /// What it finds on standard input: null, pipe (ours is passed on), tty, or a file
    /// [default: null; tty with the terminal wirings]
    #[arg(long, value_name = "null|pipe|tty|FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// The folder it runs in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Where .audit/ with the recording goes [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of the attempt [default: the one after the last in DIR]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    /// End it after this many seconds
    #[arg(long, value_name = "S", default_value = "3600", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// End it after this many seconds without output
    #[arg(long, value_name = "S", default_value = "600", value_parser = seconds)]
    pub(crate) stall: Duration,
    /// Wait this long for output of what it leaves running
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub(crate) linger: Duration,
    /// Wait this long after SIGINT, and again after SIGTERM, before SIGKILL
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) grace: Duration,
    /// End it when it has written this many bytes
    #[arg(long, value_name = "N", default_value = "4294967296")]
    pub(crate) max_bytes: u64,
    /// Do not list the files of the workspace before and after
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// Leave files out of these lists; a rule as in .gitignore
    #[arg(long, value_name = "RULE")]
    pub(crate) ignore: Vec<String>,
    /// Pass a variable on, or set one
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Pass a variable on and mask its value in everything that is read later
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<OsString>,
}

const CAPTURE_HELP: &str = "\
The command gets PATH, LANG, LC_*, TZ, TERM, proxy and certificate variables,
and what --env and --secret name; not HOME, for instance. Ctrl-C ends it, a
second one leaves it running. The exit code is the command's; 128 and the
number of the signal if one ended it, 124 after a timeout, 125 for an error of
our own, 126 if it is not executable, 127 if it was not found.

  skillrun capture --engine codex --env HOME --out rec -- codex exec --json hi
  skillrun normalize rec";

/// Prints help, or what is wrong. Exit code 2 would be taken for the command's where a command was to be run.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    // Nothing is left to do if the terminal is gone.
    let _ = error.print();
    let runs_a_command = std::env::args_os().nth(1).is_some_and(|name| name == "capture");
    ExitCode::from(match error.exit_code() {
        0 => 0,
        _ if runs_a_command => 125,
        _ => 2,
    })
}

/// Seconds, parts of one too.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "not a number of seconds above 0";
    let seconds: f64 = text.parse().map_err(|_| WRONG)?;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero()).ok_or(WRONG)
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
