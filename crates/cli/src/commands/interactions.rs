//! `skillrun interactions`: open questions, or all questions of one run.

use serde::Serialize;
use serde_json::json;
use skillrun_catalog::Waiting;
use skillrun_inspect::interactions::{AskedQuestion, History};
use skillrun_lifecycle::run::State;
use skillrun_model::interaction::{DecisionPolicy, OnDeadline, Pending, Scope};
use skillrun_model::presenters::{self, Presenter, RunState, TurnEnding};
use skillrun_model::{RunId, Timestamp};

use crate::args::{Global, Interactions, OutputForm};
use crate::exit::run_words;
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;
use crate::words::{from_now, indented, moment, now};

pub(crate) fn run(global: &Global, args: &Interactions) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let output = Output::new(global.color, &place.settings.surroundings);
    match &args.run {
        None => open(&place, args.json.form(), &output),
        Some(word) => {
            let run = place.run(word)?;
            let history = history(&place, run)?;
            if history.left_out() > 0 {
                note(&format!("{} older questions are left out", history.left_out()));
            }
            let history = history.into_list();
            match args.json.form() {
                OutputForm::Json => print_json(&json!({ "run_id": run, "interactions": history })),
                OutputForm::Text if history.is_empty() => print("The run has asked no questions.\n"),
                OutputForm::Text => {
                    let text: Vec<String> = history.iter().map(|asked| asked_text(asked, run, &output)).collect();
                    print(&output.fit(&text.join("\n")))
                }
            }
        }
    }
}

/// An open question, and since when it waits.
#[derive(Serialize)]
struct Open {
    #[serde(flatten)]
    waiting: Waiting,
    asked_at: Option<Timestamp>,
    answer: String,
}

fn open(place: &CommandContext, form: OutputForm, output: &Output) -> Result<(), Failure> {
    let mut catalog = place.catalog()?;
    let mut open = Vec::new();
    for waiting in catalog.waiting(None, None)? {
        let asked_at = catalog.get(waiting.run_id)?.and_then(|row| row.updated_at);
        let answer = format!("skillrun reply {} TEXT", waiting.run_id);
        open.push(Open { waiting, asked_at, answer });
    }
    open.sort_by_key(|open| open.asked_at);
    if form == OutputForm::Json {
        return print_json(&json!({ "interactions": open }));
    }
    if open.is_empty() {
        return print("There are no open questions.\n");
    }
    let ids = ShortIds::new(&place.ids());
    let text: Vec<String> = open.iter().map(|open| open_text(open, &ids, now(), output)).collect();
    print(&output.fit(&text.join("\n")))
}

fn open_text(open: &Open, ids: &ShortIds, now: Timestamp, output: &Output) -> String {
    let Waiting { run_id, skill, title, engine, question } = &open.waiting;
    let id = ids.of(*run_id);
    let name = |name: &Option<String>| name.as_deref().map_or_else(|| "?".to_owned(), plain);
    let task = match (skill, title) {
        (Some(_), _) | (None, None) => name(skill),
        (None, Some(title)) => plain(title),
    };
    let asked = open.asked_at.map(|asked| format!(" · asked {}", from_now(asked, now))).unwrap_or_default();
    let head = format!("{} · {} on {}{asked}\n", output.paint(Ink::Bold, &id), task, name(engine));
    let then = output.paint(Ink::Dim, &deadline_words(question, now));
    format!("{head}{}  {then}\n  {}\n", question_text(question), reply_command(&id))
}

pub(crate) fn reply_command(run: &str) -> String {
    format!("skillrun reply {run} TEXT")
}

/// How the last turn of a run at rest ended, and what can be done now; none while the run is not at rest.
pub(crate) fn rest_rows(state: &State, run: &str) -> Option<Vec<(&'static str, String)>> {
    let verdict = state.verdict.as_ref().filter(|_| state.is_at_rest())?;
    let words = presenters::of_turn(TurnEnding::of_state(verdict.turn), Presenter::Cli).words;
    let turn = match &verdict.error {
        Some(error) => format!("{words} · {} · {}", error.code, plain(&error.message)),
        None => words.to_owned(),
    };
    Some(vec![("turn", turn), ("next", reply_command(run)), ("close", format!("skillrun close {run}"))])
}

