//! From a descriptor and a request to the plan for a host: arguments, variables, stdin, files, ladder.
//!
//! Pure: nothing is read or written. Arguments are passed as they are; there is no shell and nothing to quote.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::Label;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::Continuation;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{AttemptNumber, ExecutionMode, ProfileId, StdinKind, Wiring};
use skillrun_plan::environment;
use skillrun_plan::protocol::INPUT_MAX;
use skillrun_plan::{Rung, StdinPlan, Variable, VariableKind};

use crate::acp::{self, Opening, Session};
use crate::descriptor::{Command, Descriptor, FileBase, Permission, Posture, Protocol};
use crate::files::{Existing, FileToWrite};
use crate::login::LoginFound;
use crate::mcp::{self, McpRefusal};
use crate::template::{ArgvPart, FillError, Placeholder, Template};

/// The most bytes the kernel takes in one argument: 128 KiB with the zero at its end.
pub const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// The bytes that a session id may add to a message, however it is encoded.
const SESSION_ROOM: usize = 32 * 1024;

/// A turn to start.
#[derive(Debug, Clone, Copy)]
pub struct StartRequest<'a> {
    /// The program, as [`crate::find()`] found it.
    pub program: &'a Path,
    /// The interpreter that starts the program, if it is a script.
    pub interpreter: Option<&'a Path>,
    /// What was found of the user's login, see [`crate::login`].
    pub login: &'a LoginFound,
    pub engine_version: Option<&'a str>,
    pub mode: ExecutionMode,
    pub attempt: AttemptNumber,
    pub prompt: &'a str,
    /// Where the prompt may be put if it is too long for an argument; readable by the user alone.
    pub prompt_file: &'a Path,
    pub workspace: &'a Path,
    pub home: Home<'a>,
    pub permission: Permission,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
    pub skill_dir: Option<&'a Path>,
    pub output_schema: Option<&'a Path>,
    pub script: Option<&'a Path>,
    /// `run.json` of the run.
    pub run_record: Option<&'a Path>,
    /// Instead of the descriptor's.
    pub profile: Option<ProfileId>,
    /// Instead of the descriptor's.
    pub continuation: Option<Continuation>,
    /// MCP servers for the engine. The variables that they name are in `variables`, or the engine gets them anyway.
    pub servers: &'a McpServers,
    /// Whether files of the workspace may start programs and name addresses.
    pub workspace_settings: WorkspaceSettings,
    /// All of the user's variables; those that are passed on are picked from them.
    pub environment: &'a [(OsString, OsString)],
    /// More variables, which override all others.
    pub variables: &'a [Variable],
}

/// The HOME of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home<'a> {
    /// The run's own; settings are written there.
    Run(&'a Path),
    /// The user's; nothing is written there.
    User(&'a Path),
}

impl<'a> Home<'a> {
    fn path(self) -> &'a Path {
        match self {
            Self::Run(path) | Self::User(path) => path,
        }
    }
}

