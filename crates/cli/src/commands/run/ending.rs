//! What a command prints when the run that it follows is over, or waits for an answer that cannot be given here.

use skillrun_lifecycle::run::State;
use skillrun_log::FileLog;
use skillrun_model::interaction::Pending;
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::result::RunResult;

use super::follow::{Conversation, Ending, Style};
use crate::args::OutputForm;
use crate::commands::interactions::{option_lines, rest_text};
use crate::exit::{run_state, run_words};
use crate::failure::Failure;
use crate::output::{self, Ink, Output};
use crate::place::{CommandContext, note};
use crate::settings::Settings;
use crate::words::{moment, plain_lines, status_ink};

pub(super) fn print_waiting(
    settings: &Settings,
    run: RunId,
    question: &Pending,
    state: &State,
    answer: Option<&str>,
    style: Style,
) -> Result<(), Failure> {
    if let (Some(rest), OutputForm::Text) = (rest_text(state, &run.to_string()), style.form) {
        let answer = answer.filter(|_| style.conversation == Conversation::Left);
        let answer: String = answer.unwrap_or_default().lines().map(|line| output::plain(line) + "\n").collect();
        let gap = if answer.is_empty() { "" } else { "\n" };
        return output::print(&format!("{answer}{gap}{rest}folder  {}\n", settings.data.run(run).root().display()));
    }
    match style.form {
        OutputForm::Json => output::print_json(&serde_json::json!({
            "run_id": run,
            "status": RunStatus::WaitingUser,
            "question": question,
        })),
        OutputForm::Text => {
            let told = match style.conversation {
                Conversation::Shown => String::new(),
                Conversation::Left => {
                    let prompt = question.prompt.trim_end().lines().map(|line| output::plain(line) + "\n");
                    prompt.chain([option_lines(question)]).collect()
                }
            };
            let folder = settings.data.run(run);
            output::print(&format!(
                "{told}\n== run {}\nanswer  skillrun reply {run} TEXT\nfolder  {}\n",
                run_words(run_state(state)),
                folder.root().display()
            ))
        }
    }
}

/// The result, and the folder of the run.
pub(crate) fn print_end(settings: &Settings, run: RunId, style: Style, output: &Output) -> Result<(), Failure> {
    let folder = settings.data.run(run);
    let place = CommandContext { settings: settings.clone(), log: FileLog::new(settings.data.runs()) };
    let Some(result) = crate::commands::result::read(&place, run)? else {
        return Err(Failure::NotFound(format!("run {run} has no result")));
    };
    match (style.form, style.ending) {
        (OutputForm::Json, _) => output::print_json(&result),
        (OutputForm::Text, Ending::Whole) => {
            output::print(&end_text(&result, &folder.root().display().to_string(), style, output))
        }
        (OutputForm::Text, Ending::Answer) => print_answer(&result),
    }
}

/// The answer on stdout, and nothing but the answer, so that another program can read it. Everything else is on stderr.
fn print_answer(result: &RunResult) -> Result<(), Failure> {
    let answer = result.text.as_deref().filter(|_| result.status == RunStatus::Succeeded);
    if let Some(text) = answer {
        output::print(&format!("{}\n", plain_lines(text.trim_end())))?;
    } else {
        let why = result.error.as_ref().map(|error| format!(": {} · {}", error.code, output::plain(&error.message)));
        let why = why.unwrap_or_default();
        match result.status {
            RunStatus::Failed => note(&format!("the run failed{why}")),
            RunStatus::Canceled => note("the run was canceled"),
            RunStatus::Queued
            | RunStatus::Running
            | RunStatus::WaitingUser
            | RunStatus::Succeeded
            | RunStatus::Closed => note(&format!("the run has no answer; its status is {}", result.status)),
        }
    }
    for warning in &result.warnings {
        note(&format!("{warning} · {}", warning.summary()));
    }
    for action in &result.next_actions {
        note(&format!("next: {}", action.command));
    }
    Ok(())
}

fn end_text(result: &RunResult, folder: &str, style: Style, output: &Output) -> String {
    let ink = status_ink(result.status);
    let mut rows = vec![[(Ink::Bold, "status".to_owned()), (ink, result.status.to_string())]];
    let mut row = |label: &str, text: String| rows.push([(Ink::Bold, label.to_owned()), (Ink::Plain, text)]);
    if let Some(error) = &result.error {
        row("error", format!("{} · {}", error.code, output::plain(&error.message)));
        if let Some(at) = error.reset_at {
            row("quota", format!("resets {}", moment(at)));
        }
    }
    for action in &result.next_actions {
        row("next", action.command.clone());
    }
    match (&result.output, &result.text) {
        (Some(value), _) => row("output", output::plain(&serde_json::Value::Object(value.clone()).to_string())),
        (None, Some(text)) if style.conversation == Conversation::Left => row("text", output::plain(text)),
        (None, _) => {}
    }
    for artifact in &result.artifacts {
        row("file", format!("{} ({} bytes)", output::plain(&artifact.path), artifact.size));
    }
    for warning in &result.warnings {
        row("warning", format!("{warning} · {}", warning.summary()));
    }
    row("folder", folder.to_owned());
    let break_before = if style.conversation == Conversation::Shown { "\n" } else { "" };
    format!("{break_before}{}", output.table(&rows, output::LastColumn::Wrapped))
}
