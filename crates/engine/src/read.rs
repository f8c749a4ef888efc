//! One engine's file, from text to a descriptor. Every mistake in it is found here, before a run.

use std::time::Duration;

use skillrun_base::fields::{line_of, parse_toml};
use skillrun_model::profile::EngineVersion;
use skillrun_model::status::Continuation;
use skillrun_model::{EngineName, ProfileId, StdinKind, Wiring};
use skillrun_plan::signals::SignalName;
use skillrun_plan::{GRACE, Rung, ladder};

use crate::descriptor::{
    Calls, Descriptor, DescriptorOrigin, Environment, Login, Network, Permission, PermissionRule, Permissions, Posture,
    Protocol, SkillFolders, VersionRule,
};
use crate::error::LoadError;
use crate::keys::{KeyResult, Section, Value};
use crate::workspace::WorkspaceRule;

mod account;
mod argv;
mod surroundings;

use argv::{HasFlags, Turn};

/// A process is killed after that, whatever a file says.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// Reads the file of the engine `name`.
pub(crate) fn read(
    text: &str,
    name: &str,
    origin: &DescriptorOrigin,
) -> std::result::Result<Descriptor, Box<LoadError>> {
    document(text, name, origin).map_err(|problem| {
        let line = problem.at.map(|at| line_of(text, at));
        Box::new(LoadError { origin: origin.clone(), line, key: problem.key, kind: problem.problem })
    })
}

fn document(text: &str, file_name: &str, origin: &DescriptorOrigin) -> KeyResult<Descriptor> {
    let document = parse_toml(text)?;
    let root = Section::toml(document.get_ref()).with_known(&[
        "name",
        "title",
        "profile",
        "continuation",
        "wiring",
        "stdin",
        "notes",
        "executable",
        "version",
        "start",
        "resume",
        "prompt",
        "permission",
        "environment",
        "network",
        "files",
        "skills",
        "install",
        "login",
        "gateway",
        "mcp",
        "workspace_settings",
        "probe",
        "snapshot",
        "process",
    ])?;
    let name = name(&root, file_name)?;
    let continuation = continuation(&root.required("continuation")?)?;
    let wiring = match root.get("wiring") {
        None => Wiring::Pipes,
        Some(value) => value.one_of(Wiring::ALL, Wiring::as_str)?,
    };
    let permissions = permissions(&root.required("permission")?)?;
    let network = match root.get("network") {
        None => Network::default(),
        Some(value) => surroundings::network(&value)?,
    };
    let prompt = argv::prompt(&root.required("prompt")?)?;
    let profile = profile(&root, prompt.protocol)?;
    let mcp = root.get("mcp").map(|value| account::mcp(&value)).transpose()?;
    let workspace = match root.get("workspace_settings") {
        None => WorkspaceRule::default(),
        Some(value) => surroundings::workspace(&value)?,
    };
    let flags = HasFlags {
        workspace: !workspace.flags.is_empty() || workspace.user_home_flags.is_some(),
        words: prompt.protocol.is_none(),
        permission: Permission::ALL.iter().any(|permission| {
            let rule = permissions.rule(*permission);
            !rule.flags.is_empty() || rule.resume_flags.as_ref().is_some_and(|flags| !flags.is_empty())
        }),
        network: !network.flags.is_empty(),
        mcp: mcp.as_ref().is_some_and(|rule| !rule.flags.is_empty() || !rule.each.is_empty()),
    };
    let start = argv::command(&root.required("start")?, Turn::Start, flags)?;
    let resume = match (root.get("resume"), continuation) {
        (Some(value), _) => Some(argv::command(&value, Turn::Resume, flags)?),
        // With a protocol a session is continued by a message, not by arguments.
        (None, _) if prompt.protocol.is_some() => None,
        (None, Continuation::Resumable) => return Err(root.missing("resume")),
        (None, Continuation::Sticky | Continuation::None) => None,
    };
    let process = root
        .get("process")
        .map(|value| value.section(&["linger_ms", "ladder", "cancel_leaves_commands"]))
        .transpose()?;
    let linger =
        process.as_ref().and_then(|section| section.get("linger_ms")).map(|value| pause(&value)).transpose()?;
    let ladder = match process.as_ref().and_then(|section| section.get("ladder")) {
        None => ladder(GRACE),
        Some(value) => rungs(&value)?,
    };
    let cancel_leaves_commands = match process.as_ref().and_then(|section| section.get("cancel_leaves_commands")) {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| value.unusable("is not true or false"))?,
    };
    let environment = match root.get("environment") {
        None => Environment::default(),
        Some(value) => surroundings::environment(&value, &network)?,
    };
    let login = match root.get("login") {
        None => Login::default(),
        Some(value) => account::login(&value, &environment)?,
    };
    let gateway = root.get("gateway").map(|value| account::gateway(&value, &environment)).transpose()?;
    let probe = root.get("probe").map(|value| account::probe(&value, &environment)).transpose()?;
    Ok(Descriptor {
        name: EngineName::new(name),
        title: root.required("title")?.text()?,
        origin: origin.clone(),
        profile,
        continuation,
        wiring,
        stdin: stdin(&root, wiring, if prompt.protocol.is_some() { Continuation::Sticky } else { continuation })?,
        notes: root.plain_strings("notes")?,
        executable: surroundings::executable(&root.required("executable")?)?,
        version: root.get("version").map(|value| version(&value)).transpose()?,
        start,
        resume,
        prompt,
        permissions,
        environment,
        network,
        files: match root.get("files") {
            None => Vec::new(),
            Some(value) => value.list()?.iter().map(surroundings::file).collect::<KeyResult<_>>()?,
        },
        skills: match root.get("skills") {
            None => SkillFolders::default(),
            Some(value) => surroundings::skills(&value)?,
        },
        install: root.get("install").map(|value| account::install(&value)).transpose()?,
        login,
        gateway,
        mcp,
        workspace,
        probe,
        snapshot_ignore: match root.get("snapshot") {
            None => Vec::new(),
            Some(value) => value.section(&["ignore"])?.plain_strings("ignore")?,
        },
        ladder,
        linger,
        cancel_leaves_commands,
    })
}

