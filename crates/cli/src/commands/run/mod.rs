//! `skillrun run`: a skill goes in, an engine works, a result comes out. `reply` and `retry` go on the same way.
//!
//! `request` makes a request of the arguments, `follow` stays until the run is over or waits, `ask` puts questions to
//! whoever sits at the terminal.

mod ask;
pub(crate) mod follow;
pub(crate) mod request;

use std::process::ExitCode;

use skillrun_model::RunId;
use skillrun_runtime::{NewRun, RuntimeError};

use crate::args::{Global, Run, Wait};
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::owner::{Given, Owner, Take, give_to_server, in_background, server, take_over_orphans};
use crate::place::note;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: Run) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let skill = settings.search_path(settings.cwd()).resolve(&args.skill, settings.cwd())?;
    let new = request::of(&settings, skill, &args.request)?;
    submit(global, &settings, new, args.wait, args.cached)
}

/// Makes a run, and stays as long as was asked for.
pub(crate) fn submit(
    global: &Global,
    settings: &Settings,
    new: NewRun,
    wait: Wait,
    cached: bool,
) -> Result<ExitCode, Failure> {
    take_over_orphans(settings);
    let owner = Owner::new(settings)?;
    if let Some(before) = new.retry_of
        && let Err(RuntimeError::OtherVariables { changed, .. }) = owner.runtime.check_variables(before)
    {
        let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
        note(&format!("the new run uses the variables of this shell; run {before} had others: {}", changed.join(", ")));
    }
    if cached && let Some(run) = owner.runtime.cached(&new)? {
        return show_cached(global, settings, run, wait);
    }
    // Variables that were named are ours, and a server has others of the same names.
    let is_for_server = new.options.env.is_empty() && new.options.secrets.is_empty() && server(settings).is_some();
    if wait.no_wait {
        let run = owner.runtime.accept(new)?;
        print_id(run, wait)?;
        if !is_for_server || give_to_server(settings, run) == Given::Refused {
            in_background(settings, Take::One(run))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    let run = if is_for_server {
        let run = owner.runtime.accept(new)?;
        if give_to_server(settings, run) == Given::Refused {
            owner.runtime.take_up(run)?;
        }
        run
    } else {
        owner.runtime.submit(new)?
    };
    follow::follow(settings, &owner, run, 0, follow::Style::of(wait), &output).map(ExitCode::from)
}

fn show_cached(global: &Global, settings: &Settings, run: RunId, wait: Wait) -> Result<ExitCode, Failure> {
    note(&format!("this was run before, as {run}; its result is used again"));
    if wait.no_wait {
        return print_id(run, wait).map(|()| ExitCode::SUCCESS);
    }
    let output = Output::new(global.color, &settings.surroundings);
    follow::print_end(settings, run, follow::Style::of(wait), &output)?;
    Ok(Outcome::Succeeded.into())
}

fn print_id(run: RunId, wait: Wait) -> Result<(), Failure> {
    match wait.json.form() {
        crate::args::Form::Json => output::print_json(&serde_json::json!({ "run_id": run })),
        crate::args::Form::Text => output::print(&format!("{run}\n")),
    }
}