/// What a host needs to start the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<OsText>,
    pub variables: Vec<Variable>,
    pub stdin: StdinPlan,
    pub wiring: Wiring,
    pub label: Label,
    pub profile: ProfileId,
    pub continuation: Continuation,
    pub posture: Posture,
    /// To be written before the start, see [`crate::files::write`].
    pub files: Vec<FileToWrite>,
    /// What a process that speaks a protocol is started for; a file of the run before the start.
    pub opening: Option<Opening>,
    pub ladder: Vec<Rung>,
    pub linger: Option<Duration>,
    pub snapshot_ignore: Vec<String>,
    /// Settings of the request that this engine has no place for.
    pub ignored: Vec<Placeholder>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    #[error("{engine} cannot continue a session, so it cannot run interactively; use auto mode or another engine")]
    NotInteractive { engine: String },
    #[error("{engine} cannot resume a session: its continuation is {continuation}")]
    NotResumable { engine: String, continuation: Continuation },
    #[error("{engine} cannot resume a session: its file has no [resume]")]
    NoResume { engine: String },
    #[error("{engine} cannot be started: {error}")]
    Fill { engine: String, error: FillError },
    #[error("{engine} cannot take a prompt of {bytes} bytes: it takes prompts only as arguments of up to {limit}")]
    PromptTooLong { engine: String, bytes: usize, limit: usize },
    #[error("{engine} cannot take a prompt of {bytes} bytes: a whole message to it may have {limit}")]
    MessageTooLong { engine: String, bytes: usize, limit: usize },
    #[error("{engine} speaks {spoken}, so its output cannot be read as {asked}")]
    OtherProtocol { engine: String, spoken: ProfileId, asked: ProfileId },
    #[error("{engine} reads prompts only from stdin, and here its stdin is kept for replies")]
    StdinTaken { engine: String },
    #[error("{engine} cannot take a prompt with a zero byte in it, because it reads prompts only from arguments")]
    PromptHasNul { engine: String },
    #[error("{engine} cannot be started: {what} has {bytes} bytes, and the limit is {MAX_ARGUMENT}")]
    TooLong { engine: String, what: String, bytes: usize },
    #[error("{engine} cannot be started: {what} has a zero byte in it")]
    HasNul { engine: String, what: String },
    #[error("{engine} cannot be started: workspace_settings.session is not a JSON object: {wrong}")]
    Session { engine: String, wrong: String },
    #[error(transparent)]
    Servers(#[from] McpRefusal),
    #[error("mcp_servers.{server}: the variable {name} is not set")]
    ServerVariable { server: String, name: String },
    #[error("the {what} {value:?} cannot be given to an engine: {reason}")]
    BadValue { what: &'static str, value: String, reason: &'static str },
}

/// What to start for the first turn.
pub fn start(descriptor: &Descriptor, request: &StartRequest<'_>) -> Result<Launch, LaunchError> {
    let engine = descriptor.name.to_string();
    match (continuation_for(descriptor, request), request.mode) {
        (Continuation::None, ExecutionMode::Interactive | ExecutionMode::Conversation) => {
            Err(LaunchError::NotInteractive { engine })
        }
        (Continuation::Resumable | Continuation::Sticky, _) | (Continuation::None, ExecutionMode::Auto) => {
            Rendering::new(descriptor, request, None)?.launch(&descriptor.start)
        }
    }
}

/// What to start for a later turn of a session. The session id comes from the engine's output.
pub fn resume(descriptor: &Descriptor, request: &StartRequest<'_>, session_id: &str) -> Result<Launch, LaunchError> {
    let engine = descriptor.name.to_string();
    match continuation_for(descriptor, request) {
        // The process is gone: a new one is started, and a message loads its session.
        Continuation::Resumable | Continuation::Sticky if descriptor.prompt.protocol.is_some() => {
            let command = descriptor.resume.as_ref().unwrap_or(&descriptor.start);
            Rendering::new(descriptor, request, Some(session_id))?.launch(command)
        }
        Continuation::Resumable => {
            let command = descriptor.resume.as_ref().ok_or(LaunchError::NoResume { engine })?;
            Rendering::new(descriptor, request, Some(session_id))?.launch(command)
        }
        // A sticky process gets its reply on stdin; there is nothing to start.
        continuation @ (Continuation::Sticky | Continuation::None) => {
            Err(LaunchError::NotResumable { engine, continuation })
        }
    }
}

/// Whether a later turn can continue the session, with the values that a request sets instead of the descriptor.
pub fn continuation(
    descriptor: &Descriptor,
    profile: Option<ProfileId>,
    continuation: Option<Continuation>,
) -> Continuation {
    match (continuation, profile.map(ProfileId::continuation)) {
        (Some(continuation), _) => continuation,
        // A format without sessions has none, whatever the engine can do in another format.
        (None, Some(Continuation::None)) => Continuation::None,
        (None, Some(Continuation::Resumable | Continuation::Sticky) | None) => descriptor.continuation,
    }
}

