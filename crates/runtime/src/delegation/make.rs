//! A request of a parent becomes a new run: checked before anything is in the Log of the parent, and made from the Log
//! afterwards, by the worker of the parent or by that of a later owner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use skillrun_base::whole_file;
use skillrun_collect::plan::delegation::REQUEST_MAX;
use skillrun_model::delegation::{ChildRequest, ChildWorkspace, Delegation, ParentLink, RefusalReason};
use skillrun_model::rasp::data::TextBlob;
use skillrun_model::status::OnQuota;
use skillrun_model::{AttemptNumber, Classified, ErrorClass, ExecutionMode, RunId};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::{RunRecord, Sharing};
use skillrun_skill::search::FindError;

use crate::accept::{self, AcceptError, Checked, NewRun, Options, RunTask};
use crate::runtime::RuntimeConfig;

/// The parent of a child that is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub(crate) record: &'a RunRecord,
    pub(crate) folder: &'a RunFolder,
    pub(crate) attempt: AttemptNumber,
}

impl Parent<'_> {
    pub(crate) fn depth(self) -> u32 {
        self.record.parent.as_ref().map_or(0, |link| link.depth)
    }

    /// The run at the top of the family.
    pub(crate) fn root(self) -> RunId {
        self.record.family()
    }

    fn link(self, request: &ChildRequest) -> ParentLink {
        ParentLink {
            run_id: self.record.run_id,
            attempt: self.attempt,
            call_id: request.call_id.clone(),
            step_id: None,
            root: self.root(),
            depth: self.depth() + 1,
        }
    }
}

