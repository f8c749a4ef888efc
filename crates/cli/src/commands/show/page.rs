//! The page, for people.

use serde_json::Value;
use skillrun_base::text::shortened;
use skillrun_inspect::attempts::Attempt;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::presenters::{self, Presenter, RunState};
use skillrun_model::rasp::data::Exit;
use skillrun_model::{Code, RunStatus};
use skillrun_runs::RunRecord;
use skillrun_runs::record::{RecordedTask, Sharing, Workspace};

use super::Known;
use crate::commands::interactions::{deadline_words, question_text, reply_command, rest_rows};
use crate::commands::result::{LAST_MESSAGE, is_answer, pretty};
use crate::exit::{run_state, run_words};
use crate::output::{Ink, LastColumn, Output, plain};
use crate::place::CommandContext;
use crate::words::{counted, dollars, from_now, indented, lasting, moment, newer_events, now, size, status_ink};

/// Characters of a hash that are shown, enough to distinguish skills.
const HASH: usize = 12;
/// Lines of an answer that are shown; `skillrun result` prints all.
const LINES: usize = 12;

type Rows = Vec<[(Ink, String); 2]>;

pub(super) fn page(place: &CommandContext, known: &Known, output: &Output) -> String {
    let mut parts = vec![head(known, output)];
    parts.push(facts(place, known, output));
    if !known.attempts.list().is_empty() {
        parts.push(attempts(known.attempts.list(), output));
    }
    parts.extend(children(known, output));
    parts.extend(question(known, output));
    parts.extend(result(known, output));
    parts.push(files(place, known, output));
    parts.join("\n")
}

fn head(known: &Known, output: &Output) -> String {
    let id = output.paint(Ink::Bold, &known.run.to_string());
    if let Some(damage) = &known.damage {
        return format!("{id}\n{}\n{}", output.paint(Ink::Bad, "damaged"), indented(damage, "  "));
    }
    let status = known.state.status.map_or_else(
        || output.paint(Ink::Bad, "not begun"),
        |status| output.paint(status_ink(status), status.as_str()),
    );
    let waits = match run_state(&known.state) {
        state @ (RunState::WaitingAnswer | RunState::WaitingPrompt) => format!(" · {}", run_words(state)),
        RunState::Queued
        | RunState::Running
        | RunState::Succeeded
        | RunState::Closed
        | RunState::Failed
        | RunState::FailedTimeout
        | RunState::FailedOutput
        | RunState::FailedPartial
        | RunState::Canceled => String::new(),
    };
    let newer = match known.newer_events {
        0 => String::new(),
        count => indented(&newer_events(count), "  "),
    };
    let Some(result) = known.result.as_ref() else { return format!("{id}\n{status}{waits}\n{newer}") };
    let code = match result.status {
        RunStatus::Succeeded => result.completion.map(|completion| completion.reason_code),
        RunStatus::Failed => result.error.as_ref().map(|error| error.code),
        // The end of the last turn is not the reason.
        RunStatus::Closed => Some(Code::Closed),
        RunStatus::Canceled | RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => None,
    };
    let code = code.map(|code| format!(" · {code}")).unwrap_or_default();
    let message = result.error.as_ref().map(|error| {
        let details: String = error.details.iter().map(|detail| indented(detail, "  ")).collect();
        format!("{}{}{details}", indented(error.code.summary(), "  "), indented(&error.message, "  "))
    });
    format!("{id}\n{status}{code}\n{}{newer}", message.unwrap_or_default())
}

/// The children, as the Log of this run has them; how a detached one has ended, from its own Log.
fn children(known: &Known, output: &Output) -> Option<String> {
    let rows = known.children.iter().enumerate().map(|(at, child)| {
        let label = if at == 0 { "children" } else { "" };
        let status = child.status.map_or("open", SubagentStatus::as_str);
        let own = match (child.reconciled, child.child_seq) {
            (true, Some(seq)) => format!(" (detached; by event {seq} of its own Log)"),
            (true, None) => " (detached; by its own Log)".to_owned(),
            (false, _) => String::new(),
        };
        row(label, format!("{} {status}{own}  {} on {}", child.run_id, plain(&child.title), plain(&child.engine)))
    });
    let rows: Rows = rows.collect();
    (!rows.is_empty()).then(|| output.table(&rows, LastColumn::Cut))
}

