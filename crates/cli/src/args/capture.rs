//! Arguments of `skillrun capture`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use skillrun_model::Wiring;

use super::parsers::{count, seconds, words};

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
