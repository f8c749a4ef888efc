//! A run as one zip file, to be passed on.
//!
//! ```text
//! result.json               as it stands in the run
//! workspace/<path>          artifacts, named as `result.json` names them
//! MANIFEST.json             what is in here, with blake3 hashes; what was left out, and why
//!
//! and in a full one:
//! run.json                  with its secrets masked
//! events.jsonl  fcmp.jsonl  parser_diagnostics.jsonl     the second is made on export if it is not stored
//! stdout.txt  stderr.txt    what the engine wrote, all attempts joined; made on export
//! .audit/                   evidence; streams through the mask, so that every range stays true and no secret leaves
//! ```
//!
//! The input of an engine (`stdin.N.log`) has no mask and is not included. The same run gives the same bytes: entries
//! have a fixed order and no time. No link is followed, so only files of the run and its workspace get in.
//!
//! - `pack`: entries, hashes, the manifest. `evidence`: which files of `.audit` are included, and how.

mod evidence;
mod pack;
#[cfg(test)]
mod tests;

use std::io::{self, Seek, Write};
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use skillrun_evidence::EvidenceError;
use skillrun_log::{EventLog, FileLog, LogError};
use skillrun_model::RunId;
use skillrun_model::rasp::LogHead;
use skillrun_runs::artifacts::{Root, is_hard_link};
use skillrun_runs::conversation::{ConversationItem, ConversationRead, ConversationReader};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::hidden::Hidden;
use skillrun_runs::result::{self, RunResult};
use zip::result::ZipError;

use pack::Packer;

/// Version of `MANIFEST.json`.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleKind {
    /// The result and the artifacts.
    Result,
    /// Also the Log, its views, and the evidence.
    Full,
}

/// What goes into a bundle.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'a> {
    Result,
    /// With the parts of the request that are hidden.
    Full(&'a Hidden),
}

