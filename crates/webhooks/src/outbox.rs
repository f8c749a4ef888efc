//! The files: `<data>/webhooks/<run_id>.json` while messages are pending, `webhooks.json` in the folder of the run
//! afterwards. Each is one record as JSON, written atomically, and on the disk before it is acted upon.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use skillrun_base::file_lock::{self, LockState};
use skillrun_base::files::{self, FileReadError};
use skillrun_base::whole_file;
use skillrun_model::{IgnoredError, RunId};
use skillrun_runs::DataFolder;

use super::record::{FORMAT, Record};
use super::service::WebhookError;

/// Maximum size of a file that is read. A thousand messages with all their bodies, every byte escaped, stay below.
const MAX_BYTES: u64 = 32 << 20;

fn failed(path: &Path) -> impl FnOnce(io::Error) -> WebhookError {
    move |error| WebhookError::Io { path: path.to_owned(), error }
}

#[derive(Debug)]
pub(super) struct Outbox {
    data: DataFolder,
    folder: PathBuf,
}

impl Outbox {
    /// The file is a lock, until it is dropped: two processes that send the webhooks of the same run would overwrite
    /// each other's records.
    pub(super) fn open(data: DataFolder) -> Result<(Self, File), WebhookError> {
        let folder = data.root().join("webhooks");
        files::create_private_folder(&folder).map_err(failed(&folder))?;
        let path = folder.join("lock");
        let lock = file_lock::open(&path).map_err(failed(&path))?;
        match file_lock::try_lock(&lock).map_err(failed(&path))? {
            LockState::Acquired => Ok((Self { data, folder }, lock)),
            LockState::Held => Err(WebhookError::Held { path }),
        }
    }

    fn path(&self, run: RunId) -> PathBuf {
        self.folder.join(format!("{run}.json"))
    }

    fn path_in_run(&self, run: RunId) -> PathBuf {
        self.data.run(run).root().join("webhooks.json")
    }

    /// All unfinished records, and why some could not be read; those are left in place.
    pub(super) fn load_all(&self) -> Result<(Vec<Record>, Vec<WebhookError>), WebhookError> {
        let (mut records, mut errors) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.folder).map_err(failed(&self.folder))? {
            let path = entry.map_err(failed(&self.folder))?.path();
            // Left by a process that died while it wrote; the lock guarantees that no other process writes here.
            if path.extension().is_some_and(|extension| extension == "tmp") {
                fs::remove_file(&path).ignored();
            }
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
            let Some(run) = name.and_then(|name| name.parse::<RunId>().ok()) else { continue };
            match read(&path, run) {
                Ok(record) => records.extend(record),
                Err(error) => errors.push(error),
            }
        }
        Ok((records, errors))
    }

    /// The record of a run, finished or not.
    pub(super) fn load(&self, run: RunId) -> Result<Option<Record>, WebhookError> {
        // In the order in which a record moves, so that it is not missed between the two places.
        match read(&self.path(run), run)? {
            Some(record) => Ok(Some(record)),
            None => read(&self.path_in_run(run), run),
        }
    }

    /// Writes a record; one with nothing left to do goes into the folder of its run, if the run is still there.
    pub(super) fn save(&self, record: &Record) -> Result<(), WebhookError> {
        let run = record.run_id;
        let path = if record.is_done() { self.path_in_run(run) } else { self.path(run) };
        let text = serde_json::to_string(record).map_err(io::Error::from).map_err(failed(&path))?;
        match whole_file::replace(&path, format!("{text}\n").as_bytes()) {
            Err(error) if !(record.is_done() && error.kind() == io::ErrorKind::NotFound) => Err(failed(&path)(error)),
            Ok(()) | Err(_) if record.is_done() => self.remove(run),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn remove(&self, run: RunId) -> Result<(), WebhookError> {
        let path = self.path(run);
        files::remove_if_exists(&path).map_err(failed(&path))
    }

    pub(super) fn has_run(&self, run: RunId) -> bool {
        self.data.run(run).root().exists()
    }
}

fn read(path: &Path, run: RunId) -> Result<Option<Record>, WebhookError> {
    let unreadable = |why: String| WebhookError::Unreadable { path: path.to_owned(), why };
    let bytes = files::if_exists(files::read(path, MAX_BYTES)).map_err(|error| match error {
        FileReadError::Io(error) => failed(path)(error),
        FileReadError::Problem(problem) => unreadable(format!("it {problem}")),
    })?;
    let Some(bytes) = bytes else { return Ok(None) };
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let version: Version = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if version.format > u64::from(FORMAT) {
        return Err(WebhookError::Newer { path: path.to_owned(), found: version.format });
    }
    let record: Record = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if record.run_id != run {
        return Err(unreadable(format!("it is of run {}", record.run_id)));
    }
    Ok(Some(record))
}
