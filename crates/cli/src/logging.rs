//! Log lines on stderr: which there are, and how they look.
//!
//! Commands log nothing unless `--log` or `RUST_LOG` says so; `serve` logs at the level `info`. Log lines are for people
//! who look for a cause. No program reads them, and their text may change.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat};
use crate::failure::Failure;
use crate::live::Erasing;
use crate::place::note;

/// The variable that is read when `--log` is not given.
const VARIABLE: &str = "RUST_LOG";

/// What a command logs when the user says nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultLevel {
    Off,
    Info,
}

impl DefaultLevel {
    fn filter(self) -> &'static str {
        match self {
            Self::Off => "off",
            // The SDK of the MCP server logs each request.
            Self::Info => "info,rmcp=warn",
        }
    }
}

/// Starts logging for this process. Call it once.
pub(crate) fn init(global: &Global, default: DefaultLevel) -> Result<(), Failure> {
    let filter = match &global.log {
        Some(given) => from_option(given)?,
        None => from_variable().unwrap_or_else(|| EnvFilter::new(default.filter())),
    };
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Erasing(io::stderr())).with_ansi(false);
    // A line that cannot be written is dropped. By default the subscriber reports that on stderr, and where stderr is a
    // closed pipe this panics in the thread that logs, which may be the worker of a run.
    let lines = lines.log_internal_errors(false);
    match global.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
}

/// Names of levels, and what turns logging off.
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

fn from_option(given: &str) -> Result<EnvFilter, Failure> {
    let bad = |why: &str| Failure::Input(format!("--log {given}: not a log filter ({why}); try --log debug"));
    // A single word is the name of a crate too; a misspelled level would log nothing, without a message.
    let is_crate = given.contains(['=', ',', '[']) || given.starts_with("skillrun");
    if !is_crate && !LEVELS.iter().any(|level| given.eq_ignore_ascii_case(level)) {
        return Err(bad(&format!("the levels are {}", LEVELS.join(", "))));
    }
    EnvFilter::try_new(given).map_err(|error| bad(&error.to_string()))
}

/// A variable is often set for another program, so that a bad value does not stop this one.
fn from_variable() -> Option<EnvFilter> {
    let given = std::env::var(VARIABLE).ok().filter(|given| !given.is_empty())?;
    match EnvFilter::try_new(&given) {
        Ok(filter) => Some(filter),
        Err(error) => {
            note(&format!("{VARIABLE} is not a log filter ({error}); it is not used"));
            None
        }
    }
}