/// Names are used as file names and as arguments.
pub(crate) fn is_engine_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.len() <= 64
        && bytes.first().is_some_and(|byte| letter(*byte))
        && bytes.iter().all(|byte| letter(*byte) || matches!(byte, b'-' | b'_'))
        && name != EngineName::UNKNOWN
}

fn name(root: &Section<'_>, file_name: &str) -> KeyResult<String> {
    let value = root.required("name")?;
    let name = value.string()?;
    if !is_engine_name(&name) {
        let message = "an engine name has lower-case letters, digits, - and _, and is not \"unknown\"";
        return Err(value.unusable(message));
    }
    if name != file_name {
        return Err(value.unusable(format!("the file of the engine \"{name}\" must be named {name}.toml")));
    }
    Ok(name)
}

fn profile(root: &Section<'_>, by: Option<Protocol>) -> KeyResult<ProfileId> {
    let value = root.required("profile")?;
    let profile = value.one_of(ProfileId::ALL, ProfileId::as_str)?;
    let spoken = Protocol::ALL.iter().find(|protocol| protocol.profile() == profile).copied();
    match (spoken, by) {
        (Some(protocol), None) => {
            let needed = format!("is a protocol, so [prompt] must be protocol = \"{}\"", protocol.as_str());
            Err(value.unusable(needed))
        }
        (spoken, Some(protocol)) if spoken != Some(protocol) => {
            let needed = format!("a prompt by the protocol {} needs {}", protocol.as_str(), protocol.profile());
            Err(value.unusable(needed))
        }
        (Some(_) | None, _) => Ok(profile),
    }
}

fn continuation(word: &Value<'_>) -> KeyResult<Continuation> {
    if word.string()? == Continuation::STICKY_ALIAS {
        return Ok(Continuation::Sticky);
    }
    word.one_of(Continuation::ALL, Continuation::as_str)
}