fn continuation_for(descriptor: &Descriptor, request: &StartRequest<'_>) -> Continuation {
    continuation(descriptor, request.profile, request.continuation)
}

/// A value that an engine can only take for a value. Models come from requests and session ids from an engine's output,
/// and neither may become a flag, break out of a quoted setting, or name a file or a variable in braces, as opencode
/// reads them (`{file:…}`, `{env:…}`).
fn checked(what: &'static str, value: &str) -> Result<(), LaunchError> {
    let bad = |reason| Err(LaunchError::BadValue { what, value: value.chars().take(80).collect(), reason });
    if value.is_empty() {
        return bad("it is empty");
    }
    if value.len() > 256 {
        return bad("it is longer than 256 bytes");
    }
    if value.starts_with('-') {
        return bad("it begins with a dash");
    }
    if value.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '{' | '}')) {
        return bad("it has spaces, quotes, braces or control characters in it");
    }
    Ok(())
}

/// Another address for the model's server, if the user has set one. An empty variable counts as not set.
fn gateway<'a>(descriptor: &Descriptor, request: &StartRequest<'a>) -> Option<&'a OsStr> {
    let name = descriptor.gateway.as_ref()?.variable.as_str();
    let asked = request.variables.iter().map(|one| (one.name.as_os_str(), one.value.as_os_str()));
    let users = request.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    asked.chain(users).find(|(known, _)| *known == name).map(|(_, value)| value).filter(|value| !value.is_empty())
}

fn gateway_text(descriptor: &Descriptor, request: &StartRequest<'_>) -> Result<OsString, LaunchError> {
    let text = descriptor.gateway.as_ref().and_then(|gateway| gateway.text.as_ref());
    let (Some(text), Some(address)) = (text, gateway(descriptor, request)) else { return Ok(OsString::new()) };
    let value = |placeholder: Placeholder| (placeholder == Placeholder::Gateway).then_some(address);
    text.fill(value).map_err(|error| LaunchError::Fill { engine: descriptor.name.to_string(), error })
}

/// What the MCP servers of a run stand for in an engine's file.
#[derive(Default)]
struct ServerTexts {
    all: Option<String>,
    text: OsString,
    list: Option<OsString>,
    rules: Option<OsString>,
    flags: Vec<OsString>,
}

impl ServerTexts {
    fn of(descriptor: &Descriptor, servers: &McpServers) -> Result<Self, LaunchError> {
        let Some(rule) = descriptor.mcp.as_ref().filter(|_| !servers.is_empty()) else { return Ok(Self::default()) };
        let failed = |error| LaunchError::Fill { engine: descriptor.name.to_string(), error };
        let all = rule.form.all(servers);
        let once = |template: &Template| {
            let value = |placeholder: Placeholder| (placeholder == Placeholder::McpServers).then_some(OsStr::new(&all));
            template.fill(value).map_err(failed)
        };
        let mut flags = rule.flags.iter().map(once).collect::<Result<Vec<_>, _>>()?;
        let (mut list, mut rules) = (Vec::new(), Vec::new());
        for (name, server) in servers.iter() {
            let entry = rule.form.entry(server);
            let known = [(Placeholder::McpName, OsStr::new(name)), (Placeholder::McpEntry, OsStr::new(&entry))];
            let value = |placeholder: Placeholder| known.iter().find(|(one, _)| *one == placeholder).map(|(_, it)| *it);
            for word in &rule.each {
                flags.push(word.fill(value).map_err(failed)?);
            }
            let filled = |template: &Template| template.fill(value).map_err(failed);
            list.extend(rule.item.as_ref().map(filled).transpose()?);
            rules.extend(rule.rule.as_ref().map(filled).transpose()?);
        }
        let text = rule.text.as_ref().map(once).transpose()?.unwrap_or_default();
        let joined = |items: Vec<OsString>| items.join(OsStr::new(","));
        let list = rule.item.as_ref().map(|_| joined(list));
        let rules = rule.rule.as_ref().map(|_| joined(rules));
        Ok(Self { text, list, rules, flags, all: Some(all) })
    }
}