/// The same as lines.
pub(crate) fn rest_text(state: &State, run: &str) -> Option<String> {
    Some(rest_rows(state, run)?.iter().map(|(label, text)| format!("{label:<8}{text}\n")).collect())
}

/// The question and what can be chosen.
pub(super) fn question_text(question: &Pending) -> String {
    indented(&question.prompt, "  ") + &option_lines(question)
}

/// The values with which a question can be answered, one line each.
pub(crate) fn option_lines(question: &Pending) -> String {
    let option = |option: &skillrun_model::interaction::AskOption| {
        let label = if option.label == option.value { String::new() } else { format!(": {}", plain(&option.label)) };
        let default = if option.default { "  (default)" } else { "" };
        format!("  - {}{label}{default}\n", plain(&option.value))
    };
    question.options.iter().map(option).collect()
}

/// The deadline, and what happens then.
pub(super) fn deadline_words(question: &Pending, now: Timestamp) -> String {
    let Some(deadline) = question.deadline else { return "waits without a time limit".to_owned() };
    let then = match question.on_deadline {
        OnDeadline::Wait => "it continues to wait",
        OnDeadline::FailRun => "the run fails",
        OnDeadline::HoldStep => "the step counts as not decided",
        OnDeadline::AutoReply => match question.default_decision_policy {
            DecisionPolicy::EngineJudgement => "the engine decides",
            DecisionPolicy::SafeDefault => "the default is taken",
            DecisionPolicy::Abort => "the run fails, according to its policy",
        },
    };
    format!("until {} ({}), then {then}", moment(deadline), from_now(deadline, now))
}

/// Of a run that rested: nothing was asked.
fn prompt_text(asked: &AskedQuestion, run: RunId, output: &Output) -> String {
    let number = output.paint(Ink::Bold, &format!("prompt {}", asked.question.interaction_id.0));
    let end = match (&asked.reply, asked.resolved_at) {
        (Some(reply), Some(at)) => {
            let files: String = asked.files.iter().map(|file| format!("  file {}\n", plain(file))).collect();
            format!("sent {}\n{}{files}", moment(at), indented(reply, "  "))
        }
        (_, _) if asked.is_open => {
            let words = run_words(RunState::WaitingPrompt);
            format!("the run {words}\n  {}\n", reply_command(&run.to_string()))
        }
        (_, _) => "the run ended before a prompt was sent\n".to_owned(),
    };
    format!("{number} · since {}\n{end}", moment(asked.asked_at))
}

fn history(place: &CommandContext, run: RunId) -> Result<History, Failure> {
    let mut history = History::default();
    place.events(run, |event| {
        history.take(&event);
        Ok(())
    })?;
    Ok(history)
}

fn asked_text(asked: &AskedQuestion, run: RunId, output: &Output) -> String {
    match asked.question.scope {
        Scope::Turn | Scope::Call | Scope::Step => {}
        Scope::Prompt => return prompt_text(asked, run, output),
    }
    let number = output.paint(Ink::Bold, &format!("question {}", asked.question.interaction_id.0));
    let kind = asked.question.kind;
    let head = format!("{number} · {kind} · asked {}\n", moment(asked.asked_at));
    let timed_out = asked.timed_out_at.map(|at| format!("timed out {}\n", moment(at))).unwrap_or_default();
    let end = match (&asked.reply, asked.resolved_at, asked.resolution_mode) {
        (Some(reply), Some(at), Some(mode)) => {
            let files: String = asked.files.iter().map(|file| format!("  file {}\n", plain(file))).collect();
            format!("answered {} · {mode}\n{}{files}", moment(at), indented(reply, "  "))
        }
        (_, _, _) if asked.is_open => {
            format!("  {}\n  {}\n", deadline_words(&asked.question, now()), reply_command(&run.to_string()))
        }
        (_, _, _) => "closed without an answer\n".to_owned(),
    };
    format!("{head}{}{timed_out}{end}", question_text(&asked.question))
}
