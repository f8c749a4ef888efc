//! Installs an engine and the Node it needs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use skillrun_base::file_lock::{self, LockState};
use skillrun_base::wait;
use skillrun_base::whole_file;
use skillrun_engine::descriptor::{self, Executable, InstalledProgram, VersionRule};
use skillrun_engine::install::{InstallStep, MARK, Mark, NODE, Programs, package_version, plan};
use skillrun_engine::version::parse_version;
use skillrun_engine::{Descriptor, Disk, EngineProgram, Probe};

use super::error::InstallError;
use super::npm;
use crate::clock::Clock;
use crate::engines::asked;
use skillrun_model::IgnoredError;

/// How often the lock is retried.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// An install to carry out.
pub struct Install<'a> {
    pub engine: &'a Descriptor,
    /// Of the engine.
    pub rule: &'a descriptor::Install,
    /// Instead of the one in the rule.
    pub version: Option<&'a str>,
    /// The folder of private installs.
    pub programs: &'a Path,
    pub environment: &'a [(OsString, OsString)],
    /// Names of variables that are left out of it: packages contain scripts, and the user has not given them a key.
    pub secrets: &'a [String],
    /// For each package, and for the lock.
    pub timeout: Duration,
    pub clock: &'a dyn Clock,
    /// Whether the user has canceled.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Install<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Install").field("engine", &self.engine.name).finish_non_exhaustive()
    }
}

/// Progress reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallProgress<'a> {
    /// Waits for another process that installs.
    Waits,
    Begins {
        what: &'a str,
    },
    GoesOn {
        what: &'a str,
        elapsed: Duration,
    },
    Done {
        what: &'a str,
        elapsed: Duration,
    },
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallOutcome {
    Installed,
    WasThere,
}

