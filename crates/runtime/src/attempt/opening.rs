//! `inputs/opening.N.json`: what an agent's process is started for. Every owner drives it from the same file.

use std::fs;
use std::io;
use std::path::PathBuf;

use skillrun_base::whole_file;
use skillrun_engine::acp::{Driver, Loads, Opening};
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Folder, Stream};
use skillrun_lifecycle::run::SessionLeft;
use skillrun_model::{AttemptNumber, ProfileId};
use skillrun_runs::data_folder::RunFolder;

use crate::error::RuntimeError;
use crate::run::Run;

pub(crate) fn write(folder: &RunFolder, opening: &Opening) -> io::Result<()> {
    whole_file::replace(&path(folder, opening.attempt), opening.to_json().as_bytes())
}

fn path(folder: &RunFolder, attempt: AttemptNumber) -> PathBuf {
    folder.inputs().join(Opening::file_name(attempt))
}

/// Whether the prompt of an attempt is sent at the start of its process, and not as an answer to a running one.
pub(crate) fn is_there(folder: &RunFolder, attempt: AttemptNumber) -> bool {
    path(folder, attempt).exists()
}

fn read(folder: &RunFolder, attempt: AttemptNumber) -> io::Result<Option<Opening>> {
    match fs::read(path(folder, attempt)) {
        Ok(text) => Ok(Some(Opening::from_json(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The driver that sends messages to an agent; none for engines that are started with arguments.
pub(crate) fn driver(run: &Run, attempt: AttemptNumber) -> Result<Option<Driver>, RuntimeError> {
    if run.record.engine.profile != ProfileId::AcpJsonrpc {
        return Ok(None);
    }
    let opening = read(&run.folder, attempt).map_err(RuntimeError::file(path(&run.folder, attempt), "read"))?;
    Ok(Some(opening.map_or_else(|| Driver::living(attempt), Driver::new)))
}

/// Whether the session of a process that is gone can be loaded: the agent reported it when it started, and that is
/// recorded.
pub(crate) fn session_left(run: &Run) -> SessionLeft {
    let loads = (1..=run.state.attempt.0).rev().map(AttemptNumber).find_map(|attempt| {
        let opening = read(&run.folder, attempt).ok()??;
        Some(loads(run, opening))
    });
    match (loads.flatten(), &run.state.session_id) {
        (Some(Loads::Resume | Loads::Load), Some(_)) => SessionLeft::Loadable,
        (Some(Loads::Not) | None, _) | (_, None) => SessionLeft::Lost,
    }
}

fn loads(run: &Run, opening: Opening) -> Option<Loads> {
    let attempt = opening.attempt;
    let mut driver = Driver::new(opening);
    let mut feed = Folder::open(&run.folder.audit()).and_then(|folder| folder.attempt(attempt)?.feed()).ok()?;
    while let Some(step) = feed.next_step().ok()? {
        if let StepKind::Bytes { stream: Stream::Stdout, bytes } = step.kind {
            driver.push(bytes);
        }
        if driver.loads().is_some() {
            break;
        }
    }
    driver.loads()
}
