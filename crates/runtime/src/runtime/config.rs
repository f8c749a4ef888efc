//! Everything that is passed to the runtime: it reads no environment, no home folder and no settings by itself.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use skillrun_engine::Engines;
use skillrun_log::FileLog;
use skillrun_model::{RunId, Timestamp};
use skillrun_runs::data_folder::DataFolder;
use skillrun_skill::{Layers, SearchPath};

use crate::accept::Options;
use crate::clock::Clock;
use crate::error::RuntimeError;
use crate::run::Tools;
use crate::variables::{OwnerRole, ProcessVariables};

/// What a runtime is made with.
pub struct RuntimeSetup {
    /// For whom runs are owned here.
    pub role: OwnerRole,
    pub data: DataFolder,
    pub clock: Arc<dyn Clock>,
    pub engines: Engines,
    pub layers: Layers,
    /// Where the skills of children are found.
    pub skills: SearchPath,
    /// For options that neither the request nor the skill sets.
    pub defaults: Options,
    /// Engines that the user has agreed to although they are not confined.
    pub consents: Vec<String>,
    pub redact_patterns: Vec<String>,
    pub environment: Vec<(OsString, OsString)>,
    /// This program, for engines that are part of it.
    pub own_program: PathBuf,
    pub cwd: PathBuf,
    pub user_home: PathBuf,
    /// The folder of private installs.
    pub programs: Option<PathBuf>,
    /// Where engines get folders for temporary files.
    pub temporary: PathBuf,
    /// A command that becomes the host of an attempt.
    pub host_command: Box<dyn Fn() -> Command + Send + Sync>,
}

impl fmt::Debug for RuntimeSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeSetup").field("data", &self.data).finish_non_exhaustive()
    }
}

pub struct RuntimeConfig {
    pub(crate) tools: Tools,
    pub(crate) engines: Arc<Engines>,
    pub(crate) layers: Layers,
    pub(crate) skills: SearchPath,
    pub(crate) defaults: Options,
    pub(crate) consents: Vec<String>,
    pub(crate) redact_patterns: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) own_program: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) user_home: PathBuf,
    pub(crate) programs: Option<PathBuf>,
    pub(crate) temporary: PathBuf,
    pub(crate) host_command: Box<dyn Fn() -> Command + Send + Sync>,
}

impl fmt::Debug for RuntimeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeConfig").field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl From<RuntimeSetup> for RuntimeConfig {
    fn from(setup: RuntimeSetup) -> Self {
        let log = Arc::new(FileLog::new(setup.data.runs()));
        let engines = Arc::new(setup.engines);
        let variables = Arc::new(ProcessVariables {
            role: setup.role,
            environment: setup.environment.clone(),
            user_home: setup.user_home.clone(),
        });
        Self {
            tools: Tools {
                data: setup.data,
                engines: engines.clone(),
                log,
                clock: setup.clock,
                counters: Arc::default(),
                variables,
            },
            engines,
            layers: setup.layers,
            skills: setup.skills,
            defaults: setup.defaults,
            consents: setup.consents,
            redact_patterns: setup.redact_patterns,
            environment: setup.environment,
            own_program: setup.own_program,
            cwd: setup.cwd,
            user_home: setup.user_home,
            programs: setup.programs,
            temporary: setup.temporary,
            host_command: setup.host_command,
        }
    }
}

impl RuntimeConfig {
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn new_id(&self, now: Timestamp) -> Result<RunId, RuntimeError> {
        let mut random = [0; 10];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| RuntimeError::file("/dev/urandom", "read")(error.into()))?;
        Ok(RunId::new(now.millis_since(Timestamp::EPOCH).unwrap_or(0), random))
    }
}
