//! `installed.json`: the content of a complete folder.

use serde::{Deserialize, Serialize};
use skillrun_model::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub package: String,
    pub version: String,
    /// The major version of Node that it was installed with; none: the one in PATH.
    pub node: Option<u32>,
    pub at: Timestamp,
    /// Whether every package behind it was pinned. Installs from before 0.2.0 do not record it.
    #[serde(default)]
    pub pinned: bool,
}

/// The version in a `package.json`.
pub fn package_version(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    serde_json::from_slice::<Package>(text).ok().map(|package| package.version)
}
