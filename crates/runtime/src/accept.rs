//! Accepts a request: every mistake that can be found in it is reported before anything starts; then the request is
//! stored on disk with every default filled in.

mod checks;
mod confinement;
mod error;
pub(crate) mod limits;
mod mcp_servers;
mod options;
mod version;
mod workflow;
mod workspace_settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use skillrun_base::files;
use skillrun_base::whole_file;
use skillrun_collect::tree;
use skillrun_engine::descriptor::Executable;
use skillrun_engine::{Descriptor, Disk, EngineProgram, Posture, find};
use skillrun_evidence::{OsText, Patterns};
use skillrun_lifecycle::run::{Input, State};
use skillrun_log::EventLog;
use skillrun_model::confinement::BoxPartName;
use skillrun_model::continues::Continues;
use skillrun_model::rasp::data::{RunStarted, Versions};
use skillrun_model::status::Continuation;
use skillrun_model::workflow::WorkflowPlan;
use skillrun_model::{ExecutionMode, IgnoredError, InteractionId, ProfileId, RunId};
use skillrun_runs::cache::{self, CacheKey};
use skillrun_runs::copy::{CopyLimits, CopySource};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::events::read_all;
use skillrun_runs::prompt;
use skillrun_runs::record::{
    BOX_FORMAT, CHECKED_FORMAT, COPY_FORMAT, EngineRecord, FORMAT, GATE, LIMITS_FORMAT, PROMPT_FORMAT, RunRecord,
    RunRequest, Sharing, SkillRecord, Snapshot, TRANSLATOR, Timeouts, Workspace,
};
use skillrun_skill::{EngineSupport, SchemaRole, Skill, SkillCopy, SkillHash, input};

pub use error::{AcceptError, SkillPart};
pub use options::Options;
use options::{Filled, delegation};

use crate::consent;
use crate::run::Run;
use crate::runtime::RuntimeConfig;
use crate::variables::{self, SealedVariables};
use crate::workspace::{self as folders, Claim};

/// Largest file that may come with a request.
const FILE_MAX: u64 = 1 << 30;

/// Where a skill keeps the script that the scripted engine plays when the request names none.
pub(crate) const OWN_SCRIPT: &str = "assets/scripted.yaml";

/// What a new run carries out.
#[derive(Debug, Clone)]
pub enum RunTask {
    Skill(Box<Skill>),
    /// The exact text of the first message.
    Prompt(String),
    /// Its steps become child runs; `input` has its inputs, complete and checked.
    Workflow(Arc<WorkflowPlan>),
}

impl RunTask {
    /// None for a run without a skill.
    pub fn skill(&self) -> Option<&Skill> {
        match self {
            Self::Skill(skill) => Some(skill),
            Self::Prompt(_) | Self::Workflow(_) => None,
        }
    }
}

impl From<Skill> for RunTask {
    fn from(skill: Skill) -> Self {
        Self::Skill(Box::new(skill))
    }
}

/// A run to be created.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub task: RunTask,
    pub engine: String,
    pub mode: Option<ExecutionMode>,
    pub input: Map<String, Value>,
    pub parameter: Map<String, Value>,
    /// By slot.
    pub files: BTreeMap<String, PathBuf>,
    /// None: a folder inside the run.
    pub workspace: Option<(PathBuf, Sharing)>,
    /// The folder inside the run begins as a copy of this one. There is no `workspace` then.
    pub copy_of: Option<PathBuf>,
    /// For the scripted engine.
    pub script: Option<PathBuf>,
    /// Instead of the engine's.
    pub profile: Option<ProfileId>,
    /// Instead of the engine's.
    pub continuation: Option<Continuation>,
    pub options: Options,
    /// Files of the workspace that are artifacts wherever they are.
    pub artifacts: Vec<String>,
    pub retry_of: Option<RunId>,
    /// The run whose conversation this one continues; its replay is the beginning of the prompt.
    pub continues: Option<Continues>,
    /// Of a workflow: the earlier run whose ready steps count here too.
    pub reuses: Option<RunId>,
    /// The caller's own id for this request.
    pub request_id: Option<String>,
}

impl NewRun {
    /// A run of a skill on an engine; the skill, the engine and the settings decide all else.
    pub fn new(skill: Skill, engine: impl Into<String>) -> Self {
        Self::of(skill.into(), engine)
    }

