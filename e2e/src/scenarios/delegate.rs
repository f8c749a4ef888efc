//! A run starts another one with the tools of skillrun's MCP server, waits for it and reads its answer. What the parent
//! says of its child must follow from the Log of the child.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use skillrun_model::delegation::{SubagentEnded, SubagentStatus};
use skillrun_model::rasp::{ControlData, Data, Event, EventType};
use skillrun_model::{RunId, RunStatus};
use skillrun_simulate::model::Script;
use testkit::paths;

use super::talk::last_request;
use crate::engines::LimitSetting;
use crate::place::World;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::{Over, Trial};

/// What the child is told, and what it answers; no order contains the answer.
const TASK: &str = "[[say coral]]";
const CHILD_ANSWER: &str = "The word is coral.";

/// The same for a child that takes longer than a call may.
const LONG_TASK: &str = "[[run sleep 15]]";
const LONG_ANSWER: &str = "The command is over.";

/// How the parent's own answer begins.
const ANSWER: &str = "The other agent says:";

/// What the second call of `spawn_run` gives, as an engine passes it to its model: as text, or as data.
const REPEATED: [&str; 2] = ["This call was made before", r#"was_new\":false"#];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let spawn = spawn(trial, TASK);
    // A busy machine needs more than one wait; one that is not needed returns at once.
    let turns = json!([spawn, wait(), wait(), wait(), read(), answer()]);
    let family = delegate(trial, &turns, None)?;
    family.must_agree(trial, CHILD_ANSWER)
}

pub(super) fn repeated(trial: &Trial<'_>) -> Result<(), Miss> {
    let limit = trial.engine.call_limit().ok_or_else(|| Miss::new("no limit", "no limit of calls is known"))?;
    let spawn = spawn(trial, LONG_TASK);
    let calls = [vec![spawn.clone(), wait(), spawn], vec![wait(); 8], vec![read(), answer()]].concat();
    let family = delegate(trial, &Value::Array(calls), Some(limit.setting))?;
    let told = last_request(trial, &order(trial))?;
    must(told.contains(limit.words), "not ended", || "the engine did not end a call after its limit".to_owned())?;
    let is_repeated = REPEATED.iter().any(|words| told.contains(words));
    must(is_repeated, "not repeated", || "the second call of spawn_run was not recognized".to_owned())?;
    family.must_agree(trial, LONG_ANSWER)
}

fn spawn(trial: &Trial<'_>, task: &str) -> Value {
    let mut arguments = json!({"prompt": task, "engine": trial.engine.name, "key": "one"});
    if let Some(model) = &trial.engine.model {
        arguments["model"] = json!(model);
    }
    json!({"call": "spawn_run", "arguments": arguments})
}

fn wait() -> Value {
    json!({"call": "wait_runs", "arguments": {"run_ids": ["{{run}}"], "timeout_sec": 40}})
}

fn read() -> Value {
    json!({"call": "read_result", "arguments": {"run_id": "{{run}}"}})
}

fn answer() -> Value {
    json!({"say": format!("{ANSWER} {{{{printed}}}}")})
}

/// The name of the script of this trial.
fn script(trial: &Trial<'_>) -> String {
    format!("{}-{}", trial.scenario.as_str(), trial.engine.name)
}

fn order(trial: &Trial<'_>) -> String {
    format!("[[play {}]]", script(trial))
}

/// Settings with a folder in which the engine's file has another text at one place.
fn changed_file(trial: &Trial<'_>, from: &str, to: &str) -> Result<PathBuf, Miss> {
    let file = format!("{}.toml", trial.engine.name);
    let text = fs::read_to_string(paths::workspace().join("crates/engine/engines").join(&file))?;
    must(text.contains(from), "no place", || format!("{file} has no {from}"))?;
    let folder = trial.place.root().join("engines");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(file), text.replace(from, to))?;
    let config = trial.place.root().join("config.toml");
    fs::write(&config, format!("consent = [{:?}]\nengines = {folder:?}\n", trial.engine.name))?;
    Ok(config)
}

/// A parent and its only child, both over.
struct Family {
    parent: Over,
    child: Over,
}

