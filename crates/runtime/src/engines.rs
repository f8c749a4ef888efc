//! The known engines, which are installed, and how far each can be trusted.
//!
//! [`State`] is an engine and what was found of it, for further processing; [`Engine`] and [`EngineDetails`] are the
//! same as data. `probe` asks programs for their versions.

mod probe;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_engine::descriptor::{DescriptorOrigin, Executable, Login};
use skillrun_engine::{Descriptor, Disk, EngineProgram, Engines, FindError, LoginFound, Permission, Posture, find};
use skillrun_model::profile::EngineVersion;
use skillrun_model::status::Continuation;
use skillrun_model::{ProfileId, Wiring};
use skillrun_runs::data_folder::DataFolder;

use crate::consent::{self, EngineConsent};

pub use probe::Version;
pub(crate) use probe::asked;

/// Number of programs that are asked at the same time.
const AT_ONCE: usize = 16;

/// What the caller knows about the user's surroundings.
#[derive(Debug, Clone, Copy)]
pub struct EngineContext<'a> {
    /// The path of this program.
    pub own: &'a Path,
    /// Where relative paths begin; absolute.
    pub cwd: &'a Path,
    pub user_home: Option<&'a Path>,
    /// The folder of private installs.
    pub programs: Option<&'a Path>,
    /// Where programs are looked for, and what they get when they are asked for their versions.
    pub environment: &'a [(OsString, OsString)],
    /// Engines that the setting `consent` names.
    pub consents: &'a [String],
    /// Where consents that were given by name are stored.
    pub data: Option<&'a DataFolder>,
}

impl<'a> EngineContext<'a> {
    /// An empty variable counts as not set.
    fn variable(&self, name: &str) -> Option<&'a OsStr> {
        let (_, value) = self.environment.iter().find(|(known, _)| known == name)?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// A file that cannot be read gives no consent; a run reports why it is not accepted.
    fn is_agreed_to(&self, engine: &Descriptor) -> bool {
        let name = engine.name.as_str();
        let by_name = || self.data.and_then(|data| consent::given(data).ok());
        self.consents.iter().any(|known| known == name) || by_name().is_some_and(|given| given.contains_key(name))
    }

    fn of(&self, engine: &Descriptor) -> skillrun_engine::FindContext<'a> {
        skillrun_engine::FindContext {
            own: self.own,
            cwd: self.cwd,
            path: self.variable("PATH"),
            user_home: self.user_home,
            variable: engine.executable.variable().and_then(|name| self.variable(name)),
            programs: self.programs,
        }
    }
}

/// Whether programs are started to ask for their versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    On,
    Off,
}

/// Whether the output of this version is known to be read correctly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EngineTested")]
pub enum Tested {
    #[serde(rename = "tested")]
    Yes,
    #[serde(rename = "untested")]
    No,
    /// No version, or none was ever tested.
    Unknown,
}

/// An engine and what is found of it on this machine.
#[derive(Debug)]
pub struct State<'a> {
    pub descriptor: &'a Descriptor,
    pub program: Result<EngineProgram, FindError>,
    pub version: Version,
    pub login: EngineLogin,
    pub consent: EngineConsent,
}

/// Whether the user is logged in to an engine, as far as that is known without a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineLogin {
    pub found: LoginKind,
    /// The name of the variable that is set.
    pub variable: Option<String>,
    /// The command that logs the user in.
    pub command: Option<String>,
}

/// Where a login was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoginKind {
    Variable,
    /// A file in the home folder of the user who runs this program.
    File,
    Nothing,
    /// It needs no login.
    NotNeeded,
}

impl EngineLogin {
    fn of(descriptor: &Descriptor, around: EngineContext<'_>) -> Self {
        let rule = &descriptor.login;
        let is_set = |name: &str| around.variable(name).is_some();
        let in_home = |path: &Path| around.user_home.is_some_and(|home| home.join(path).exists());
        let (found, variable) = match skillrun_engine::login::found(descriptor, is_set, in_home) {
            LoginFound::Variable(name) => (LoginKind::Variable, Some(name)),
            LoginFound::File(_) => (LoginKind::File, None),
            LoginFound::Nothing if *rule == Login::default() => (LoginKind::NotNeeded, None),
            LoginFound::Nothing => (LoginKind::Nothing, None),
        };
        Self { found, variable, command: rule.command.clone() }
    }
}

/// An engine and what is found of it on this machine, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Engine {
    /// The name in requests.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// `shipped`, or the operator's file.
    pub origin: String,
    /// None when it is not installed.
    pub program: Option<String>,
    /// The wrapper that would have started the program.
    pub wrapper: Option<String>,
    /// None when it was not asked, or reports none.
    pub version: Option<String>,
    pub tested: Tested,
    /// The first and the last version whose output is known to be read correctly. None: no version was ever tested, or
    /// it is part of this program.
    pub tested_versions: Option<[String; 2]>,
    /// A command for the user that installs it. None: there is none, or it is part of this program.
    pub install: Option<String>,
    pub continuation: Continuation,
    pub profile: ProfileId,
    pub permissions: Postures,
    pub login: EngineLogin,
    pub consent: EngineConsent,
    /// Why it cannot be used, or why its version is unknown.
    pub problem: Option<String>,
}

/// Whether the engine enforces each permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Postures {
    pub workspace: Posture,
    pub read_only: Posture,
    pub full: Posture,
}

