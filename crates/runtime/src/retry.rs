//! A new run with the request of an old run, and with the values given now in place of the old ones.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use skillrun_model::checks::CheckRequest;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::Continuation;
use skillrun_model::{ExecutionMode, ProfileId};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::{CheckOrigin, RecordedTask, RunCheck, RunRecord, RunRequest, Sharing, Workspace};
use skillrun_skill::{Skill, SkillError};

use crate::accept::{NewRun, Options, RunTask};

/// The values that replace those of the old run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub engine: Option<String>,
    pub mode: Option<ExecutionMode>,
    /// Only these keys; the others stay.
    pub input: Map<String, Value>,
    /// The same.
    pub parameter: Map<String, Value>,
    /// Only these slots.
    pub files: BTreeMap<String, PathBuf>,
    pub workspace: Option<(PathBuf, Sharing)>,
    /// Instead of `workspace`.
    pub copy_of: Option<PathBuf>,
    pub script: Option<PathBuf>,
    pub profile: Option<ProfileId>,
    pub continuation: Option<Continuation>,
    /// Empty lists and servers, and a priority of 0, count as not given.
    pub options: Options,
}

#[derive(Debug, Clone)]
pub struct Again {
    pub new: NewRun,
    pub skill_from: SkillFrom,
}

/// Where the skill of the new run comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFrom {
    /// The original source, in its current state.
    Source,
    /// The copy in the old run, because the source is missing or cannot be read.
    OwnCopy { gone: PathBuf },
    /// The run has a prompt instead of a skill, or is a workflow.
    NoSkill,
}

/// Makes the request. Nothing is added to the old run, and its files are only read when the new one is accepted.
pub fn again(record: &RunRecord, folder: &RunFolder, now: Overrides) -> Result<Again, SkillError> {
    let (task, skill_from) = match record.task() {
        RecordedTask::Prompt(prompt) => (RunTask::Prompt(prompt.to_owned()), SkillFrom::NoSkill),
        RecordedTask::Workflow(plan) => (RunTask::Workflow(Arc::new(plan.clone())), SkillFrom::NoSkill),
        RecordedTask::Skill(skill) => {
            let source = skill.source.as_path();
            match Skill::load(source) {
                Ok(skill) => (skill.into(), SkillFrom::Source),
                Err(_) => (Skill::load(&folder.skill())?.into(), SkillFrom::OwnCopy { gone: source.to_owned() }),
            }
        }
    };
    Ok(Again { new: with_task(task, record, folder, now), skill_from })
}

/// The same request, with the run's own copy of the skill.
pub(crate) fn the_same(record: &RunRecord, folder: &RunFolder) -> Result<NewRun, SkillError> {
    let task = match record.task() {
        RecordedTask::Prompt(prompt) => RunTask::Prompt(prompt.to_owned()),
        RecordedTask::Workflow(plan) => RunTask::Workflow(Arc::new(plan.clone())),
        RecordedTask::Skill(_) => Skill::load(&folder.skill())?.into(),
    };
    Ok(with_task(task, record, folder, Overrides::default()))
}

fn with_task(task: RunTask, record: &RunRecord, folder: &RunFolder, now: Overrides) -> NewRun {
    let before = &record.request;
    let is_same_engine = now.engine.as_ref().is_none_or(|engine| *engine == record.engine.name);
    let mut input = before.input.clone();
    input.extend(now.input);
    let mut parameter = before.parameter.clone();
    parameter.extend(now.parameter);
    let kept = |name: &String| folder.inputs().join(name);
    let mut files: BTreeMap<String, PathBuf> =
        before.files.iter().map(|(slot, name)| (slot.clone(), kept(name))).collect();
    files.extend(now.files);
    let (workspace, copy_of) = match (&before.workspace, now.workspace, now.copy_of) {
        (_, workspace @ Some(_), copy_of) | (_, workspace, copy_of @ Some(_)) => (workspace, copy_of),
        (Workspace::Folder { path, sharing }, None, None) => (Some((path.as_path().to_owned(), *sharing)), None),
        // The folder is copied again, as it is now.
        (Workspace::Copy(copy), None, None) => (None, Some(copy.from.as_path().to_owned())),
        (Workspace::Own, None, None) => (None, None),
    };
    // What the skill brings is not part of the request: it is checked again, in the skill's current state.
    let none = McpServers::default();
    let of_skill = task.skill().map_or(&none, |skill| &skill.runner.mcp_servers);
    let mcp_servers = before.mcp_servers.clone().without(of_skill);
    NewRun {
        task,
        engine: now.engine.unwrap_or_else(|| record.engine.name.clone()),
        mode: Some(now.mode.unwrap_or(before.mode)),
        input,
        parameter,
        files,
        workspace,
        copy_of,
        script: now.script.or_else(|| before.script.as_ref().filter(|_| is_same_engine).map(kept)),
        profile: now.profile.or(Some(record.engine.profile).filter(|_| is_same_engine)),
        continuation: now.continuation.or(Some(record.engine.continuation).filter(|_| is_same_engine)),
        options: options(before, now.options, is_same_engine, mcp_servers),
        artifacts: before.artifacts.clone(),
        retry_of: Some(record.run_id),
        continues: record.continues.clone(),
        reuses: None,
        request_id: None,
    }
}