/// Runs a parent whose model takes these turns.
fn delegate(trial: &Trial<'_>, turns: &Value, limit: Option<LimitSetting>) -> Result<Family, Miss> {
    let bad = |error: &dyn std::fmt::Display| Miss::new("bad script", error.to_string());
    let read = Script::from_json(&json!({ "turns": turns })).map_err(|error| bad(&error))?;
    trial.lab.model.keep(&script(trial), read).map_err(|error| bad(&error))?;
    let order = order(trial);
    let mut words = vec![
        "ask",
        &order,
        "--engine",
        &trial.engine.name,
        "--json",
        "--permission",
        trial.lab.confinement.widest(),
        "--delegate",
    ];
    words.extend(["--env", processes::TAG]);
    words.extend(trial.engine.model.iter().flat_map(|model| ["--model", model]));
    let command = match limit {
        None => trial.command(&words),
        Some(LimitSetting::Variable(name, value)) => {
            words.extend(["--env", name]);
            let mut command = trial.command(&words);
            command.env(name, value);
            command
        }
        Some(LimitSetting::File(from, to)) => {
            let config = changed_file(trial, from, to)?;
            let world = World { config: &config, ..trial.lab.world() };
            trial.place.command(world, trial.engine, &trial.server(), &words)
        }
    };
    let finished = trial.finish(command, "ask")?;
    let (mut parents, mut children) = (Vec::new(), Vec::new());
    for run in trial.runs() {
        let link = parent_of(&trial.log(run)?);
        if link.is_some() { children.push((run, link)) } else { parents.push(run) }
    }
    let ([parent], [(child, link)]) = (&parents[..], &children[..]) else {
        let said = finished.stderr.trim();
        let why = format!("{} runs without a parent, {} children: {said}", parents.len(), children.len());
        return Err(Miss::new("children", why));
    };
    must(*link == Some(*parent), "parent", || format!("the child names the parent {link:?}"))?;
    Ok(Family { parent: trial.over(*parent)?, child: trial.over(*child)? })
}

/// The parent that the Log of a run names.
fn parent_of(log: &[Event]) -> Option<RunId> {
    log.iter().find_map(|event| match &event.data {
        Data::Control(ControlData::RunStarted(started)) => started.parent.as_ref().map(|link| link.run_id),
        Data::Control(_) | Data::Evidence(_) => None,
    })
}

impl Family {
    /// The parent has the answer of its child, and its Log says what that of the child says.
    fn must_agree(&self, trial: &Trial<'_>, child_answer: &str) -> Result<(), Miss> {
        let Self { parent, child } = self;
        child.must_be(RunStatus::Succeeded)?;
        let text = child.result.text.clone().unwrap_or_default();
        must(text.trim() == child_answer, "child answer", || format!("the child answers {text:?}"))?;
        parent.must_be(RunStatus::Succeeded)?;
        let text = parent.result.text.clone().unwrap_or_default();
        let is_whole = text.starts_with(ANSWER) && text.contains(child_answer);
        must(is_whole, "answer", || format!("the parent answers {text:?}"))?;
        must(parent.result.attempts == 1, "attempts", || format!("{} attempts", parent.result.attempts))?;
        must_be_in_order(&parent.log)?;
        let ends: Vec<&SubagentEnded> = parent.log.iter().filter_map(|event| end_of(event)).collect();
        let [end] = ends[..] else { return Err(Miss::new("ends", format!("{} ends of the child", ends.len()))) };
        let last = child.log.last().map(|event| event.seq);
        let is_so = end.child_run_id == child.run && end.status == SubagentStatus::Completed && end.child_seq == last;
        must(is_so, "end differs", || format!("the parent records {end:?}, the child ends with {last:?}"))?;
        let is_summary = end.summary.as_deref().is_some_and(|summary| summary.trim() == child_answer);
        must(is_summary, "summary", || format!("the summary is {:?}", end.summary))?;
        // The calls themselves, as the engine reports them.
        let calls = parent.commands();
        must(calls > 0, "no calls", || format!("{} shows {calls} calls of tools", trial.engine.name))
    }
}

fn end_of(event: &Event) -> Option<&SubagentEnded> {
    if let Data::Control(ControlData::SubagentEnded(end)) = &event.data { Some(end) } else { None }
}

/// Asked for, made and ended, once each and within the attempt.
fn must_be_in_order(log: &[Event]) -> Result<(), Miss> {
    const ORDER: [EventType; 5] = [
        EventType::AttemptStarted,
        EventType::SubagentRequested,
        EventType::SubagentStarted,
        EventType::SubagentEnded,
        EventType::AttemptEnded,
    ];
    let found: Vec<EventType> = log.iter().map(Event::event_type).filter(|kind| ORDER.contains(kind)).collect();
    must(found == ORDER, "order", || format!("the Log has {found:?}"))
}