impl Install<'_> {
    /// The environment of npm, and of every program that it installs.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_secret = |name: &OsString| self.secrets.iter().any(|secret| name == secret.as_str());
        self.environment.iter().filter(|(name, _)| !is_secret(name)).cloned().collect()
    }

    fn places(&self) -> Programs<'_> {
        Programs { root: self.programs }
    }

    /// When this returns successfully, the engine and its Node are installed.
    pub fn run(&self, tell: &mut dyn FnMut(InstallProgress<'_>)) -> Result<InstallOutcome, InstallError> {
        let steps = plan(self.engine.name.as_str(), self.rule, self.version, self.places());
        if steps.iter().all(|step| self.is_there(step)) {
            return Ok(InstallOutcome::WasThere);
        }
        let npm = npm::find(self.environment).ok_or(InstallError::NoNpm)?;
        fs::create_dir_all(self.programs).map_err(InstallError::file(self.programs, "created"))?;
        let _lock = self.lock(tell)?;
        // The process that had the lock may have installed the same.
        for step in &steps {
            if !self.is_there(step) {
                self.step(step, &npm, tell)?;
            }
        }
        Ok(InstallOutcome::Installed)
    }

    fn is_there(&self, step: &InstallStep) -> bool {
        let folder = self.places().version(&step.name, &step.version);
        folder.join(MARK).is_file() && Disk.is_executable(&folder.join(&step.program))
    }

    fn lock(&self, tell: &mut dyn FnMut(InstallProgress<'_>)) -> Result<File, InstallError> {
        let path = self.places().lock();
        let file = File::create(&path).map_err(InstallError::file(&path, "locked"))?;
        let mut is_told = false;
        let attempt = || match file_lock::try_lock(&file).map_err(InstallError::file(&path, "locked"))? {
            LockState::Held if (self.is_stopped)() => Err(InstallError::Stopped),
            LockState::Held => {
                if !is_told {
                    tell(InstallProgress::Waits);
                    is_told = true;
                }
                Ok(LockState::Held)
            }
            LockState::Acquired => Ok(LockState::Acquired),
        };
        match wait::retry(self.timeout, TRY_AGAIN, attempt, |tried| matches!(tried, Ok(LockState::Held)))? {
            LockState::Acquired => Ok(file),
            LockState::Held => Err(InstallError::Busy(self.timeout)),
        }
    }

    /// One package: installed beside, checked, and moved to its place.
    fn step(
        &self,
        step: &InstallStep,
        npm: &Path,
        tell: &mut dyn FnMut(InstallProgress<'_>),
    ) -> Result<(), InstallError> {
        let places = self.places();
        let what = format!("{}@{}", step.package, step.version);
        let of = places.of(&step.name);
        // No other process installs now, so whatever is there was left behind.
        npm::remove_left(&of);
        let beside = places.beside(&step.name, &step.version, std::process::id());
        fs::create_dir_all(&beside).map_err(InstallError::file(&beside, "created"))?;
        tell(InstallProgress::Begins { what: &what });
        let begun = Instant::now();
        let log = places.log(&step.name, &step.version);
        let made = npm::run(self, step, npm, &beside, &log, tell).and_then(|()| self.finish(step, &what, &beside));
        if let Err(error) = made {
            fs::remove_dir_all(&beside).ignored();
            return Err(error);
        }
        fs::remove_file(&log).ignored();
        tell(InstallProgress::Done { what: &what, elapsed: begun.elapsed() });
        Ok(())
    }

    /// Asks the program that a run would start for its version. A wrapper may exist although the program behind it is
    /// missing.
    fn ask(&self, step: &InstallStep, beside: &Path) -> Result<(), String> {
        let nodes = VersionRule { argv: vec!["--version".to_owned()], after: None, tested: None };
        let (installed, rule) = match (&self.engine.executable, step.name == NODE) {
            (_, true) => (&InstalledProgram::default(), Some(&nodes)),
            (Executable::Installed(installed), false) => (installed, self.engine.version.as_ref()),
            (Executable::Own, false) => return Ok(()),
        };
        let Some(rule) = rule else { return Ok(()) };
        let found = EngineProgram::behind(beside.join(&step.program), installed, &Disk);
        let node = step.node.as_ref().map(|(_, folder)| folder.join("node"));
        let interpreter = node.filter(|_| found.is_script(&Disk));
        let found = EngineProgram { interpreter, ..found };
        let command: Vec<&Path> = found.command().collect();
        let said = asked(&command, &rule.argv, &self.environment(), beside)?;
        match parse_version(&said, rule) {
            Some(_) => Ok(()),
            None => Err(said.lines().find(|line| !line.trim().is_empty()).map_or_else(
                || "it prints nothing".to_owned(),
                |line| format!("it prints: {}", line.trim().chars().take(200).collect::<String>()),
            )),
        }
    }

    fn finish(&self, step: &InstallStep, what: &str, beside: &Path) -> Result<(), InstallError> {
        let manifest = fs::read(beside.join(step.manifest())).ok();
        let got = manifest.and_then(|text| package_version(&text)).unwrap_or_else(|| "something else".to_owned());
        if !step.accepts(&got) {
            return Err(InstallError::OtherVersion { what: what.to_owned(), got });
        }
        if !Disk.is_executable(&beside.join(&step.program)) {
            return Err(InstallError::NoProgram { what: what.to_owned(), program: step.program.clone() });
        }
        self.ask(step, beside).map_err(|why| InstallError::Mute { what: what.to_owned(), why })?;
        let node = step.node.as_ref().map(|(major, _)| *major);
        let pinned = step.lock.is_some();
        let mark = Mark { package: step.package.clone(), version: got, node, at: self.clock.now(), pinned };
        let file = beside.join(MARK);
        let text = serde_json::to_vec(&mark).map_err(|error| InstallError::file(&file, "written")(error.into()))?;
        whole_file::replace(&file, &text).map_err(InstallError::file(&file, "written"))?;
        let folder = self.places().version(&step.name, &step.version);
        // An incomplete folder is in use by no process.
        fs::remove_dir_all(&folder).ignored();
        fs::rename(beside, &folder).map_err(InstallError::file(&folder, "moved to its place"))
    }
}