    /// A run without a skill.
    pub fn ask(prompt: impl Into<String>, engine: impl Into<String>) -> Self {
        Self::of(RunTask::Prompt(prompt.into()), engine)
    }

    /// A run of a task on an engine.
    pub fn of(task: RunTask, engine: impl Into<String>) -> Self {
        Self {
            task,
            engine: engine.into(),
            mode: None,
            input: Map::new(),
            parameter: Map::new(),
            files: BTreeMap::new(),
            workspace: None,
            copy_of: None,
            script: None,
            profile: None,
            continuation: None,
            options: Options::default(),
            artifacts: Vec::new(),
            retry_of: None,
            continues: None,
            reuses: None,
            request_id: None,
        }
    }
}

/// A request in which no mistake was found.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) record: RunRecord,
    /// None when it replaces a run that has none.
    pub(crate) variables: Option<SealedVariables>,
    files: Vec<(PathBuf, String)>,
    /// None for a run without a skill.
    skill: Option<PathBuf>,
}

impl Checked {
    /// The run that had the same request before and succeeded, if its result may be used again.
    pub(crate) fn cached(&self, config: &RuntimeConfig) -> Result<Option<RunId>, AcceptError> {
        let data = &config.tools.data;
        // The files are hashed as they will be stored in the run.
        let staged = data.cache().join(format!(".{}", self.record.run_id));
        let failed = |error| AcceptError::Write { path: staged.clone(), error };
        fs::create_dir_all(&staged).map_err(failed)?;
        let copied = self.files.iter().try_for_each(|(source, name)| copy_file(source, &staged.join(name)).map(drop));
        let key = copied.and_then(|()| CacheKey::of(&self.record, &staged));
        fs::remove_dir_all(&staged).ignored();
        Ok(key.map_err(failed)?.and_then(|key| cache::lookup(data, &key)))
    }
}

