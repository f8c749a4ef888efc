//! Installs an engine and the Node it needs.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use skillrun_base::whole_file;
use skillrun_engine::descriptor::{self, Executable, InstalledProgram, VersionRule};
use skillrun_engine::install::{InstallStep, MARK, Mark, NODE, Programs, package_version, plan};
use skillrun_engine::version::parse_version;
use skillrun_engine::{Descriptor, Disk, EngineProgram, Probe};

use super::error::InstallError;
use super::lock::lock;
use super::npm;
use crate::clock::Clock;
use crate::engines::asked;
use skillrun_model::IgnoredError;

/// Variables that lead to files of the user. npm and what it installs get a HOME that is removed afterwards.
const USER_FOLDERS: [&str; 5] = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
/// Names npm's settings of the user, in capitals or not.
const NPM_SETTINGS: &str = "npm_config_userconfig";

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
    /// The environment of npm, and of every program that it installs. npm still reads the registry and the proxy from
    /// the user's settings.
    pub(super) fn environment(&self, home: &Path) -> Vec<(OsString, OsString)> {
        let is_secret = |name: &OsString| self.secrets.iter().any(|secret| name == secret.as_str());
        let is_folder = |name: &OsString| USER_FOLDERS.iter().any(|folder| name == folder);
        let kept = self.environment.iter().filter(|(name, _)| !is_secret(name) && !is_folder(name));
        let mut environment: Vec<_> = kept.cloned().collect();
        let users = self.environment.iter().find(|(name, value)| name == "HOME" && !value.is_empty());
        if let Some((_, users)) = users
            && !environment.iter().any(|(name, _)| name.eq_ignore_ascii_case(NPM_SETTINGS))
        {
            environment.push((NPM_SETTINGS.into(), Path::new(users).join(".npmrc").into()));
        }
        environment.push(("HOME".into(), home.into()));
        environment
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
        let npm = npm::find("npm", self.environment).ok_or(InstallError::NoNpm)?;
        fs::create_dir_all(self.programs).map_err(InstallError::file(self.programs, "created"))?;
        let _lock = lock(self.places(), self.timeout, self.is_stopped, &mut || tell(InstallProgress::Waits))?;
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
        let home = places.npm_home(&step.name, &step.version, std::process::id());
        for folder in [&beside, &home] {
            fs::create_dir_all(folder).map_err(InstallError::file(folder, "created"))?;
        }
        tell(InstallProgress::Begins { what: &what });
        let begun = Instant::now();
        let log = places.log(&step.name, &step.version);
        let files = npm::Files { into: &beside, home: &home, log: &log };
        let made = npm::run(self, step, npm, files, tell).and_then(|()| self.finish(step, &what, &beside, &home));
        fs::remove_dir_all(&home).ignored();
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
    fn ask(&self, step: &InstallStep, beside: &Path, home: &Path) -> Result<(), String> {
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
        let said = asked(&command, &rule.argv, &self.environment(home), beside)?;
        match parse_version(&said, rule) {
            Some(_) => Ok(()),
            None => Err(said.lines().find(|line| !line.trim().is_empty()).map_or_else(
                || "it prints nothing".to_owned(),
                |line| format!("it prints: {}", line.trim().chars().take(200).collect::<String>()),
            )),
        }
    }

    fn finish(&self, step: &InstallStep, what: &str, beside: &Path, home: &Path) -> Result<(), InstallError> {
        let manifest = fs::read(beside.join(step.manifest())).ok();
        let got = manifest.and_then(|text| package_version(&text)).unwrap_or_else(|| "something else".to_owned());
        if !step.accepts(&got) {
            return Err(InstallError::OtherVersion { what: what.to_owned(), got });
        }
        if !Disk.is_executable(&beside.join(&step.program)) {
            return Err(InstallError::NoProgram { what: what.to_owned(), program: step.program.clone() });
        }
        self.ask(step, beside, home).map_err(|why| InstallError::Mute { what: what.to_owned(), why })?;
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