/// How the prompt is passed.
enum Prompt {
    Argument(Vec<OsString>),
    Stdin(Vec<OsString>),
    File(Vec<OsString>),
    Message(Opening),
}

impl Prompt {
    fn words(&self) -> &[OsString] {
        match self {
            Self::Argument(words) | Self::Stdin(words) | Self::File(words) => words,
            Self::Message(_) => &[],
        }
    }
}

/// A descriptor and a request, with the values for its placeholders.
struct Rendering<'a> {
    descriptor: &'a Descriptor,
    request: &'a StartRequest<'a>,
    is_resumed: bool,
    profile: ProfileId,
    continuation: Continuation,
    values: BTreeMap<Placeholder, OsString>,
    /// For `{{mcp_flags}}`.
    server_flags: Vec<OsString>,
    switches: Switches,
}

/// What keeps an engine from starting what the workspace names; empty where the workspace may start programs.
#[derive(Default)]
struct Switches {
    /// For `{{workspace_flags}}`.
    flags: Vec<OsString>,
    set: Vec<(String, OsString)>,
    unless_set: Vec<(String, String)>,
    text: OsString,
    session: Map<String, Value>,
}

impl Switches {
    /// `others`: flags that are given anyway; a program may refuse a flag that it gets twice.
    fn of(descriptor: &Descriptor, request: &StartRequest<'_>, others: &[OsString]) -> Result<Self, LaunchError> {
        match request.workspace_settings {
            WorkspaceSettings::Allow => return Ok(Self::default()),
            WorkspaceSettings::Ignore => {}
        }
        let rule = &descriptor.workspace;
        let filled = |template: &Template| {
            let known = [(Placeholder::Workspace, request.workspace), (Placeholder::Home, request.home.path())];
            let value = |placeholder: Placeholder| {
                known.iter().find(|(one, _)| *one == placeholder).map(|(_, path)| path.as_os_str())
            };
            template.fill(value).map_err(|error| LaunchError::Fill { engine: descriptor.name.to_string(), error })
        };
        let flags = match (&rule.user_home_flags, request.home) {
            (Some(flags), Home::User(_)) => flags,
            (Some(_) | None, Home::Run(_)) | (None, Home::User(_)) => &rule.flags,
        };
        let flags = flags.iter().map(filled).collect::<Result<Vec<_>, _>>()?;
        let is_twice = |word: &OsString| word.as_bytes().starts_with(b"--") && others.contains(word);
        let set = rule.set.iter().map(|(name, value)| filled(value).map(|value| (name.clone(), value)));
        let set = set.collect::<Result<_, _>>()?;
        Ok(Self {
            flags: flags.into_iter().filter(|word| !is_twice(word)).collect(),
            set,
            unless_set: rule.unless_set.clone(),
            text: rule.text.as_ref().map(filled).transpose()?.unwrap_or_default(),
            session: match rule.session.as_ref().map(filled).transpose()? {
                None => Map::new(),
                Some(text) => serde_json::from_slice(text.as_bytes()).map_err(|wrong| LaunchError::Session {
                    engine: descriptor.name.to_string(),
                    wrong: wrong.to_string(),
                })?,
            },
        })
    }
}