fn row(label: &str, text: String) -> [(Ink, String); 2] {
    [(Ink::Dim, label.to_owned()), (Ink::Plain, text)]
}

fn facts(place: &CommandContext, known: &Known, output: &Output) -> String {
    let mut rows = Rows::new();
    if let Some(record) = &known.record {
        rows.extend(of_record(place, record));
    }
    let now = now();
    if let Some(at) = known.created_at {
        rows.push(row("began", format!("{} ({})", moment(at), from_now(at, now))));
    }
    match (known.state.is_over(), known.created_at, known.updated_at) {
        (true, Some(begin), Some(end)) => {
            let took = known.result.as_ref().map(|result| result.timing.elapsed_ms);
            let took = took.or_else(|| end.millis_since(begin)).unwrap_or(0);
            rows.push(row("ended", format!("{}, after {}", moment(end), lasting(took))));
        }
        (false, _, Some(last)) => rows.push(row("last event", format!("{} ({})", moment(last), from_now(last, now)))),
        (_, _, _) => {}
    }
    if let Some(at) = known.state.not_before.filter(|_| known.state.status == Some(RunStatus::Queued)) {
        rows.push(row("not before", format!("{} ({})", moment(at), from_now(at, now))));
    }
    if let Some(retry) = known.state.retry {
        rows.push(row("retried as", format!("{}, not before {}", retry.run_id, moment(retry.not_before))));
    }
    if let Some(at) = known.result.as_ref().and_then(|result| result.error.as_ref()?.reset_at) {
        rows.push(row("quota", format!("resets {} ({})", moment(at), from_now(at, now))));
    }
    if let Some(by) = &known.canceled_by {
        rows.push(row("canceled by", plain(by)));
    }
    rows.extend(owner(known));
    if known.state.auto_decisions > 0 {
        let decisions = counted(known.state.auto_decisions as usize, "question", "questions");
        rows.push(row("decided", format!("{decisions} automatically, because no answer came in time")));
    }
    output.table(&rows, LastColumn::Wrapped)
}

/// The process that works on the run. A waiting run needs none.
fn owner(known: &Known) -> Option<[(Ink, String); 2]> {
    let working = match known.state.status? {
        RunStatus::Queued | RunStatus::Running => true,
        RunStatus::WaitingUser => false,
        RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => return None,
    };
    match known.owner {
        Some(pid) => Some(row("owner", format!("process {pid}"))),
        // No process can resume it.
        None if known.damage.is_some() => None,
        None if working => {
            let text = "no process works on it; `skillrun recover` resumes it".to_owned();
            Some([(Ink::Dim, "owner".to_owned()), (Ink::Bad, text)])
        }
        None => None,
    }
}

