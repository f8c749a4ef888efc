//! Outputs that are too large for an event: `.audit/blobs/output.N.json`, written before the turn record that refers to
//! it. It can be regenerated from the evidence.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value};
use skillrun_base::whole_file;
use skillrun_lifecycle::closing::OUTPUT_IN_EVENT;
use skillrun_model::AttemptNumber;

use crate::data_folder::RunFolder;

fn path(folder: &RunFolder, attempt: AttemptNumber) -> PathBuf {
    folder.audit().join("blobs").join(format!("output.{attempt}.json"))
}

/// Writes an output that is too large for its event.
pub fn write_output(folder: &RunFolder, attempt: AttemptNumber, output: &Map<String, Value>) -> io::Result<()> {
    let path = path(folder, attempt);
    fs::create_dir_all(path.parent().unwrap_or(folder.root()))?;
    whole_file::replace(&path, &serde_json::to_vec(output)?)
}

/// Whether an output is kept here rather than in the event.
pub fn is_large(output: &Map<String, Value>) -> bool {
    serde_json::to_vec(output).is_ok_and(|text| text.len() as u64 > OUTPUT_IN_EVENT)
}

/// None where the file does not exist or is not an object.
pub fn read_output(folder: &RunFolder, attempt: AttemptNumber) -> Option<Map<String, Value>> {
    serde_json::from_slice(&fs::read(path(folder, attempt)).ok()?).ok()
}
