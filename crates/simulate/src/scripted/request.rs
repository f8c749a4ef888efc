//! The request of the run that a script is played for: the part of `run.json` that templates use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};
use skillrun_model::ExecutionMode;

use super::template::FileTrouble;

/// Largest `run.json`; a run with a larger one is not accepted.
const RECORD_MAX: u64 = 16 << 20;
/// Most of a file that functions read.
const FILE_MAX: u64 = 1 << 20;
/// The folder beside `run.json` with the files of the request.
const FILES: &str = "inputs";

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) mode: Option<ExecutionMode>,
    pub(super) input: Map<String, Value>,
    pub(super) parameter: Map<String, Value>,
    /// By slot.
    pub(super) files: BTreeMap<String, PathBuf>,
    /// Those whose content the script uses.
    contents: BTreeMap<String, Result<String, FileTrouble>>,
}

#[derive(Deserialize)]
struct Record {
    request: RecordedRequest,
}

#[derive(Deserialize)]
struct RecordedRequest {
    mode: ExecutionMode,
    input: Map<String, Value>,
    parameter: Map<String, Value>,
    files: BTreeMap<String, String>,
}

impl Request {
    /// Reads the record of a run, and the files in these slots.
    pub(super) fn read(record: &Path, slots: &BTreeSet<String>) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::open(record)?.take(RECORD_MAX).read_to_end(&mut bytes)?;
        let Record { request: RecordedRequest { mode, input, parameter, files } } = serde_json::from_slice(&bytes)?;
        let folder = record.parent().unwrap_or(Path::new("")).join(FILES);
        let files: BTreeMap<String, PathBuf> =
            files.into_iter().map(|(slot, name)| (slot, folder.join(name))).collect();
        let used = files.iter().filter(|(slot, _)| slots.contains(*slot));
        let contents = used.map(|(slot, path)| (slot.clone(), content(path))).collect();
        Ok(Self { mode: Some(mode), input, parameter, files, contents })
    }

    /// None: there is no such file.
    pub(super) fn content(&self, slot: &str) -> Option<Result<&str, FileTrouble>> {
        self.contents.get(slot).map(|content| content.as_deref().map_err(Clone::clone))
    }
}

fn content(path: &Path) -> Result<String, FileTrouble> {
    let unreadable = |error: io::Error| FileTrouble::Unreadable(error.to_string());
    let mut bytes = Vec::new();
    // One byte more than the limit, so that too large a file is distinguished from one that just fits.
    File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(FileTrouble::TooLarge(FILE_MAX));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