impl<'a> Rendering<'a> {
    fn new(
        descriptor: &'a Descriptor,
        request: &'a StartRequest<'a>,
        session_id: Option<&str>,
    ) -> Result<Self, LaunchError> {
        for (what, value) in [("session id", session_id), ("model", request.model), ("effort", request.effort)] {
            value.map_or(Ok(()), |value| checked(what, value))?;
        }
        mcp::check(descriptor, request.servers, matches!(request.home, Home::Run(_)))?;
        let servers = ServerTexts::of(descriptor, request.servers)?;
        let switches = Switches::of(descriptor, request, &servers.flags)?;
        let profile = request.profile.unwrap_or(descriptor.profile);
        let continuation = continuation_for(descriptor, request);
        let text_of_gateway = Some(gateway_text(descriptor, request)?);
        let path = |path: Option<&Path>| path.map(|path| path.as_os_str().to_owned());
        let text = |text: Option<&str>| text.map(OsString::from);
        let value = |placeholder: Placeholder| match placeholder {
            Placeholder::Prompt => text(Some(request.prompt)),
            Placeholder::PromptFile => path(Some(request.prompt_file)),
            Placeholder::Permission => text(descriptor.permissions.rule(request.permission).text.as_deref()),
            Placeholder::SessionId => text(session_id),
            Placeholder::Model => text(request.model),
            Placeholder::Effort => text(request.effort),
            Placeholder::Workspace => path(Some(request.workspace)),
            Placeholder::Home => path(Some(request.home.path())),
            Placeholder::SkillDir => path(request.skill_dir),
            Placeholder::OutputSchema => path(request.output_schema),
            Placeholder::Script => path(request.script),
            Placeholder::RunRecord => path(request.run_record),
            Placeholder::Profile => text(Some(profile.as_str())),
            Placeholder::Sticky => match continuation {
                Continuation::Sticky => text(Some(continuation.as_str())),
                Continuation::Resumable | Continuation::None => None,
            },
            Placeholder::Mode => text(Some(request.mode.as_str())),
            Placeholder::Attempt => text(Some(&request.attempt.0.to_string())),
            Placeholder::Gateway => gateway(descriptor, request).map(ToOwned::to_owned),
            Placeholder::Login => text(request.login.text(descriptor)),
            Placeholder::GatewayText => text_of_gateway.clone(),
            Placeholder::McpServers => text(servers.all.as_deref()),
            Placeholder::McpText => Some(servers.text.clone()),
            Placeholder::McpList => servers.list.clone(),
            Placeholder::McpRules => servers.rules.clone(),
            Placeholder::WorkspaceText => Some(switches.text.clone()),
            // Never a value: they stand for whole arguments, or are used to find executables.
            Placeholder::PromptFlags
            | Placeholder::PermissionFlags
            | Placeholder::NetworkFlags
            | Placeholder::McpFlags
            | Placeholder::WorkspaceFlags
            | Placeholder::McpName
            | Placeholder::McpEntry
            | Placeholder::UserHome
            | Placeholder::Server => None,
        };
        let values = Placeholder::ALL.iter().filter_map(|one| Some((*one, value(*one)?))).collect();
        let server_flags = servers.flags;
        Ok(Self {
            descriptor,
            request,
            is_resumed: session_id.is_some(),
            profile,
            continuation,
            values,
            server_flags,
            switches,
        })
    }

    fn engine(&self) -> String {
        self.descriptor.name.to_string()
    }

    fn fill(&self, template: &Template) -> Result<OsString, FillError> {
        template.fill(|placeholder| self.values.get(&placeholder).map(OsString::as_os_str))
    }

    fn filled(&self, template: &Template) -> Result<OsString, LaunchError> {
        self.fill(template).map_err(|error| LaunchError::Fill { engine: self.engine(), error })
    }

    /// None where a value is missing.
    fn optional(&self, template: &Template) -> Result<Option<OsString>, LaunchError> {
        match self.fill(template) {
            Ok(filled) => Ok(Some(filled)),
            Err(FillError::NoValue(_)) => Ok(None),
            Err(error @ (FillError::NotUtf8(_) | FillError::HasComma(_))) => {
                Err(LaunchError::Fill { engine: self.engine(), error })
            }
        }
    }