/// Checks everything, and changes nothing.
pub(crate) fn check(config: &RuntimeConfig, new: NewRun) -> Result<Checked, AcceptError> {
    if let RunTask::Workflow(plan) = &new.task {
        let plan = plan.clone();
        return workflow::check(config, new, plan);
    }
    let NewRun { task, engine, .. } = &new;
    let skill = task.skill();
    skill.map(Skill::check_usable).transpose()?;
    let descriptor = config.engines.get(engine)?;
    let mode = match task {
        RunTask::Skill(skill) => skill_mode(skill, descriptor, &new)?,
        RunTask::Prompt(prompt) => {
            check_prompt(prompt, &new)?;
            new.mode.unwrap_or(ExecutionMode::Auto)
        }
        RunTask::Workflow(_) => ExecutionMode::Auto,
    };
    let continuation = skillrun_engine::launch::continuation(descriptor, new.profile, new.continuation);
    match (mode, continuation) {
        (ExecutionMode::Interactive | ExecutionMode::Conversation, Continuation::None) => {
            return Err(AcceptError::NotInteractive { engine: engine.clone(), mode });
        }
        (ExecutionMode::Auto, _) | (_, Continuation::Resumable | Continuation::Sticky) => {}
    }
    if let Some(skill) = skill {
        input::check(skill, &new.input, &new.parameter)?;
        for role in SchemaRole::ALL {
            skill.schema(*role)?;
        }
    }
    let found = find_program(config, descriptor)?;
    let version = version::of(config, descriptor, &found);
    let none = Map::new();
    let skill_options = skill.map_or(&none, |skill| &skill.runner.runtime_options);
    let options = Filled::of(&new.options, skill_options, &config.defaults)?;
    let delegation = delegation(new.options.delegation.as_ref())?;
    if delegation.is_some() && !can_delegate(descriptor) {
        return Err(AcceptError::CannotDelegate { engine: engine.clone() });
    }
    // What changes in a copy is known from its snapshots alone.
    let snapshot = if new.copy_of.is_some() { Snapshot::Taken } else { options.snapshot };
    let of_skill = skill.map_or(&[][..], |skill| &skill.runner.checks);
    let checks = checks::of(mode, of_skill, &new.options.checks)?;
    if let Some(skill) = skill.filter(|_| !of_skill.is_empty())
        && !is_agreed_to(config, &consent::of_checks(&skill.name))?
    {
        return Err(AcceptError::NoConsentToChecks { skill: skill.name.clone() });
    }
    let report = confinement::report(config, &options, descriptor)?;
    let is_boxed = report.as_ref().is_some_and(|report| report.enforces(BoxPartName::Files));
    let posture = if is_boxed { Posture::Enforced } else { descriptor.permissions.rule(options.permission).posture };
    let is_ours = matches!(descriptor.executable, Executable::Own);
    if posture == Posture::NotEnforced && !is_ours && !is_agreed_to(config, engine)? {
        return Err(AcceptError::NoConsent { engine: engine.clone(), permission: options.permission });
    }
    let mcp_servers = mcp_servers::of(config, descriptor, &new, &options, is_boxed)?;
    // Text that could not be hidden later must not be written now.
    Patterns::new(&config.redact_patterns)?;
    let files = named_files(&new.files)?;
    let script = script(&new, &is_ours)?;
    let now = config.tools.clock.now();
    let profile = new.profile.unwrap_or(descriptor.profile);
    let workspace = workspace_of(config, &new)?;
    confinement::check_workspace(config, &options, &workspace)?;
    let found_there = workspace_settings::look(descriptor, &options, &workspace)?;
    let record = RunRecord {
        format: match (&workspace, skill) {
            _ if !options.limits.is_empty() => LIMITS_FORMAT,
            _ if report.is_some() => BOX_FORMAT,
            _ if !checks.is_empty() => CHECKED_FORMAT,
            (Workspace::Copy(_), _) => COPY_FORMAT,
            (Workspace::Own | Workspace::Folder { .. }, Some(_)) => FORMAT,
            (Workspace::Own | Workspace::Folder { .. }, None) => PROMPT_FORMAT,
        },
        run_id: config.new_id(now)?,
        created_at: now,
        skillrun: env!("CARGO_PKG_VERSION").to_owned(),
        translator: TRANSLATOR,
        gate: GATE,
        skill: skill.map(|skill| skill_record(config, skill)).transpose()?,
        engine: EngineRecord {
            name: engine.clone(),
            program: OsText::from(found.program),
            interpreter: found.interpreter.map(OsText::from),
            version,
            profile,
            profile_version: profile.version(),
            continuation,
            posture,
            login: descriptor.login.command.clone(),
        },
        confinement: report,
        workspace_starts: found_there.starts,
        workspace_credentials: found_there.credentials,
        request: RunRequest {
            prompt: match task {
                RunTask::Skill(_) | RunTask::Workflow(_) => None,
                RunTask::Prompt(prompt) => Some(prompt.clone()),
            },
            workflow: None,
            reuses: None,
            mode,
            files: files.iter().map(|(slot, _, name)| (slot.clone(), name.clone())).collect(),
            workspace,
            home: options.home,
            permission: options.permission,
            confinement: options.confinement,
            network: options.network,
            allow_hosts: options.allow_hosts,
            limits: options.limits,
            workspace_settings: options.workspace_settings,
            model: new.options.model.clone(),
            effort: new.options.effort.clone(),
            script: script.as_ref().map(|(_, name)| name.clone()),
            timeouts: Timeouts {
                hard_sec: options.hard_timeout_sec,
                stall_sec: options.stall_timeout_sec,
                linger_sec: options.linger_sec,
            },
            max_bytes: options.max_bytes,
            interactive_require_user_reply: options.require_user_reply,
            session_timeout_sec: options.session_timeout_sec,
            idle_sec: options.idle_sec,
            auto_decision_limit: options.auto_decision_limit,
            default_decision_policy: new.options.default_decision_policy,
            max_attempt: new.options.max_attempt.or(skill.and_then(|skill| skill.runner.max_attempt).map(Into::into)),
            require_marker: skill.is_some_and(|skill| {
                [new.options.require_marker, skill.runner.require_marker, config.defaults.require_marker]
                    .into_iter()
                    .find_map(|said| said)
                    .unwrap_or(false)
            }),
            snapshot,
            env: new.options.env.clone(),
            secrets: new.options.secrets.clone(),
            mcp_servers,
            priority: new.options.priority.unwrap_or(0),
            retry: options.retry,
            delegation,
            checks,
            artifacts: new.artifacts,
            request_id: new.request_id.clone(),
            input: new.input,
            parameter: new.parameter,
        },
        input_hashes: BTreeMap::new(),
        redact_patterns: config.redact_patterns.clone(),
        retry_of: new.retry_of,
        continues: new.continues.clone(),
        parent: None,
        quota_retry: None,
    };
    let files = files.into_iter().map(|(_, path, name)| (path, name)).chain(script).collect();
    let salt = variables::random_salt().map_err(crate::RuntimeError::file("/dev/urandom", "read"))?;
    let names = variables::names(descriptor, &record.request);
    let variables = Some(SealedVariables::of(names, &config.tools.variables, salt));
    Ok(Checked { record, variables, files, skill: new.task.skill().map(|skill| skill.root.clone()) })
}

