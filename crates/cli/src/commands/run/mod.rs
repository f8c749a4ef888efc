//! `skillrun run`: creates a run and follows it. `reply` and `retry` follow a run in the same way.
//!
//! `request` builds a request from the arguments, `follow` follows the run until it is over or waits, `ask` asks the
//! user at the terminal.

mod ask;
pub(crate) mod follow;
pub(crate) mod request;

use std::process::ExitCode;

use skillrun_model::RunId;
use skillrun_runtime::{NewRun, RuntimeError};

use crate::args::{Global, Run, Wait};
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::owner::{Given, OwnerProcess, Take, hand_to_server, in_background, server, take_over_orphans};
use crate::place::note;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: Run) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let skill = settings.search_path(settings.cwd()).resolve(&args.skill, settings.cwd())?;
    let new = request::of(&settings, skill, &args.request)?;
    submit(global, &settings, new, args.wait, args.cached)
}

/// Creates a run and follows it, unless `--no-wait` is given.
pub(crate) fn submit(
    global: &Global,
    settings: &Settings,
    new: NewRun,
    wait: Wait,
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
    follow::follow(settings, &owner, run, 0, follow::Style::of(wait), &output).map(ExitCode::from)
}

fn show_cached(global: &Global, settings: &Settings, run: RunId, wait: Wait) -> Result<ExitCode, Failure> {
    note(&format!("run {run} had the same request; its result is reused"));
    if wait.no_wait {
        return print_id(run, wait).map(|()| ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    follow::print_end(settings, run, follow::Style::of(wait), &output)?;
    Ok(RunOutcome::Succeeded.into())
}

fn print_id(run: RunId, wait: Wait) -> Result<(), Failure> {
    match wait.json.form() {
        crate::args::OutputForm::Json => output::print_json(&serde_json::json!({ "run_id": run })),
        crate::args::OutputForm::Text => output::print(&format!("{run}\n")),
    }
}
