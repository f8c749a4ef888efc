//! Steps that all scenarios with conversations share. Each prompt orders what the model does with it.

use std::fs;
use std::path::Path;

use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::AttemptEnded;
use skillrun_model::{RunId, RunStatus, TurnState};

use super::question;
use crate::bounded::Running;
use crate::problem::{Miss, must};
use crate::trial::{Over, Trial, WAITS};

/// Orders to the model, see `ordered` there.
pub(super) const FIRST: &str = "[[say amber]]";
pub(super) const LATER: &str = "[[say coral]]";

/// The answer that lets an agent run a command.
const ALLOW: &str = "allow";

/// The answer to the first of them; no order contains it.
pub(super) const FIRST_ANSWER: &str = "The word is amber.";

const SKILL: &str = "\
---
name: talk
description: Passes its input on as the first prompt.
---

# Talk

Follow the order in the prompt.
";

const RUNNER: &str =
    r#"{"id": "talk", "execution_modes": ["conversation"], "entrypoint": {"prompts": {"common": "{{input.order}}"}}}"#;

/// Writes the skill whose first prompt is its input.
pub(crate) fn write_skill(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("assets"))?;
    fs::write(folder.join("SKILL.md"), SKILL)?;
    fs::write(folder.join("assets/runner.json"), RUNNER)
}

/// A conversation.
pub(super) struct Talk<'a> {
    trial: &'a Trial<'a>,
    pub(super) run: RunId,
    starter: Running,
}

impl<'a> Talk<'a> {
    /// Begins with an order. Few commands are asked about, so that nearly every question is a rest.
    pub(super) fn begin(trial: &'a Trial<'a>, order: &str, more: &[&str]) -> Result<Self, Miss> {
        let (skill, input) = (trial.lab.talk.display().to_string(), format!("order={order}"));
        let words = ["--mode", "conversation", "--permission", trial.lab.confinement.widest(), "--input", &input];
        let mut starter = trial.start(trial.run_skill(&skill, &[&words, more].concat()), "run")?;
        let run = trial.new_run(&mut starter, &[])?;
        Ok(Self { trial, run, starter })
    }

    /// Waits until the turn of this number is over and the next prompt can be sent. It must
    /// have ended in one of these states.
    pub(super) fn must_rest(&self, turn: usize, states: &[TurnState]) -> Result<AttemptEnded, Miss> {
        let rest = question::asked(self.trial, self.run, turn)?;
        must(rest.scope == Scope::Prompt, "scope", || format!("after turn {turn} it asks: {}", rest.prompt))?;
        self.must_end(turn, states)
    }

    /// The same where the agent may ask before it runs a command of this turn, and for the first time: it is allowed.
    pub(super) fn must_rest_if_allowed(&self, turn: usize, states: &[TurnState]) -> Result<AttemptEnded, Miss> {
        for number in turn.. {
            match question::asked(self.trial, self.run, number)?.scope {
                Scope::Call => question::reply(self.trial, self.run, ALLOW, &format!("allow-{number}"))?,
                Scope::Turn | Scope::Prompt | Scope::Step => break,
            }
        }
        self.must_end(turn, states)
    }

    fn must_end(&self, turn: usize, states: &[TurnState]) -> Result<AttemptEnded, Miss> {
        let no_record = || Miss::new("no record", format!("turn {turn} has no record"));
        let ended = self.trial.turn_records(self.run)?.into_iter().nth(turn - 1).ok_or_else(no_record)?;
        must(states.contains(&ended.verdict.turn), ended.verdict.turn.as_str(), || {
            let error = ended.verdict.error.as_ref();
            let why = error.map(|error| format!(": {} {}", error.code, error.message)).unwrap_or_default();
            format!("turn {turn} is {} by rule {:?}{why}", ended.verdict.turn, ended.verdict.rule)
        })?;
        Ok(ended)
    }

    pub(super) fn prompt(&self, order: &str, name: &str) -> Result<(), Miss> {
        question::reply(self.trial, self.run, order, name)
    }

    /// The request with the last prompt has the answer to the first one: it was made in the same session.
    pub(super) fn must_know_the_first_answer(&self) -> Result<(), Miss> {
        let last = last_request(self.trial, LATER)?;
        let is_there = last.contains(FIRST_ANSWER);
        must(is_there, "other session", || "the model did not receive the first answer again".to_owned())
    }

    /// Closes it, with what it left.
    pub(super) fn close(self) -> Result<Over, Miss> {
        let trial = self.trial;
        let closed = trial.finish(trial.command(&["close", &self.run.to_string(), "--json"]), "close")?;
        must(closed.code == Some(0), "not closed", || format!("skillrun close: {}", closed.stderr.trim()))?;
        // Either it left when the run rested, or it stayed to the end.
        let code = self.starter.finish(&trial.deadline)?.code;
        must(code == Some(WAITS) || code == Some(0), "exit code", || format!("skillrun run exits with {code:?}"))?;
        let over = question::over(trial, self.run)?;
        over.must_be(RunStatus::Closed)?;
        must(over.sessions().len() == 1, "session", || format!("the session changed: {:?}", over.sessions()))?;
        Ok(over)
    }
}

/// The last request of this trial with a prompt.
pub(super) fn last_request(trial: &Trial<'_>, prompt: &str) -> Result<String, Miss> {
    let last = requests(trial, prompt).next();
    last.map(|(_, body)| body).ok_or_else(|| Miss::new("no request", "the last prompt did not reach the model"))
}

/// The requests of this trial with a prompt, each with its number, the last one first.
pub(super) fn requests(trial: &Trial<'_>, prompt: &str) -> impl Iterator<Item = (u64, String)> {
    let scenario = trial.scenario.model(trial.engine);
    let all = trial.lab.model.requests().into_iter().rev();
    let ours = all.filter(move |seen| seen.scenario.as_deref() == Some(&scenario) && !seen.tools.is_empty());
    let bodies =
        ours.filter_map(|seen| Some((seen.number, String::from_utf8_lossy(seen.body.as_deref()?).into_owned())));
    bodies.filter(move |(_, body)| body.contains(prompt))
}
