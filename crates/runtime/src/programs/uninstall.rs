//! Removes private installs that no process uses.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_base::files::read;
use skillrun_engine::install::{MARK, Mark, NODE, Programs};
use skillrun_engine::{Disk, Probe};
use skillrun_model::IgnoredError;

use super::error::InstallError;
use super::lock::lock;
use super::npm;

/// How much of a command line is searched; a prompt can be behind the program.
const COMMAND_LINE_MAX: u64 = 64 << 10;
/// Largest `installed.json`.
const MARK_MAX: u64 = 64 << 10;

/// A removal to carry out.
pub struct Uninstall<'a> {
    /// The folder of private installs.
    pub programs: &'a Path,
    /// For the lock.
    pub timeout: Duration,
    /// Whether the user has canceled.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Uninstall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uninstall").field("programs", &self.programs).finish_non_exhaustive()
    }
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uninstalled {
    /// Versions of the engine.
    pub versions: Vec<String>,
    /// Versions of Node that no engine needs any more.
    pub node: Vec<String>,
    /// Versions of the engine that stay, because a process uses them.
    pub used: Vec<UsedVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedVersion {
    pub version: String,
    pub user: ProgramUser,
}

/// A process that was started from an install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramUser {
    pub pid: u32,
}

impl fmt::Display for ProgramUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)
    }
}

/// A version that new processes no longer find.
struct Hidden {
    version: String,
    place: PathBuf,
    hidden: PathBuf,
}

impl Hidden {
    fn restore(&self) -> Result<(), InstallError> {
        fs::rename(&self.hidden, &self.place).map_err(InstallError::file(&self.place, "moved back to its place"))
    }

    fn remove(&self) -> Result<(), InstallError> {
        fs::remove_dir_all(&self.hidden).map_err(InstallError::file(&self.hidden, "removed"))
    }

    /// A process that runs from it: by its program file, or by a word of its command line, which names the script that
    /// an interpreter runs.
    fn user(&self) -> Option<ProgramUser> {
        // The kernel knows the new name of a program file, without links; a command line keeps the old name.
        let real = |path: &PathBuf| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let named = [&self.place, &self.hidden];
        let folders: Vec<PathBuf> = named.into_iter().filter_map(real).chain(named.into_iter().cloned()).collect();
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.find(|pid| *pid != std::process::id() && folders.iter().any(|folder| runs_from(*pid, folder)))
            .map(|pid| ProgramUser { pid })
    }
}

fn runs_from(pid: u32, folder: &Path) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe"));
    if program.is_ok_and(|program| program.starts_with(folder)) {
        return true;
    }
    let mut words = Vec::new();
    let Ok(file) = File::open(format!("/proc/{pid}/cmdline")) else { return false };
    file.take(COMMAND_LINE_MAX).read_to_end(&mut words).ignored();
    words.split(|byte| *byte == 0).any(|word| Path::new(std::ffi::OsStr::from_bytes(word)).starts_with(folder))
}

impl Uninstall<'_> {
    fn places(&self) -> Programs<'_> {
        Programs { root: self.programs }
    }

    /// The versions of an engine, by the name of its folder.
    pub fn versions(&self, name: &str) -> Vec<String> {
        let mut versions = Disk.installed(&self.places().of(name));
        versions.sort();
        versions
    }

    /// Removes all versions, or none: it fails if a process uses one of them.
    pub fn all(&self, name: &str) -> Result<Uninstalled, InstallError> {
        let _lock = self.lock()?;
        let hidden = self.hide(name, |_| true)?;
        let used = hidden.iter().find_map(|version| Some((version, version.user()?)));
        if let Some((version, user)) = used {
            let what = format!("{name} {}", version.version);
            hidden.iter().try_for_each(Hidden::restore)?;
            return Err(InstallError::InUse { what, user });
        }
        hidden.iter().try_for_each(Hidden::remove)?;
        self.remove_rest(name);
        let versions = hidden.into_iter().map(|version| version.version).collect();
        Ok(Uninstalled { versions, node: self.remove_unneeded_node()?, used: Vec::new() })
    }

    /// Removes the versions that are not needed any more, except those that a process uses.
    pub fn some(&self, name: &str, is_unneeded: impl Fn(&str) -> bool) -> Result<Uninstalled, InstallError> {
        let _lock = self.lock()?;
        let (versions, used) = self.remove_unused(name, is_unneeded)?;
        Ok(Uninstalled { versions, node: self.remove_unneeded_node()?, used })
    }

    fn lock(&self) -> Result<File, InstallError> {
        lock(self.places(), self.timeout, self.is_stopped, &mut || {})
    }

    fn remove_unused(
        &self,
        name: &str,
        is_unneeded: impl Fn(&str) -> bool,
    ) -> Result<(Vec<String>, Vec<UsedVersion>), InstallError> {
        let (mut removed, mut used) = (Vec::new(), Vec::new());
        for hidden in self.hide(name, is_unneeded)? {
            match hidden.user() {
                Some(user) => {
                    hidden.restore()?;
                    used.push(UsedVersion { version: hidden.version, user });
                }
                None => {
                    hidden.remove()?;
                    removed.push(hidden.version);
                }
            }
        }
        Ok((removed, used))
    }

    /// Hides versions before their users are searched: a process that is started in between does not find them.
    fn hide(&self, name: &str, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Hidden>, InstallError> {
        let places = self.places();
        // No other process installs now, so whatever is there was left behind.
        npm::remove_left(&places.of(name));
        let mut hidden = Vec::new();
        for version in self.versions(name).into_iter().filter(|version| is_wanted(version)) {
            let place = places.version(name, &version);
            let beside = places.hidden(name, &version, std::process::id());
            fs::rename(&place, &beside).map_err(InstallError::file(&place, "removed"))?;
            hidden.push(Hidden { version, place, hidden: beside });
        }
        Ok(hidden)
    }

    /// Incomplete installs and the output of npm, which are of no use without a version.
    fn remove_rest(&self, name: &str) {
        fs::remove_dir_all(self.places().of(name)).ignored();
    }

    fn remove_unneeded_node(&self) -> Result<Vec<String>, InstallError> {
        let Some(needed) = self.needed_node() else { return Ok(Vec::new()) };
        // A folder may be named after the major version alone.
        let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        let is_unneeded = |version: &str| major(version).is_some_and(|major| !needed.contains(&major));
        let (removed, _) = self.remove_unused(NODE, is_unneeded)?;
        if self.versions(NODE).is_empty() {
            self.remove_rest(NODE);
        }
        Ok(removed)
    }

    /// The major versions of Node that the installed engines were installed with. None: one of them does not say.
    fn needed_node(&self) -> Option<BTreeSet<u32>> {
        let entries = fs::read_dir(self.programs).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut needed = BTreeSet::new();
        for name in names.filter(|name| name != NODE && !name.starts_with('.')) {
            for version in self.versions(&name) {
                let file = self.places().version(&name, &version).join(MARK);
                let text = read(&file, MARK_MAX).ok()?;
                needed.extend(serde_json::from_slice::<Mark>(&text).ok()?.node);
            }
        }
        Some(needed)
    }
}
