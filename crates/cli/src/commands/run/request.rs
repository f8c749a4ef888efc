//! Builds a request from the arguments.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use skillrun_model::checks::CheckRequest;
use skillrun_model::delegation::ChildRequest;
use skillrun_model::error_class::file_error_reason as reason;
use skillrun_model::mcp::{McpServerEntry, McpServers};
use skillrun_model::profile::EngineName;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_runs::record::{Sharing, Snapshot};
use skillrun_runtime::{NewRun, Options};
use skillrun_skill::{Skill, input};

use crate::args::{ChildArgs, CommonArgs, PromptArgs, RequestArgs};
use crate::failure::Failure;
use crate::settings::Settings;

/// Largest file or stdin with input.
const INPUT_MAX: u64 = 8 << 20;

pub(crate) fn of(settings: &Settings, skill: Skill, args: &RequestArgs) -> Result<NewRun, Failure> {
    let engine = engine(settings, args.common.engine.as_deref(), &skill.runner.engines)?;
    Ok(NewRun {
        mode: args.mode,
        input: values(&args.input, "--input", settings)?,
        parameter: values(&args.param, "--param", settings)?,
        files: files(&args.file, settings)?,
        workspace: workspace(&args.common, settings),
        copy_of: copy_of(&args.common, settings),
        script: script(&args.common, settings),
        profile: args.profile,
        continuation: args.continuation,
        options: Options { mcp_servers: mcp_servers(&args.common, settings)?, ..options(args) },
        ..NewRun::new(skill, engine)
    })
}

/// The engine of a request: the one that is named, else that of the settings, else the only one of the skill.
fn engine(settings: &Settings, named: Option<&str>, of_skill: &[EngineName]) -> Result<String, Failure> {
    match (named, &settings.engine, of_skill) {
        (Some(engine), _, _) => Ok(engine.to_owned()),
        (None, Some(engine), _) => Ok(engine.clone()),
        (None, None, [only]) => Ok(only.to_string()),
        (None, None, _) => {
            let what = "no engine is given; name one with --engine, or set a default with \
                        `skillrun config set engine NAME` (`skillrun engines` lists them)";
            Err(Failure::Input(what.to_owned()))
        }
    }
}

/// A request without a skill.
pub(crate) fn of_prompt(settings: &Settings, prompt: String, args: &PromptArgs) -> Result<NewRun, Failure> {
    let PromptArgs { file, common } = args;
    let engine = engine(settings, common.engine.as_deref(), &[])?;
    let absolute = |path: &Path| settings.surroundings.absolute_path(path);
    let files = file.iter().zip(1..).map(|(path, number)| (format!("file{number:02}"), absolute(path)));
    Ok(NewRun {
        files: files.collect(),
        workspace: workspace(common, settings),
        copy_of: copy_of(common, settings),
        script: script(common, settings),
        options: Options {
            mcp_servers: mcp_servers(common, settings)?,
            ..options(&RequestArgs { common: common.clone(), ..RequestArgs::default() })
        },
        ..NewRun::ask(prompt, engine)
    })
}

/// A child of another run, without its task. It has what its parent has, so most flags have no meaning for it.
pub(crate) fn of_child(settings: &Settings, args: &RequestArgs, child: &ChildArgs) -> Result<ChildRequest, Failure> {
    let common = &args.common;
    let allowed = CommonArgs {
        engine: common.engine.clone(),
        model: common.model.clone(),
        timeout: common.timeout,
        ..CommonArgs::default()
    };
    let allowed = RequestArgs {
        mode: args.mode,
        input: args.input.clone(),
        param: args.param.clone(),
        common: allowed,
        ..RequestArgs::default()
    };
    if *args != allowed {
        return Err(not_of_child());
    }
    Ok(ChildRequest {
        key: child.key.clone(),
        engine: common.engine.clone(),
        prompt: None,
        mode: args.mode,
        input: values(&args.input, "--input", settings)?,
        parameter: values(&args.param, "--param", settings)?,
        model: common.model.clone(),
        timeout_sec: common.timeout.map(|time| time.as_secs_f64()),
        ..ChildRequest::ask("")
    })
}

