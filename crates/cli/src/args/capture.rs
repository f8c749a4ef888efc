//! Arguments of `skillrun capture`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use skillrun_model::Wiring;

use super::parsers::{count, natural_number, seconds, words};

#[derive(Debug, clap::Args)]
#[command(after_help = CAPTURE_HELP)]
pub(crate) struct Capture {
    /// Command to run in the workspace, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// Name of the engine, so that `normalize` knows how to parse its output
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// How the streams of the command are connected
    #[arg(long, value_name = "HOW", default_value = "pipes", value_parser = words(Wiring::ALL, Wiring::as_str))]
    pub(crate) wiring: Wiring,
    /// Standard input of the command: null, pipe (the stdin of skillrun), tty, or a file
    /// [default: null; tty with split_pty or one_pty]
    #[arg(long, value_name = "null|pipe|tty|FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Working folder of the command [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder in which .audit/, with the recording, is created [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of the attempt [default: the last attempt in --out, plus 1]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    /// Terminate the command after this many seconds
    #[arg(long, value_name = "S", default_value = "3600", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// Terminate the command after this many seconds without output
    #[arg(long, value_name = "S", default_value = "600", value_parser = seconds)]
    pub(crate) stall: Duration,
    /// Seconds without output to wait for child processes that the command leaves running
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub(crate) linger: Duration,
    /// Seconds to wait after SIGINT, and again after SIGTERM, before SIGKILL is sent
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) grace: Duration,
    /// Terminate the command when it has written this many bytes
    #[arg(long, value_name = "N", default_value = "4294967296", value_parser = natural_number)]
    pub(crate) max_bytes: u64,
    /// Do not take a snapshot of the workspace files before and after
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// Leave files out of the snapshots: a rule as in .gitignore (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) ignore: Vec<String>,
    /// Pass an environment variable to the command, or set one (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Pass an environment variable to the command and mask its value in everything that is
    /// derived from the recording (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<OsString>,
}

const CAPTURE_HELP: &str = "\
The command receives PATH, LANG, LC_*, TZ, TERM, the proxy and certificate
variables, and those named by --env and --secret; it does not receive HOME, for
instance. Ctrl-C terminates the command; a second Ctrl-C stops waiting for that.
When the command exits, skillrun waits for its child processes while they keep
its output open, until --linger seconds pass without output; then it terminates
all of them. `command & exit` therefore does not end the recording at once.
The exit code is that of the command, 128 plus the signal number if a signal
ended it, 124 after a timeout, 125 for an error in skillrun itself, 126 if the
command is not executable, and 127 if it was not found.

  skillrun capture --engine codex --env HOME --out rec -- codex exec --json hi
  skillrun normalize rec";
