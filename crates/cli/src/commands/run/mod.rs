//! `skillrun run`: creates a run and follows it. `reply` and `retry` follow a run in the same way.
//!
//! `request` builds a request from the arguments, `follow` follows the run until it is over or waits, `ask` asks the
//! user at the terminal, `keyboard` reads what the user types, `ending` prints how the run ended.

pub(crate) mod ask;
mod ending;
pub(crate) mod follow;
pub(crate) mod keyboard;
pub(crate) mod request;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use skillrun_log::FileLog;
use skillrun_model::delegation::{ChildRequest, RefusalReason};
use skillrun_model::{ErrorClass, RunId};
use skillrun_runtime::{AcceptError, NewRun, RuntimeError};

use super::interactions::reply_command;
use super::wait::{Enough, until};
use crate::args::{Global, Run, Wait, WorkspaceWait};
use crate::exit::{RunOutcome, run_state, run_words};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::owner::{Given, OwnerProcess, Take, hand_to_server, in_background, server, take_over_orphans};
use crate::place::{CommandContext, note};
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: Run) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    if let Some(parent) = &args.child.parent {
        if args.cached || args.workspace.limit.is_some() {
            return Err(request::not_of_child());
        }
        let request = request::of_child(&settings, &args.request, &args.child)?;
        let request = ChildRequest { skill: Some(args.skill.clone()), ..request };
        return delegate(global, &settings, parent, &request, args.wait, follow::Style::of(args.wait));
    }
    let skill = settings.search_path(settings.cwd()).resolve(&args.skill, settings.cwd())?;
    let new = request::of(&settings, skill, &args.request)?;
    let style = follow::Style::of(args.wait);
    submit(global, &settings, new, args.wait, style, args.workspace, args.cached)
}

