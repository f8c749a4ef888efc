//! `result.json` as a reader sees it who has only the file.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use skillrun_model::rasp::data::{ArtifactIndexed, TurnUsage};
use skillrun_model::verdict::RunError;
use skillrun_model::{Code, RunStatus};

use crate::problem::Miss;

/// What is looked at.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Told {
    pub(crate) status: RunStatus,
    pub(crate) output: Option<Map<String, Value>>,
    pub(crate) text: Option<String>,
    pub(crate) warnings: Vec<Code>,
    pub(crate) error: Option<RunError>,
    pub(crate) artifacts: Vec<ArtifactIndexed>,
    pub(crate) usage: Option<TurnUsage>,
    pub(crate) completion: Option<Completion>,
    pub(crate) attempts: u32,
    pub(crate) next_actions: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Completion {
    pub(crate) reason_code: Code,
}

impl Told {
    /// The result, and the whole of it as it stands there.
    pub(crate) fn read(path: &Path) -> Result<(Self, Value), Miss> {
        let bytes = fs::read(path).map_err(|error| Miss::new("no result", format!("{}: {error}", path.display())))?;
        let bad = |error: serde_json::Error| Miss::new("bad result", format!("{}: {error}", path.display()));
        let json: Value = serde_json::from_slice(&bytes).map_err(bad)?;
        Ok((Self::deserialize(&json).map_err(bad)?, json))
    }
}