/// Whether the process of an engine can ask for other runs: through the MCP server that it is given, or by itself.
pub(crate) fn can_delegate(descriptor: &Descriptor) -> bool {
    descriptor.mcp.is_some() || matches!(descriptor.executable, Executable::Own)
}

/// The mode of a run of a skill on an engine that the skill supports.
fn skill_mode(skill: &Skill, descriptor: &Descriptor, new: &NewRun) -> Result<ExecutionMode, AcceptError> {
    match skill.supports(&descriptor.name) {
        EngineSupport::Supported => {}
        EngineSupport::NotListed | EngineSupport::Unsupported => {
            let engines = skill.runner.engines.iter().map(ToString::to_string).collect();
            let (skill, engine) = (skill.name.clone(), new.engine.clone());
            return Err(AcceptError::EngineNotSupported { skill, engine, engines });
        }
    }
    let mode = new.mode.unwrap_or_else(|| skill.runner.default_mode());
    if !skill.runner.allows(mode) {
        return Err(AcceptError::ModeNotAllowed { skill: skill.name.clone(), mode });
    }
    Ok(mode)
}

/// A prompt that can be sent, in a request without anything that only a skill can use.
fn check_prompt(prompt: &str, new: &NewRun) -> Result<(), AcceptError> {
    prompt::check(prompt)?;
    if new.options.require_marker == Some(true) {
        return Err(AcceptError::OnlyWithSkill { part: SkillPart::RequireMarker });
    }
    if !new.input.is_empty() {
        return Err(AcceptError::OnlyWithSkill { part: SkillPart::Input });
    }
    if !new.parameter.is_empty() {
        return Err(AcceptError::OnlyWithSkill { part: SkillPart::Parameter });
    }
    Ok(())
}

fn skill_record(config: &RuntimeConfig, skill: &Skill) -> Result<SkillRecord, AcceptError> {
    Ok(SkillRecord {
        name: skill.name.clone(),
        version: skill.runner.version.clone(),
        source: OsText::from(skill.root.as_path()),
        hash: skill.hash()?.to_string(),
        layers_hash: config.layers.hash().to_hex().to_string(),
    })
}

/// Whether the user has agreed to an engine, or to the checks of a skill or workflow, by name or by the setting.
fn is_agreed_to(config: &RuntimeConfig, engine: &str) -> Result<bool, AcceptError> {
    if config.consents.iter().any(|name| name == engine) {
        return Ok(true);
    }
    let data = &config.tools.data;
    let given = consent::given(data).map_err(|error| AcceptError::File { path: data.consent(), error })?;
    Ok(given.contains_key(engine))
}

pub(crate) fn find_program(config: &RuntimeConfig, descriptor: &Descriptor) -> Result<EngineProgram, AcceptError> {
    let variable = descriptor.executable.variable().and_then(|name| config.variable(name));
    let around = skillrun_engine::FindContext {
        own: &config.own_program,
        cwd: &config.cwd,
        path: config.variable("PATH"),
        user_home: Some(&config.user_home),
        variable,
        programs: config.programs.as_deref(),
    };
    Ok(find(descriptor, &around, &Disk)?)
}

