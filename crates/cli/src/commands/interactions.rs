//! `skillrun interactions`: questions that wait, or all questions of one run.

use serde::Serialize;
use serde_json::json;
use skillrun_log::catalog::Waiting;
use skillrun_model::interaction::{DecisionPolicy, OnDeadline, Pending};
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::rasp::{Data, Event};
use skillrun_model::{RunId, Timestamp};

use crate::args::{Form, Global, Interactions};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::Place;
use crate::short_ids::ShortIds;
use crate::words::{from_now, indented, moment, now};

/// Why an automatic answer was given; a word of the contract.
const NO_REPLY: &str = "user_no_reply";

pub(crate) fn run(global: &Global, args: &Interactions) -> Result<(), Failure> {
    let place = Place::open(global)?;
    let output = Output::new(global.color, &place.settings.surroundings);
    match &args.run {
        None => open(&place, args.json.form(), &output),
        Some(word) => {
            let run = place.run(word)?;
            let history = history(&place, run)?;
            match args.json.form() {
                Form::Json => print_json(&json!({ "run_id": run, "interactions": history })),
                Form::Text if history.is_empty() => print("It has asked nothing.\n"),
                Form::Text => {
                    let text: Vec<String> = history.iter().map(|asked| asked.text(run, &output)).collect();
                    print(&text.join("\n"))
                }
            }
        }
    }
}

/// A question that waits, and since when.
#[derive(Serialize)]
struct Open {
    #[serde(flatten)]
    waiting: Waiting,
    asked_at: Option<Timestamp>,
    answer: String,
}

fn open(place: &Place, form: Form, output: &Output) -> Result<(), Failure> {
    let mut catalog = place.catalog()?;
    let mut open = Vec::new();
    for waiting in catalog.waiting()? {
        let asked_at = catalog.get(waiting.run_id)?.and_then(|row| row.updated_at);
        let answer = format!("skillrun reply {} TEXT", waiting.run_id);
        open.push(Open { waiting, asked_at, answer });
    }
    open.sort_by_key(|open| open.asked_at);
    if form == Form::Json {
        return print_json(&json!({ "interactions": open }));
    }
    if open.is_empty() {
        return print("Nobody waits for an answer.\n");
    }
    let ids = ShortIds::new(&place.ids());
    let text: Vec<String> = open.iter().map(|open| open_text(open, &ids, now(), output)).collect();
    print(&text.join("\n"))
}

fn open_text(open: &Open, ids: &ShortIds, now: Timestamp, output: &Output) -> String {
    let Waiting { run_id, skill, engine, question } = &open.waiting;
    let id = ids.of(*run_id);
    let name = |name: &Option<String>| name.as_deref().map_or_else(|| "?".to_owned(), plain);
    let asked = open.asked_at.map(|asked| format!(" · asked {}", from_now(asked, now))).unwrap_or_default();
    let head = format!("{} · {} on {}{asked}\n", output.paint(Ink::Bold, &id), name(skill), name(engine));
    let then = output.paint(Ink::Dim, &deadline_words(question, now));
    format!("{head}{}  {then}\n  {}\n", question_text(question), reply_command(&id))
}

pub(super) fn reply_command(run: &str) -> String {
    format!("skillrun reply {run} TEXT")
}

/// The question and what can be chosen.
pub(super) fn question_text(question: &Pending) -> String {
    let option = |option: &skillrun_model::interaction::AskOption| {
        let label = if option.label == option.value { String::new() } else { format!(": {}", plain(&option.label)) };
        let default = if option.default { "  (default)" } else { "" };
        format!("  - {}{label}{default}\n", plain(&option.value))
    };
    indented(&question.prompt, "  ") + &question.options.iter().map(option).collect::<String>()
}