pub(crate) fn not_of_child() -> Failure {
    let sentence = "with --parent only --engine, --model, --mode, --timeout, --input and --param can be given; \
                    everything else is as in the parent";
    Failure::Input(sentence.to_owned())
}

/// The folder that the flags name, and whether others may work in it.
pub(crate) fn workspace(args: &CommonArgs, settings: &Settings) -> Option<(PathBuf, Sharing)> {
    let sharing = if args.share { Sharing::Allowed } else { Sharing::Alone };
    let path = args.workspace.as_deref().filter(|_| !args.copy);
    path.map(|path| (settings.surroundings.absolute_path(path), sharing))
}

/// The folder that the flags name, if the run works in a copy of it.
pub(crate) fn copy_of(args: &CommonArgs, settings: &Settings) -> Option<PathBuf> {
    args.workspace.as_deref().filter(|_| args.copy).map(|path| settings.surroundings.absolute_path(path))
}

pub(crate) fn script(args: &CommonArgs, settings: &Settings) -> Option<PathBuf> {
    args.script.as_deref().map(|path| settings.surroundings.absolute_path(path))
}

/// All options but the MCP servers, which may be in files.
pub(crate) fn options(args: &RequestArgs) -> Options {
    let seconds = |duration: Option<Duration>| duration.map(|duration| duration.as_secs_f64());
    let confinement = &args.common.confinement;
    Options {
        permission: args.common.permission,
        confinement: confinement.choice(),
        network: confinement.network,
        allow_hosts: confinement.allow_hosts.clone(),
        limits: args.common.limits.limits(),
        workspace_settings: args.common.allow_workspace_settings.then_some(WorkspaceSettings::Allow),
        home: None,
        model: args.common.model.clone(),
        effort: args.common.effort.clone(),
        hard_timeout_sec: seconds(args.common.timeout),
        stall_timeout_sec: seconds(args.common.stall),
        linger_sec: seconds(args.linger),
        max_bytes: None,
        require_user_reply: if args.no_reply_needed { Some(false) } else { None },
        session_timeout_sec: seconds(args.session_timeout),
        idle_sec: seconds(args.idle),
        auto_decision_limit: None,
        default_decision_policy: args.decide,
        max_attempt: args.max_attempt,
        require_marker: args.require_marker,
        snapshot: if args.no_snapshot { Some(Snapshot::Off) } else { None },
        retry_quota: args.retry_quota,
        retry_quota_max: args.retry_quota_max,
        env: args.common.env.clone(),
        secrets: args.common.secret.clone(),
        mcp_servers: McpServers::default(),
        priority: args.priority,
        delegation: args.common.delegate.clone(),
        checks: args.common.check.iter().map(CheckRequest::line).collect(),
    }
}

/// Pairs and files, in the given order; later ones win.
pub(crate) fn values(words: &[String], option: &str, settings: &Settings) -> Result<Map<String, Value>, Failure> {
    let mut all = Map::new();
    for word in words {
        let is_pair = word.contains('=') && !settings.surroundings.absolute_path(Path::new(word)).is_file();
        let more = if word == "-" {
            document(&mut io::stdin().lock(), "stdin")?
        } else if is_pair {
            input::from_pairs(std::slice::from_ref(word))
                .map_err(|error| Failure::Input(format!("{option} {word}: {error}")))?
        } else {
            let path = settings.surroundings.absolute_path(Path::new(word));
            let failed = |error: io::Error| {
                let is_missing = error.kind() == io::ErrorKind::NotFound;
                let unreadable = || format!("the file cannot be read ({})", reason(&error));
                let why = if is_missing { "no such file".to_owned() } else { unreadable() };
                Failure::Input(format!("{option} {word}: {why}; give NAME=VALUE, or the path of a JSON file"))
            };
            document(&mut fs::File::open(&path).map_err(failed)?, word)?
        };
        all.extend(more);
    }
    Ok(all)
}