/// Slot, source, and the name it gets in `inputs/`.
fn named_files(files: &BTreeMap<String, PathBuf>) -> Result<Vec<(String, PathBuf, String)>, AcceptError> {
    let mut named = Vec::new();
    for (number, (slot, path)) in files.iter().enumerate() {
        let found = fs::metadata(path).map_err(|error| AcceptError::File { path: path.clone(), error })?;
        if !found.is_file() {
            return Err(AcceptError::NoFile { path: path.clone() });
        }
        if found.len() > FILE_MAX {
            return Err(AcceptError::FileTooLarge { path: path.clone(), limit: FILE_MAX });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // The extension matters to agents; two slots may have files of the same name.
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        named.push((slot.clone(), path.clone(), format!("{}-{name}", number + 1)));
    }
    Ok(named)
}

fn script(new: &NewRun, is_ours: &bool) -> Result<Option<(PathBuf, String)>, AcceptError> {
    if !is_ours {
        return Ok(None);
    }
    let path = match &new.script {
        Some(path) => path.clone(),
        None => match &new.task {
            // Without a script the answer repeats the prompt.
            RunTask::Prompt(_) | RunTask::Workflow(_) => return Ok(None),
            // It is copied with the skill.
            RunTask::Skill(skill) if skill.root.join(OWN_SCRIPT).is_file() => return Ok(None),
            RunTask::Skill(skill) => {
                return Err(AcceptError::NoScript { skill: skill.name.clone(), engine: new.engine.clone() });
            }
        },
    };
    if !path.is_file() {
        return Err(AcceptError::NoFile { path });
    }
    Ok(Some((path, "script.yaml".to_owned())))
}

fn workspace_of(config: &RuntimeConfig, new: &NewRun) -> Result<Workspace, AcceptError> {
    let real = |path: &Path| {
        let real = fs::canonicalize(path).map_err(|error| AcceptError::File { path: path.to_owned(), error })?;
        if real.is_dir() { Ok(real) } else { Err(AcceptError::NoFolder { path: path.to_owned() }) }
    };
    match (&new.workspace, &new.copy_of) {
        (None, None) => Ok(Workspace::Own),
        (Some((path, sharing)), None) => Ok(Workspace::Folder { path: OsText::from(real(path)?), sharing: *sharing }),
        // It is copied when the run is made. Whether it can be is checked now.
        (None, Some(from)) => Ok(Workspace::Copy(copy_source(config, &real(from)?).measure()?)),
        (Some(_), Some(_)) => Err(AcceptError::FolderAndCopy),
    }
}

fn copy_source<'a>(config: &'a RuntimeConfig, folder: &'a Path) -> CopySource<'a> {
    CopySource { folder, data: config.tools.data.root(), limits: CopyLimits::default() }
}

/// Creates the run. When this returns, the run is accepted and stored on disk, and the caller is its owner.
pub(crate) fn make(config: &RuntimeConfig, checked: Checked) -> Result<Run, AcceptError> {
    let tools = &config.tools;
    let Checked { record, variables, files, skill } = checked;
    let id = record.run_id;
    let claim = match &record.request.workspace {
        Workspace::Own | Workspace::Copy(_) => None,
        Workspace::Folder { path, sharing } => {
            let is_over = |run: RunId| run_is_over(config, run);
            let family = record.family();
            let is_of_family = |run: RunId| {
                let other = RunRecord::read(&tools.data.run(run).record());
                record.parent.is_some() && other.is_ok_and(|other| other.family() == family)
            };
            match folders::claim(&tools.data, id, path.as_path(), *sharing, is_over, is_of_family)? {
                Claim::Of(run) => {
                    let holder = RunRecord::read(&tools.data.run(run).record()).ok();
                    let not_before = holder.and_then(|holder| holder.not_before());
                    let not_before = not_before.filter(|at| *at > tools.clock.now());
                    return Err(AcceptError::WorkspaceInUse { path: path.as_path().to_owned(), run, not_before });
                }
                ours @ Claim::Ours(_) => Some(ours),
            }
        }
    };
    let made = write(config, record, variables.as_ref(), &files, skill.as_deref());
    if made.is_err() {
        // Nothing was accepted, so everything written so far is removed.
        tools.log.release(id);
        tree::remove(tools.data.run(id).root()).ignored();
        folders::release(&tools.data, id);
    }
    drop(claim);
    made
}

fn write(
    config: &RuntimeConfig,
    mut record: RunRecord,
    variables: Option<&SealedVariables>,
    files: &[(PathBuf, String)],
    skill: Option<&Path>,
) -> Result<Run, AcceptError> {
    let tools = &config.tools;
    let folder = tools.data.run(record.run_id);
    tools.log.create(record.run_id).map_err(crate::RuntimeError::from)?;
    if let (Some(source), Some(skill)) = (skill, &mut record.skill) {
        SkillCopy::make(source, &folder.skill())?;
        // The source may have changed since it was checked; the copy in the run is what counts.
        skill.hash = SkillHash::of(&folder.skill())?.to_string();
    }
    if let Workspace::Copy(copy) = &mut record.request.workspace {
        let from = copy.from.as_path().to_owned();
        *copy = copy_source(config, &from).make(&folder.workspace())?;
    }
    let inputs = folder.inputs();
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| AcceptError::Write { path, error }
    };
    if !files.is_empty() {
        fs::create_dir_all(&inputs).map_err(failed(&inputs))?;
    }
    for (source, name) in files {
        let copy = inputs.join(name);
        copy_file(source, &copy).map_err(failed(source))?;
        let (hash, _) = whole_file::hash(&copy).map_err(failed(&copy))?;
        record.input_hashes.insert(name.clone(), hash);
    }
    // Synced to disk before anything reports that the run is accepted. The first event syncs their names, with
    // everything else in the folder of the run.
    let copy = record.skill.is_some().then(|| folder.skill());
    let kept: Vec<PathBuf> = copy.into_iter().chain((!files.is_empty()).then_some(inputs)).collect();
    whole_file::sync_trees(&kept).map_err(failed(folder.root()))?;
    if let Some(variables) = variables {
        variables.write(&folder.variables()).map_err(failed(&folder.variables()))?;
    }
    let record_hash = record.write(&folder.record()).map_err(failed(&folder.record()))?;
    let started = started(&record, Some(record_hash));
    let mut run = Run::new(tools, record);
    run.store().keep_reserve(run.id);
    run.apply(Input::Accepted(started))?;
    Ok(run)
}

