//! Why a request is not accepted, in one sentence that names the remedy.

use std::io;
use std::path::PathBuf;

use skillrun_engine::mcp::McpRefusal;
use skillrun_engine::{FindError, GetError, Permission};
use skillrun_evidence::PatternError;
use skillrun_model::confinement::{BoxPartName, HostPatternError, NetworkAccess};
use skillrun_model::mcp::McpServersError;
use skillrun_model::workspace_settings::StartKind;
use skillrun_model::{Classified, ErrorClass, ExecutionMode, RunId, Timestamp};
use skillrun_runs::copy::CopyError;
use skillrun_runs::prompt::PromptFault;
use skillrun_runs::request_entries::EntryFileError;
use skillrun_skill::{InputError, SkillError, SkillErrorKind};

use crate::consent;
use crate::error::RuntimeError;

/// A part of a request that only a run of a skill can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillPart {
    RequireMarker,
    Input,
    Parameter,
}

impl SkillPart {
    /// Its field in a request.
    pub fn field(self) -> &'static str {
        match self {
            Self::RequireMarker => "options.require_marker",
            Self::Input => "input",
            Self::Parameter => "parameter",
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::RequireMarker => "require_marker needs a skill: an agent without one is not asked for a done marker",
            Self::Input => "input needs a skill: write it into the prompt, or attach it as a file",
            Self::Parameter => "parameter needs a skill: write it into the prompt",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error(transparent)]
    Prompt(#[from] PromptFault),
    #[error("{}", part.why())]
    OnlyWithSkill { part: SkillPart },
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Engine(#[from] GetError),
    #[error(transparent)]
    NotInstalled(#[from] FindError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("the skill {skill} does not run on {engine}{}", only(engines))]
    EngineNotSupported { skill: String, engine: String, engines: Vec<String> },
    #[error(
        "the skill {skill} does not run in {mode} mode; leave --mode out, or change execution_modes in its assets/runner.json"
    )]
    ModeNotAllowed { skill: String, mode: ExecutionMode },
    #[error("{engine} cannot continue a session, so it cannot run interactively; use --mode auto or another engine")]
    NotInteractive { engine: String, mode: ExecutionMode },
    #[error(
        "{engine} cannot be given MCP servers, so a run on it cannot delegate; use another engine, or leave delegation out"
    )]
    CannotDelegate { engine: String },
    #[error("{}", consent::sentence(engine, *permission))]
    NoConsent { engine: String, permission: Permission },
    #[error("{}", consent::checks_sentence(skill))]
    NoConsentToChecks { skill: String },
    #[error("{}", consent::workflow_sentence(consent))]
    NoConsentToWorkflow { consent: String },
    #[error("{}: cannot be read ({error})", path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: is not a file", path.display())]
    NoFile { path: PathBuf },
    #[error("{}: is not a folder", path.display())]
    NoFolder { path: PathBuf },
    #[error("a run works either in a folder or in a copy of one; give one of them")]
    FolderAndCopy,
    #[error("network {network} needs a box; use box on or required")]
    NetworkWithoutBox { network: NetworkAccess },
    #[error(transparent)]
    BadHost(#[from] HostPatternError),
    #[error("hosts are allowed with network list alone, and the network of this run is {network}")]
    HostsWithoutList { network: NetworkAccess },
    #[error("{count} hosts are allowed, and the limit is {limit}; use *.NAME for hosts of one name, or network open")]
    TooManyHosts { count: usize, limit: usize },
    #[error(
        "it is not known at which address the model of {engine} is; set {variable}, or name its host: network list with \
         the host allowed"
    )]
    ModelAddressUnknown { engine: String, variable: String },
    #[error("this machine cannot enforce the part {part} of the box: {reason}; use box on to run without it")]
    BoxNotEnforced { part: BoxPartName, reason: String },
    #[error("{}: cannot be the workspace of a run in a box: {reason}; use another folder, or --copy", path.display())]
    WorkspaceInBox { path: PathBuf, reason: &'static str },
    #[error(
        "{engine} would load {} in {file}, and has no switch against it; remove it, use another engine, or allow it with --allow-workspace-settings",
        kind.words()
    )]
    WorkspaceStarts { engine: String, file: String, kind: StartKind },
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("{}: has more than {limit} bytes; put it into a folder and pass that as --workspace", path.display())]
    FileTooLarge { path: PathBuf, limit: u64 },
    #[error(
        "{engine} plays a script, and the skill {skill} has none (assets/scripted.yaml); give one with --script FILE, or use another engine with --engine"
    )]
    NoScript { skill: String, engine: String },
    #[error("{}: {}, or give --share to both", path.display(), who_works(*run, *not_before))]
    WorkspaceInUse { path: PathBuf, run: RunId, not_before: Option<Timestamp> },
    #[error("{}: cannot be written ({error})", path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{place}: {name} is {value}, and must be {wanted}")]
    Option { place: &'static str, name: &'static str, value: String, wanted: &'static str },
    #[error("{name} does not apply to a workflow; leave it out")]
    NotOfWorkflows { name: &'static str },
    #[error(transparent)]
    McpServers(#[from] McpServersError),
    #[error(transparent)]
    McpRefusal(#[from] McpRefusal),
    #[error(
        "the skill {skill} brings the MCP server {server}, which would run outside of the permission {permission} of {engine}; pass the server with the request, or use --permission full"
    )]
    SkillServer { skill: String, server: String, engine: String, permission: Permission },
    #[error("the MCP server {server} of the skill {skill} needs the variable {name}; pass it with --secret {name}")]
    SkillServerVariable { skill: String, server: String, name: String },
    #[error("mcp_servers.{server}: the variable {name} is not set")]
    ServerVariable { server: String, name: String },
    #[error("redact: {0}")]
    Pattern(#[from] PatternError),
    #[error("{queued} runs wait for their turn, and no more are allowed; try again later, or raise slots.queued")]
    QueueFull { queued: usize },
}

impl From<EntryFileError> for AcceptError {
    fn from(EntryFileError { path, error }: EntryFileError) -> Self {
        Self::Write { path, error }
    }
}

impl Classified for AcceptError {
    fn class(&self) -> ErrorClass {
        match self {
            // The skill was read before. This is the copy of it in the folder of the run.
            Self::Skill(SkillError { kind: SkillErrorKind::Io(error), .. }) => ErrorClass::of_io(error),
            Self::Skill(error) => error.class(),
            Self::Engine(error) => error.class(),
            Self::Runtime(error) => error.class(),
            Self::Copy(error) => error.class(),
            Self::NotInstalled(_) => ErrorClass::NotFound,
            Self::Write { error, .. } => ErrorClass::of_io(error),
            Self::WorkspaceInUse { .. } => ErrorClass::Conflict,
            Self::QueueFull { .. } => ErrorClass::Busy,
            Self::Prompt(_)
            | Self::OnlyWithSkill { .. }
            | Self::Input(_)
            | Self::EngineNotSupported { .. }
            | Self::ModeNotAllowed { .. }
            | Self::NetworkWithoutBox { .. }
            | Self::BadHost(_)
            | Self::HostsWithoutList { .. }
            | Self::TooManyHosts { .. }
            | Self::ModelAddressUnknown { .. }
            | Self::BoxNotEnforced { .. }
            | Self::WorkspaceInBox { .. }
            | Self::WorkspaceStarts { .. }
            | Self::NotInteractive { .. }
            | Self::CannotDelegate { .. }
            | Self::NoConsent { .. }
            | Self::NoConsentToChecks { .. }
            | Self::NoConsentToWorkflow { .. }
            | Self::File { .. }
            | Self::NoFile { .. }
            | Self::NoFolder { .. }
            | Self::FolderAndCopy
            | Self::FileTooLarge { .. }
            | Self::NoScript { .. }
            | Self::NotOfWorkflows { .. }
            | Self::Option { .. }
            | Self::McpServers(_)
            | Self::McpRefusal(_)
            | Self::SkillServer { .. }
            | Self::SkillServerVariable { .. }
            | Self::ServerVariable { .. }
            | Self::Pattern(_) => ErrorClass::Usage,
        }
    }
}

fn who_works(run: RunId, not_before: Option<Timestamp>) -> String {
    match not_before {
        None => format!("run {run} works in this folder; wait for it"),
        Some(at) => {
            format!("run {run} works in this folder, not before {at}; wait for it, end it with `skillrun cancel {run}`")
        }
    }
}

fn only(engines: &[String]) -> String {
    if engines.is_empty() { String::new() } else { format!("; it runs on {}", engines.join(", ")) }
}
