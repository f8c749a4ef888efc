//! The content of an engine's file, as types. Every value here has been checked.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use skillrun_model::confinement::HostPattern;
use skillrun_model::profile::EngineVersion;
use skillrun_model::status::Continuation;
pub use skillrun_model::status::{Permission, Posture};
use skillrun_model::{EngineName, ExecutionMode, ProfileId, StdinKind, Wiring, word_enum};
use skillrun_plan::Rung;

use crate::mcp::McpRule;
use crate::template::{ArgvPart, Placeholder, Template};
use crate::workspace::WorkspaceRule;

/// One engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    pub name: EngineName,
    pub title: String,
    pub origin: DescriptorOrigin,
    pub profile: ProfileId,
    pub continuation: Continuation,
    pub wiring: Wiring,
    pub stdin: StdinKind,
    /// Known limits, shown to users.
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
    /// How [`crate::install`] gets it.
    pub install: Option<Install>,
    pub login: Login,
    pub gateway: Option<Gateway>,
    /// How it takes MCP servers. None: it cannot.
    pub mcp: Option<McpRule>,
    /// What files of the workspace could start, and what keeps the engine from it.
    pub workspace: WorkspaceRule,
    pub probe: Option<ProbeRule>,
    /// Left out of snapshots, as in `.gitignore`.
    pub snapshot_ignore: Vec<String>,
    pub ladder: Vec<Rung>,
    /// Instead of the default.
    pub linger: Option<Duration>,
    /// An agent of a protocol that is asked to stop its turn keeps the commands of the turn running. Its process is ended
    /// with an interrupted turn.
    pub cancel_leaves_commands: bool,
}

impl Descriptor {
    /// The versions whose output is known to be read well, both ends included.
    pub fn tested_versions(&self) -> Option<(EngineVersion, EngineVersion)> {
        self.version.as_ref().and_then(|rule| rule.tested).or_else(|| self.profile.tested_versions())
    }

    /// A command for the user that installs it.
    pub fn install_command(&self) -> Option<String> {
        match (&self.install, &self.executable) {
            (Some(_), _) => Some(format!("skillrun engines install {}", self.name)),
            (None, Executable::Installed(installed)) => installed.install.clone(),
            (None, Executable::Own) => None,
        }
    }
}

/// Where a descriptor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DescriptorOrigin {
    /// In the binary, under this file name.
    Shipped(&'static str),
    /// A file of the operator.
    File(PathBuf),
}

impl fmt::Display for DescriptorOrigin {
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
    /// skillrun's own executable.
    Own,
    Installed(InstalledProgram),
}

impl Executable {
    /// The variable whose value the search needs.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Installed(installed) => installed.variable.as_deref(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstalledProgram {
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
    /// A command for the user.
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
    pub argv: Vec<ArgvPart>,
    /// Where a mode with a user differs.
    pub interactive: Option<Vec<ArgvPart>>,
}

impl Command {
    pub fn argv(&self, mode: ExecutionMode) -> &[ArgvPart] {
        match mode {
            ExecutionMode::Auto => &self.argv,
            ExecutionMode::Interactive | ExecutionMode::Conversation => self.interactive.as_ref().unwrap_or(&self.argv),
        }
    }
}

/// How the prompt reaches the engine, with the arguments that each way needs; at least one way is present. stdin comes
/// first where it is free: other users of the machine can see arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptWays {
    pub argument: Option<Vec<Template>>,
    pub stdin: Option<Vec<Template>>,
    pub file: Option<Vec<Template>>,
    /// As a message of the protocol that the engine speaks; then no other way is allowed.
    pub protocol: Option<Protocol>,
    /// Longer prompts do not go by argument.
    pub limit: usize,
}

word_enum! {
    /// A protocol that carries prompts and sessions.
    pub Protocol {
        /// See [`crate::acp`].
        Acp = "acp",
    }
}