fn stdin(root: &Section<'_>, wiring: Wiring, continuation: Continuation) -> KeyResult<StdinKind> {
    const KINDS: &[StdinKind] = &[StdinKind::Null, StdinKind::Pipe, StdinKind::Tty];
    let Some(value) = root.get("stdin") else {
        return Ok(match continuation {
            Continuation::Sticky => StdinKind::Pipe,
            Continuation::Resumable | Continuation::None => StdinKind::Null,
        });
    };
    let kind = value.one_of(KINDS, StdinKind::as_str)?;
    match (kind, wiring, continuation) {
        (StdinKind::Tty, Wiring::Pipes, _) => Err(value.unusable("a terminal needs the wiring split_pty or one_pty")),
        (StdinKind::Null, _, Continuation::Sticky) => {
            Err(value.unusable("a sticky engine gets its replies on stdin, so this must be pipe or tty"))
        }
        (kind, _, _) => Ok(kind),
    }
}

fn version(value: &Value<'_>) -> KeyResult<VersionRule> {
    let section = value.section(&["argv", "after", "tested"])?;
    section.required("argv")?;
    let tested = match section.get("tested") {
        None => None,
        Some(value) => {
            let versions = value.strings()?.iter().map(|(text, _)| EngineVersion::parse(text)).collect::<Vec<_>>();
            match versions.as_slice() {
                [Some(from), Some(to)] if from <= to => Some((*from, *to)),
                _ => return Err(value.unusable("must be two versions, the first not above the second")),
            }
        }
    };
    Ok(VersionRule { argv: section.plain_strings("argv")?, after: section.string("after")?, tested })
}

fn permissions(value: &Value<'_>) -> KeyResult<Permissions> {
    let known: Vec<_> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
    let section = value.section(&known)?;
    let rule = |permission: Permission| permission_rule(&section.required(permission.as_str())?, permission);
    Ok(Permissions {
        workspace: rule(Permission::Workspace)?,
        read_only: rule(Permission::ReadOnly)?,
        full: rule(Permission::Full)?,
    })
}

fn permission_rule(value: &Value<'_>, permission: Permission) -> KeyResult<PermissionRule> {
    let section = value.section(&["posture", "own_sandbox", "flags", "resume_flags", "text", "mode", "calls"])?;
    Ok(PermissionRule {
        posture: section.required("posture")?.one_of(Posture::ALL, Posture::as_str)?,
        own_sandbox: match section.get("own_sandbox") {
            None => false,
            Some(value) => value.as_bool().ok_or_else(|| value.unusable("must be true or false"))?,
        },
        flags: section.plain_strings("flags")?,
        resume_flags: section.get("resume_flags").map(|_| section.plain_strings("resume_flags")).transpose()?,
        text: section.string("text")?,
        mode: match (section.get("mode"), section.string("mode")?) {
            // It becomes part of a request id.
            (Some(value), Some(mode)) if mode.is_empty() || mode.contains(' ') => {
                return Err(value.unusable("must be one word"));
            }
            (_, mode) => mode,
        },
        calls: match (section.get("calls"), permission) {
            (Some(value), _) => value.one_of(Calls::ALL, Calls::as_str)?,
            (None, Permission::Full) => Calls::Allow,
            // The engine asks before it does anything outside the permission.
            (None, Permission::Workspace | Permission::ReadOnly) => Calls::Deny,
        },
    })
}

fn pause(value: &Value<'_>) -> KeyResult<Duration> {
    let pause = Duration::from_millis(value.number()?);
    if pause > LONGEST_PAUSE { Err(value.unusable("is longer than an hour")) } else { Ok(pause) }
}

fn rungs(value: &Value<'_>) -> KeyResult<Vec<Rung>> {
    let mut rungs = Vec::new();
    for rung in value.list()? {
        let section = rung.section(&["signal", "pause_ms"])?;
        let signal = section.required("signal")?;
        let name = signal.string()?;
        rungs.push(Rung {
            signal: SignalName::parse(&name).ok_or_else(|| signal.unusable(format!("there is no signal {name}")))?,
            pause: pause(&section.required("pause_ms")?)?,
        });
    }
    // Without it a process could stay forever.
    match rungs.last() {
        Some(rung) if rung.signal == SignalName::KILL => Ok(rungs),
        Some(_) | None => Err(value.unusable("the last signal must be SIGKILL")),
    }
}
