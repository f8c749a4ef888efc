//! The record of a login that a run has.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_base::whole_file;
use skillrun_evidence::OsText;
use skillrun_model::RunId;

use crate::data_folder::DataFolder;
use skillrun_model::IgnoredError;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) run_id: RunId,
    /// The HOME of the run.
    pub(super) home: OsText,
    pub(super) user_home: OsText,
    pub(super) taken: Vec<Taken>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Taken {
    /// Relative to either HOME.
    pub(super) path: OsText,
    pub(super) back: Back,
}

/// What happens to changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Back {
    /// They are copied back if the user's file still has this hash, and nothing is missing in the new one.
    IfUnchanged {
        hash: String,
        /// Names of the members of the copied file that were not empty.
        members: Vec<String>,
    },
    Dropped,
}

impl Back {
    pub(super) fn of(copied: &[u8]) -> Self {
        let known = serde_json::from_slice::<Map<String, Value>>(copied).unwrap_or_default();
        let members = known.into_iter().filter(|(_, value)| has_content(value)).map(|(name, _)| name);
        Self::IfUnchanged { hash: hash(copied), members: members.collect() }
    }
}

pub(super) fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn file(data: &DataFolder, run: RunId) -> PathBuf {
    data.logins().join(format!("{run}.json"))
}

/// Ending of the name of a login that was not given back.
pub(crate) const KEPT: &str = "kept";

/// Keeps a login that was not copied back, for its owner alone: it may be the only valid one.
pub(super) fn keep(data: &DataFolder, run: RunId, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = path.to_string_lossy().replace('/', "_");
    let file = data.logins().join(format!("{run}.{name}.{KEPT}"));
    whole_file::replace(&file, bytes)?;
    Ok(file)
}

impl Note {
    pub(super) fn write(&self, data: &DataFolder) -> io::Result<()> {
        fs::create_dir_all(data.logins())?;
        whole_file::replace(&file(data, self.run_id), &serde_json::to_vec(self)?)
    }

    pub(super) fn read(data: &DataFolder, run: RunId) -> Option<Self> {
        read(&file(data, run))
    }

    /// All logins in use.
    pub(super) fn all(data: &DataFolder) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(data.logins()) else { return Vec::new() };
        let files = entries.flatten().map(|entry| entry.path());
        files.filter(|file| file.extension() == Some(OsStr::new("json"))).filter_map(|file| read(&file)).collect()
    }

    pub(super) fn remove(&self, data: &DataFolder) {
        fs::remove_file(file(data, self.run_id)).ignored();
    }
}

fn read(file: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
