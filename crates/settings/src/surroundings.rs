//! The environment of this process: variables, current folder, home folder, program file. Read once, at the start.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::SettingsError;

const FOLDER: &str = "skillrun";
const FILE: &str = "config.toml";

/// As it was when the program started.
#[derive(Debug, Clone)]
pub struct ProcessContext {
    pub environment: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// The path of this program.
    pub own: PathBuf,
}

impl ProcessContext {
    pub fn read() -> Result<Self, SettingsError> {
        let cwd = std::env::current_dir().map_err(|error| SettingsError::NoCurrentFolder(error.to_string()))?;
        // The program file of this process: its path may name a newer program by now.
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        Ok(Self { environment: std::env::vars_os().collect(), cwd, own })
    }

    /// The value of a variable. An empty variable counts as not set, as everywhere.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let (_, value) = self.environment.iter().find(|(key, _)| key == name)?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// A path, relative to the current folder.
    pub fn absolute_path(&self, path: &Path) -> PathBuf {
        let path = self.cwd.join(path);
        // Takes out `.`; fails for an empty path alone, which this is not.
        std::path::absolute(&path).unwrap_or(path)
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.absolute("HOME")
    }

    pub(super) fn default_config_file(&self) -> Result<PathBuf, SettingsError> {
        let folder = self.folder("XDG_CONFIG_HOME", ".config");
        folder
            .map(|folder| folder.join(FILE))
            .ok_or(SettingsError::NoHome { what: "settings", option: "--config FILE" })
    }

    pub(super) fn default_data_folder(&self) -> Result<PathBuf, SettingsError> {
        self.folder("XDG_DATA_HOME", ".local/share").ok_or(SettingsError::NoHome { what: "runs", option: "--data DIR" })
    }

    fn folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let own = || self.home().map(|home| home.join(in_home));
        self.absolute(variable).map(Path::to_owned).or_else(own).map(|folder| folder.join(FOLDER))
    }

    /// The folder that a variable names. One that is not absolute does not count, as the XDG rules say.
    fn absolute(&self, variable: &str) -> Option<&Path> {
        self.variable(variable).map(Path::new).filter(|path| path.is_absolute())
    }
}
