//! The plan for the host of an attempt.

use std::fs;
use std::path::PathBuf;

use skillrun_collect::plan::{Limits, SnapshotPlan, StartWhen, Variable, VariableKind};
use skillrun_collect::{HostPlan, start};
use skillrun_engine::acp::{Opening, Session};
use skillrun_engine::descriptor::Executable;
use skillrun_engine::mcp::{self, OwnServer};
use skillrun_engine::{Descriptor, Home, LaunchError, LoginFound, StartRequest, files};
use skillrun_evidence::OsText;
use skillrun_log::{Epoch, EventLog};
use skillrun_model::AttemptNumber;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::status::Continuation;
use skillrun_model::verdict::RunError;
use skillrun_runs::judge::Rules;
use skillrun_runs::login;
use skillrun_runs::record::{HomeChoice, RunRecord, RunRequest, Snapshot, seconds};
use skillrun_skill::SkillErrorKind;

use super::{confinement, inputs, keys, message, opening, resources};
use crate::accept::OWN_SCRIPT;
use crate::delegation::token;
use crate::run::Run;
use crate::runtime::RuntimeConfig;
use crate::workspace::{EarlierCopy, PlaceError, Places, prompt_name};

/// How long a host waits for the request to start. An owner that comes back within this time finds it waiting.
const HELD: std::time::Duration = std::time::Duration::from_secs(60);

