//! `skillrun interrupt` and `skillrun close`: sent to the process that owns the run, or applied here if no process does.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use skillrun_lifecycle::run::State;
use skillrun_runtime::Delivery;

use super::interactions::reply_command;
use super::prompt_text;
use super::wait::{Enough, until};
use crate::args::{Close, Global, Interrupt, OutputForm};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::owner::{OwnerProcess, Take, in_background};
use crate::place::CommandContext;

/// How long the turn may take to end. Hosts end a process within a few seconds.
const TURN_END_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn interrupt(global: &Global, args: &Interrupt) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let say = args.say.as_deref().map(prompt_text::prompt).transpose()?;
    let attempt = place.state(run)?.attempt;
    let owner = OwnerProcess::new(&place.settings)?;
    if owner.runtime.interrupt_anywhere(run, "skillrun interrupt", say.as_deref())? == Delivery::Here {
        // The run had no owner. Another process carries it on, because this one exits.
        owner.runtime.let_go(run);
        drop(owner);
        in_background(&place.settings, Take::One(run))?;
    }
    let is_enough = |state: &State| if state.is_settled(attempt) { Enough::Yes } else { Enough::No };
    let state = until(&place, run, Some(TURN_END_TIMEOUT), is_enough)?;
    let (is_settled, is_interrupted) = (state.is_settled(attempt), state.interrupted == Some(attempt));
    if is_settled && !is_interrupted {
        let turn = state.verdict.map_or("over", |verdict| verdict.turn.as_str());
        let sentence = format!("turn {attempt} had ended before the interrupt, and keeps its verdict: {turn}");
        return Err(Failure::Input(sentence));
    }
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "run_id": run, "attempt": attempt, "interrupted": is_interrupted }))?,
        OutputForm::Text if !is_settled => print(&format!("{run}  turn {attempt} is being interrupted\n"))?,
        OutputForm::Text => {
            let then = match say {
                Some(_) => "the next prompt is sent".to_owned(),
                None => format!("send the next prompt with `{}`", reply_command(&run.to_string())),
            };
            print(&format!("{run}  turn {attempt} is interrupted; {then}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn close(global: &Global, args: &Close) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let owner = OwnerProcess::new(&place.settings)?;
    if owner.runtime.close_anywhere(run, "skillrun close")? == Delivery::Here {
        owner.runtime.wait_idle(TURN_END_TIMEOUT);
    }
    let state =
        until(&place, run, Some(TURN_END_TIMEOUT), |state| if state.is_over() { Enough::Yes } else { Enough::No })?;
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "run_id": run, "status": state.status }))?,
        OutputForm::Text => print(&format!("{run}  closed\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}
