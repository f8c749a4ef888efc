//! `host.N.json`: what the host observed of an attempt, written once, at the end, after the evidence is on the disk;
//! and `meta.N.json`, the view of it that all other readers use.
//!
//! The meta file is written when the process starts, so that a host that dies leaves the beginning, and again at the
//! end. The process that settles the attempt writes it a third time, with the verdict in it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_model::limits::LimitReached;
use skillrun_model::{AttemptNumber, Code, EndedBy, ExecutionMode, ProfileId, RunId, StdinKind, Timestamp, Wiring};

use crate::names;
use crate::os_text::OsText;

/// Version of `host.N.json`.
pub const FORMAT: u32 = 1;

/// One attempt, as its host observed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    pub format: u32,
    pub run_id: RunId,
    pub attempt_number: AttemptNumber,
    #[serde(flatten)]
    pub label: Label,
    pub wiring: Wiring,
    pub stdin: StdinKind,
    pub argv: Vec<OsText>,
    pub cwd: OsText,
    /// Names only; the values may be secrets.
    pub env_names: Vec<OsText>,
    pub secret_names: Vec<OsText>,
    pub host_pid: u32,
    pub pid: Option<u32>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub ended_by: Option<EndedBy>,
    /// The deadline at which the host ended the process, if it did so at one. Records of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// The limit of memory, processes, processor time or disk that the processes have reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// Why it did not start, or what went wrong in the host.
    pub error: Option<HostError>,
    /// Processes that outlived the main one and were ended, the first thousand.
    pub survivors: Vec<Survivor>,
    pub survivors_total: u64,
    pub rusage: Option<Rusage>,
    pub bytes: Bytes,
    /// BLAKE3 of each evidence file, by file name.
    pub hashes: BTreeMap<String, String>,
    pub capture: Capture,
    pub warnings: Vec<Warning>,
    pub fs_diff: Option<FsCounts>,
    /// What the processes of a box asked for over the network and did not get. Records without a box, or with an open
    /// network, do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<RefusalList>,
    /// The process continues in the next attempt; there is no exit.
    pub process_continues: bool,
}

/// What the caller states about the engine; the host only passes it on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    pub profile: Option<ProfileId>,
    pub execution_mode: Option<ExecutionMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostError {
    pub code: Code,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub pid: u32,
    pub name: String,
}

/// Times and memory of the process and of every process that it started and waited for, or left to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rusage {
    pub user_us: u64,
    pub system_us: u64,
    /// Of the largest process.
    pub max_rss_kib: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    pub stdout: u64,
    pub stderr: u64,
    pub pty: u64,
    pub stdin: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    pub reads: u64,
    pub batches: u64,
    pub drain: Drain,
    /// Bytes that came after the budget was used up, or that a full disk did not take.
    pub discarded: u64,
}

/// Output that arrived after the main process had ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    pub bytes: u64,
    pub ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: Code,
    pub message: String,
}

/// Everything that was refused in an attempt, the first hundred different ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalList {
    pub refused: Vec<Refusal>,
    /// How many others there were.
    pub others: u64,
}

/// A host that was asked for over the network, and refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub host: String,
    /// None: only the name was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    pub times: u64,
}

/// How it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Its address.
    Name,
    /// A connection through the proxy.
    Proxy,
    /// A connection.
    Tcp,
    /// A datagram.
    Udp,
}

/// How many files an attempt changed; `fs-diff.N.json` lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsCounts {
    pub created: u64,
    pub modified: u64,
    pub deleted: u64,
}

/// `meta.N.json` before the attempt is settled.
#[derive(Serialize)]
struct MetaFile<'a> {
    #[serde(flatten)]
    host: &'a HostRecord,
    parse: Option<Value>,
    completion: Option<Value>,
    turn_state: Option<Value>,
    session_id: Option<Value>,
}

impl HostRecord {
    /// Writes `meta.N.json`.
    pub fn write_meta(&self, audit: &Path) -> io::Result<()> {
        let file = MetaFile { host: self, parse: None, completion: None, turn_state: None, session_id: None };
        whole_file::replace_with(&audit.join(names::meta(self.attempt_number)), &json(&file)?, SyncLevel::Nothing)
    }

    /// Writes `host.N.json`; from then on the attempt is over.
    pub fn write(&self, audit: &Path) -> io::Result<()> {
        whole_file::replace(&audit.join(names::host(self.attempt_number)), &json(self)?)
    }

    /// The record of an attempt; none if there is none yet.
    pub fn read(audit: &Path, number: AttemptNumber) -> io::Result<Option<Self>> {
        match fs::read(audit.join(names::host(number))) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Notes in `meta.N.json` that the host is gone and left no record, and which processes were ended on its behalf.
/// Returns all processes that were ever ended, because another process may have noted some before.
pub fn write_lost_meta(audit: &Path, number: AttemptNumber, survivors: &[Survivor]) -> io::Result<Vec<Survivor>> {
    let path = audit.join(names::meta(number));
    let mut meta = match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => serde_json::Map::new(),
        Err(error) => return Err(error),
    };
    meta.insert("attempt_number".to_owned(), serde_json::to_value(number)?);
    meta.insert("ended_by".to_owned(), serde_json::to_value(EndedBy::HostLost)?);
    let known = meta.get("survivors").cloned().unwrap_or_default();
    let mut all: Vec<Survivor> = serde_json::from_value(known).unwrap_or_default();
    for survivor in survivors {
        if !all.contains(survivor) {
            all.push(survivor.clone());
        }
    }
    meta.insert("survivors".to_owned(), serde_json::to_value(&all)?);
    meta.insert("survivors_total".to_owned(), all.len().into());
    whole_file::replace_with(&path, &json(&meta)?, SyncLevel::Nothing)?;
    Ok(all)
}

fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