/// Prepares everything an attempt needs, and returns the plan for its host.
pub(crate) fn plan(
    config: &RuntimeConfig,
    run: &Run,
    rules: &Rules,
    attempt: AttemptNumber,
) -> Result<HostPlan, RunError> {
    let (record, folder) = (&run.record, &run.folder);
    let engine = |message: String| error(ErrorCategory::Engine, Code::EngineNotStarted, message);
    let descriptor = descriptor(config, record)?;
    inputs::check(run).map_err(|changed| error(ErrorCategory::Input, Code::InputChanged, changed))?;
    let places = Places::of(folder, record, descriptor, &config.user_home);
    // A Log gets another epoch when it is opened after a power failure.
    let earlier = match config.tools.log.head(run.id) {
        Ok(head) if head.epoch == Epoch::FIRST => EarlierCopy::Complete,
        Ok(_) | Err(_) => EarlierCopy::Unsynced,
    };
    places.prepare(folder, record, &config.layers, earlier).map_err(place_error)?;
    if record.skill.is_some() && rules.skill.is_none() {
        let unreadable = "the run's copy of the skill cannot be read".to_owned();
        return Err(error(ErrorCategory::Skill, Code::SkillUnreadable, unreadable));
    }
    let message = message::compose(&config.tools, run, rules, descriptor, &places)?;
    let words = message::words(folder, &message.text, &message.files);
    fs::create_dir_all(folder.inputs()).map_err(|failed| engine(failed.to_string()))?;
    let prompt_file = folder.inputs().join(prompt_name(attempt));
    let script = match (&record.request.script, &descriptor.executable) {
        (Some(name), _) => Some(folder.inputs().join(name)),
        // Without a skill there is no script, and the answer repeats the prompt.
        (None, Executable::Own) => record.skill.as_ref().map(|_| folder.skill().join(OWN_SCRIPT)),
        (None, Executable::Installed(_)) => None,
    };
    let run_record = folder.record();
    let output_schema = rules.skill.as_ref().and_then(|skill| {
        let path = skill.runner.schemas.output.as_ref()?;
        Some(skill.root.join(path.as_path()))
    });
    let mut variables = variables(config, run);
    let own = own_server(config, run).map_err(|failed| engine(failed.to_string()))?;
    variables.extend(own.iter().flat_map(|own| own.variables.clone()));
    let servers = record.request.mcp_servers.clone();
    let servers = match own.filter(|_| descriptor.mcp.is_some()) {
        Some(own) => servers.with_own(own.server),
        // The engine scripted speaks to the socket itself; others cannot delegate.
        None => servers,
    };
    let login = taken_login(config, run, descriptor, &places).map_err(|failed| engine(failed.to_string()))?;
    let request = StartRequest {
        program: record.engine.program.as_path(),
        interpreter: record.engine.interpreter.as_ref().map(OsText::as_path),
        login: &login,
        engine_version: record.engine.version.as_deref(),
        mode: record.request.mode,
        attempt,
        prompt: &words,
        prompt_file: &prompt_file,
        workspace: &places.workspace,
        home: match record.request.home {
            HomeChoice::Run => Home::Run(&places.home),
            HomeChoice::User => Home::User(&places.home),
        },
        permission: confinement::engine_permission(record, descriptor),
        model: record.request.model.as_deref(),
        effort: record.request.effort.as_deref(),
        skill_dir: places.skill.as_deref(),
        output_schema: output_schema.as_deref(),
        script: script.as_deref(),
        run_record: Some(&run_record),
        profile: Some(record.engine.profile),
        continuation: Some(record.engine.continuation),
        servers: &servers,
        workspace_settings: record.request.workspace_settings,
        environment: &config.environment,
        variables: &variables,
    };
    let launch = match (&run.state.reply, run.state.session_id.as_deref()) {
        (Some(_), _) if message::begins_session(run) => skillrun_engine::start(descriptor, &request),
        (Some(_), Some(session)) => skillrun_engine::resume(descriptor, &request, session),
        (Some(_), None) => {
            let missing = "the engine never reported its session id, so the session cannot be continued".to_owned();
            return Err(error(ErrorCategory::Session, Code::SessionIdMissing, missing));
        }
        (None, _) => skillrun_engine::start(descriptor, &request),
    };
    let launch = launch.map_err(|refused: LaunchError| engine(refused.to_string()))?;
    let paths: Vec<PathBuf> = launch.files.iter().map(|file| file.path.clone()).collect();
    places
        .note_files(folder, record, &paths)
        .and_then(|()| files::write(&launch.files).map_err(|failed| std::io::Error::other(failed.to_string())))
        .map_err(|failed| engine(failed.to_string()))?;
    let sticky = record.engine.continuation == Continuation::Sticky;
    // A sticky process that is started with an answer must not get it a second time as its input.
    let started_with = run.state.reply.as_ref().filter(|_| sticky).map(|_| Opening {
        attempt,
        cwd: places.workspace.to_string_lossy().into_owned(),
        session: Session::New,
        mode: None,
        prompt: words.clone(),
        meta: serde_json::Map::new(),
    });
    if let Some(opening) = launch.opening.as_ref().or(started_with.as_ref()) {
        opening::write(folder, opening).map_err(|failed| engine(failed.to_string()))?;
    }
    let mut ignore = launch.snapshot_ignore.clone();
    if let Some(inside) = places.skill.as_ref().and_then(|copy| copy.strip_prefix(&places.workspace).ok()) {
        ignore.extend(login::rule(inside));
    }
    // Last, so that no earlier rule can undo it.
    let (data, home) = (&config.tools.data, &config.user_home);
    ignore.extend(login::rules(data, &config.engines, &places.workspace, home));
    let timeouts = record.request.timeouts;
    let linger = timeouts.linger_sec.map(seconds).or(launch.linger);
    let defaults = Limits::default();
    let confinement = confinement::of_engine(config, run, descriptor, (&places.workspace, &places.home));
    let mut variables = launch.variables;
    confinement::add_proxy(&mut variables, confinement.as_ref());
    Ok(HostPlan {
        run_id: run.id,
        attempt,
        nonce: start::random_nonce().map_err(|failed| engine(failed.to_string()))?,
        audit: OsText::from(folder.audit()),
        workspace: OsText::from(places.workspace.as_path()),
        argv: launch.argv,
        variables,
        keys: keys::of_server(data),
        wiring: launch.wiring,
        stdin: launch.stdin,
        label: launch.label,
        limits: Limits {
            hard: seconds(timeouts.hard_sec),
            stall: seconds(timeouts.stall_sec),
            linger: linger.unwrap_or(defaults.linger),
            max_bytes: record.request.max_bytes,
            ..defaults
        },
        ladder: launch.ladder,
        snapshot: match record.request.snapshot {
            Snapshot::Taken => SnapshotPlan::On { ignore },
            Snapshot::Off => SnapshotPlan::Off,
        },
        temporary: OsText::from(config.temporary.as_path()),
        confinement,
        resources: resources::plan(record, &places.workspace, &places.home),
        start: StartWhen::Told { within: HELD },
    })
}