/// Why a child cannot be made, in one sentence that an agent can act on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildFault {
    #[error("this run may not start other runs; do the work yourself")]
    NoDelegation,
    #[error("runs at depth {depth} may not start other runs (max_depth is {limit}); do the work yourself")]
    TooDeep { depth: u32, limit: u32 },
    #[error("the engine {engine} is not allowed here; use one of: {}", allowed.join(", "))]
    EngineNotAllowed { engine: String, allowed: Vec<String> },
    #[error("the skill {skill} is not allowed here; use a prompt, or one of: {}", allowed.join(", "))]
    SkillNotAllowed { skill: String, allowed: Vec<String> },
    #[error("give either skill or prompt, and not both")]
    NoTask,
    #[error("a child is an auto or an interactive run; leave mode out")]
    NoConversation,
    #[error("timeout_sec must be a number of seconds above 0")]
    Timeout,
    #[error("key must have 1 to 255 characters")]
    Key,
    #[error("a skill is named by its name, without a path; {known}")]
    SkillPath { known: String },
    #[error(transparent)]
    Skill(#[from] FindError),
    #[error("{0}")]
    Accept(#[from] AcceptError),
    #[error("the stored request cannot be read: {0}")]
    Stored(#[source] io::Error),
}

impl ChildFault {
    pub(crate) fn reason(&self) -> RefusalReason {
        match self {
            Self::NoDelegation | Self::EngineNotAllowed { .. } | Self::SkillNotAllowed { .. } => {
                RefusalReason::NotAllowed
            }
            Self::TooDeep { .. } => RefusalReason::LimitReached,
            Self::NoTask
            | Self::NoConversation
            | Self::Timeout
            | Self::Key
            | Self::SkillPath { .. }
            | Self::Skill(_)
            | Self::Stored(_) => RefusalReason::Invalid,
            Self::Accept(error) => match error.class() {
                ErrorClass::Busy | ErrorClass::StorageFull | ErrorClass::Internal | ErrorClass::Conflict => {
                    RefusalReason::Unavailable
                }
                ErrorClass::Usage | ErrorClass::NotFound | ErrorClass::Gone => RefusalReason::Invalid,
            },
        }
    }
}

/// The engine of a child: that of its parent, where the request names none.
pub(crate) fn engine_of(record: &RunRecord, request: &ChildRequest) -> String {
    request.engine.clone().unwrap_or_else(|| record.engine.name.clone())
}

/// Checks a request, and changes nothing. The run is as its parent allows: it has the permission of its parent, and none
/// of its variables.
pub(crate) fn check(
    config: &RuntimeConfig,
    parent: Parent<'_>,
    request: &ChildRequest,
    child: RunId,
) -> Result<Checked, ChildFault> {
    let record = parent.record;
    let delegation = record.request.delegation.as_ref().ok_or(ChildFault::NoDelegation)?;
    let depth = parent.depth() + 1;
    if depth > delegation.max_depth {
        return Err(ChildFault::TooDeep { depth: parent.depth(), limit: delegation.max_depth });
    }
    let engine = engine_of(record, request);
    check_engine(delegation, &engine)?;
    match request.mode {
        Some(ExecutionMode::Conversation) => return Err(ChildFault::NoConversation),
        Some(ExecutionMode::Auto | ExecutionMode::Interactive) | None => {}
    }
    let parents_time = record.request.timeouts.hard_sec;
    let hard_timeout_sec = match request.timeout_sec {
        Some(seconds) if seconds.is_finite() && seconds > 0.0 => Some(seconds.min(parents_time)),
        Some(_) => return Err(ChildFault::Timeout),
        None => Some(parents_time),
    };
    let task = task(config, delegation, request)?;
    let is_same_engine = engine == record.engine.name;
    let is_able = config.engines.get(&engine).is_ok_and(accept::can_delegate);
    let options = Options {
        permission: Some(record.request.permission),
        // A child is never less confined than its parent.
        confinement: Some(record.request.confinement),
        network: Some(record.request.network),
        allow_hosts: record.request.allow_hosts.clone(),
        limits: record.request.limits,
        workspace_settings: Some(record.request.workspace_settings),
        home: Some(record.request.home),
        model: request.model.clone().or_else(|| record.request.model.clone().filter(|_| is_same_engine)),
        hard_timeout_sec,
        priority: Some(record.request.priority),
        // Limits of children are those of their parent, one level further down.
        delegation: (depth < delegation.max_depth && is_able).then(|| delegation.clone()),
        ..Options::default()
    };
    let (workspace, copy_of) = match request.workspace {
        ChildWorkspace::Own => (None, None),
        ChildWorkspace::Shared => (Some((folder_of(parent), Sharing::Allowed)), None),
        ChildWorkspace::Copy => (None, Some(folder_of(parent))),
    };
    let new = NewRun {
        mode: request.mode,
        input: request.input.clone(),
        parameter: request.parameter.clone(),
        workspace,
        copy_of,
        options,
        ..NewRun::of(task, engine)
    };
    let mut checked = accept::check(config, new)?;
    let made = &mut checked.record;
    made.run_id = child;
    made.parent = Some(parent.link(request));
    // Its parent has no child of that kind: a retry would be a run of its own.
    made.request.retry.quota = OnQuota::Fail;
    Ok(checked)
}

fn check_engine(delegation: &Delegation, engine: &str) -> Result<(), ChildFault> {
    let allowed = &delegation.engines;
    if allowed.is_empty() || allowed.iter().any(|name| name == engine) {
        return Ok(());
    }
    Err(ChildFault::EngineNotAllowed { engine: engine.to_owned(), allowed: allowed.clone() })
}

fn task(config: &RuntimeConfig, delegation: &Delegation, request: &ChildRequest) -> Result<RunTask, ChildFault> {
    match (&request.skill, &request.prompt) {
        (None, Some(prompt)) => Ok(RunTask::Prompt(prompt.clone())),
        (Some(name), None) => {
            if name.contains('/') || name.starts_with('.') {
                let known: Vec<String> = config.skills.list().skills.into_iter().map(|found| found.name).collect();
                return Err(ChildFault::SkillPath { known: format!("the known skills are: {}", known.join(", ")) });
            }
            if !delegation.skills.is_empty() && !delegation.skills.contains(name) {
                let allowed = delegation.skills.clone();
                return Err(ChildFault::SkillNotAllowed { skill: name.clone(), allowed });
            }
            Ok(config.skills.find(name)?.into())
        }
        (None, None) | (Some(_), Some(_)) => Err(ChildFault::NoTask),
    }
}

/// The folder in which the parent works.
pub(crate) fn folder_of(parent: Parent<'_>) -> PathBuf {
    parent.record.request.workspace.folder().map_or_else(|| parent.folder.workspace(), Path::to_owned)
}

/// Stores a request, from which the child is made after it is in the Log.
pub(crate) fn store(folder: &RunFolder, child: RunId, request: &impl Serialize) -> io::Result<TextBlob> {
    let name = Path::new(".audit").join("blobs").join(format!("child.{child}.json"));
    let path = folder.root().join(&name);
    fs::create_dir_all(path.parent().unwrap_or(folder.root()))?;
    let text = serde_json::to_vec(request)?;
    whole_file::replace(&path, &text)?;
    let (bytes, hash) = (text.len() as u64, blake3::hash(&text).to_hex().to_string());
    Ok(TextBlob { path: name.to_string_lossy().into_owned(), bytes, hash })
}

/// A request that was stored.
pub(crate) fn stored<T: DeserializeOwned>(folder: &RunFolder, blob: &TextBlob) -> Result<T, ChildFault> {
    let read = || {
        let path = folder.audit().join("blobs").join(Path::new(&blob.path).file_name().unwrap_or_default());
        if fs::metadata(&path)?.len() > REQUEST_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too large"));
        }
        let text = fs::read(path)?;
        if blake3::hash(&text).to_hex().as_str() != blob.hash {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it was changed after it was recorded"));
        }
        Ok(serde_json::from_slice(&text)?)
    };
    read().map_err(ChildFault::Stored)
}
