//! `skillrun reply` and `skillrun cancel`: sent to the process that owns the run, or applied here if no process does.

use std::process::ExitCode;
use std::time::Duration;

use skillrun_lifecycle::run::State;
use skillrun_model::{ErrorClass, InteractionId, RunId, RunStatus};
use skillrun_runtime::{Delivery, Reply, RuntimeError, reply_files};

use super::prompt_text;
use super::run::follow;
use super::wait::{Enough, until};
use crate::args::{Cancel, Global, OutputForm, Reply as Args};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::owner::{OwnerProcess, Take, in_background, reply_by_server, server};
use crate::place::CommandContext;

pub(crate) fn reply(global: &Global, args: &Args) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let state = place.state(run)?;
    let interaction_id = match (args.interaction, &state.question) {
        (Some(number), _) => InteractionId(number),
        (None, Some(question)) => question.interaction_id,
        (None, None) => {
            let status = state.status.map_or("not begun", |status| status.as_str());
            return Err(Failure::Input(format!("run {run} has no open question; its status is {status}")));
        }
    };
    let text = prompt_text::text(&args.text)?;
    let owner = OwnerProcess::new(&place.settings)?;
    // Before anything is written, such as the files that go with it.
    owner.runtime.check_reply(run, interaction_id, &text)?;
    // An answer to a run that rests starts an attempt.
    let lacking = if state.rests() && args.use_my_variables {
        owner.runtime.use_own_variables(run)?;
        None
    } else if state.rests() {
        owner.runtime.check_variables(run).err()
    } else {
        None
    };
    let lacking = match lacking {
        Some(error) if server(&place.settings).is_none() => return Err(other_variables(error)),
        other => other,
    };
    let files = reply_files(&place.folder(run), interaction_id, &args.file)?;
    let reply = Reply { interaction_id, text, files: files.clone(), request_id: args.key.clone() };
    let heard = match lacking {
        None => owner.runtime.reply_anywhere(run, reply)?,
        Some(_) if reply_by_server(&place.settings, run, reply) => Delivery::Elsewhere,
        Some(error) => {
            // The files of a refused answer are removed.
            let inputs = place.folder(run).inputs();
            files.iter().for_each(|name| drop(std::fs::remove_file(inputs.join(name))));
            return Err(other_variables(error));
        }
    };
    let output = Output::new(global.color, &place.settings.surroundings);
    match heard {
        Delivery::Here if args.wait.no_wait => {
            owner.runtime.let_go(run);
            drop(owner);
            in_background(&place.settings, Take::One(run))?;
            answered(run, args.wait.json.form())
        }
        Delivery::Here => {
            let (known, style) = (state.last_seq, follow::Style::of(args.wait));
            follow::follow(&place.settings, &owner, run, known, style, &output).map(ExitCode::from)
        }
        Delivery::Elsewhere | Delivery::Before => answered(run, args.wait.json.form()),
    }
}

/// The question stays open.
fn other_variables(error: RuntimeError) -> Failure {
    let sentence = format!("{error}, or give --use-my-variables to continue with the variables of this shell");
    Failure::caused(ErrorClass::Usage, sentence, error)
}

fn answered(run: RunId, form: OutputForm) -> Result<ExitCode, Failure> {
    match form {
        OutputForm::Json => output::print_json(&serde_json::json!({ "run_id": run, "answered": true }))?,
        OutputForm::Text => output::print(&format!("answered; `skillrun logs -f {run}` follows the run\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn cancel(global: &Global, args: &Cancel) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let runs = args.run.iter().map(|word| place.run(word)).collect::<Result<Vec<_>, _>>()?;
    let mut told = Vec::new();
    let mut statuses = std::collections::BTreeMap::new();
    for run in runs {
        let owner = OwnerProcess::new(&place.settings)?;
        match owner.runtime.cancel_anywhere(run, "skillrun cancel")? {
            Delivery::Here => {
                // Its engine process, if it has one, is terminated before this process exits.
                owner.runtime.wait_idle(Duration::from_secs(120));
            }
            Delivery::Elsewhere | Delivery::Before => {}
        }
        told.push(run);
    }
    // The owner may take a moment to terminate the engine process.
    for run in &told {
        statuses.insert(run.to_string(), ended(&place, *run)?);
    }
    match args.json.form() {
        OutputForm::Json => output::print_json(&statuses)?,
        OutputForm::Text => {
            for (run, status) in statuses {
                let words = if status.is_terminal() { status.as_str() } else { "is being canceled" };
                output::print(&format!("{run}  {words}\n"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The status of a run, after waiting for its end for a limited time.
fn ended(place: &CommandContext, run: RunId) -> Result<RunStatus, Failure> {
    const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);
    let is_enough = |state: &State| if state.is_over() { Enough::Yes } else { Enough::No };
    let state = until(place, run, Some(CANCEL_TIMEOUT), is_enough)?;
    Ok(state.status.unwrap_or(RunStatus::Queued))
}