    fn launch(self, command: &Command) -> Result<Launch, LaunchError> {
        let prompt = self.prompt()?;
        let argv = self.argv(command, &prompt)?;
        let variables = self.variables()?;
        let mut files = self.files()?;
        let prompt_file = self.request.prompt_file;
        match prompt {
            Prompt::Argument(_) | Prompt::Message(_) => {}
            Prompt::Stdin(_) | Prompt::File(_) => files.push(FileToWrite {
                path: prompt_file.to_owned(),
                bytes: self.request.prompt.into(),
                existing: Existing::Replace,
            }),
        }
        let stdin = match (&prompt, self.stdin_kind()) {
            (Prompt::Stdin(_), _) => StdinPlan::File(prompt_file.into()),
            (Prompt::Argument(_) | Prompt::File(_), StdinKind::Null | StdinKind::File) => StdinPlan::Null,
            (Prompt::Argument(_) | Prompt::File(_), StdinKind::Pipe) => StdinPlan::Pipe,
            (Prompt::Argument(_) | Prompt::File(_) | Prompt::Message(_), StdinKind::Tty) => StdinPlan::Tty,
            (Prompt::Message(_), StdinKind::Null | StdinKind::File | StdinKind::Pipe) => StdinPlan::Pipe,
        };
        Ok(Launch {
            argv,
            variables,
            stdin,
            wiring: self.descriptor.wiring,
            label: Label {
                engine: Some(self.engine()),
                engine_version: self.request.engine_version.map(str::to_owned),
                profile: Some(self.profile),
                execution_mode: Some(self.request.mode),
            },
            profile: self.profile,
            continuation: self.continuation,
            posture: self.descriptor.permissions.rule(self.request.permission).posture,
            files,
            opening: match prompt {
                Prompt::Message(opening) => Some(opening),
                Prompt::Argument(_) | Prompt::Stdin(_) | Prompt::File(_) => None,
            },
            ladder: self.descriptor.ladder.clone(),
            linger: self.descriptor.linger,
            snapshot_ignore: self.descriptor.snapshot_ignore.clone(),
            ignored: self.ignored(command),
        })
    }

    /// What the process has as stdin while it runs.
    fn stdin_kind(&self) -> StdinKind {
        match (self.descriptor.stdin, self.continuation) {
            // Made sticky by the request: it needs an input for replies.
            (StdinKind::Null, Continuation::Sticky) => StdinKind::Pipe,
            (kind, _) => kind,
        }
    }

    fn prompt(&self) -> Result<Prompt, LaunchError> {
        let ways = &self.descriptor.prompt;
        let prompt = self.request.prompt;
        let words =
            |templates: &[Template]| templates.iter().map(|one| self.filled(one)).collect::<Result<Vec<_>, _>>();
        if let Some(protocol) = ways.protocol {
            return self.message(protocol);
        }
        // A file on stdin ends; a process that receives more messages later needs its stdin for them.
        let is_stdin_free = self.stdin_kind() == StdinKind::Null;
        // Other users of the machine can see arguments, but not stdin.
        if let Some(templates) = ways.stdin.as_ref().filter(|_| is_stdin_free) {
            return Ok(Prompt::Stdin(words(templates)?));
        }
        let has_nul = prompt.contains('\0');
        let mut limit = ways.limit;
        if let Some(templates) = &ways.argument {
            let words = words(templates)?;
            // A flag may be part of the same argument.
            let longest = words.iter().map(|word| word.len()).max().unwrap_or_default();
            limit = limit.min(MAX_ARGUMENT.saturating_sub(longest.saturating_sub(prompt.len())));
            if prompt.len() <= limit && !has_nul {
                return Ok(Prompt::Argument(words));
            }
        }
        match &ways.file {
            Some(templates) => Ok(Prompt::File(words(templates)?)),
            None if ways.argument.is_none() => Err(LaunchError::StdinTaken { engine: self.engine() }),
            None if has_nul => Err(LaunchError::PromptHasNul { engine: self.engine() }),
            None => Err(LaunchError::PromptTooLong { engine: self.engine(), bytes: prompt.len(), limit }),
        }
    }

