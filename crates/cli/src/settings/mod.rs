//! Settings: the one place that reads environment, home folder and configuration file.
//!
//! - [`key`]: the closed list of settings. `values`: each of them from and to TOML. `given`: a value, checked.
//! - `file`: where the file is, and reading it. [`edit`]: changing it. `surroundings`: the environment of the process.
//! - `search`: where skills are searched for. `server`: settings of the server.
//!
//! ```text
//! default ◀ config.toml ◀ environment ◀ option        the last one that sets a value wins
//! ```

pub(crate) mod edit;
mod error;
mod file;
mod given;
pub(crate) mod key;
mod search;
mod server;
mod surroundings;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_engine::{Descriptor, Engines, Permission};
use skillrun_lifecycle::run::RunOptions;
use skillrun_runtime::record::HomeChoice;
use skillrun_runtime::{DataFolder, Retention, SlotLimits};
use skillrun_skill::{Layers, SkillError};

pub(crate) use error::SettingsError;
pub(crate) use file::ConfigFile;
pub(crate) use server::ServerSettings;
pub(crate) use surroundings::ProcessContext;

use crate::args::Global;
use key::Key;

const DATA_VARIABLE: &str = "SKILLRUN_DATA";
const PROGRAMS_VARIABLE: &str = "SKILLRUN_PROGRAMS";

/// Every setting, with its default if it is not set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) data: DataFolder,
    /// The engine of a run that names none.
    pub(crate) engine: Option<String>,
    /// More folders with skills.
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) permission: Permission,
    pub(crate) home: HomeChoice,
    pub(crate) hard_timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) session_timeout: Duration,
    pub(crate) interactive_require_user_reply: bool,
    pub(crate) auto_decision_limit: u32,
    /// An auto run without a done marker fails.
    pub(crate) require_marker: bool,
    /// What readers of evidence hide.
    pub(crate) redact: Vec<String>,
    /// Engines that nothing holds back, and the user knows.
    pub(crate) consent: Vec<String>,
    pub(crate) slots: SlotLimits,
    pub(crate) retention: Retention,
    pub(crate) server: ServerSettings,
    /// Descriptors of the operator; see [`Settings::engines`].
    engines_folder: Option<PathBuf>,
    /// Private installs of engines; none where there is no home folder.
    pub(crate) programs: Option<PathBuf>,
    /// Layers of the operator; see [`Settings::layers`].
    layers_folder: Option<PathBuf>,
    pub(crate) file: ConfigFile,
    pub(crate) surroundings: ProcessContext,
    /// Without those that have their default.
    sources: BTreeMap<Key, SettingSource>,
}

/// Who said what a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingSource {
    Default,
    /// [`Settings::file`].
    File,
    /// A variable of this name.
    Environment(&'static str),
    /// An option of this name.
    Option(&'static str),
}

impl Settings {
    pub(crate) fn load(global: &Global) -> Result<Self, SettingsError> {
        Self::load_in(global, ProcessContext::read()?)
    }

    pub(crate) fn load_in(global: &Global, surroundings: ProcessContext) -> Result<Self, SettingsError> {
        let file = ConfigFile::locate(global, &surroundings)?;
        let text = file.text()?;
        Self::with_text(global, surroundings, file, &text)
    }

    /// As if `text` stood in the file.
    fn with_text(
        global: &Global,
        surroundings: ProcessContext,
        file: ConfigFile,
        text: &str,
    ) -> Result<Self, SettingsError> {
        let option = global.data.as_deref().map(|path| (path.to_owned(), SettingSource::Option("--data")));
        let variable = surroundings.variable(DATA_VARIABLE);
        let variable = variable.map(|path| (PathBuf::from(path), SettingSource::Environment(DATA_VARIABLE)));
        let said = option.or(variable).map(|(path, source)| (surroundings.absolute_path(&path), source));
        let default = surroundings.default_data_folder();
        let programs = surroundings.variable(PROGRAMS_VARIABLE).map(|path| surroundings.absolute_path(path.as_ref()));
        let mut settings = Self::defaults(surroundings, file);
        settings.programs = default.as_ref().ok().map(|folder| folder.join("programs"));
        settings.read(text)?;
        if let Some(path) = programs {
            settings.programs = Some(path);
            settings.sources.insert(Key::Programs, SettingSource::Environment(PROGRAMS_VARIABLE));
        }
        if let Some((path, source)) = said {
            settings.data = DataFolder::new(path);
            settings.sources.insert(Key::Data, source);
        } else if settings.source(Key::Data) == SettingSource::Default {
            settings.data = DataFolder::new(default?);
        }
        Ok(settings)
    }

    /// The data folder is filled in by the caller, because it may be that there is none.
    fn defaults(surroundings: ProcessContext, file: ConfigFile) -> Self {
        let options = RunOptions::default();
        Self {
            data: DataFolder::new(PathBuf::new()),
            engine: None,
            skills: Vec::new(),
            permission: Permission::Workspace,
            home: HomeChoice::Run,
            hard_timeout: Duration::from_secs(3600),
            stall_timeout: Duration::from_secs(600),
            session_timeout: options.session_timeout,
            interactive_require_user_reply: options.require_user_reply,
            auto_decision_limit: options.auto_decision_limit,
            require_marker: false,
            redact: Vec::new(),
            consent: Vec::new(),
            slots: SlotLimits::default(),
            retention: Retention::default(),
            server: ServerSettings::default(),
            engines_folder: None,
            programs: None,
            layers_folder: None,
            file,
            surroundings,
            sources: BTreeMap::new(),
        }
    }

    pub(crate) fn source(&self, key: Key) -> SettingSource {
        self.sources.get(&key).copied().unwrap_or(SettingSource::Default)
    }

    pub(crate) fn engines(&self) -> Engines {
        Engines::load(self.engines_folder.as_deref())
    }

    /// The rules that are added to skills.
    pub(crate) fn layers(&self) -> Result<Layers, SkillError> {
        self.layers_folder.as_deref().map_or_else(|| Ok(Layers::shipped()), Layers::load)
    }

    /// What finding the program of an engine needs to know.
    pub(crate) fn engine_surroundings(&self, engine: &Descriptor) -> skillrun_engine::FindContext<'_> {
        let around = &self.surroundings;
        skillrun_engine::FindContext {
            own: &around.own,
            cwd: &around.cwd,
            path: around.variable("PATH"),
            user_home: around.home(),
            variable: engine.executable.variable().and_then(|name| around.variable(name)),
            programs: self.programs.as_deref(),
        }
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.surroundings.cwd
    }
}
