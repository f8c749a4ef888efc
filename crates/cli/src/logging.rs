//! Log lines on stderr: which there are, and how they look.
//!
//! Commands log nothing unless `--log` or `RUST_LOG` says so; `serve` logs at the level `info`. Log lines are for people
//! who look for a cause. No program reads them, and their text may change.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat};
use crate::failure::Failure;
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
            Self::Info => "info",
        }
    }
}

/// Starts logging for this process. Call it once.
pub(crate) fn init(global: &Global, default: DefaultLevel) -> Result<(), Failure> {
    let filter = match &global.log {
        Some(given) => EnvFilter::try_new(given)
            .map_err(|error| Failure::Input(format!("--log {given}: not a log filter ({error}); try --log debug")))?,
        None => from_variable().unwrap_or_else(|| EnvFilter::new(default.filter())),
    };
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false);
    match global.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
    Ok(())
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