/// Until when there is time, and what happens then.
pub(super) fn deadline_words(question: &Pending, now: Timestamp) -> String {
    let Some(deadline) = question.deadline else { return "waits as long as it takes".to_owned() };
    let then = match question.on_deadline {
        OnDeadline::Wait => "it goes on waiting",
        OnDeadline::FailRun => "the run fails",
        OnDeadline::AutoReply => match question.default_decision_policy {
            DecisionPolicy::EngineJudgement => "the engine decides",
            DecisionPolicy::SafeDefault => "the default is taken",
            DecisionPolicy::Abort => "the run fails, as its policy says",
        },
    };
    format!("until {} ({}), then {then}", moment(deadline), from_now(deadline, now))
}

/// A question and what became of it.
#[derive(Serialize)]
struct Asked {
    question: Pending,
    asked_at: Timestamp,
    timed_out_at: Option<Timestamp>,
    /// None while nobody answered, and for ever where the run ended before.
    resolution_mode: Option<ResolutionMode>,
    resolved_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_decide_reason: Option<&'static str>,
    reply: Option<String>,
    files: Vec<String>,
    is_open: bool,
}

fn history(place: &Place, run: RunId) -> Result<Vec<Asked>, Failure> {
    let mut history: Vec<Asked> = Vec::new();
    place.events(run, |event| {
        take(&mut history, &event);
        Ok(())
    })?;
    Ok(history)
}

fn take(history: &mut Vec<Asked>, event: &Event) {
    let of = |history: &mut Vec<Asked>, id, act: &dyn Fn(&mut Asked)| {
        history.iter_mut().filter(|asked| asked.question.interaction_id == id).for_each(act);
    };
    if let Data::InteractionRequested(question) = &event.data {
        history.push(Asked {
            question: question.clone(),
            asked_at: event.ts,
            timed_out_at: None,
            resolution_mode: None,
            resolved_at: None,
            auto_decide_reason: None,
            reply: None,
            files: Vec::new(),
            is_open: true,
        });
    } else if let Data::InteractionTimeout(timeout) = &event.data {
        of(history, timeout.interaction_id, &|asked| {
            asked.timed_out_at = Some(event.ts);
            asked.is_open &= timeout.fails_with.is_none();
        });
    } else if let Data::InteractionReplied(reply) = &event.data {
        of(history, reply.interaction_id, &|asked| {
            asked.resolution_mode = Some(reply.resolution_mode);
            asked.resolved_at = Some(event.ts);
            asked.reply = Some(reply.text.clone());
            asked.files.clone_from(&reply.files);
            asked.is_open = false;
            asked.auto_decide_reason = match reply.resolution_mode {
                ResolutionMode::AutoDecideTimeout => Some(NO_REPLY),
                ResolutionMode::UserReply | ResolutionMode::PermissionPolicy => None,
            };
        });
    } else if matches!(event.data, Data::RunCompleted(_) | Data::RunFailed(_) | Data::RunCanceled(_)) {
        history.iter_mut().for_each(|asked| asked.is_open = false);
    }
}

impl Asked {
    fn text(&self, run: RunId, output: &Output) -> String {
        let number = output.paint(Ink::Bold, &format!("question {}", self.question.interaction_id.0));
        let kind = self.question.kind;
        let head = format!("{number} · {kind} · asked {}\n", moment(self.asked_at));
        let timed_out = self.timed_out_at.map(|at| format!("time was up {}\n", moment(at))).unwrap_or_default();
        let end = match (&self.reply, self.resolved_at, self.resolution_mode) {
            (Some(reply), Some(at), Some(mode)) => {
                let files: String = self.files.iter().map(|file| format!("  file {}\n", plain(file))).collect();
                format!("answered {} · {mode}\n{}{files}", moment(at), indented(reply, "  "))
            }
            (_, _, _) if self.is_open => {
                format!("  {}\n  {}\n", deadline_words(&self.question, now()), reply_command(&run.to_string()))
            }
            (_, _, _) => "closed without an answer\n".to_owned(),
        };
        format!("{head}{}{timed_out}{end}", question_text(&self.question))
    }
}
