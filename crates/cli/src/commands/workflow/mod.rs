//! `skillrun workflow`: checks, plans, runs, shows and retries workflows.
//!
//! `file` reads the file of a workflow, `show` prints one with its steps.

mod file;
mod show;

use std::process::ExitCode;

use serde_json::json;
use skillrun_inspect::workflow::planned_steps;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_runs::record::Sharing;
use skillrun_runtime::consent::of_workflow;
use skillrun_runtime::workflows::{again, request};
use skillrun_runtime::{NewRun, Options};

use super::run::follow::Style;
use super::run::{request as values, submit};
use crate::args::{Global, OutputForm, WorkflowCommand, WorkflowFileArgs, WorkflowRetry, WorkflowRun, WorkspaceWait};
use crate::failure::Failure;
use crate::output::{Output, print, print_json};
use crate::place::CommandContext;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, command: &WorkflowCommand) -> Result<ExitCode, Failure> {
    match command {
        WorkflowCommand::Validate(args) => validate(global, args).map(|()| ExitCode::SUCCESS),
        WorkflowCommand::Plan(args) => plan(global, args).map(|()| ExitCode::SUCCESS),
        WorkflowCommand::Run(args) => start(global, args),
        WorkflowCommand::Show(args) => show::run(global, args).map(|()| ExitCode::SUCCESS),
        WorkflowCommand::Retry(args) => retry(global, args),
    }
}

fn validate(global: &Global, args: &WorkflowFileArgs) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let plan = file::planned(&settings, &args.file, args.engine.as_deref())?;
    match args.json.form() {
        OutputForm::Json => {
            let consent = of_workflow(&plan);
            print_json(&json!({"valid": true, "name": plan.name, "steps": plan.steps.len(), "consent": consent}))
        }
        OutputForm::Text => {
            let steps = plan.steps.len();
            let s = if steps == 1 { "" } else { "s" };
            print(&format!("{}: {steps} step{s}, valid\n", plan.name))
        }
    }
}

fn plan(global: &Global, args: &WorkflowFileArgs) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let plan = file::planned(&settings, &args.file, args.engine.as_deref())?;
    match args.json.form() {
        OutputForm::Json => print_json(&plan),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            print(&show::plan_text(&plan, &planned_steps(&plan), &output))
        }
    }
}

fn start(global: &Global, args: &WorkflowRun) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let plan = file::planned(&settings, &args.file, args.engine.as_deref())?;
    let inputs = values::values(&args.input, "--input", &settings)?;
    let options = Options {
        permission: args.permission,
        confinement: args.confinement.choice(),
        network: args.confinement.network,
        allow_hosts: args.confinement.allow_hosts.clone(),
        workspace_settings: args.allow_workspace_settings.then_some(WorkspaceSettings::Allow),
        model: args.model.clone(),
        hard_timeout_sec: args.timeout.map(|time| time.as_secs_f64()),
        require_user_reply: args.question_timeout.map(|_| false),
        session_timeout_sec: args.question_timeout.map(|time| time.as_secs_f64()),
        env: args.env.clone(),
        secrets: args.secret.clone(),
        ..Options::default()
    };
    let sharing = if args.share { Sharing::Allowed } else { Sharing::Alone };
    let workspace = args.workspace.as_deref().map(|path| (settings.surroundings.absolute_path(path), sharing));
    let new = NewRun { workspace, ..request(plan, inputs, options)? };
    submit(global, &settings, new, args.wait, Style::of(args.wait), args.workspace_wait, false)
}

fn retry(global: &Global, args: &WorkflowRetry) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let new = again(&place.record(run)?, &place.settings.data.run(run), args.from_failed)?;
    submit(global, &place.settings, new, args.wait, Style::of(args.wait), WorkspaceWait::default(), false)
}
