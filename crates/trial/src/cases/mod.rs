//! Cases: what a skill is tried with, and what must come of it.
//!
//! A list in YAML or JSON, by default `tests/cases.yaml` in the folder of the skill. Only `name` must be there:
//!
//! ```yaml
//! - name: a theme is asked for
//!   mode: interactive              # auto, interactive or conversation; default: the skill's
//!   input: {version: v2}
//!   parameter: {tone: dry}
//!   files: {table: table.csv}      # by slot; from the folder of this file
//!   replies:                       # without one that fits, the run is left waiting
//!     - rivers                     # the next answer, once
//!     - to: which colour           # the answer to every question that these words fit
//!       text: blue
//!   script: theme.yaml             # for the engine `scripted` alone
//!   expect:
//!     status: succeeded            # the default; or failed, waiting_user
//!     error: OUTPUT_SCHEMA_INVALID # a code, of a failed run
//!     output: {theme: rivers}      # these members, whatever else there is
//!     artifacts: [artifacts/a.md]  # these files, whatever else there is
//!     max_duration_sec: 60
//! ```
//!
//! `find`: which file. `read`: the file, checked key by key. `error`: what is wrong with it, and where.

mod error;
mod find;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};
use skillrun_model::{Code, ExecutionMode, RunStatus};

pub use error::{CasePlace, CasesError, CasesProblem};
pub use find::{PLACES, find};
pub use read::{parse, read};

/// One thing to try.
#[derive(Debug, Clone)]
pub struct Case {
    /// No two of a file have the same.
    pub name: String,
    pub input: Map<String, Value>,
    pub parameter: Map<String, Value>,
    /// By slot; absolute.
    pub files: BTreeMap<String, PathBuf>,
    pub mode: Option<ExecutionMode>,
    pub replies: Vec<CaseAnswer>,
    pub expect: Expect,
    /// What the scripted engine plays instead of the skill's own script; absolute.
    pub script: Option<PathBuf>,
}

/// An answer to a question of the run.
#[derive(Debug, Clone)]
pub enum CaseAnswer {
    /// To the next question that no other fits, once.
    Next(String),
    /// To every question that these words fit.
    To { question: Regex, text: String },
}

/// What must come of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// Succeeded, failed or waiting.
    pub status: RunStatus,
    pub error: Option<Code>,
    /// Members that the output has, whatever else it has.
    pub output: Option<Map<String, Value>>,
    pub artifacts: Vec<String>,
    pub max_duration: Option<Duration>,
}

impl Default for Expect {
    fn default() -> Self {
        Self { status: RunStatus::Succeeded, error: None, output: None, artifacts: Vec::new(), max_duration: None }
    }
}

impl Case {
    /// The one case of a skill that has none: no input at all.
    pub fn without_input() -> Self {
        Self {
            name: "no input".to_owned(),
            input: Map::new(),
            parameter: Map::new(),
            files: BTreeMap::new(),
            mode: None,
            replies: Vec::new(),
            expect: Expect::default(),
            script: None,
        }
    }
}
