//! `skillrun result`: the result of a run.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use skillrun_lifecycle::run::State;
use skillrun_model::interaction::Scope;
use skillrun_model::presenters::{self, Presenter, RunState};
use skillrun_model::rasp::data::ArtifactIndexed;
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::artifacts::open_unchanged;
use skillrun_runs::result::{self, RunResult};

use super::interactions::{deadline_words, question_text, reply_command, rest_text};
use crate::args::{Global, OutputForm, ResultOf};
use crate::exit::{RunOutcome, run_state, run_words};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, harmless, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::words::{indented, lasting, now, plain_lines, size, status_ink};

/// The text of a run that did not succeed.
pub(super) const LAST_MESSAGE: &str = "last message";

pub(crate) fn run(global: &Global, args: &ResultOf) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let Some(result) = read(&place, run)? else {
        return not_over(&place, run, args.json.form());
    };
    if args.output {
        match &result.output {
            Some(output) => print_json(output)?,
            None => note(&format!("run {run} has no output")),
        }
    } else if args.text {
        match result.text.as_deref().map(str::trim_end) {
            Some("") | None => note(&format!("run {run} has no final text")),
            Some(text) => print(&format!("{}\n", plain_lines(text)))?,
        }
    } else {
        match args.json.form() {
            OutputForm::Json => print_json(&result)?,
            OutputForm::Text => {
                let output = Output::new(global.color, &place.settings.surroundings);
                print(&output.fit(&text(&place, &result, &output)))?;
            }
        }
    }
    Ok(RunOutcome::of_result(&result).into())
}

/// The result of a run that is over: as it was written or, if that file is missing or damaged, derived from the Log.
pub(crate) fn read(place: &CommandContext, run: RunId) -> Result<Option<RunResult>, Failure> {
    // A result is written before the last event is.
    if !place.state(run)?.is_over() {
        return Ok(None);
    }
    let folder = place.folder(run);
    if let Err(error) = result::read(&folder) {
        note(&format!("{}: {error}; the result is derived from the Log", folder.result().display()));
    }
    let result = result::read_or_make(&place.log, &folder, run)?;
    Ok(result.map(|result| result::answered(result, &place.log)))
}

/// Larger files are not compared.
const COMPARED_MAX: u64 = 16 << 20;

/// How an artifact has changed since, as text; empty if it is unchanged.
fn artifact_now(workspace: &Path, artifact: &ArtifactIndexed) -> String {
    if artifact.size > COMPARED_MAX {
        return String::new();
    }
    let compared = open_unchanged(workspace, Path::new(&artifact.path), artifact.size, &artifact.hash);
    compared.map_or_else(|why| format!(" · {why}"), |_| String::new())
}

/// Prints that a run is not over, and why.
pub(super) fn not_over(place: &CommandContext, run: RunId, form: OutputForm) -> Result<ExitCode, Failure> {
    let state = place.state(run)?;
    let State { status, question, .. } = &state;
    if form == OutputForm::Json {
        print_json(&json!({ "run_id": run, "status": status, "question": question }))?;
    }
    let words = run_words(run_state(&state));
    match (question, form) {
        (Some(question), OutputForm::Text) if question.scope == Scope::Prompt => {
            let rest = rest_text(&state, &run.to_string()).unwrap_or_default();
            print(&format!("The run is not over; it {words}.\n{rest}"))?;
        }
        (Some(question), OutputForm::Text) => {
            let question_text = question_text(question);
            let deadline = deadline_words(question, now());
            let answer = reply_command(&run.to_string());
            print(&format!("The run is not over; it {words}:\n{question_text}  {deadline}\n  {answer}\n"))?;
        }
        (None, OutputForm::Text) => {
            print(&format!("The run is not over; it {words}. `skillrun logs -f {run}` follows it.\n"))?;
        }
        (_, OutputForm::Json) => {}
    }
    Ok(RunOutcome::not_over(&state).into())
}

fn text(place: &CommandContext, result: &RunResult, output: &Output) -> String {
    let mut rows = Vec::new();
    let mut row = |label: &str, ink: Ink, text: String| rows.push([(Ink::Dim, label.to_owned()), (ink, text)]);
    row("status", status_ink(result.status), result.status.to_string());
    if let Some(error) = &result.error {
        row("error", Ink::Plain, format!("{} · {}", error.code, plain(&error.message)));
        error.details.iter().for_each(|detail| row("", Ink::Plain, plain(detail)));
    }
    if let (RunStatus::Succeeded, Some(completion)) = (result.status, result.completion) {
        row("reason", Ink::Plain, completion.reason_code.to_string());
    }
    if !result.turns.is_empty() {
        let turns: Vec<String> = result.turns.iter().map(|(turn, count)| format!("{count} {turn}")).collect();
        row("turns", Ink::Plain, turns.join(", "));
    }
    row("took", Ink::Plain, format!("{}, {}", lasting(result.timing.elapsed_ms), attempts(result.attempts)));
    let workspace = place.folder(result.run_id).workspace();
    for artifact in &result.artifacts {
        let now = artifact_now(&workspace, artifact);
        row("file", Ink::Plain, format!("{} ({}){now}", plain(&artifact.path), size(artifact.size)));
    }
    for warning in &result.warnings {
        row("warning", Ink::Plain, format!("{warning} · {}", warning.summary()));
    }
    for action in &result.next_actions {
        row("next", Ink::Plain, plain(&action.command));
    }
    row("folder", Ink::Plain, plain(&place.folder(result.run_id).root().to_string_lossy()));
    let mut text = output.table(&rows, LastColumn::Wrapped);
    match (&result.output, &result.text) {
        (Some(value), _) => text += &format!("\n{}", pretty(&Value::Object(value.clone()))),
        (None, Some(words)) if is_answer(result) => {
            text += &format!("\n{}", indented(words, ""));
        }
        // The last message is not an answer.
        (None, Some(words)) => text += &format!("\n{LAST_MESSAGE}:\n{}", indented(words, "  ")),
        (None, None) => {}
    }
    text
}

/// Whether the text of a result is an answer.
pub(super) fn is_answer(result: &RunResult) -> bool {
    presenters::of_run(RunState::of(result.status, None), Presenter::Cli).is_answer
}

fn attempts(count: u32) -> String {
    crate::words::counted(count as usize, "attempt", "attempts")
}

/// JSON for people to read.
pub(super) fn pretty(value: &Value) -> String {
    harmless(&serde_json::to_string_pretty(value).unwrap_or_default()) + "\n"
}
