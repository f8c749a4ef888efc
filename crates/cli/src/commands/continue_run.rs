//! `skillrun continue`: a new conversation on another engine, which begins with the replay of an old run.

use std::process::ExitCode;

use skillrun_inspect::replay::replay;
use skillrun_model::ExecutionMode;
use skillrun_replay::handover::{self, DEFAULT_PROMPT};
use skillrun_runs::record::Workspace;
use skillrun_runtime::NewRun;

use super::prompt_text;
use super::replay::left_out;
use super::run::follow::Style;
use super::run::{request, submit};
use crate::args::{ContinueArgs, Global, WorkspaceWait};
use crate::failure::Failure;
use crate::place::{CommandContext, note};

pub(crate) fn run(global: &Global, args: &ContinueArgs) -> Result<ExitCode, Failure> {
    let prompt = args.prompt.as_deref().map(prompt_text::prompt).transpose()?;
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let record = place.record(run)?;
    let found = replay(&place.settings.data, &place.log, run, None)?;
    let prompt = prompt.as_deref().unwrap_or(DEFAULT_PROMPT);
    let Some((message, continues)) = handover::message(run, &found.replay, prompt) else {
        return Err(Failure::Input(format!("run {run} has no turn that can be continued; use `skillrun retry`")));
    };
    if !continues.left_out.is_empty() {
        let parts: Vec<String> = continues.left_out.iter().map(left_out).collect();
        note(&format!("the new run does not get: {}", parts.join(", ")));
    }
    let new = request::of_prompt(&place.settings, message, &args.request)?;
    let workspace = new.workspace.clone().or_else(|| match &record.request.workspace {
        Workspace::Folder { .. } if new.copy_of.is_some() => None,
        Workspace::Folder { path, sharing } => Some((path.as_path().to_owned(), *sharing)),
        Workspace::Own | Workspace::Copy(_) => None,
    });
    let options = new.options.in_box_of(&record.request);
    let new = NewRun { mode: Some(ExecutionMode::Conversation), continues: Some(continues), workspace, options, ..new };
    submit(global, &place.settings, new, args.wait, Style::of(args.wait), WorkspaceWait::default(), false)
}
