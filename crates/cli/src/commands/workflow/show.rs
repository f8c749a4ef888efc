//! `skillrun workflow show`: a workflow with its steps.

use skillrun_inspect::step_questions::{StepQuestion, StepQuestions};
use skillrun_inspect::workflow::workflow;
use skillrun_model::presenters::{self, Presenter};
use skillrun_model::workflow::{StepStanding, StepView, WorkflowOutcome, WorkflowPlan, WorkflowView};
use skillrun_runtime::consent;

use crate::args::{Global, OneRun, OutputForm};
use crate::commands::interactions::reply_command;
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::short_ids::ShortIds;
use crate::words::{indented, plain_lines};

pub(super) fn run(global: &Global, args: &OneRun) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let (record, state) = (place.record(run)?, place.state(run)?);
    let Some(view) = workflow(&place.settings.data, &place.log, &record, &state)? else {
        return Err(Failure::Input(format!("run {run} is not a workflow; `skillrun show {run}` shows it")));
    };
    match args.json.form() {
        OutputForm::Json => print_json(&view),
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            let asked = StepQuestions::default().open(&place.log, &state);
            print(&text(&view, &asked, &ShortIds::new(&place.ids()), &output))
        }
    }
}

fn text(view: &WorkflowView, asked: &[StepQuestion], ids: &ShortIds, output: &Output) -> String {
    let id = output.paint(Ink::Bold, &view.run_id.to_string());
    let state = match view.outcome {
        Some(outcome) => {
            let words = presenters::of_workflow(outcome, Presenter::Cli).words;
            format!("the workflow {}", output.paint(outcome_ink(outcome), words))
        }
        None => view.status.to_string(),
    };
    let mut text = format!("{id}\n{} · {state}\n\n", plain(&view.name));
    let lines: Vec<_> = view.steps.iter().map(|step| line(step, ids)).collect();
    text.push_str(&output.table(&lines, LastColumn::Cut));
    for StepQuestion { place, run_id, .. } in asked {
        text.push_str(&format!("\nthe step {place} waits for an answer: {}\n", reply_command(&run_id.to_string())));
    }
    let held = view.steps.iter().find(|step| step.interaction_id.is_some());
    if let Some(step) = held {
        text.push_str(&format!(
            "\nthe step {} waits for a decision: skillrun reply {} TEXT\n",
            step.step_id, view.run_id
        ));
    }
    if !view.next_actions.is_empty() {
        text.push_str("\nnext:\n");
        for next in &view.next_actions {
            text.push_str(&indented(&next.command, "  "));
        }
    }
    text
}

fn line(step: &StepView, ids: &ShortIds) -> [(Ink, String); 5] {
    let standing = presenters::of_step(step.standing, Presenter::Cli).words;
    let (ready, all) =
        (step.items.iter().filter(|item| item.standing == StepStanding::Ready).count(), step.items.len());
    let standing = if all > 0 { format!("{standing} · {ready} of {all}") } else { standing.to_owned() };
    let engine = step.engine.as_deref().map_or_else(String::new, plain);
    let child = step.child_run_id.filter(|_| all == 0).map(|run| ids.of(run)).unwrap_or_default();
    let mut more = Vec::new();
    if step.reused_from.is_some() {
        more.push("taken over".to_owned());
    }
    if step.trials > 1 {
        more.push(format!("try {}", step.trials));
    }
    if !step.required {
        more.push("optional".to_owned());
    }
    more.extend(step.details.as_deref().map(plain));
    let optional = [(Ink::Plain, more.join(" · "))];
    let [details] = optional;
    [
        (Ink::Bold, plain(&step.step_id.0)),
        (standing_ink(step.standing), standing),
        (Ink::Plain, engine),
        (Ink::Dim, child),
        details,
    ]
}

/// The steps of a file, in its order.
pub(super) fn plan_text(plan: &WorkflowPlan, steps: &[StepView], output: &Output) -> String {
    let line = |step: &StepView| {
        let needs = step.needs.iter().map(|need| plain(&need.0)).collect::<Vec<_>>().join(", ");
        let needs = if needs.is_empty() { "at once".to_owned() } else { format!("after {needs}") };
        let optional = if step.required { String::new() } else { "optional".to_owned() };
        [
            (Ink::Bold, plain(&step.step_id.0)),
            (Ink::Plain, plain(&step.title)),
            (Ink::Plain, step.engine.as_deref().map(plain).unwrap_or_default()),
            (Ink::Dim, optional),
            (Ink::Plain, needs),
        ]
    };
    let lines: Vec<_> = steps.iter().map(line).collect();
    let steps = format!("{}\n{}", plain(&plan.name), output.table(&lines, LastColumn::Cut));
    let checks = consent::checks_of_steps(plan)
        .into_iter()
        .map(|(step, command)| format!("  {}  {}\n", plain(&step), plain_lines(&command).replace('\n', "\n    ")));
    match consent::of_workflow(plan) {
        None => steps,
        Some(name) => {
            format!(
                "{steps}\nchecks, which need the consent `skillrun consent {name}`:\n{}",
                checks.collect::<String>()
            )
        }
    }
}

fn outcome_ink(outcome: WorkflowOutcome) -> Ink {
    match outcome {
        WorkflowOutcome::Completed => Ink::Good,
        WorkflowOutcome::Partial | WorkflowOutcome::Held | WorkflowOutcome::Cancelled => Ink::Warning,
        WorkflowOutcome::Failed | WorkflowOutcome::TimedOut => Ink::Bad,
    }
}

fn standing_ink(standing: StepStanding) -> Ink {
    match standing {
        StepStanding::Ready => Ink::Good,
        StepStanding::Partial
        | StepStanding::Unanswered
        | StepStanding::Cancelled
        | StepStanding::Asks
        | StepStanding::Held
        | StepStanding::WaitsForQuota => Ink::Warning,
        StepStanding::Failed | StepStanding::TimedOut => Ink::Bad,
        StepStanding::Pending | StepStanding::Queued | StepStanding::Running | StepStanding::Skipped => Ink::Plain,
    }
}
