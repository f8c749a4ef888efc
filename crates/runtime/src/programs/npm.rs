//! Runs npm, with its output in a file, and terminates it with all its child processes at the timeout or when the user
//! cancels.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use skillrun_engine::Probe;
use skillrun_engine::install::InstallStep;

use super::error::InstallError;
use super::install::{Install, InstallProgress};
use skillrun_model::IgnoredError;

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// A program in PATH.
pub(super) fn find(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, path) = environment.iter().find(|(name, _)| name == "PATH")?;
    let folders = path.as_bytes().split(|byte| *byte == b':').filter(|folder| !folder.is_empty());
    let mut programs = folders.map(|folder| Path::new(OsStr::from_bytes(folder)).join(name));
    programs.find(|program| program.is_absolute() && skillrun_engine::Disk.is_executable(program))
}

/// The files of one call of npm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    /// The folder that npm installs into.
    pub(super) into: &'a Path,
    /// HOME of npm, with its cache; removed by the caller.
    pub(super) home: &'a Path,
    /// What npm prints.
    pub(super) log: &'a Path,
}

/// Installs one package into a folder.
pub(super) fn run(
    request: &Install<'_>,
    step: &InstallStep,
    npm: &Path,
    Files { into, home, log }: Files<'_>,
    tell: &mut dyn FnMut(InstallProgress<'_>),
) -> Result<(), InstallError> {
    let what = format!("{}@{}", step.package, step.version);
    if let Some(lock) = &step.lock {
        for (name, text) in [("package.json", lock.manifest().as_str()), ("package-lock.json", lock.text)] {
            let file = into.join(name);
            fs::write(&file, text).map_err(InstallError::file(&file, "written"))?;
        }
    }
    let output = File::create(log).map_err(InstallError::file(log, "written"))?;
    let errors = output.try_clone().map_err(InstallError::file(log, "written"))?;
    let mut command = Command::new(npm);
    command.args(step.words(into, &home.join("cache"))).env_clear().envs(request.environment(home));
    if let Some((_, folder)) = &step.node {
        // For npm and the scripts of the package; no other process sees it.
        command.env("PATH", first_in_path(folder, request.environment));
    }
    command.current_dir(into).stdin(Stdio::null()).stdout(output).stderr(errors);
    // A separate process group, so that it can be terminated with the processes it started.
    let started = command.process_group(0).spawn();
    let begun = Instant::now();
    let failed = |why: String| InstallError::Failed { what: what.clone(), why, log: log.to_owned() };
    let mut child = started.map_err(|error| failed(format!("it cannot be started: {error}")))?;
    let mut told = begun;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(status.to_string())),
            Ok(None) if (request.is_stopped)() => {
                end(&mut child);
                return Err(InstallError::Stopped);
            }
            Ok(None) if begun.elapsed() >= request.timeout => {
                end(&mut child);
                return Err(InstallError::TooSlow { what, limit: request.timeout, log: log.to_owned() });
            }
            Ok(None) => {}
            Err(error) => {
                end(&mut child);
                return Err(failed(error.to_string()));
            }
        }
        if told.elapsed() >= PROGRESS_INTERVAL {
            told = Instant::now();
            tell(InstallProgress::GoesOn { what: &what, elapsed: begun.elapsed() });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn first_in_path(folder: &Path, environment: &[(OsString, OsString)]) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some((_, rest)) = environment.iter().find(|(name, _)| name == "PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Terminates a process with its group, and reaps it.
pub(super) fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.kill().ignored();
    child.wait().ignored();
}

/// Removes what an interrupted install has left.
pub(super) fn remove_left(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_left = |name: &OsStr| name.as_bytes().starts_with(b".") && name.as_bytes().ends_with(b".new");
    for entry in entries.flatten().filter(|entry| is_left(&entry.file_name())) {
        fs::remove_dir_all(entry.path()).ignored();
    }
}