/// The first event of a run, from its record and the hash of the file that has it.
pub(crate) fn started(record: &RunRecord, record_hash: Option<String>) -> RunStarted {
    let versions = Versions {
        skillrun: record.skillrun.clone(),
        engine: record.engine.version.clone(),
        profile: record.engine.profile_version,
    };
    RunStarted {
        skill: record.skill.as_ref().map(|skill| skill.name.clone()),
        title: record.prompt_title(),
        continuation: Some(record.engine.continuation),
        permission: Some(record.request.permission),
        posture: Some(record.engine.posture),
        retry_of: record.retry_of,
        continues: record.continues.clone(),
        parent: record.parent.clone().map(Box::new),
        workflow: record.workflow().map(|plan| plan.name.clone()),
        not_before: record.not_before(),
        record_hash,
        ..RunStarted::new(record.engine.name.clone(), record.request.mode, versions)
    }
}

/// A copy that only the owner can read.
pub(crate) fn copy_file(source: &Path, target: &Path) -> std::io::Result<u64> {
    let mut from = fs::File::open(source)?;
    let mut to = files::create_private(target)?;
    std::io::copy(&mut from, &mut to)
}

/// Whether a run needs its folder no longer.
pub(crate) fn run_is_over(config: &RuntimeConfig, run: RunId) -> bool {
    let mut state = State::default();
    let folded = read_all(&config.tools.log, run, |event| {
        state.evolve(&event);
        Ok(())
    });
    match folded {
        // Without a first event it was never accepted: the process that created it is gone, because it would hold our
        // lock.
        Ok(()) => state.status.is_none() || state.is_over(),
        // It is gone, or cannot be read and therefore not continue.
        Err(_) => true,
    }
}

/// Copies the files that go with an answer into the run; returns their names there.
pub fn reply_files(
    folder: &RunFolder,
    interaction: InteractionId,
    files: &[PathBuf],
) -> Result<Vec<String>, AcceptError> {
    let slots = files.iter().enumerate().map(|(number, path)| (format!("{number:04}"), path.clone())).collect();
    let inputs = folder.inputs();
    let mut names = Vec::new();
    for (_, path, name) in named_files(&slots)? {
        fs::create_dir_all(&inputs).map_err(|error| AcceptError::Write { path: inputs.clone(), error })?;
        let mut name = format!("reply-{}-{name}", interaction.0);
        // The same file may have been given with an answer that came too late.
        while inputs.join(&name).exists() {
            name.insert(0, '_');
        }
        copy_file(&path, &inputs.join(&name)).map_err(|error| AcceptError::File { path: path.clone(), error })?;
        names.push(name);
    }
    // Synced to disk before the answer is acknowledged.
    if !names.is_empty() {
        let files: Vec<PathBuf> = names.iter().map(|name| inputs.join(name)).collect();
        let names_too = [inputs.clone(), folder.root().to_owned()];
        let synced = whole_file::sync_each(&[files, names_too.to_vec()].concat());
        synced.map_err(|error| AcceptError::Write { path: inputs, error })?;
    }
    Ok(names)
}
