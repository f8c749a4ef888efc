//! One scenario on one engine: starts skillrun, waits, and reads what it left.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::data::{AttemptEnded, ResolutionMode};
use skillrun_model::rasp::{ControlData, Data, Event, EventType};
use skillrun_model::workflow::CONDUCTOR;
use skillrun_model::{RunId, RunStatus};

use crate::bounded::{Deadline, Finished, Running, until};
use crate::engines::Engine;
use crate::lab::Lab;
use crate::place::{KEY, Place};
use crate::problem::{Miss, must};
use crate::processes;
use crate::scenarios::Scenario;
use crate::told::Told;

/// The exit code of skillrun when a run waits for an answer.
pub(crate) const WAITS: i32 = 6;

/// Files of a run.
const RESULT: &str = "result.json";
const RECORD: &str = "run.json";
const LOG: &str = "events.jsonl";

#[derive(Debug)]
pub(crate) struct Trial<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) engine: &'a Engine,
    pub(crate) scenario: Scenario,
    pub(crate) place: Place,
    pub(crate) deadline: Deadline,
}

/// A run that is over, as it lies on the disk.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) run: RunId,
    pub(crate) result: Told,
    /// `result.json` as it stands there.
    pub(crate) json: Value,
    pub(crate) log: Vec<Event>,
}

impl Trial<'_> {
    /// skillrun with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_with(self.engine, words)
    }

    /// The same with the variables of another engine, which uses the same model.
    pub(crate) fn command_with(&self, engine: &Engine, words: &[&str]) -> Command {
        self.place.command(self.lab.world(), engine, &self.server(), words)
    }

    /// The same with the variables of several engines.
    pub(crate) fn command_with_all(&self, engines: &[&Engine], words: &[&str]) -> Command {
        let mut command = self.command(words);
        command.envs(engines.iter().flat_map(|engine| engine.variables(&self.server())));
        command
    }

    /// Where the engine finds its model.
    pub(crate) fn server(&self) -> String {
        self.lab.model.base(self.scenario.model(self.engine))
    }

    /// `skillrun run` of the probe with these words besides.
    pub(crate) fn run_command(&self, more: &[&str]) -> Command {
        let skill = self.lab.skill.display().to_string();
        self.run_skill(&skill, more)
    }

    /// `skillrun run` of any skill.
    pub(crate) fn run_skill(&self, skill: &str, more: &[&str]) -> Command {
        let mut words = vec!["run", skill, "--engine", &self.engine.name, "--json", "--env", processes::TAG];
        words.extend(self.engine.model.iter().flat_map(|model| ["--model", model]));
        words.extend(more);
        self.command(&words)
    }

    pub(crate) fn start(&self, mut command: Command, name: &str) -> Result<Running, Miss> {
        Running::start(&mut command, self.place.root(), name)
    }

    pub(crate) fn finish(&self, command: Command, name: &str) -> Result<Finished, Miss> {
        self.start(command, name)?.finish(&self.deadline)
    }

    /// Runs the probe to its end.
    pub(crate) fn run(&self, more: &[&str]) -> Result<Over, Miss> {
        let finished = self.finish(self.run_command(more), "run")?;
        self.over(self.only_run(&finished)?)
    }

    /// The ids of all runs there are.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        let entries = fs::read_dir(self.place.runs()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// The one run of this trial.
    pub(crate) fn only_run(&self, finished: &Finished) -> Result<RunId, Miss> {
        let refused = || Miss::new("refused", format!("no run was created: {}", finished.stderr.trim()));
        self.runs().first().copied().ok_or_else(refused)
    }

    /// Waits for the run that a command makes; `before` are those that were there already.
    pub(crate) fn new_run(&self, running: &mut Running, before: &[RunId]) -> Result<RunId, Miss> {
        let made = until(&self.deadline, "making a run", || {
            // Looked at first: what it made it made before its end.
            let has_ended = running.has_ended();
            let new = self.runs().into_iter().find(|run| !before.contains(run));
            (new.is_some() || has_ended).then_some(new)
        })?;
        made.ok_or_else(|| Miss::new("refused", format!("no run was created: {}", running.said())))
    }

    /// Whether the Log has its terminal event. The result is written before it, so that file alone does not show it.
    pub(crate) fn is_over(&self, run: RunId) -> bool {
        self.log(run).is_ok_and(|log| log.last().is_some_and(has_ended))
    }

    /// What a run left; nothing may be missing and nothing of it may be alive.
    pub(crate) fn over(&self, run: RunId) -> Result<Over, Miss> {
        self.over_with(self.engine, run)
    }

    /// The same of a run that another engine carried out.
    pub(crate) fn over_with(&self, engine: &Engine, run: RunId) -> Result<Over, Miss> {
        self.over_by(&engine.name, Some(&engine.version), run)
    }

    /// The same of a workflow, which has no engine of its own.
    pub(crate) fn workflow_over(&self, run: RunId) -> Result<Over, Miss> {
        self.over_by(CONDUCTOR, None, run)
    }

    fn over_by(&self, engine: &str, version: Option<&str>, run: RunId) -> Result<Over, Miss> {
        let (result, json) = Told::read(&self.place.file(run, RESULT))?;
        let log = self.log(run)?;
        let last = log.last().map(|event| event.event_type().as_str()).unwrap_or_default();
        let ending = match result.status {
            RunStatus::Succeeded | RunStatus::Closed => "run.completed",
            RunStatus::Failed => "run.failed",
            RunStatus::Canceled => "run.canceled",
            RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => "nothing",
        };
        must(last == ending, "log differs", || format!("the result says {}, the Log ends with {last}", result.status))?;
        let is_whole = log.iter().zip(1..).all(|(event, seq)| event.seq == seq);
        must(is_whole, "log gap", || "the events of the Log are not numbered consecutively".to_owned())?;
        let text = fs::read_to_string(self.place.file(run, LOG))?;
        must(!text.contains(KEY), "key in Log", || "the API key is in the Log".to_owned())?;
        let record: Value = serde_json::from_slice(&fs::read(self.place.file(run, RECORD))?)
            .map_err(|error| Miss::new("bad record", error.to_string()))?;
        let (found_name, found_version) = (&record["engine"]["name"], &record["engine"]["version"]);
        must(*found_name == engine, "other engine", || format!("it ran on {found_name} instead of {engine}"))?;
        must(found_version.as_str() == version, "other version", || format!("it ran version {found_version}"))?;
        processes::gone(&self.place.tag, self.place.root())?;
        let verified = self.finish(self.command(&["verify", &run.to_string()]), "verify")?;
        must(verified.code == Some(0), "not verified", || format!("skillrun verify: {}", verified.stdout.trim()))?;
        Ok(Over { run, result, json, log })
    }

    /// The whole lines of a Log.
    pub(crate) fn log(&self, run: RunId) -> Result<Vec<Event>, Miss> {
        let text = fs::read_to_string(self.place.file(run, LOG)).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        whole.map(|line| Event::from_json(line).map_err(|error| Miss::new("bad log", error.to_string()))).collect()
    }

    /// The records of the turns that are over.
    pub(crate) fn turn_records(&self, run: RunId) -> Result<Vec<AttemptEnded>, Miss> {
        let record =
            |data| if let Data::Control(ControlData::AttemptEnded(ended)) = data { Some(*ended) } else { None };
        Ok(self.log(run)?.into_iter().filter_map(|event| record(event.data)).collect())
    }

    /// What was written to the engine in an attempt.
    pub(crate) fn told(&self, run: RunId, attempt: u32) -> String {
        fs::read_to_string(self.place.file(run, &format!(".audit/stdin.{attempt}.log"))).unwrap_or_default()
    }

    /// What the engine wrote in an attempt.
    pub(crate) fn said(&self, run: RunId, attempt: u32) -> String {
        fs::read_to_string(self.place.file(run, &format!(".audit/stdout.{attempt}.log"))).unwrap_or_default()
    }

    /// How a run ended, or the last event that it reported, to explain why it made no progress.
    pub(crate) fn last_words(&self, run: RunId) -> String {
        let result = Told::read(&self.place.file(run, RESULT)).ok();
        if let Some(error) = result.and_then(|(result, _)| result.error) {
            return format!("it failed with {} {}", error.code, error.message);
        }
        let log = self.log(run).unwrap_or_default();
        let last = log.last().map(|event| event.event_type().as_str());
        format!("the Log ends with {}", last.unwrap_or("nothing"))
    }
}