fn of_record(place: &CommandContext, record: &RunRecord) -> Rows {
    let (engine, request) = (&record.engine, &record.request);
    let version = |version: &Option<String>| version.as_deref().map(|v| format!(" {}", plain(v))).unwrap_or_default();
    let path = |path: &std::path::Path| plain(&path.to_string_lossy());
    let posture = engine.posture.as_str().replace('_', " ");
    let workspace = match &request.workspace {
        Workspace::Own => path(&place.folder(record.run_id).workspace()),
        Workspace::Folder { path: folder, sharing: Sharing::Alone } => path(folder.as_path()),
        Workspace::Folder { path: folder, sharing: Sharing::Allowed } => {
            format!("{}, shared with other runs", path(folder.as_path()))
        }
        Workspace::Copy(_) => path(&place.folder(record.run_id).workspace()),
    };
    let mut rows = match record.task() {
        RecordedTask::Skill(skill) => {
            let hash: String = skill.hash.chars().take(HASH).collect();
            vec![
                row("skill", format!("{}{} · {}", plain(&skill.name), version(&skill.version), plain(&hash))),
                row("", path(skill.source.as_path())),
            ]
        }
        RecordedTask::Prompt(text) => vec![row("prompt", short(text))],
        RecordedTask::Workflow(plan) => {
            vec![row("workflow", format!("{} · {} steps", plain(&plan.name), plan.steps.len()))]
        }
    };
    rows.extend([
        row("engine", format!("{}{} · {}", plain(&engine.name), version(&engine.version), engine.profile)),
        row("", path(engine.program.as_path())),
        row("permission", format!("{}, {posture}", request.permission.as_str())),
        row("mode", request.mode.to_string()),
    ]);
    if let Some(report) = &record.confinement {
        rows.push(row("box", format!("{}, network {}", request.confinement, request.network)));
        rows.extend(report.parts.iter().map(|part| row("", plain(&part.to_string()))));
        rows.extend(report.reachable.iter().map(|host| row("", plain(&format!("reaches {host}")))));
    }
    for start in &record.workspace_starts {
        rows.push(row("workspace", format!("{}: {}", start.state, plain(&start.to_string()))));
    }
    if !record.workspace_credentials.is_empty() {
        let names: Vec<_> = record.workspace_credentials.iter().map(|name| plain(name)).collect();
        rows.push(row("workspace", format!("looks like credentials: {}", names.join(", "))));
    }
    let model = [&request.model, &request.effort].into_iter().flatten().map(|word| plain(word)).collect::<Vec<_>>();
    if !model.is_empty() {
        rows.push(row("model", model.join(", ")));
    }
    for (label, values) in [("input", &request.input), ("parameter", &request.parameter)] {
        if !values.is_empty() {
            rows.push(row(label, short(&Value::Object(values.clone()).to_string())));
        }
    }
    for (slot, name) in &request.files {
        rows.push(row("file", format!("{}: inputs/{}", plain(slot), plain(name))));
    }
    rows.push(row("workspace", workspace));
    if let Some(copy) = request.workspace.copy() {
        let files = counted(usize::try_from(copy.files).unwrap_or(usize::MAX), "file", "files");
        rows.push(row("", format!("a copy of {} · {files}", path(copy.from.as_path()))));
        for left_out in &copy.left_out {
            rows.push(row("", format!("without {}: {}", path(left_out.path.as_path()), plain(&left_out.why))));
        }
        let named = u64::try_from(copy.left_out.len()).unwrap_or(u64::MAX);
        if let Some(more) = copy.left_out_count.checked_sub(named).filter(|more| *more > 0) {
            rows.push(row("", format!("without {more} more")));
        }
    }
    if let Some(before) = record.retry_of {
        rows.push(row("retry of", before.to_string()));
    }
    rows
}

/// The beginning of a text that may be long.
fn short(text: &str) -> String {
    const CHARS: usize = 200;
    shortened(&plain(text), CHARS)
}

fn attempts(list: &[Attempt], output: &Output) -> String {
    let heading =
        ["ATTEMPT", "TURN", "REASON", "EXIT", "TOOK", "BYTES", "READ"].map(|head| (Ink::Dim, head.to_owned()));
    let line = |attempt: &Attempt| {
        let begin = attempt.started_at;
        let [turn, reason, exit, took] = match &attempt.ended {
            None => {
                ["running".to_owned(), String::new(), String::new(), lasting(now().millis_since(begin).unwrap_or(0))]
            }
            Some(ended) => [
                ended.turn.to_string(),
                ended
                    .limit
                    .map_or_else(|| ended.reason_code.to_string(), |limit| format!("{} ({limit})", ended.reason_code)),
                exit(&ended.exit),
                lasting(ended.at.millis_since(begin).unwrap_or(0)),
            ],
        };
        let bytes = attempt.bytes.map_or_else(|| "gone".to_owned(), size);
        let read = attempt.parse.as_ref().map_or_else(String::new, |parse| format!("{:.2}", parse.confidence));
        [attempt.number.to_string(), turn, reason, exit, took, bytes, read].map(|text| (Ink::Plain, text))
    };
    let rows: Vec<_> = std::iter::once(heading).chain(list.iter().map(line)).collect();
    output.table(&rows, LastColumn::Wrapped)
}