    fn message(&self, protocol: Protocol) -> Result<Prompt, LaunchError> {
        if self.profile != protocol.profile() {
            let (spoken, asked) = (protocol.profile(), self.profile);
            return Err(LaunchError::OtherProtocol { engine: self.engine(), spoken, asked });
        }
        let text = |placeholder: Placeholder| match self.values.get(&placeholder).map(|value| value.to_str()) {
            Some(None) => Err(LaunchError::Fill { engine: self.engine(), error: FillError::NotUtf8(placeholder) }),
            Some(Some(value)) => Ok(Some(value.to_owned())),
            None => Ok(None),
        };
        let opening = Opening {
            attempt: self.request.attempt,
            cwd: text(Placeholder::Workspace)?.unwrap_or_default(),
            session: text(Placeholder::SessionId)?.map_or(Session::New, Session::Load),
            mode: self.descriptor.permissions.rule(self.request.permission).mode.clone(),
            prompt: self.request.prompt.to_owned(),
            meta: self.switches.session.clone(),
        };
        let bytes = acp::lines::prompt("", opening.attempt, &opening.prompt).len();
        let limit = INPUT_MAX - SESSION_ROOM;
        if bytes > limit {
            return Err(LaunchError::MessageTooLong { engine: self.engine(), bytes: opening.prompt.len(), limit });
        }
        Ok(Prompt::Message(opening))
    }

    fn argv(&self, command: &Command, prompt: &Prompt) -> Result<Vec<OsText>, LaunchError> {
        let rule = self.descriptor.permissions.rule(self.request.permission);
        let permission = match &rule.resume_flags {
            Some(flags) if self.is_resumed => flags,
            Some(_) | None => &rule.flags,
        };
        let program = self.request.interpreter.into_iter().chain([self.request.program]);
        let mut argv: Vec<OsString> = program.map(|path| path.as_os_str().to_owned()).collect();
        for part in command.argv(self.request.mode) {
            match part {
                ArgvPart::Word(word) => argv.push(self.filled(word)?),
                ArgvPart::Group(words) => {
                    let filled = words.iter().map(|word| self.optional(word)).collect::<Result<Option<Vec<_>>, _>>()?;
                    argv.extend(filled.into_iter().flatten());
                }
                ArgvPart::PromptFlags => argv.extend_from_slice(prompt.words()),
                ArgvPart::PermissionFlags => argv.extend(permission.iter().map(OsString::from)),
                ArgvPart::NetworkFlags => argv.extend(self.descriptor.network.flags.iter().map(OsString::from)),
                ArgvPart::McpFlags => argv.extend_from_slice(&self.server_flags),
                ArgvPart::WorkspaceFlags => argv.extend_from_slice(&self.switches.flags),
            }
        }
        for (number, word) in argv.iter().enumerate() {
            self.check(word, || format!("word {number} of its command line"))?;
        }
        Ok(argv.into_iter().map(OsText::from).collect())
    }

    /// Values that the kernel would refuse without an explanation.
    fn check(&self, word: &OsStr, what: impl Fn() -> String) -> Result<(), LaunchError> {
        if word.len() > MAX_ARGUMENT {
            return Err(LaunchError::TooLong { engine: self.engine(), what: what(), bytes: word.len() });
        }
        if word.as_bytes().contains(&0) {
            return Err(LaunchError::HasNul { engine: self.engine(), what: what() });
        }
        Ok(())
    }