/// The engine of a run.
pub(crate) fn descriptor<'a>(config: &'a RuntimeConfig, record: &RunRecord) -> Result<&'a Descriptor, RunError> {
    let found = config.engines.get(&record.engine.name);
    found.map_err(|broken| error(ErrorCategory::Engine, Code::EngineNotFound, broken.to_string()))
}

/// The user's login, which is in the HOME of the run from here on.
fn taken_login(
    config: &RuntimeConfig,
    run: &Run,
    descriptor: &Descriptor,
    places: &Places,
) -> std::io::Result<LoginFound> {
    let user_home = &config.user_home;
    let found = login::found(descriptor, user_home, |name| config.variable(name).is_some_and(|it| !it.is_empty()));
    if run.record.request.home == HomeChoice::Run {
        let data = &config.tools.data;
        let is_left = |other| login::is_left(&config.tools.log, data, other);
        login::take(data, run.id, descriptor, &found, &places.home, user_home, is_left)?;
    }
    Ok(found)
}

/// Variables that the request names, with their current values.
fn variables(config: &RuntimeConfig, run: &Run) -> Vec<Variable> {
    let request = &run.record.request;
    let servers: Vec<String> = request.mcp_servers.variables().into_iter().map(str::to_owned).collect();
    // Of two variables of one name the engine gets the later one: a variable that a server names is masked.
    [named_variables(config, request), named(config, &servers, VariableKind::Secret)].concat()
}

/// Those that the request names for its commands, and not those of its servers.
pub(super) fn named_variables(config: &RuntimeConfig, request: &RunRequest) -> Vec<Variable> {
    [named(config, &request.env, VariableKind::Plain), named(config, &request.secrets, VariableKind::Secret)].concat()
}

fn named(config: &RuntimeConfig, names: &[String], kind: VariableKind) -> Vec<Variable> {
    let found = |name: &String| {
        let value = config.variable(name)?;
        Some(Variable { name: OsText::from(name.as_str()), value: OsText::from(value), kind })
    };
    names.iter().filter_map(found).collect()
}

/// The MCP server with which the process reaches the socket of its run, if it may delegate.
fn own_server(config: &RuntimeConfig, run: &Run) -> std::io::Result<Option<OwnServer>> {
    if run.record.request.delegation.is_none() {
        return Ok(None);
    }
    let socket = token::socket(&config.tools.data, run.id);
    let unusable =
        || std::io::Error::other("the path of skillrun is not UTF-8, so that no engine can start its MCP server");
    let server = mcp::own_server(&config.own_program, &socket, &token::issue(&run.folder)?);
    server.map(Some).ok_or_else(unusable)
}

fn place_error(failed: PlaceError) -> RunError {
    match failed {
        PlaceError::Skill(wrong) => {
            let is_disk = matches!(wrong.kind, SkillErrorKind::Io(_));
            let code = if is_disk { Code::EngineNotStarted } else { Code::SkillUnreadable };
            error(ErrorCategory::Skill, code, wrong.to_string())
        }
        PlaceError::Folder { .. } => error(ErrorCategory::Host, Code::WorkspaceFailed, failed.to_string()),
    }
}

pub(crate) fn error(category: ErrorCategory, code: Code, message: String) -> RunError {
    RunError { category, code, message, details: Vec::new(), reset_at: None }
}
