//! Reads a script from YAML. By hand and not by derive, so that every error names its turn and act.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value};
use signal_hook::consts::FORBIDDEN;
use skillrun_base::yaml::{self, YamlSize};
use skillrun_model::ExecutionMode;

use super::{
    Act, Cut, MAX_ACTS, MAX_BYTES, MAX_TURNS, MAX_VARIANTS, Marker, Part, Place, Script, ScriptError, ScriptProblem,
    Tool, ToolStatus, Turn, Usage, Variant,
};
use crate::process::signal_named;
use crate::scripted::session;
use crate::scripted::template::{Source, Template};

/// Longest part of a script's own words that is passed on.
const NAME_MAX: usize = 40;

/// An act that sleeps for longer would outlive the process.
const SLEEP_MAX: u64 = 600_000;

pub(super) fn script(yaml: &str) -> Result<Script, ScriptError> {
    let whole = |problem| ScriptError { place: Place::Whole, problem };
    if yaml.len() > MAX_BYTES {
        return Err(whole(ScriptProblem::TooLarge));
    }
    let root = yaml::parse(yaml, MAX_BYTES, YamlSize::List);
    let root = root.map_err(|words| whole(ScriptProblem::NotYaml(words)))?;
    let Parts { session, variants, turns: list } = split(root).map_err(whole)?;
    if variants.len() > MAX_VARIANTS {
        return Err(whole(ScriptProblem::TooManyVariants));
    }
    let mut room = Room { turns: MAX_TURNS, acts: MAX_ACTS };
    let mut read = Vec::with_capacity(variants.len());
    for (value, number) in variants.into_iter().zip(1..) {
        read.push(variant(value, &mut room).map_err(|error| error.in_variant(number))?);
    }
    Ok(Script { session, variants: read, turns: turns(list, &mut room)? })
}

/// How much a script may still have.
struct Room {
    turns: usize,
    acts: usize,
}

fn turns(list: Vec<Value>, room: &mut Room) -> Result<Vec<Turn>, ScriptError> {
    let whole = |problem| ScriptError { place: Place::Whole, problem };
    if list.is_empty() {
        return Err(whole(ScriptProblem::NoTurn));
    }
    room.turns = room.turns.checked_sub(list.len()).ok_or_else(|| whole(ScriptProblem::TooManyTurns))?;
    let mut turns = Vec::with_capacity(list.len());
    for (acts, number) in list.into_iter().zip(1..) {
        let Value::Array(acts) = acts else {
            return Err(ScriptError { place: Place::Turn(number), problem: ScriptProblem::NoTurnList });
        };
        room.acts = room.acts.checked_sub(acts.len()).ok_or_else(|| whole(ScriptProblem::TooManyActs))?;
        turns.push(turn(acts, number)?);
    }
    Ok(turns)
}

fn variant(value: Value, room: &mut Room) -> Result<Variant, ScriptError> {
    let whole = |problem| ScriptError { place: Place::Whole, problem };
    let Value::Object(mut fields) = value else { return Err(whole(ScriptProblem::NoVariants)) };
    let given = fields.shift_remove("given").map(|value| {
        let source = value.as_str().and_then(Source::parse);
        let of_request = |source: &Source| match source {
            Source::Input(_) | Source::Parameter(_) | Source::File(_) => true,
            Source::Reply | Source::Prompt | Source::Permission | Source::Delegated(_) => false,
        };
        source.filter(of_request).ok_or_else(|| whole(ScriptProblem::BadGiven))
    });
    let mode = fields.shift_remove("mode").map(|value| {
        let mode = ExecutionMode::ALL.iter().copied().find(|mode| value.as_str() == Some(mode.as_str()));
        mode.ok_or_else(|| whole(ScriptProblem::BadMode))
    });
    let (given, mode) = (given.transpose()?, mode.transpose()?);
    let Some(Value::Array(list)) = fields.shift_remove("turns").filter(|_| given.is_some() || mode.is_some()) else {
        return Err(whole(ScriptProblem::NoVariants));
    };
    nothing_left(&fields).map_err(whole)?;
    Ok(Variant { given, mode, turns: turns(list, room)? })
}

struct Parts {
    session: Option<String>,
    variants: Vec<Value>,
    turns: Vec<Value>,
}

fn split(root: Value) -> Result<Parts, ScriptProblem> {
    if let Value::Array(turns) = root {
        return Ok(Parts { session: None, variants: Vec::new(), turns });
    }
    let Value::Object(mut fields) = root else { return Err(ScriptProblem::NoScript) };
    let session = match fields.shift_remove("session") {
        None => None,
        Some(Value::String(id)) if session::is_id(&id) => Some(id),
        Some(_) => return Err(ScriptProblem::BadSession),
    };
    let variants = match fields.shift_remove("variants") {
        None => Vec::new(),
        Some(Value::Array(variants)) => variants,
        Some(_) => return Err(ScriptProblem::NoVariants),
    };
    let Some(Value::Array(turns)) = fields.shift_remove("turns") else { return Err(ScriptProblem::NoScript) };
    nothing_left(&fields)?;
    Ok(Parts { session, variants, turns })
}