impl Protocol {
    /// How its output is read.
    pub fn profile(self) -> ProfileId {
        match self {
            Self::Acp => ProfileId::AcpJsonrpc,
        }
    }
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
    /// Enforced by a sandbox of the engine, which does not start inside of another one: in a box the engine is started as
    /// with permission `full`, and the box holds it.
    pub own_sandbox: bool,
    /// For engines that take it in a configuration.
    pub text: Option<String>,
    /// The mode that an agent must report.
    pub mode: Option<String>,
    /// The answer to an engine that asks before a call, where no user can be asked.
    pub calls: Calls,
}

word_enum! {
    /// The answer to every question before a call.
    pub Calls {
        Allow = "allow",
        Deny = "deny",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Names, taken from the user's environment.
    pub pass: Vec<String>,
    /// The same, but their values are masked.
    pub secret: Vec<String>,
    /// A name may occur several times; the last entry that has all its values is taken.
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

word_enum! {
    pub FileBase {
        /// Only where the run has a HOME of its own.
        Home = "home",
        Workspace = "workspace",
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

/// The package that has the program, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// Its name at npm.
    pub package: String,
    /// The newest that was tested.
    pub version: String,
    /// The major version of Node that it is installed with, and started with if it is a script.
    pub node: Option<u32>,
    /// Relative to the folder that npm installs into.
    pub program: PathBuf,
    /// The engine whose install this is too.
    pub shares: Option<String>,
}

impl Install {
    /// The name of its folder.
    pub fn folder<'a>(&'a self, engine: &'a str) -> &'a str {
        self.shares.as_deref().unwrap_or(engine)
    }
}

/// Where the engine keeps the user's login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// A command for the user.
    pub command: Option<String>,
    /// If any of them is set, the user is logged in.
    pub variables: Vec<String>,
    /// If any of them and the variable of the gateway are set, the user is logged in.
    pub gateway_variables: Vec<String>,
    pub take: TakeLogin,
    /// Relative to HOME. The first one shows whether there is a login.
    pub files: Vec<LoginFile>,
    /// Folders in HOME that contain nothing else; they are linked.
    pub folders: Vec<PathBuf>,
    pub text: Option<LoginText>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginFile {
    pub path: PathBuf,
    pub keep: KeepLogin,
}

word_enum! {
    /// When files and folders of the user's login are taken along.
    #[derive(Default)]
    pub TakeLogin {
        /// Where no variable is a login: an engine does not get what it does not need.
        #[default]
        WithoutVariable = "without_variable",
        /// With a variable too; for engines that support many services.
        Always = "always",
    }
}

word_enum! {
    /// How a file of the user's login gets into the HOME of a run, and what happens to changes of it.
    pub KeepLogin {
        /// Linked; for engines that write into the file.
        Link = "link",
        /// Copied, and copied back when the engine has refreshed it.
        CopyBack = "copy_back",
        /// Copied, and changes are dropped.
        Copy = "copy",
    }
}

/// What `{{login}}` stands for, by the kind of login that is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginText {
    /// By variable, or no login at all.
    pub variable: String,
    pub file: String,
}

/// Another address for the model's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// A variable of the user that has it; `{{gateway}}` is its value.
    pub variable: String,
    /// For `{{gateway_text}}` where the variable is set; otherwise that is empty.
    pub text: Option<Template>,
    /// Where the model's server is if the variable is not set, and where the engine logs in.
    pub hosts: Vec<HostPattern>,
}

/// How the engine is pointed at a scripted model on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRule {
    pub model: Option<String>,
    pub set: Vec<(String, Template)>,
}

impl ProbeRule {
    /// Variables as the user would set them. `server` is an address without a slash at its end.
    pub fn variables(&self, server: &str) -> Vec<(String, String)> {
        let value =
            |placeholder: Placeholder| (placeholder == Placeholder::Server).then_some(std::ffi::OsStr::new(server));
        // Only the server can occur there, and that is text.
        let filled = |template: &Template| template.fill(value).ok().and_then(|value| value.into_string().ok());
        self.set.iter().filter_map(|(name, template)| Some((name.clone(), filled(template)?))).collect()
    }
}