/// What is in the bundle; it is written as `MANIFEST.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BundleSummary")]
pub struct Summary {
    pub format: u32,
    pub kind: BundleKind,
    pub files: Vec<Packed>,
    /// Artifacts that have changed since the run made them; they are left out.
    pub changed: Vec<String>,
    pub left_out: Vec<LeftOut>,
    /// The last event of the Log and the hash of its line. Absent where an older version wrote the Log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_head: Option<LogHead>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BundleFile")]
pub struct Packed {
    pub name: String,
    pub size: u64,
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BundleLeftOut")]
pub struct LeftOut {
    pub name: String,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("the run has no result yet; wait for its end, or export all of it")]
    NoResult,
    #[error("{name}: {error}")]
    Read { name: String, error: io::Error },
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the bundle cannot be written ({0})")]
    Write(#[from] io::Error),
    #[error("the bundle cannot be written ({0})")]
    Zip(#[from] ZipError),
}

/// Writes the bundle of a run.
pub fn write(run: &RunFolder, contents: Contents<'_>, out: &mut (impl Write + Seek)) -> Result<Summary, BundleError> {
    let failed = |name: &str| {
        let name = name.to_owned();
        move |error: io::Error| BundleError::Read { name, error }
    };
    let root = Root::open(run.root()).map_err(failed("the folder of the run"))?;
    let result = result::read(run).map_err(failed("result.json"))?;
    let kind = match contents {
        Contents::Result => BundleKind::Result,
        Contents::Full(_) => BundleKind::Full,
    };
    let mut packer = Packer::new(kind, log_head(run), out);
    match contents {
        Contents::Result if result.is_none() => return Err(BundleError::NoResult),
        Contents::Result => packer.file_if_there(&root, "result.json")?,
        Contents::Full(hidden) => {
            packer.file_if_there(&root, "result.json")?;
            request(run, hidden, &mut packer)?;
            packer.file_if_there(&root, "events.jsonl")?;
            if run.fcmp().exists() || run.stores_conversation() {
                packer.file_if_there(&root, "fcmp.jsonl")?;
            } else {
                conversation(run, &mut packer)?;
            }
            packer.file_if_there(&root, "parser_diagnostics.jsonl")?;
        }
    }
    if let Some(result) = &result {
        artifacts(run, result, &mut packer)?;
    }
    match contents {
        Contents::Result => {}
        Contents::Full(_) => evidence::pack(run, &root, &mut packer)?,
    }
    packer.finish()
}

/// How far the Log has come. A folder without a readable Log has no head, and is packed as it is.
fn log_head(run: &RunFolder) -> Option<LogHead> {
    let (log, id) = log_of(run)?;
    log.chain_head(id).ok()?
}

fn log_of(run: &RunFolder) -> Option<(FileLog, RunId)> {
    let id = run.root().file_name()?.to_str()?.parse().ok()?;
    Some((FileLog::new(run.root().parent()?), id))
}

/// A conversation that is too large to be stored, translated from the Log.
fn conversation<W: Write + Seek>(run: &RunFolder, packer: &mut Packer<'_, W>) -> Result<(), BundleError> {
    let Some((log, id)) = log_of(run) else { return Ok(()) };
    // Longer than the lines of the Log, but not twice as long.
    let most = std::fs::metadata(run.events()).map_or(0, |log| log.len().saturating_mul(2));
    packer.entry("fcmp.jsonl", most, |entry| {
        let mut reader = ConversationReader::default();
        let mut each = |item: ConversationItem<'_>| match item {
            ConversationItem::Said(event) => entry.write((event.to_json() + "\n").as_bytes()),
            ConversationItem::Event(_) => Ok(()),
        };
        loop {
            match reader.page(&log, id, &mut each) {
                Ok(ConversationRead::Page { .. }) => {}
                // A damaged Log is packed as it is, and its conversation ends there.
                Ok(ConversationRead::End | ConversationRead::Reset) | Err(BundleError::Log(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    })
}

/// `run.json`, as it may be shown: users put secrets into inputs.
fn request<W: Write + Seek>(run: &RunFolder, hidden: &Hidden, packer: &mut Packer<'_, W>) -> Result<(), BundleError> {
    let name = "run.json";
    let read = std::fs::read(run.record()).map_err(|error| error.to_string());
    let record = read.and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).map_err(|e| e.to_string()));
    match record.map(|record| Value::Object(hidden.object(&record)).to_string() + "\n") {
        Ok(text) => packer.entry(name, text.len() as u64, |entry| entry.write(text.as_bytes())),
        Err(why) => {
            packer.leave_out(name, &format!("it cannot be read ({why})"));
            Ok(())
        }
    }
}

fn artifacts<W: Write + Seek>(
    run: &RunFolder,
    result: &RunResult,
    packer: &mut Packer<'_, W>,
) -> Result<(), BundleError> {
    let workspace = Root::open(&run.workspace());
    for artifact in &result.artifacts {
        let name = format!("workspace/{}", artifact.path);
        if !stays_inside(&artifact.path) {
            packer.leave_out(&name, "its path is not safe in an archive");
            continue;
        }
        let opened = match &workspace {
            Ok(workspace) => workspace.artifact(Path::new(&artifact.path)),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        match opened {
            Ok(file) => packer.artifact(&name, file, &artifact.hash)?,
            Err(error) if is_hard_link(&error) => packer.leave_out(&name, "it is a hard link"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => packer.leave_out(&name, "it no longer exists"),
            Err(error) => packer.leave_out(&name, &format!("it cannot be read ({error})")),
        }
    }
    Ok(())
}

/// Whether a path means the same everywhere: below the folder it is unpacked into. A backslash or a drive is harmless
/// here but may not be on the machine where it is unpacked.
fn stays_inside(path: &str) -> bool {
    let is_plain = !path.is_empty() && !path.chars().any(|c| c == '\\' || c == ':' || c.is_control());
    let mut parts = Path::new(path).components();
    is_plain && !path.contains("//") && parts.all(|part| matches!(part, Component::Normal(_)))
}