    /// By name; later entries win.
    fn variables(&self) -> Result<Vec<Variable>, LaunchError> {
        let of = &self.descriptor.environment;
        let is_one_of = |names: &[String], name: &OsStr| names.iter().any(|known| name == known.as_str());
        let mut all: BTreeMap<OsString, (OsString, VariableKind)> = BTreeMap::new();
        for (name, value) in self.request.environment {
            if is_one_of(&of.secret, name) {
                all.insert(name.clone(), (value.clone(), VariableKind::Secret));
            } else if is_one_of(&of.pass, name) || environment::is_allowed(name.as_bytes()) {
                all.insert(name.clone(), (value.clone(), VariableKind::Plain));
            }
        }
        for (name, value) in &self.descriptor.network.set {
            all.insert(name.into(), (value.into(), VariableKind::Plain));
        }
        for (name, template) in &of.set {
            if let Some(value) = self.optional(template)? {
                all.insert(name.into(), (value, VariableKind::Plain));
            }
        }
        for (name, value) in &self.switches.set {
            all.insert(name.into(), (value.clone(), VariableKind::Plain));
        }
        let servers = self.request.servers;
        for (name, value) in self.descriptor.mcp.iter().filter(|_| !servers.is_empty()).flat_map(|rule| &rule.set) {
            all.insert(name.into(), (value.into(), VariableKind::Plain));
        }
        for variable in self.request.variables {
            let value = variable.value.as_os_str().to_owned();
            all.insert(variable.name.as_os_str().to_owned(), (value, variable.kind));
        }
        for (name, value) in &self.switches.unless_set {
            let entry = all.entry(name.into()).or_insert_with(|| (OsString::new(), VariableKind::Plain));
            if entry.0.is_empty() {
                entry.0 = value.into();
            }
        }
        for (server, name) in servers.iter().flat_map(|(name, server)| server.variables().map(move |it| (name, it))) {
            if !all.contains_key(OsStr::new(name)) {
                return Err(LaunchError::ServerVariable { server: server.to_owned(), name: name.to_owned() });
            }
        }
        for (name, (value, _)) in &all {
            let mut entry = name.clone();
            entry.push("=");
            entry.push(value);
            self.check(&entry, || format!("the variable {}", name.display()))?;
        }
        let variable = |(name, (value, kind)): (OsString, (OsString, VariableKind))| Variable {
            name: name.into(),
            value: value.into(),
            kind,
        };
        Ok(all.into_iter().map(variable).collect())
    }

    fn files(&self) -> Result<Vec<FileToWrite>, LaunchError> {
        let mut files = Vec::new();
        for file in &self.descriptor.files {
            let base = match (file.base, self.request.home) {
                (FileBase::Workspace, _) => self.request.workspace,
                (FileBase::Home, Home::Run(home)) => home,
                // The user's own settings are not touched.
                (FileBase::Home, Home::User(_)) => continue,
            };
            let text = match self.fill(&file.text) {
                // A file for MCP servers, in a run without any.
                Err(FillError::NoValue(placeholder)) if placeholder.is_of_servers() => continue,
                filled => filled.map_err(|error| LaunchError::Fill { engine: self.engine(), error })?,
            };
            files.push(FileToWrite { path: base.join(&file.path), bytes: text.into_vec(), existing: Existing::Keep });
        }
        Ok(files)
    }

    /// If a setting were dropped silently, the record of what ran would be wrong.
    fn ignored(&self, command: &Command) -> Vec<Placeholder> {
        let mut used: BTreeSet<Placeholder> = BTreeSet::new();
        for part in command.argv(self.request.mode) {
            match part {
                ArgvPart::Word(word) => used.extend(word.placeholders()),
                ArgvPart::Group(words) => used.extend(words.iter().flat_map(Template::placeholders)),
                ArgvPart::PromptFlags
                | ArgvPart::PermissionFlags
                | ArgvPart::NetworkFlags
                | ArgvPart::McpFlags
                | ArgvPart::WorkspaceFlags => {}
            }
        }
        used.extend(self.descriptor.environment.set.iter().flat_map(|(_, template)| template.placeholders()));
        used.extend(self.descriptor.files.iter().flat_map(|file| file.text.placeholders()));
        let wishes = [Placeholder::Model, Placeholder::Effort];
        wishes.into_iter().filter(|wish| self.values.contains_key(wish) && !used.contains(wish)).collect()
    }
}
