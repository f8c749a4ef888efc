//! Settings: the one place that reads environment, home folder and configuration file.
//!
//! - [`key`]: the closed list of settings, each written once. `values`: the kinds of values, from and to TOML.
//!   `given`: a value, checked.
//! - `file`: where the file is, and reading it. [`edit`]: changing it. `surroundings`: the environment of the process.
//! - `search`: where skills are searched for. `server`: settings of the server.
//!
//! ```text
//! default ◀ config.toml ◀ environment ◀ option        the last one that sets a value wins
//! ```

pub mod edit;
mod error;
mod file;
mod given;
pub mod key;
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
use skillrun_model::confinement::{BoxChoice, NetworkAccess};
use skillrun_model::limits::ResourceLimits;
use skillrun_runs::DataFolder;
use skillrun_runs::record::{DEFAULT_IDLE_SEC, HomeChoice};
use skillrun_runs::retention::Retention;
use skillrun_runtime::SlotLimits;
use skillrun_skill::{Layers, SkillError};

pub use error::SettingsError;
pub use file::ConfigFile;
pub use server::ServerSettings;
pub use surroundings::ProcessContext;

use key::Key;

const DATA_VARIABLE: &str = "SKILLRUN_DATA";
const PROGRAMS_VARIABLE: &str = "SKILLRUN_PROGRAMS";

/// What the options of a command say about settings.
#[derive(Debug, Clone, Default)]
pub struct SettingOptions {
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--config`.
    pub config: Option<PathBuf>,
}

impl From<&Self> for SettingOptions {
    fn from(options: &Self) -> Self {
        options.clone()
    }
}

/// Every setting, with its default if it is not set.
#[derive(Debug, Clone)]
pub struct Settings {
    pub data: DataFolder,
    /// The engine of a run that names none.
    pub engine: Option<String>,
    /// More folders with skills.
    pub skills: Vec<PathBuf>,
    pub permission: Permission,
    /// Whether processes of runs start in a box.
    pub confinement: BoxChoice,
    /// What the processes of runs in a box reach over the network.
    pub network: NetworkAccess,
    /// What the processes of an attempt may use.
    pub limits: ResourceLimits,
    pub home: HomeChoice,
    pub hard_timeout: Duration,
    pub stall_timeout: Duration,
    pub session_timeout: Duration,
    /// How long a process waits for the next prompt.
    pub idle: Duration,
    pub interactive_require_user_reply: bool,
    pub auto_decision_limit: u32,
    /// An auto run without a done marker fails.
    pub require_marker: bool,
    /// What readers of evidence hide.
    pub redact: Vec<String>,
    /// Engines that nothing holds back, and the user knows.
    pub consent: Vec<String>,
    pub slots: SlotLimits,
    pub retention: Retention,
    pub server: ServerSettings,
    /// Descriptors of the operator; see [`Settings::engines`].
    engines_folder: Option<PathBuf>,
    /// Private installs of engines; none where there is no home folder.
    pub programs: Option<PathBuf>,
    /// Layers of the operator; see [`Settings::layers`].
    layers_folder: Option<PathBuf>,
    pub file: ConfigFile,
    pub surroundings: ProcessContext,
    /// Without those that have their default.
    sources: BTreeMap<Key, SettingSource>,
}

/// Who said what a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    Default,
    /// [`Settings::file`].
    File,
    /// A variable of this name.
    Environment(&'static str),
    /// An option of this name.
    Option(&'static str),
}

impl Settings {
    pub fn load(options: impl Into<SettingOptions>) -> Result<Self, SettingsError> {
        Self::load_in(options, ProcessContext::read()?)
    }

    pub fn load_in(options: impl Into<SettingOptions>, surroundings: ProcessContext) -> Result<Self, SettingsError> {
        let options = options.into();
        let file = ConfigFile::locate(&options, &surroundings)?;
        let text = file.text()?;
        Self::with_text(&options, surroundings, file, &text)
    }

    /// As if `text` stood in the file.
    fn with_text(
        options: &SettingOptions,
        surroundings: ProcessContext,
        file: ConfigFile,
        text: &str,
    ) -> Result<Self, SettingsError> {
        let option = options.data.as_deref().map(|path| (path.to_owned(), SettingSource::Option("--data")));
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
            confinement: BoxChoice::On,
            network: NetworkAccess::Open,
            limits: ResourceLimits::default(),
            home: HomeChoice::Run,
            hard_timeout: Duration::from_secs(3600),
            stall_timeout: Duration::from_secs(600),
            session_timeout: options.session_timeout,
            idle: Duration::from_secs_f64(DEFAULT_IDLE_SEC),
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

    pub fn source(&self, key: Key) -> SettingSource {
        self.sources.get(&key).copied().unwrap_or(SettingSource::Default)
    }

    pub fn engines(&self) -> Engines {
        Engines::load(self.engines_folder.as_deref())
    }

    /// The rules that are added to skills.
    pub fn layers(&self) -> Result<Layers, SkillError> {
        self.layers_folder.as_deref().map_or_else(|| Ok(Layers::shipped()), Layers::load)
    }

    /// What finding the program of an engine needs to know.
    pub fn engine_surroundings(&self, engine: &Descriptor) -> skillrun_engine::FindContext<'_> {
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

    pub fn cwd(&self) -> &Path {
        &self.surroundings.cwd
    }
}
