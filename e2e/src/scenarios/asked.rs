//! A question inside a turn: the agent asks before it writes a file. Either a user allows it, or no user is asked and
//! the permission denies it.

use std::fs;

use serde_json::{Value, json};
use skillrun_model::RunStatus;
use skillrun_model::interaction::{InteractionKind, Pending, Scope};
use skillrun_model::rasp::data::ResolutionMode;

use super::question;
use crate::engines::Expected;
use crate::problem::{Miss, must};
use crate::trial::{Over, Trial};

/// What the model has written.
const FILE: &str = "made.txt";
const TEXT: &str = "made";

/// How the model goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Command,
    /// As a patch, which is nothing that a sandbox holds back, but something to be asked about.
    Patch,
}

impl Writing {
    const ALL: [Self; 2] = [Self::Command, Self::Patch];

    /// The name of its script.
    pub(crate) fn script(self) -> &'static str {
        match self {
            Self::Command => "write",
            Self::Patch => "patch",
        }
    }

    fn command(self) -> String {
        match self {
            Self::Command => format!("printf {TEXT} > {FILE}"),
            Self::Patch => {
                format!("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {FILE}\n+{TEXT}\n*** End Patch\nEOF")
            }
        }
    }
}

/// Turns of the model: writes the file, answers.
pub(crate) fn scripts() -> impl Iterator<Item = (&'static str, Value)> {
    let answer = json!({"status": "ok", "summary": "this is all"});
    let turns = move |command: String| json!({"turns": [{"tool": command}, {"answer": answer}]});
    Writing::ALL.into_iter().map(move |writing| (writing.script(), turns(writing.command())))
}

/// So that every agent asks, whatever it may do otherwise.
const READ_ONLY: [&str; 2] = ["--permission", "read_only"];

pub(super) fn allowed(trial: &Trial<'_>) -> Result<(), Miss> {
    let words = [&["--mode", "interactive"][..], &READ_ONLY].concat();
    let mut running = trial.start(trial.run_command(&words), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    let question = question::asked(trial, run, 1)?;
    must(question.scope == Scope::Call, "scope", || format!("the question has the scope {}", question.scope))?;
    must(!trial.place.file(run, "workspace").join(FILE).exists(), "written", || "the agent did not wait".to_owned())?;
    must_offer_what_the_agent_does(&question, &trial.said(run, 1))?;
    question::reply(trial, run, "allow", "reply")?;
    let over = question::over(trial, run)?;
    let code = running.finish(&trial.deadline)?.code;
    must(code == Some(0), "exit code", || format!("skillrun run exits with {code:?}"))?;
    over.must_give_the_answer()?;
    must(over.result.attempts == 1, "attempts", || format!("it took {} attempts", over.result.attempts))?;
    must_be_answered(&over, ResolutionMode::UserReply, "allow")?;
    let text = written(trial, &over);
    must(text.as_deref().map(str::trim) == Some(TEXT), "not written", || format!("the file has {text:?}"))?;
    must(over.commands() == 1, "no command", || format!("{} calls were seen instead of one", over.commands()))
}

pub(super) fn denied(trial: &Trial<'_>) -> Result<(), Miss> {
    let over = trial.run(&READ_ONLY)?;
    must(over.questions().len() == 1, "questions", || format!("{} questions", over.questions().len()))?;
    must_be_answered(&over, ResolutionMode::PermissionPolicy, "deny")?;
    let text = written(trial, &over);
    must(text.is_none(), "written", || format!("the denied write was done: {text:?}"))?;
    must(over.commands() == 0, "command", || "a denied call is reported as done".to_owned())?;
    match trial.engine.expected(trial.scenario, Expected::Succeeds) {
        Expected::Succeeds => over.must_give_the_answer(),
        Expected::Fails => {
            over.must_be(RunStatus::Failed)?;
            must(over.result.output.is_none(), "has output", || format!("it has an output: {}", over.json["output"]))
        }
    }
}

fn written(trial: &Trial<'_>, over: &Over) -> Option<String> {
    fs::read_to_string(trial.place.file(over.run, "workspace").join(FILE)).ok()
}

fn must_be_answered(over: &Over, mode: ResolutionMode, text: &str) -> Result<(), Miss> {
    let answers = over.answers();
    must(answers == [(mode, text)], "answer", || format!("the answers are {answers:?}"))
}

/// The options are those of the agent, one that allows and one that rejects among them.
fn must_offer_what_the_agent_does(question: &Pending, said: &str) -> Result<(), Miss> {
    let options =
        question.context.as_ref().and_then(|context| context["options"].as_array()).cloned().unwrap_or_default();
    let has = |word: &str| options.iter().any(|one| one["kind"].as_str().is_some_and(|kind| kind.starts_with(word)));
    let is_choice = question.kind == InteractionKind::ChooseOne && has("allow") && has("reject");
    let is_own = question.options.iter().all(|one| said.contains(&format!("\"{}\"", one.value)));
    must(is_choice && is_own && question.options.len() == options.len(), "options", || {
        format!("the options are {:?}, from {options:?}", question.options)
    })
}
