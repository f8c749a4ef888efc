//! What is too large for an event: outputs (`.audit/blobs/output.N.json`, written before the turn record that refers to
//! it; it can be regenerated from the evidence) and messages to the agent (`.audit/blobs/prompt.N.txt`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use skillrun_base::whole_file;
use skillrun_lifecycle::closing::OUTPUT_IN_EVENT;
use skillrun_model::AttemptNumber;
use skillrun_model::rasp::data::{TextBlob, UserMessage};

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

/// A message with more bytes is not included in its event.
pub const PROMPT_IN_EVENT: usize = 64 * 1024;

/// Writes the exact text of the message of an attempt, of which the event has only a part.
pub fn write_prompt(folder: &RunFolder, attempt: AttemptNumber, text: &str) -> io::Result<TextBlob> {
    let name = Path::new(".audit").join("blobs").join(format!("prompt.{attempt}.txt"));
    let path = folder.root().join(&name);
    fs::create_dir_all(path.parent().unwrap_or(folder.root()))?;
    whole_file::replace(&path, text.as_bytes())?;
    let (bytes, hash) = (text.len() as u64, blake3::hash(text.as_bytes()).to_hex().to_string());
    Ok(TextBlob { path: name.to_string_lossy().into_owned(), bytes, hash })
}

/// As much of a message as its event includes.
pub fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(PROMPT_IN_EVENT)]
}

/// The exact text of a message. An error where its file is missing or was changed.
pub fn read_prompt(folder: &RunFolder, message: &UserMessage) -> io::Result<String> {
    let Some(whole) = &message.whole else { return Ok(message.text.clone()) };
    let path = folder.audit().join("blobs").join(Path::new(&whole.path).file_name().unwrap_or_default());
    let text = fs::read_to_string(path)?;
    if blake3::hash(text.as_bytes()).to_hex().as_str() != whole.hash {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the text was changed after it was recorded"));
    }
    Ok(text)
}
