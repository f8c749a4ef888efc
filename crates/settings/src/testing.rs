//! Settings in a folder of their own, for tests.

use std::fs;
use std::path::Path;

use super::{ProcessContext, SettingOptions, Settings, SettingsError};

/// A user whose home is `home/` in a folder and whose file is `config.toml` there.
pub(crate) fn settings(folder: &Path, config: &str) -> Result<Settings, SettingsError> {
    fs::write(folder.join("config.toml"), config).unwrap();
    Settings::load_in(global(folder), surroundings(folder, &[]))
}

pub(crate) fn global(folder: &Path) -> SettingOptions {
    SettingOptions { config: Some(folder.join("config.toml")), ..SettingOptions::default() }
}

pub(crate) fn surroundings(folder: &Path, more: &[(&str, &str)]) -> ProcessContext {
    let home = ("HOME".into(), folder.join("home").into_os_string());
    let more = more.iter().map(|(name, value)| (name.into(), value.into()));
    let environment = std::iter::once(home).chain(more).collect();
    ProcessContext { environment, cwd: folder.join("cwd"), own: "/skillrun".into() }
}