fn document(from: &mut dyn Read, name: &str) -> Result<Map<String, Value>, Failure> {
    let mut text = Vec::new();
    let wrong = |why: String| Failure::Input(format!("{name}: {why}"));
    from.take(INPUT_MAX + 1).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > INPUT_MAX {
        return Err(wrong(format!("has more than {INPUT_MAX} bytes; give it as a file with --file SLOT=PATH")));
    }
    match serde_json::from_slice(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("is JSON, but not an object".to_owned())),
        Err(error) => Err(wrong(format!("is not JSON: {error}"))),
    }
}

/// The key of the servers in the files of other programs.
const MCP_SERVERS_KEY: &str = "mcpServers";

/// The MCP servers in files, then those given as a name and a command.
pub(crate) fn mcp_servers(args: &CommonArgs, settings: &Settings) -> Result<McpServers, Failure> {
    let mut entries: BTreeMap<String, McpServerEntry> = BTreeMap::new();
    let mut add = |name: String, entry: McpServerEntry, option: &dyn Fn() -> String| {
        let twice = format!("{}: the server {name} was given twice", option());
        if entries.insert(name, entry).is_some() { Err(Failure::Input(twice)) } else { Ok(()) }
    };
    for path in &args.mcp_servers {
        let option = || format!("--mcp-servers {}", path.display());
        let failed = |why: String| Failure::Input(format!("{}: {why}", option()));
        let opened = fs::File::open(settings.surroundings.absolute_path(path));
        let mut file = opened.map_err(|error| failed(reason(&error).to_string()))?;
        let mut servers = document(&mut file, &path.display().to_string())?;
        if let Some(Value::Object(inner)) = servers.shift_remove(MCP_SERVERS_KEY) {
            servers = inner;
        }
        for (name, server) in servers {
            let wrong = |error: serde_json::Error| failed(format!("the server {name}: {error}"));
            let entry = serde_json::from_value(server).map_err(wrong)?;
            add(name, entry, &option)?;
        }
    }
    for word in &args.mcp {
        let option = || format!("--mcp {word}");
        let Some((name, server)) = word.split_once('=').filter(|(_, server)| !server.trim().is_empty()) else {
            return Err(Failure::Input(format!("{}: is not of the form NAME=URL or NAME=COMMAND", option())));
        };
        let is_url = server.starts_with("http://") || server.starts_with("https://");
        let entry = if is_url {
            McpServerEntry { url: Some(server.to_owned()), ..McpServerEntry::default() }
        } else {
            // Splitting as a shell does would surprise where it differs from one.
            if server.contains(['"', '\'', '\\']) {
                let why =
                    "quotes and backslashes are not understood here; give the server in a file with --mcp-servers";
                return Err(Failure::Input(format!("{}: {why}", option())));
            }
            let mut words = server.split_whitespace().map(str::to_owned);
            McpServerEntry { command: words.next(), args: words.collect(), ..McpServerEntry::default() }
        };
        add(name.to_owned(), entry, &option)?;
    }
    McpServers::try_from(entries).map_err(|error| Failure::Input(error.to_string()))
}

pub(crate) fn files(words: &[String], settings: &Settings) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut files = BTreeMap::new();
    for word in words {
        let Some((slot, path)) = word.split_once('=').filter(|(slot, path)| !slot.is_empty() && !path.is_empty())
        else {
            return Err(Failure::Input(format!("--file {word}: is not of the form SLOT=PATH")));
        };
        if files.insert(slot.to_owned(), settings.surroundings.absolute_path(Path::new(path))).is_some() {
            return Err(Failure::Input(format!("--file {word}: the slot {slot} was given twice")));
        }
    }
    Ok(files)
}