fn turn(values: Vec<Value>, number: usize) -> Result<Turn, ScriptError> {
    let mut acts: Vec<Act> = Vec::with_capacity(values.len());
    let mut ended = None;
    for (value, place) in values.into_iter().zip(1..) {
        let word = word_of(&value).map(short);
        let at = |problem| ScriptError { place: Place::Act { turn: number, act: place, word }, problem };
        let act = match act(value).and_then(checked) {
            Ok(act) => act,
            Err(problem) => return Err(at(problem)),
        };
        let before = acts.last().filter(|before| before.part() == Part::Last);
        let out_of_place = match (before, ended, act.part()) {
            (Some(before), _, _) => Some(ScriptProblem::AfterLast(before.word())),
            (None, Some(word), Part::Inside | Part::EndsTurn) => Some(ScriptProblem::AfterEnd(word)),
            (None, _, Part::Inside | Part::Anywhere | Part::Last) => None,
            (None, None, Part::EndsTurn) => {
                ended = Some(act.word());
                None
            }
        };
        if let Some(problem) = out_of_place {
            return Err(at(problem));
        }
        acts.push(act);
    }
    Ok(Turn { acts })
}

/// Refuses an act with a text that is not a template.
fn checked(act: Act) -> Result<Act, ScriptProblem> {
    act.filled(&mut |text| Template::parse(text).map(|_| Value::Null))?;
    Ok(act)
}

fn word_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.as_object()?.keys().next().map(String::as_str))
}

fn act(value: Value) -> Result<Act, ScriptProblem> {
    if let Value::String(word) = value {
        return keyed(&word, Value::Null);
    }
    let Value::Object(mut fields) = value else { return Err(ScriptProblem::NoAct) };
    // The one act with a second member, because everything inside of the object is the object's.
    if let Some(object) = fields.shift_remove("output") {
        let marker = match fields.shift_remove("done") {
            Some(Value::Bool(true)) => Marker::Done,
            Some(Value::Bool(false)) | None => Marker::Absent,
            Some(_) => return Err(ScriptProblem::Needs("true or false at done")),
        };
        nothing_left(&fields)?;
        return Ok(Act::Output { object: mapping(object, OUTPUT)?, marker });
    }
    let mut fields = fields.into_iter();
    match (fields.next(), fields.next()) {
        (Some((word, value)), None) => keyed(&word, value),
        (None, _) | (Some(_), Some(_)) => Err(ScriptProblem::NoAct),
    }
}

const OUTPUT: &str = "a mapping, the object to put out";
const TOOL: &str = "a mapping with name, and optionally input, output and status";
const PERMISSION: &str = "a mapping with tool, and optionally input";
const DELEGATE: &str = "a mapping with do: spawn, wait, send, cancel, list or result";
const WRITE: &str = "a mapping with path and content";
const USAGE: &str = "a mapping of input, output, cached and reasoning to numbers";

fn keyed(word: &str, value: Value) -> Result<Act, ScriptProblem> {
    Ok(match word {
        "say" => Act::Say(text(value)?),
        "think" => Act::Think(text(value)?),
        "ask" => Act::Ask(mapping(value, "a mapping, the fields of the question")?),
        "tool" => Act::Tool(tool(mapping(value, TOOL)?)?),
        "permission" => permission(mapping(value, PERMISSION)?)?,
        "delegate" => Act::Delegate(mapping(value, DELEGATE)?),
        "write" => write(mapping(value, WRITE)?)?,
        "output" => return Err(ScriptProblem::Needs(OUTPUT)),
        "sleep_ms" => {
            let millis = value.as_u64().filter(|millis| *millis <= SLEEP_MAX);
            Act::Sleep(Duration::from_millis(millis.ok_or(ScriptProblem::Needs("0 to 600000 milliseconds"))?))
        }
        "usage" => Act::Usage(usage(mapping(value, USAGE)?)?),
        "stderr" => Act::Stderr(text(value)?),
        "raw" => Act::Raw(text(value)?),
        "fail" => Act::Fail(text(value)?),
        "limit" => Act::Limit(text(value)?),
        "exit" => {
            let code = value.as_u64().and_then(|code| code.try_into().ok());
            Act::Exit(code.ok_or(ScriptProblem::Needs("an exit code of 0 to 255"))?)
        }
        "end" => alone(&value, Act::End)?,
        "hang" => alone(&value, Act::Hang)?,
        "ignore" => Act::Ignore(ignored(value)?),
        "crash" => Act::Crash(signal(&text(value)?)?),
        "flood" => Act::Flood(value.as_u64().ok_or(ScriptProblem::Needs("a number of bytes"))?),
        "cut" => {
            Act::Cut(cut(&value).ok_or(ScriptProblem::Needs("a number of bytes, negative to count from the end"))?)
        }
        "expect_reply" => Act::ExpectReply(text(value)?),
        "echo_reply" => alone(&value, Act::EchoReply)?,
        "echo_prompt" => alone(&value, Act::EchoPrompt)?,
        _ => return Err(ScriptProblem::UnknownAct(short(word))),
    })
}

