//! What an agent's process is started for. It is written to `inputs/opening.N.json` of the run before the host starts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_model::AttemptNumber;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub attempt: AttemptNumber,
    /// Absolute.
    pub cwd: String,
    pub session: Session,
    /// The mode that the agent must report before it is prompted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    pub prompt: String,
    /// `_meta` of the request for the session, which an adapter may read.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The session that is prompted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    New,
    /// A session of an earlier process.
    Load(String),
}

impl Opening {
    /// The file's name, in the run's `inputs/`.
    pub fn file_name(attempt: AttemptNumber) -> String {
        format!("opening.{attempt}.json")
    }

    pub fn to_json(&self) -> String {
        // Strings and numbers alone always become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }
}