/// Asks another run for a child and follows that, unless `--no-wait` is given.
pub(crate) fn delegate(
    global: &Global,
    settings: &Settings,
    parent: &str,
    request: &ChildRequest,
    wait: Wait,
    style: follow::Style,
) -> Result<ExitCode, Failure> {
    take_over_orphans(settings);
    let place = CommandContext { settings: settings.clone(), log: FileLog::new(settings.data.runs()) };
    let parent = place.run(parent)?;
    let owner = OwnerProcess::new(settings)?;
    let child = owner.runtime.delegate_anywhere(parent, request).map_err(|refusal| {
        let class = match refusal.reason {
            RefusalReason::NotAllowed | RefusalReason::Invalid => ErrorClass::Usage,
            RefusalReason::NotFound => ErrorClass::NotFound,
            RefusalReason::LimitReached
            | RefusalReason::TurnOver
            | RefusalReason::WrongState
            | RefusalReason::WrongToken => ErrorClass::Conflict,
            RefusalReason::Unavailable => ErrorClass::Busy,
        };
        Failure::of_class(class, refusal)
    })?;
    if wait.no_wait {
        return print_id(child.run_id, wait).map(|()| ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    follow::follow(settings, &owner, child.run_id, 0, style, &output).map(ExitCode::from)
}

/// Creates a run and follows it, unless `--no-wait` is given. With `--wait-for-workspace`, the run is created when no
/// other run works in its workspace.
pub(crate) fn submit(
    global: &Global,
    settings: &Settings,
    new: NewRun,
    wait: Wait,
    style: follow::Style,
    workspace: WorkspaceWait,
    cached: bool,
) -> Result<ExitCode, Failure> {
    let begin = Instant::now();
    loop {
        // This process owns nothing while it waits, so it can be interrupted at any moment.
        let failure = match submit_once(global, settings, new.clone(), wait, style, cached) {
            Ok(code) => return Ok(code),
            Err(failure) => failure,
        };
        let (Some(limit), Some((path, holder))) = (workspace.limit, workspace_holder(&failure)) else {
            return Err(failure);
        };
        let left = limit.saturating_sub(begin.elapsed());
        if left.is_zero() || !wait_for_holder(settings, path, holder, left)? {
            let sentence = format!("{failure}; it was still in use after {} seconds", limit.as_secs_f64());
            return Err(Failure::caused(ErrorClass::Conflict, sentence, failure));
        }
    }
}

/// The workspace that a run needs, and the run that works there.
fn workspace_holder(failure: &Failure) -> Option<(&Path, RunId)> {
    let error = failure.source()?.downcast_ref::<AcceptError>()?;
    if let AcceptError::WorkspaceInUse { path, run, .. } = error { Some((path, *run)) } else { None }
}

/// Waits until a run is over. False if it is not over in time.
fn wait_for_holder(settings: &Settings, path: &Path, holder: RunId, limit: Duration) -> Result<bool, Failure> {
    let place = CommandContext { settings: settings.clone(), log: FileLog::new(settings.data.runs()) };
    note(&format!(
        "waiting for run {holder}, which works in {}, for at most {} s; Ctrl-C ends the wait",
        path.display(),
        limit.as_secs_f64().ceil()
    ));
    let mut is_told = false;
    let state = until(&place, holder, Some(limit), |state| {
        if state.is_over() {
            return Enough::Yes;
        }
        if state.question.is_some() && !std::mem::replace(&mut is_told, true) {
            note(&format!("run {holder} {}: {}", run_words(run_state(state)), reply_command(&holder.to_string())));
        }
        // A run whose owner died would never end.
        take_over_orphans(settings);
        Enough::No
    });
    match state {
        Ok(state) => Ok(state.is_over()),
        // It was removed in the meantime.
        Err(failure) if failure.class() == ErrorClass::Gone => Ok(true),
        Err(failure) => Err(failure),
    }
}

fn submit_once(
    global: &Global,
    settings: &Settings,
    new: NewRun,
    wait: Wait,
    style: follow::Style,
    cached: bool,
) -> Result<ExitCode, Failure> {
    take_over_orphans(settings);
    let owner = OwnerProcess::new(settings)?;
    if let Some(before) = new.retry_of
        && let Err(RuntimeError::OtherVariables { changed, .. }) = owner.runtime.check_variables(before)
    {
        let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
        note(&format!(
            "the new run uses the environment variables of this shell; run {before} had different ones: {}",
            changed.join(", ")
        ));
    }
    if cached && let Some(run) = owner.runtime.cached(&new)? {
        return show_cached(global, settings, run, wait);
    }
    // Variables named with --env or --secret are those of this process; a server may have others of the same names.
    let is_for_server = new.options.env.is_empty() && new.options.secrets.is_empty() && server(settings).is_some();
    if wait.no_wait {
        let run = owner.runtime.accept(new)?;
        print_id(run, wait)?;
        if !is_for_server || hand_to_server(settings, run) == Given::Refused {
            in_background(settings, Take::One(run))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    let run = if is_for_server {
        let run = owner.runtime.accept(new)?;
        if hand_to_server(settings, run) == Given::Refused {
            owner.runtime.take_up(run)?;
        }
        run
    } else {
        owner.runtime.submit(new)?
    };
    follow::follow(settings, &owner, run, 0, style, &output).map(ExitCode::from)
}

fn show_cached(global: &Global, settings: &Settings, run: RunId, wait: Wait) -> Result<ExitCode, Failure> {
    note(&format!("run {run} had the same request; its result is reused"));
    if wait.no_wait {
        return print_id(run, wait).map(|()| ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    ending::print_end(settings, run, follow::Style::of(wait), &output)?;
    Ok(RunOutcome::SUCCEEDED.into())
}

fn print_id(run: RunId, wait: Wait) -> Result<(), Failure> {
    match wait.json.form() {
        crate::args::OutputForm::Json => output::print_json(&serde_json::json!({ "run_id": run })),
        crate::args::OutputForm::Text => output::print(&format!("{run}\n")),
    }
}