fn options(before: &RunRequest, now: Options, is_same_engine: bool, mcp_servers: McpServers) -> Options {
    let now = now.in_box_of(before);
    Options {
        permission: now.permission.or(Some(before.permission)),
        confinement: now.confinement,
        network: now.network,
        allow_hosts: now.allow_hosts,
        limits: now.limits.or(before.limits),
        workspace_settings: now.workspace_settings.or(Some(before.workspace_settings)),
        home: now.home.or(Some(before.home)),
        // A model name is specific to its engine.
        model: now.model.or_else(|| before.model.clone().filter(|_| is_same_engine)),
        effort: now.effort.or_else(|| before.effort.clone().filter(|_| is_same_engine)),
        hard_timeout_sec: now.hard_timeout_sec.or(Some(before.timeouts.hard_sec)),
        stall_timeout_sec: now.stall_timeout_sec.or(Some(before.timeouts.stall_sec)),
        linger_sec: now.linger_sec.or(before.timeouts.linger_sec),
        max_bytes: now.max_bytes.or(Some(before.max_bytes)),
        require_user_reply: now.require_user_reply.or(Some(before.interactive_require_user_reply)),
        session_timeout_sec: now.session_timeout_sec.or(Some(before.session_timeout_sec)),
        idle_sec: now.idle_sec.or(Some(before.idle_sec)),
        auto_decision_limit: now.auto_decision_limit.or(Some(before.auto_decision_limit)),
        default_decision_policy: now.default_decision_policy.or(before.default_decision_policy),
        max_attempt: now.max_attempt.or(before.max_attempt),
        require_marker: now.require_marker.or(Some(before.require_marker)),
        snapshot: now.snapshot.or(Some(before.snapshot)),
        retry_quota: now.retry_quota.or(Some(before.retry.quota)),
        retry_quota_max: now.retry_quota_max.or(Some(before.retry.quota_max)),
        env: if now.env.is_empty() { before.env.clone() } else { now.env },
        secrets: if now.secrets.is_empty() { before.secrets.clone() } else { now.secrets },
        mcp_servers: if now.mcp_servers.is_empty() { mcp_servers } else { now.mcp_servers },
        priority: now.priority.or(Some(before.priority)),
        delegation: now.delegation.or_else(|| before.delegation.clone()),
        // Those of the skill are checks of the new run by themselves.
        checks: if now.checks.is_empty() { checks(before) } else { now.checks },
    }
}

/// The checks of the old request.
fn checks(before: &RunRequest) -> Vec<CheckRequest> {
    let is_own = |check: &&RunCheck| match check.origin {
        CheckOrigin::Request => true,
        CheckOrigin::Skill => false,
    };
    // The name of a check that was given none.
    let is_number = |name: &str| name.strip_prefix("check ").is_some_and(|number| number.parse::<u32>().is_ok());
    let again = |check: &RunCheck| CheckRequest {
        name: Some(check.name.clone()).filter(|name| !is_number(name)),
        command: check.command.clone(),
        timeout_sec: Some(check.timeout_sec),
    };
    before.checks.iter().filter(is_own).map(again).collect()
}
