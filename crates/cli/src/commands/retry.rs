//! `skillrun retry`: a new run of what a run was about. Nothing is added to the old one.

use std::path::PathBuf;
use std::process::ExitCode;

use skillrun_runtime::record::{Sharing, Workspace};
use skillrun_runtime::{NewRun, Options, RunRecord};
use skillrun_skill::Skill;

use super::run::{request, submit};
use crate::args::{Global, Request, Retry};
use crate::failure::Failure;
use crate::place::{Place, note};

pub(crate) fn run(global: &Global, args: &Retry) -> Result<ExitCode, Failure> {
    let place = Place::open(global)?;
    let run = place.run(&args.run)?;
    let record = place.record(run)?;
    let new = again(&place, &record, &args.request)?;
    submit(global, &place.settings, new, args.wait, false)
}

/// The request as it was, with what was given now in its place.
fn again(place: &Place, record: &RunRecord, now: &Request) -> Result<NewRun, Failure> {
    let folder = place.folder(record.run_id);
    let source = record.skill.source.as_path();
    let skill = match Skill::load(source) {
        Ok(skill) => skill,
        Err(_) => {
            note(&format!("{} is gone; the run's own copy of the skill is used", source.display()));
            Skill::load(&folder.skill())?
        }
    };
    let before = &record.request;
    let settings = &place.settings;
    let mut input = before.input.clone();
    input.extend(request::values(&now.input, "--input", settings)?);
    let mut parameter = before.parameter.clone();
    parameter.extend(request::values(&now.param, "--param", settings)?);
    let mut files: std::collections::BTreeMap<String, PathBuf> =
        before.files.iter().map(|(slot, name)| (slot.clone(), folder.inputs().join(name))).collect();
    files.extend(request::files(&now.file, settings)?);
    let workspace = match (&now.workspace, &before.workspace) {
        (Some(path), _) => {
            let sharing = if now.share { Sharing::Allowed } else { Sharing::Alone };
            Some((settings.surroundings.absolute_path(path), sharing))
        }
        (None, Workspace::Folder { path, sharing }) => Some((path.as_path().to_owned(), *sharing)),
        (None, Workspace::Own) => None,
    };
    let is_same_engine = now.engine.as_ref().is_none_or(|engine| *engine == record.engine.name);
    let kept_script = before.script.as_ref().map(|name| folder.inputs().join(name));
    let script = match &now.script {
        Some(path) => Some(settings.surroundings.absolute_path(path)),
        None => kept_script.filter(|_| is_same_engine),
    };
    let given = request::options(now);
    Ok(NewRun {
        skill,
        engine: now.engine.clone().unwrap_or_else(|| record.engine.name.clone()),
        mode: Some(now.mode.unwrap_or(before.mode)),
        input,
        parameter,
        files,
        workspace,
        script,
        profile: now.profile.or(Some(record.engine.profile).filter(|_| is_same_engine)),
        continuation: now.continuation.or(Some(record.engine.continuation).filter(|_| is_same_engine)),
        options: Options {
            permission: given.permission.or(Some(before.permission)),
            home: Some(before.home),
            // A model is the engine's own word.
            model: given.model.or_else(|| before.model.clone().filter(|_| is_same_engine)),
            effort: given.effort.or_else(|| before.effort.clone().filter(|_| is_same_engine)),
            hard_timeout_sec: given.hard_timeout_sec.or(Some(before.timeouts.hard_sec)),
            stall_timeout_sec: given.stall_timeout_sec.or(Some(before.timeouts.stall_sec)),
            linger_sec: given.linger_sec.or(before.timeouts.linger_sec),
            max_bytes: Some(before.max_bytes),
            require_user_reply: given.require_user_reply.or(Some(before.interactive_require_user_reply)),
            session_timeout_sec: given.session_timeout_sec.or(Some(before.session_timeout_sec)),
            auto_decision_limit: Some(before.auto_decision_limit),
            default_decision_policy: given.default_decision_policy.or(before.default_decision_policy),
            max_attempt: given.max_attempt.or(before.max_attempt),
            snapshot: given.snapshot.or(Some(before.snapshot)),
            env: if given.env.is_empty() { before.env.clone() } else { given.env },
            secrets: if given.secrets.is_empty() { before.secrets.clone() } else { given.secrets },
            priority: if given.priority == 0 { before.priority } else { given.priority },
        },
        retry_of: Some(record.run_id),
        request_id: None,
    })
}