fn has_ended(event: &Event) -> bool {
    let Data::Control(data) = &event.data else { return false };
    matches!(data, ControlData::RunCompleted(_) | ControlData::RunFailed(_) | ControlData::RunCanceled(_))
}

impl Over {
    pub(crate) fn must_be(&self, status: RunStatus) -> Result<(), Miss> {
        must(self.result.status == status, &self.result.status.to_string(), || {
            let error = self.result.error.as_ref();
            let why = error.map(|error| format!(": {} {}", error.code, error.message)).unwrap_or_default();
            format!("it {} instead of {status}{why}", self.result.status)
        })
    }

    /// Succeeded with what the model gives at the end, and not with an object it spoke of before.
    pub(crate) fn must_give_the_answer(&self) -> Result<(), Miss> {
        self.must_be(RunStatus::Succeeded)?;
        let output = self.result.output.as_ref();
        let is_right = output.is_some_and(|output| output.get("status").is_some_and(|status| status == "ok"));
        must(is_right, "wrong output", || format!("the output is {}", self.json["output"]))
    }

    /// How many commands the engine ran to their end.
    pub(crate) fn commands(&self) -> usize {
        self.log.iter().filter(|event| event.event_type() == EventType::ToolCallCompleted).count()
    }

    /// The questions, in their order.
    pub(crate) fn questions(&self) -> Vec<&Pending> {
        let mut questions = Vec::new();
        for event in &self.log {
            if let Data::Control(ControlData::InteractionRequested(question)) = &event.data {
                questions.push(question);
            }
        }
        questions
    }

    /// What answered them, and how.
    pub(crate) fn answers(&self) -> Vec<(ResolutionMode, &str)> {
        let mut answers = Vec::new();
        for event in &self.log {
            if let Data::Control(ControlData::InteractionReplied(reply)) = &event.data {
                answers.push((reply.resolution_mode, reply.text.as_str()));
            }
        }
        answers
    }

    /// The sessions that the engine reported.
    pub(crate) fn sessions(&self) -> BTreeSet<&str> {
        self.log.iter().filter_map(|event| event.correlation.session_id.as_deref()).collect()
    }
}