fn tool(mut fields: Map<String, Value>) -> Result<Tool, ScriptProblem> {
    let name = fields.shift_remove("name").map(text).transpose()?.ok_or(ScriptProblem::Needs(TOOL))?;
    let input = fields.shift_remove("input").map(|input| mapping(input, "a mapping at input")).transpose()?;
    let output = fields.shift_remove("output").map(text).transpose()?;
    let status = match fields.shift_remove("status").as_ref().map(Value::as_str) {
        None | Some(Some("completed")) => ToolStatus::Completed,
        Some(Some("failed")) => ToolStatus::Failed,
        Some(Some("open")) => ToolStatus::Open,
        Some(Some(_) | None) => return Err(ScriptProblem::Needs("completed, failed or open at status")),
    };
    nothing_left(&fields)?;
    Ok(Tool { name, input: input.unwrap_or_default(), output: output.unwrap_or_default(), status })
}

fn permission(mut fields: Map<String, Value>) -> Result<Act, ScriptProblem> {
    let tool = fields.shift_remove("tool").map(text).transpose()?.ok_or(ScriptProblem::Needs(PERMISSION))?;
    let input = fields.shift_remove("input").map(|input| mapping(input, "a mapping at input")).transpose()?;
    nothing_left(&fields)?;
    Ok(Act::Permission { tool, input: input.unwrap_or_default() })
}

fn write(mut fields: Map<String, Value>) -> Result<Act, ScriptProblem> {
    let path = fields.shift_remove("path").map(text).transpose()?.ok_or(ScriptProblem::Needs(WRITE))?;
    let content = fields.shift_remove("content").map(text).transpose()?.ok_or(ScriptProblem::Needs(WRITE))?;
    nothing_left(&fields)?;
    Ok(Act::Write { path: inside(&path).ok_or_else(|| ScriptProblem::Outside(short(&path)))?, content })
}

/// The path, if it can only lie below the working folder. Links are looked at when it is written.
fn inside(path: &str) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    // A zero byte would end the path for the kernel.
    (!clean.as_os_str().is_empty() && !path.contains('\0') && !path.ends_with('/')).then_some(clean)
}

fn usage(mut fields: Map<String, Value>) -> Result<Usage, ScriptProblem> {
    let mut take = |name| match fields.shift_remove(name) {
        None => Ok(0),
        Some(value) => value.as_u64().ok_or(ScriptProblem::Needs(USAGE)),
    };
    let (input, output) = (take("input")?, take("output")?);
    let (cached, reasoning) = (take("cached")?, take("reasoning")?);
    nothing_left(&fields)?;
    Ok(Usage { input, output, cached, reasoning })
}

fn ignored(value: Value) -> Result<Vec<Signal>, ScriptProblem> {
    let names = match value {
        Value::Array(names) => names,
        Value::String(_) => vec![value],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(ScriptProblem::Needs("a list of signals"));
        }
    };
    let catchable = |name: Value| {
        let name = text(name)?;
        let signal = signal(&name)?;
        // The library would panic over these.
        if FORBIDDEN.contains(&signal.as_raw()) { Err(ScriptProblem::Uncatchable(name)) } else { Ok(signal) }
    };
    names.into_iter().map(catchable).collect()
}

fn signal(name: &str) -> Result<Signal, ScriptProblem> {
    signal_named(name).ok_or_else(|| ScriptProblem::UnknownSignal(short(name)))
}

fn cut(value: &Value) -> Option<Cut> {
    let count = value.as_i64()?;
    let length = usize::try_from(count.unsigned_abs()).ok()?;
    Some(if count < 0 { Cut::Before(length) } else { Cut::After(length) })
}

/// A text. Numbers are not taken for one: `007` and `1.10` would not come out as they were written.
fn text(value: Value) -> Result<String, ScriptProblem> {
    const TEXT: &str = "a text, in quotes where YAML would take it for something else";
    if let Value::String(text) = value { Ok(text) } else { Err(ScriptProblem::Needs(TEXT)) }
}

fn mapping(value: Value, needed: &'static str) -> Result<Map<String, Value>, ScriptProblem> {
    if let Value::Object(fields) = value { Ok(fields) } else { Err(ScriptProblem::Needs(needed)) }
}

fn alone(value: &Value, act: Act) -> Result<Act, ScriptProblem> {
    if matches!(value, Value::Null | Value::Bool(true)) { Ok(act) } else { Err(ScriptProblem::Needs("no value")) }
}

fn nothing_left(fields: &Map<String, Value>) -> Result<(), ScriptProblem> {
    fields.keys().next().map_or(Ok(()), |name| Err(ScriptProblem::UnknownMember(short(name))))
}

fn short(name: &str) -> String {
    name.chars().take(NAME_MAX).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