/// All about one engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineDetails {
    #[serde(flatten)]
    pub engine: Engine,
    pub wiring: Wiring,
    pub environment: EngineEnvironment,
    /// Known limits, shown to users.
    pub notes: Vec<String>,
}

/// Names of variables that the engine gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineEnvironment {
    pub pass: Vec<String>,
    /// The same, but their values are masked.
    pub secret: Vec<String>,
}

/// All engines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineList {
    /// By name.
    pub engines: Vec<Engine>,
    /// Files of the operator that cannot be used, each with the reason.
    pub broken: Vec<String>,
}

impl EngineList {
    /// Takes as long as the slowest program, at most a few seconds for every sixteen of them.
    pub fn of(engines: &Engines, around: EngineContext<'_>, probing: Probing) -> Self {
        let states = State::of_all(engines.iter().collect(), around, probing);
        let broken = engines.broken().map(ToString::to_string).collect();
        Self { engines: states.iter().map(State::engine).collect(), broken }
    }
}

impl<'a> State<'a> {
    pub fn of(descriptor: &'a Descriptor, around: EngineContext<'_>, probing: Probing) -> Self {
        let program = find(descriptor, &around.of(descriptor), &Disk);
        let version = match (&descriptor.version, &program, probing) {
            (Some(rule), Ok(found), Probing::On) => probe::version(found, rule, around.environment),
            (Some(_), _, Probing::Off) | (None, _, _) | (_, Err(_), _) => Version::NotAsked,
        };
        let (login, consent) =
            (EngineLogin::of(descriptor, around), EngineConsent::of(descriptor, around.is_agreed_to(descriptor)));
        Self { descriptor, program, version, login, consent }
    }

    /// In parallel, because some programs take a second to report their version.
    pub fn of_all(descriptors: Vec<&'a Descriptor>, around: EngineContext<'_>, probing: Probing) -> Vec<Self> {
        let some = |some: &[&'a Descriptor]| -> Vec<Self> {
            std::thread::scope(|scope| {
                let start = |one: &&'a Descriptor| {
                    let descriptor = *one;
                    (descriptor, scope.spawn(move || Self::of(descriptor, around, probing)))
                };
                let started: Vec<_> = some.iter().map(start).collect();
                // A thread that panicked has printed the reason; the engine is shown without a version.
                let end = |(descriptor, thread): (&'a Descriptor, std::thread::ScopedJoinHandle<'_, Self>)| {
                    thread.join().unwrap_or_else(|_| Self::of(descriptor, around, Probing::Off))
                };
                started.into_iter().map(end).collect()
            })
        };
        descriptors.chunks(AT_ONCE).flat_map(some).collect()
    }

    /// It is part of this program.
    pub fn is_own(&self) -> bool {
        self.descriptor.executable == Executable::Own
    }

    pub fn tested(&self) -> Tested {
        match (&self.version, self.descriptor.tested_versions()) {
            (Version::Known(version), Some(_)) if self.descriptor.version_is_untested(version) => Tested::No,
            (Version::Known(_), Some(_)) => Tested::Yes,
            (Version::Known(_), None) | (Version::NotAsked | Version::Silent(_), _) => Tested::Unknown,
        }
    }

    /// The first and the last version that is known to be read correctly. An engine that is part of this program has
    /// none to choose.
    pub fn tested_versions(&self) -> Option<[String; 2]> {
        if self.is_own() {
            return None;
        }
        let words = |EngineVersion(major, minor, patch): EngineVersion| format!("{major}.{minor}.{patch}");
        self.descriptor.tested_versions().map(|(from, to)| [words(from), words(to)])
    }

    /// A command that installs it.
    pub fn install(&self) -> Option<String> {
        self.descriptor.install_command()
    }

    /// Why it cannot be used, or why its version is unknown.
    pub fn problem(&self) -> Option<String> {
        match (&self.program, &self.version) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Version::Silent(why)) => Some(why.clone()),
            (Ok(_), Version::Known(_) | Version::NotAsked) => None,
        }
    }

    pub fn engine(&self) -> Engine {
        let descriptor = self.descriptor;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let found = self.program.as_ref().ok();
        let posture = |permission| descriptor.permissions.rule(permission).posture;
        Engine {
            name: descriptor.name.as_str().to_owned(),
            title: descriptor.title.clone(),
            origin: match &descriptor.origin {
                DescriptorOrigin::Shipped(_) => "shipped".to_owned(),
                DescriptorOrigin::File(file) => path(file),
            },
            program: found.map(|found| path(&found.program)),
            wrapper: found.and_then(|found| found.wrapper.as_deref()).map(path),
            version: match &self.version {
                Version::Known(version) => Some(version.clone()),
                Version::NotAsked | Version::Silent(_) => None,
            },
            tested: self.tested(),
            tested_versions: self.tested_versions(),
            install: self.install(),
            continuation: descriptor.continuation,
            profile: descriptor.profile,
            permissions: Postures {
                workspace: posture(Permission::Workspace),
                read_only: posture(Permission::ReadOnly),
                full: posture(Permission::Full),
            },
            login: self.login.clone(),
            consent: self.consent.clone(),
            problem: self.problem(),
        }
    }

    pub fn details(&self) -> EngineDetails {
        let environment = &self.descriptor.environment;
        EngineDetails {
            engine: self.engine(),
            wiring: self.descriptor.wiring,
            environment: EngineEnvironment { pass: environment.pass.clone(), secret: environment.secret.clone() },
            notes: self.descriptor.notes.clone(),
        }
    }
}