/// How the process ended. Empty for one that is still alive.
fn exit(exit: &Exit) -> String {
    match (exit.code, &exit.signal, exit.ended_by) {
        (Some(code), _, _) => code.to_string(),
        (None, Some(signal), _) => plain(signal),
        (None, None, Some(ended_by)) => ended_by.to_string(),
        (None, None, None) => "none".to_owned(),
    }
}

fn question(known: &Known, output: &Output) -> Option<String> {
    let question = known.state.question.as_ref().filter(|_| !known.state.is_over())?;
    if let Some(rows) = rest_rows(&known.state, &known.run.to_string()) {
        let row = |(label, text): (&str, String)| [(Ink::Bold, label.to_owned()), (Ink::Plain, text)];
        return Some(output.table(&rows.into_iter().map(row).collect::<Vec<_>>(), LastColumn::Wrapped));
    }
    let head = output.paint(Ink::Bold, &format!("question {}", question.interaction_id.0));
    let deadline = output.paint(Ink::Dim, &deadline_words(question, now()));
    let answer = reply_command(&known.run.to_string());
    Some(format!("{head} · {}\n{}  {deadline}\n  {answer}\n", question.kind, question_text(question)))
}

fn result(known: &Known, output: &Output) -> Option<String> {
    let result = known.result.as_ref()?;
    let mut rows = Rows::new();
    for artifact in &result.artifacts {
        rows.push(row(
            "artifact",
            format!("{} ({}, {})", plain(&artifact.path), size(artifact.size), artifact.media_type),
        ));
    }
    for check in &result.checks {
        let words = presenters::of_check(check.status, Presenter::Cli).words;
        let exit = exit(&check.exit);
        rows.push(row("check", format!("{} {words} · exit {exit} · {}", plain(&check.name), check.evidence)));
    }
    for warning in &result.warnings {
        rows.push(row("warning", format!("{warning} · {}", warning.summary())));
    }
    if let Some(usage) = &result.usage {
        let tokens = [("in", usage.input_tokens), ("out", usage.output_tokens)];
        let told: Vec<String> =
            tokens.iter().filter_map(|(way, count)| count.map(|count| format!("{count} {way}"))).collect();
        if !told.is_empty() {
            rows.push(row("tokens", told.join(", ")));
        }
    }
    if let Some(usd) = result.cost_usd() {
        rows.push(row("cost", format!("{}, as the engine reports it", dollars(usd))));
    }
    for action in &result.next_actions {
        rows.push(row("next", plain(&action.command)));
    }
    let mut text = output.table(&rows, LastColumn::Wrapped);
    let (label, body) = match (&result.output, &result.text) {
        (Some(value), _) => ("output", pretty(&Value::Object(value.clone()))),
        (None, Some(words)) if is_answer(result) => ("answer", words.clone()),
        (None, Some(words)) => (LAST_MESSAGE, words.clone()),
        (None, None) => return (!text.is_empty()).then_some(text),
    };
    let lines = body.trim_end().lines().count();
    let shown: Vec<&str> = body.lines().take(LINES).collect();
    text += &format!("{}\n{}", output.paint(Ink::Dim, label), indented(&shown.join("\n"), "  "));
    if lines > LINES {
        let more = counted(lines - LINES, "more line", "more lines");
        text += &output.paint(Ink::Dim, &format!("  … {more}; `skillrun result {}` prints all\n", known.run));
    }
    Some(text)
}

fn files(place: &CommandContext, known: &Known, output: &Output) -> String {
    let folder = place.folder(known.run);
    let rows = known.files.iter().map(|file| {
        let name = if file.bytes.is_some() { file.name.to_owned() } else { format!("{}/", file.name) };
        let size = file.bytes.map(|bytes| format!(" ({})", size(bytes))).unwrap_or_default();
        [(Ink::Plain, String::new()), (Ink::Plain, name), (Ink::Dim, format!("{}{size}", file.what))]
    });
    let rows: Vec<_> = rows.collect();
    let folder = plain(&folder.root().to_string_lossy());
    format!("{}\n{}", output.paint(Ink::Bold, &folder), output.table(&rows, LastColumn::Cut))
}
