//! What an engine's file says, as types. Whatever stands here has been checked.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use skillrun_collect::plan::Rung;
use skillrun_model::profile::EngineVersion;
use skillrun_model::status::Continuation;
pub use skillrun_model::status::{Permission, Posture};
use skillrun_model::{EngineName, ExecutionMode, ProfileId, StdinKind, Wiring};

use crate::template::{Part, Template};

/// One engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    pub name: EngineName,
    pub title: String,
    pub origin: Origin,
    pub profile: ProfileId,
    pub continuation: Continuation,
    pub wiring: Wiring,
    pub stdin: StdinKind,
    /// Known limits, for people.
    pub notes: Vec<String>,
    pub executable: Executable,
    pub version: Option<VersionRule>,
    pub start: Command,
    pub resume: Option<Command>,
    pub prompt: PromptWays,
    pub permissions: Permissions,
    pub environment: Environment,
    pub network: Network,
    pub files: Vec<FileTemplate>,
    pub skills: SkillFolders,
    /// Left out of snapshots, as in `.gitignore`.
    pub snapshot_ignore: Vec<String>,
    pub ladder: Vec<Rung>,
    /// Instead of the usual one.
    pub linger: Option<Duration>,
}

impl Descriptor {
    /// The versions whose output is known to be read well, both ends included.
    pub fn tested_versions(&self) -> Option<(EngineVersion, EngineVersion)> {
        self.version.as_ref().and_then(|rule| rule.tested).or_else(|| self.profile.tested_versions())
    }
}

/// Where a descriptor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In the binary, under this file name.
    Shipped(&'static str),
    /// The operator's.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped(name) => write!(f, "{name} (shipped)"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How the program is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executable {
    /// This very program.
    Own,
    Installed(Installed),
}

impl Executable {
    /// The variable whose value the search wants to know.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Installed(installed) => installed.variable.as_deref(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installed {
    /// File names, looked for in PATH.
    pub names: Vec<String>,
    /// The only place to look, if it is given.
    pub path: Option<PathBuf>,
    /// A variable of the user that has the path.
    pub variable: Option<String>,
    /// After PATH; may begin with the user's HOME.
    pub places: Vec<Template>,
    /// Taken instead of what was found, relative to its folder, so that no wrapper is started.
    pub instead: Vec<PathBuf>,
    /// A command for people.
    pub install: Option<String>,
}

/// How the program is asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRule {
    pub argv: Vec<String>,
    /// The word before the version; else the first word that looks like one.
    pub after: Option<String>,
    pub tested: Option<(EngineVersion, EngineVersion)>,
}

/// The words after the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub argv: Vec<Part>,
    /// Where interactive mode differs.
    pub interactive: Option<Vec<Part>>,
}

impl Command {
    pub fn argv(&self, mode: ExecutionMode) -> &[Part] {
        match mode {
            ExecutionMode::Auto => &self.argv,
            ExecutionMode::Interactive => self.interactive.as_ref().unwrap_or(&self.argv),
        }
    }
}

/// How the prompt reaches the engine, with the words that each way needs; one of them is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWays {
    pub argument: Option<Vec<Template>>,
    pub stdin: Option<Vec<Template>>,
    pub file: Option<Vec<Template>>,
    /// Longer prompts do not go by argument.
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    pub workspace: PermissionRule,
    pub read_only: PermissionRule,
    pub full: PermissionRule,
}

impl Permissions {
    pub fn rule(&self, permission: Permission) -> &PermissionRule {
        match permission {
            Permission::Workspace => &self.workspace,
            Permission::ReadOnly => &self.read_only,
            Permission::Full => &self.full,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    pub posture: Posture,
    pub flags: Vec<String>,
    /// Where a resumed session takes other flags.
    pub resume_flags: Option<Vec<String>>,
    /// For engines that take it in a configuration.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Names, taken from the user's environment.
    pub pass: Vec<String>,
    /// The same, and their values are masked.
    pub secret: Vec<String>,
    pub set: Vec<(String, Template)>,
}

/// Switches that turn off updates and telemetry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Network {
    pub flags: Vec<String>,
    pub set: Vec<(String, String)>,
}

/// A file that is written before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTemplate {
    pub base: FileBase,
    /// Relative to the base, and inside of it.
    pub path: PathBuf,
    pub text: Template,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileBase {
    /// Only where the run has a HOME of its own.
    Home,
    Workspace,
}

impl FileBase {
    pub const ALL: &'static [Self] = &[Self::Home, Self::Workspace];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Workspace => "workspace",
        }
    }
}

/// Folders in which an engine looks for skills, best first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillFolders {
    /// Relative to the workspace.
    pub project: Vec<PathBuf>,
    /// Relative to HOME.
    pub home: Vec<PathBuf>,
}
