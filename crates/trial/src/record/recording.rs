//! Runs an engine in a scenario, and keeps its output.

use std::path::{Path, PathBuf};

use skillrun_model::{RunStatus, Timestamp};
use skillrun_simulate::model::{Choice, Options, Server};

use super::clean::{CleanError, Cleaner, Machine, RunPlace};
use super::{scenario, write};
use crate::drive::{CancelWhen, Conduct, Stop, When};
use crate::lab::{Lab, LabError, ToolWatch};

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Evidence(#[from] skillrun_evidence::EvidenceError),
    #[error("failed to start the scripted model: {0}")]
    Server(std::io::Error),
    #[error("the scenario {0} needs a script and cannot be recorded")]
    NeedsScript(String),
    #[error("{}: {what} ({error})", path.display())]
    File { path: PathBuf, what: &'static str, error: std::io::Error },
    #[error("{}: already exists", .0.display())]
    Exists(PathBuf),
    #[error("{}: has more than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error(transparent)]
    Clean(#[from] CleanError),
    #[error("interrupted before the end")]
    Stopped,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Recorded {
    pub folder: PathBuf,
    pub engine_version: Option<String>,
    /// As the run was left.
    pub status: RunStatus,
    pub attempts: usize,
    /// Names in `.audit`.
    pub files: Vec<String>,
    /// How often something of the machine was replaced.
    pub replaced: usize,
}

/// Runs the engine in a scenario, and writes what it wrote. `now` is the date of the recording.
pub fn record(
    lab: Lab<'_>,
    choice: &Choice,
    to: &Path,
    machine: &Machine,
    now: Timestamp,
    stop: &Stop,
) -> Result<Recorded, RecordingError> {
    let engine = lab.descriptor.name.as_str();
    let how = scenario::how(choice)?;
    let folder = to.join(format!("{engine}-{}", how.name));
    if folder.symlink_metadata().is_ok() {
        return Err(RecordingError::Exists(folder));
    }
    let server = Server::start(Options::default()).map_err(RecordingError::Server)?;
    let watch = ToolWatch::new(&server, &how.path);
    let is_in_tool = || watch.is_in();
    let cancel = match how.is_canceled {
        true => CancelWhen::InTool(When(&is_in_tool)),
        false => CancelWhen::Never,
    };
    let conduct = Conduct { answers: &how.answers, cancel, stop, progress: None };
    let tried = lab.run(&server, &how.path, how.mode, conduct)?;
    if stop.is_set() {
        return Err(RecordingError::Stopped);
    }
    let run = tried.runtime.data().run(tried.ended.run);
    let place = RunPlace { run: &run, run_id: tried.ended.run, scratch: lab.scratch, server: &server.origin() };
    let cleaner = Cleaner::new(machine, &place)?;
    let probe = lab.descriptor.probe.iter().flat_map(|probe| &probe.set);
    let variables: Vec<String> = probe.map(|(name, _)| name.clone()).collect();
    let made = write::recording(&run, &folder, &cleaner, &variables)?;
    let line = write::Readme { name: &format!("{engine}-{}", how.name), engine, version: made.version.as_deref(), now };
    line.add(&to.join("README.md")).inspect_err(|_| write::discard(&folder))?;
    Ok(Recorded {
        folder,
        engine_version: made.version,
        status: tried.ended.status,
        attempts: made.attempts,
        files: made.files,
        replaced: made.replaced,
    })
}
