//! Reads the text of a workflow file: every key, with its default. What steps say about each other is for `plan`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use skillrun_base::fields::{Field, FieldError, FieldProblem, Section};
use skillrun_base::files::{self, FileProblem, FileReadError};
use skillrun_base::lines::{self, PathPart};
use skillrun_base::text::shortened;
use skillrun_base::yaml::{self, YamlSize};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{
    AskMoment, OnStepFailure, RetryCause, STEPS_MAX, StepCheck, StepId, StepOutput, StepRetries, StepWorkspace,
    WorkflowInput,
};

use super::error::{StepLabel, WorkflowError, WorkflowProblem};
use super::{
    ARTIFACTS_MAX, CHECKS_MAX, CONCURRENCY, CONCURRENCY_MAX, ENGINES_MAX, FILE_MAX, INPUTS_MAX, RETRIES_MAX, times,
};
use crate::package::paths::InnerPath;

pub(super) const FILE_KEYS: &[&str] = &["name", "description", "inputs", "steps", "outputs", "concurrency", "timeout"];
pub(super) const INPUT_KEYS: &[&str] = &["description", "schema", "default"];
pub(super) const STEP_KEYS: &[&str] = &[
    "id",
    "skill",
    "prompt",
    "workflow",
    "engine",
    "engines",
    "model",
    "needs",
    "with",
    "for_each",
    "required",
    "timeout",
    "retries",
    "on_failure",
    "ask",
    "permission",
    "workspace",
    "output",
    "check",
];
pub(super) const RETRIES_KEYS: &[&str] = &["max", CAUSES];
/// The key of the causes for which a step is tried again.
const CAUSES: &str = "on";
pub(super) const OUTPUT_KEYS: &[&str] = &["schema", "artifacts"];
pub(super) const CHECK_KEYS: &[&str] = &["command", "timeout"];

/// Longest id of a step and name of an input.
const NAME_MAX: usize = 64;
/// Longest part of an unusable id that a message quotes.
const SHOWN_MAX: usize = 80;

/// In what a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowForm {
    Yaml,
    Json,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct WorkflowFile {
    pub(super) source: Source,
    pub name: Option<String>,
    pub description: Option<String>,
    pub inputs: BTreeMap<String, WorkflowInput>,
    pub steps: Vec<FileStep>,
    pub outputs: Map<String, Value>,
    pub concurrency: u32,
    pub timeout_sec: Option<f64>,
}

/// A step as the file has it, with defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStep {
    pub id: StepId,
    pub task: FileTask,
    /// Empty: the engine of the settings.
    pub engines: Vec<String>,
    pub model: Option<String>,
    /// Those that the file names; pointers need more.
    pub needs: Vec<StepId>,
    pub with: Map<String, Value>,
    pub for_each: Option<Value>,
    pub required: bool,
    pub timeout_sec: Option<f64>,
    pub retries: StepRetries,
    pub on_failure: OnStepFailure,
    pub ask: Option<AskMoment>,
    pub permission: Option<Permission>,
    pub workspace: StepWorkspace,
    pub output: StepOutput,
    pub checks: Vec<StepCheck>,
}

/// What a step carries out, as the file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTask {
    Skill(String),
    Prompt(String),
    /// The path of another file, relative to this one.
    Workflow(String),
}

/// The text of a file, for the positions of what is wrong.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// In messages.
    pub(super) name: String,
    pub(super) text: Arc<str>,
    form: WorkflowForm,
}

type TaskOfText = fn(String) -> FileTask;
type ReadResult<T> = Result<T, FieldError<WorkflowProblem>>;

impl WorkflowForm {
    /// By the end of the name: YAML unless it is `.json`.
    pub fn of(path: &Path) -> Self {
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) { Self::Json } else { Self::Yaml }
    }
}

impl Source {
    /// An error at a place in the text.
    pub(super) fn error(
        &self,
        path: &[PathPart<'_>],
        step: Option<StepLabel>,
        problem: WorkflowProblem,
    ) -> WorkflowError {
        WorkflowError { file: self.name.clone(), line: self.line(path), step, problem: Box::new(problem) }
    }

    pub(super) fn line(&self, path: &[PathPart<'_>]) -> Option<usize> {
        match self.form {
            WorkflowForm::Yaml => yaml::line_of(&self.text, FILE_MAX, YamlSize::Workflow, path),
            WorkflowForm::Json => Some(lines::line_of(&self.text, path)),
        }
    }

    fn parse(&self) -> Result<Value, WorkflowError> {
        let failed = |line: Option<usize>, format: &'static str, message: String| WorkflowError {
            file: self.name.clone(),
            line,
            step: None,
            problem: Box::new(FieldProblem::Syntax { format, message: without_place(&message) }.into()),
        };
        match self.form {
            WorkflowForm::Yaml => yaml::parse_located(&self.text, FILE_MAX, YamlSize::Workflow)
                .map_err(|error| failed(error.line, "usable YAML", error.message)),
            WorkflowForm::Json => serde_json::from_str(&self.text)
                .map_err(|error| failed(Some(error.line()).filter(|line| *line > 0), "JSON", error.to_string())),
        }
    }
}

/// The line stands in front of the sentence already.
fn without_place(message: &str) -> String {
    let end = message.rfind(" at line ").filter(|end| message[*end..].len() < 40);
    message[..end.unwrap_or(message.len())].to_owned()
}

/// Reads a file of at most [`FILE_MAX`] bytes. Its path is its name in messages.
pub fn read_file(path: &Path) -> Result<WorkflowFile, WorkflowError> {
    let name = path.display().to_string();
    let unreadable = |problem| WorkflowError { file: name.clone(), line: None, step: None, problem: Box::new(problem) };
    let text = files::read_text(path, FILE_MAX as u64).map_err(|error| {
        unreadable(match error {
            FileReadError::Problem(FileProblem::TooLarge(_)) => WorkflowProblem::TooLarge,
            FileReadError::Io(_) if error.is_missing() => {
                WorkflowProblem::Unreadable("there is no such file".to_owned())
            }
            FileReadError::Io(_) | FileReadError::Problem(_) => {
                WorkflowProblem::Unreadable(format!("the file {error}"))
            }
        })
    })?;
    read(&name, &text, WorkflowForm::of(path))
}

/// Reads the text of a file; `name` stands in messages.
pub fn read(name: &str, text: &str, form: WorkflowForm) -> Result<WorkflowFile, WorkflowError> {
    if text.len() > FILE_MAX {
        return Err(WorkflowError {
            file: name.to_owned(),
            line: None,
            step: None,
            problem: Box::new(WorkflowProblem::TooLarge),
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source { name: name.to_owned(), text: text.into(), form };
    let root = source.parse()?;
    let at_top = |error: FieldError<WorkflowProblem>| located(&source, None, error);
    let top = Field::json(&root).section(FILE_KEYS).map_err(at_top)?;
    let head = read_head(&top).map_err(at_top)?;
    let steps = read_steps(&source, &top)?;
    let Head { name, description, inputs, outputs, concurrency, timeout_sec } = head;
    Ok(WorkflowFile { source, name, description, inputs, steps, outputs, concurrency, timeout_sec })
}

/// A problem of a field, with its line, and with the key in its sentence.
fn located(source: &Source, step: Option<(usize, StepLabel)>, error: FieldError<WorkflowProblem>) -> WorkflowError {
    let key = error.key.clone();
    let mut path = Vec::new();
    if let Some((index, _)) = &step {
        path.extend([PathPart::Key("steps"), PathPart::Index(*index)]);
    }
    path.extend(key.iter().flat_map(|key| key.split('.')).map(PathPart::Key));
    let mut problem = error.problem;
    if let WorkflowProblem::Field { key: named, .. } = &mut problem {
        named.clone_from(&key);
    }
    source.error(&path, step.map(|(_, label)| label), problem)
}

struct Head {
    name: Option<String>,
    description: Option<String>,
    inputs: BTreeMap<String, WorkflowInput>,
    outputs: Map<String, Value>,
    concurrency: u32,
    timeout_sec: Option<f64>,
}

fn read_head(top: &Section<'_, WorkflowProblem>) -> ReadResult<Head> {
    let concurrency = match top.get("concurrency") {
        None => CONCURRENCY,
        Some(field) => whole(&field, 1, CONCURRENCY_MAX)?,
    };
    Ok(Head {
        name: text_of(top, "name")?,
        description: top.string("description")?,
        inputs: read_inputs(top)?,
        outputs: object_of(top, "outputs")?,
        concurrency,
        timeout_sec: time_of(top)?,
    })
}

fn read_inputs(top: &Section<'_, WorkflowProblem>) -> ReadResult<BTreeMap<String, WorkflowInput>> {
    let Some(field) = top.get("inputs") else { return Ok(BTreeMap::new()) };
    let entries = field.entries()?;
    if entries.len() > INPUTS_MAX {
        return Err(field.unusable(format!("has {} inputs, and the limit is {INPUTS_MAX}", entries.len())));
    }
    let mut inputs = BTreeMap::new();
    for (name, field) in entries {
        if !is_name(&name) {
            return Err(field.problem(WorkflowProblem::BadInputName(shown(&name))));
        }
        let input = if field.value().is_some_and(Value::is_null) {
            WorkflowInput { description: None, schema: None, default: None }
        } else {
            let section = field.section(INPUT_KEYS)?;
            WorkflowInput {
                description: section.string("description")?,
                schema: schema_of(&section)?,
                default: section.get("default").and_then(|field| field.value().cloned()),
            }
        };
        inputs.insert(name, input);
    }
    Ok(inputs)
}

fn read_steps(source: &Source, top: &Section<'_, WorkflowProblem>) -> Result<Vec<FileStep>, WorkflowError> {
    let at_top = |error: FieldError<WorkflowProblem>| located(source, None, error);
    let field = top.required("steps").map_err(at_top)?;
    let list = field.list().map_err(at_top)?;
    if list.is_empty() {
        return Err(at_top(field.problem(WorkflowProblem::NoSteps)));
    }
    if list.len() > STEPS_MAX {
        return Err(at_top(field.problem(WorkflowProblem::TooManySteps(list.len()))));
    }
    let mut steps = Vec::with_capacity(list.len());
    let mut first: HashMap<StepId, usize> = HashMap::with_capacity(list.len());
    for (index, field) in list.into_iter().enumerate() {
        let id = field.value().and_then(|step| step.get("id")).and_then(Value::as_str).filter(|id| is_name(id));
        let label = id.map_or(StepLabel::Number(index + 1), |id| StepLabel::Id(id.to_owned()));
        let failed = |error| located(source, Some((index, label.clone())), error);
        let step = read_step(&field.with_key("")).map_err(failed)?;
        if let Some(first) = first.insert(step.id.clone(), index) {
            let first = source.line(&[PathPart::Key("steps"), PathPart::Index(first)]).unwrap_or(1);
            let problem = WorkflowProblem::DuplicateId { first };
            return Err(failed(FieldError { at: None, key: Some("id".to_owned()), problem }));
        }
        steps.push(step);
    }
    if !steps.iter().any(|step| step.required) {
        return Err(at_top(field.problem(WorkflowProblem::NoRequiredStep)));
    }
    Ok(steps)
}

fn read_step(field: &Field<'_, WorkflowProblem>) -> ReadResult<FileStep> {
    let step = field.section(STEP_KEYS)?;
    let id = step.required("id")?;
    let name = id.string()?;
    if !is_name(&name) {
        return Err(id.problem(WorkflowProblem::BadId(shown(&name))));
    }
    let task = task_of(field, &step)?;
    let required = flag_of(&step, "required")?.unwrap_or(true);
    let on_failure = match step.get("on_failure") {
        Some(field) => field.one_of(OnStepFailure::ALL, OnStepFailure::as_str)?,
        None if required => OnStepFailure::Stop,
        None => OnStepFailure::Continue,
    };
    let read = FileStep {
        id: StepId(name),
        engines: engines_of(&step)?,
        model: text_of(&step, "model")?,
        needs: step.plain_strings("needs")?.into_iter().map(StepId).collect(),
        with: object_of(&step, "with")?,
        for_each: for_each_of(&step)?,
        required,
        timeout_sec: time_of(&step)?,
        retries: retries_of(&step)?,
        on_failure,
        ask: step.get("ask").map(|field| field.one_of(AskMoment::ALL, AskMoment::as_str)).transpose()?,
        permission: step
            .get("permission")
            .map(|field| field.one_of(Permission::ALL, Permission::as_str))
            .transpose()?,
        workspace: match step.get("workspace") {
            Some(field) => field.one_of(StepWorkspace::ALL, StepWorkspace::as_str)?,
            None => StepWorkspace::Own,
        },
        output: output_of(&step)?,
        checks: checks_of(&step)?,
        task,
    };
    // What a child run decides, a workflow leaves to its own steps; and a skill has the schema of its output itself.
    let (task, keys): (_, &[&'static str]) = match read.task {
        FileTask::Workflow(_) => ("a workflow", &["engine", "engines", "model", "retries", "output", "check"]),
        FileTask::Skill(_) => ("a skill", &["output.schema"]),
        FileTask::Prompt(_) => return Ok(read),
    };
    let is_given = |key: &str| match key {
        "output.schema" => read.output.schema.is_some(),
        key => step.get(key).is_some(),
    };
    match keys.iter().find(|key| is_given(key)) {
        None => Ok(read),
        Some(&key) => {
            let problem = WorkflowProblem::NotForTask { key, task };
            Err(FieldError { at: None, key: Some(key.to_owned()), problem })
        }
    }
}

fn task_of(field: &Field<'_, WorkflowProblem>, step: &Section<'_, WorkflowProblem>) -> ReadResult<FileTask> {
    let tasks: [(&'static str, TaskOfText); 3] =
        [("skill", FileTask::Skill), ("prompt", FileTask::Prompt), ("workflow", FileTask::Workflow)];
    let given: Vec<_> = tasks.iter().filter_map(|(key, task)| Some((*key, *task, step.get(key)?))).collect();
    match given.as_slice() {
        [] => Err(field.problem(WorkflowProblem::NoTask)),
        [(_, task, field)] => Ok(task(field.text()?)),
        [_, second, ..] => {
            Err(second.2.problem(WorkflowProblem::Exclusive { keys: given.iter().map(|(key, _, _)| *key).collect() }))
        }
    }
}

/// One word under `engine`, or a list under `engines`.
fn engines_of(step: &Section<'_, WorkflowProblem>) -> ReadResult<Vec<String>> {
    let field = match (step.get("engine"), step.get("engines")) {
        (None, None) => return Ok(Vec::new()),
        (Some(_), Some(engines)) => {
            return Err(engines.problem(WorkflowProblem::Exclusive { keys: vec!["engine", "engines"] }));
        }
        (Some(engine), None) => return Ok(vec![engine.text()?]),
        (None, Some(engines)) => engines,
    };
    let engines = field.list()?.iter().map(Field::text).collect::<Result<Vec<_>, _>>()?;
    if engines.is_empty() || engines.len() > ENGINES_MAX {
        return Err(field.unusable(format!("must name from 1 to {ENGINES_MAX} engines, and names {}", engines.len())));
    }
    match engines.iter().enumerate().find(|(index, engine)| engines[..*index].contains(engine)) {
        Some((_, twice)) => Err(field.unusable(format!("names \"{}\" twice", shown(twice)))),
        None => Ok(engines),
    }
}

fn for_each_of(step: &Section<'_, WorkflowProblem>) -> ReadResult<Option<Value>> {
    let Some(field) = step.get("for_each") else { return Ok(None) };
    let Some(value) = field.value() else { return Ok(None) };
    match value {
        Value::Array(items) if items.len() > skillrun_model::workflow::ITEMS_MAX => {
            Err(field.problem(WorkflowProblem::TooManyItems(items.len())))
        }
        Value::Array(_) => Ok(Some(value.clone())),
        Value::Object(_) if super::Pointer::of(value).is_some() => Ok(Some(value.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(field.wrong_type("a list, or a pointer to one such as {from: /inputs/NAME}"))
        }
    }
}

fn retries_of(step: &Section<'_, WorkflowProblem>) -> ReadResult<StepRetries> {
    let Some(field) = step.get("retries") else { return Ok(StepRetries::default()) };
    let retries = field.section(RETRIES_KEYS)?;
    let max = whole(&retries.required("max")?, 0, RETRIES_MAX)?;
    let on = match retries.get(CAUSES) {
        None => RetryCause::ALL.to_vec(),
        Some(field) => {
            let causes = field.list()?;
            let mut on = Vec::new();
            for cause in causes {
                let cause = cause.one_of(RetryCause::ALL, RetryCause::as_str)?;
                if !on.contains(&cause) {
                    on.push(cause);
                }
            }
            if on.is_empty() {
                return Err(field.unusable("is empty; leave it out for all causes"));
            }
            on
        }
    };
    Ok(if max == 0 { StepRetries::default() } else { StepRetries { max, on } })
}

fn output_of(step: &Section<'_, WorkflowProblem>) -> ReadResult<StepOutput> {
    let Some(field) = step.get("output") else { return Ok(StepOutput::default()) };
    let output = field.section(OUTPUT_KEYS)?;
    let artifacts = output.strings("artifacts")?;
    if artifacts.len() > ARTIFACTS_MAX {
        let field = output.required("artifacts")?;
        return Err(field.unusable(format!("has {} files, and the limit is {ARTIFACTS_MAX}", artifacts.len())));
    }
    let inside = |(path, field): &(String, Field<'_, WorkflowProblem>)| {
        let inner = InnerPath::parse(path).map_err(|problem| {
            let problem = problem.to_string().replace("the skill's folder", "the workspace");
            field.unusable(format!("has the path \"{}\", which {problem}", shown(path)))
        })?;
        // As artifacts are named: without "." and empty parts.
        Ok(inner.as_path().to_string_lossy().into_owned())
    };
    let artifacts = artifacts.iter().map(inside).collect::<ReadResult<Vec<_>>>()?;
    Ok(StepOutput { schema: schema_of(&output)?, artifacts })
}

fn checks_of(step: &Section<'_, WorkflowProblem>) -> ReadResult<Vec<StepCheck>> {
    let Some(field) = step.get("check") else { return Ok(Vec::new()) };
    let checks = if field.is_list() { field.list()? } else { vec![field.clone()] };
    if checks.len() > CHECKS_MAX {
        return Err(field.unusable(format!("has {} commands, and the limit is {CHECKS_MAX}", checks.len())));
    }
    let check = |field: &Field<'_, WorkflowProblem>| match field.value() {
        Some(Value::Object(_)) => {
            let check = field.section(CHECK_KEYS)?;
            Ok(StepCheck { command: check.required("command")?.text()?, timeout_sec: time_of(&check)? })
        }
        Some(Value::String(_)) => Ok(StepCheck { command: field.text()?, timeout_sec: None }),
        _ => Err(field.wrong_type("a command, or a list of commands or of {command, timeout}")),
    };
    checks.iter().map(check).collect()
}

fn schema_of(section: &Section<'_, WorkflowProblem>) -> ReadResult<Option<Value>> {
    let Some(field) = section.get("schema") else { return Ok(None) };
    match field.value() {
        Some(value @ (Value::Object(_) | Value::Bool(_))) => Ok(Some(value.clone())),
        _ => Err(field.wrong_type("a JSON Schema")),
    }
}

fn time_of(section: &Section<'_, WorkflowProblem>) -> ReadResult<Option<f64>> {
    let Some(field) = section.get("timeout") else { return Ok(None) };
    let seconds = match field.as_str() {
        Some(text) => times::seconds(text),
        None => field.as_number().and_then(times::usable),
    };
    seconds.map(Some).ok_or_else(|| field.wrong(times::EXPECTED))
}

fn text_of(section: &Section<'_, WorkflowProblem>, key: &str) -> ReadResult<Option<String>> {
    section.get(key).map(|field| field.text()).transpose()
}

fn flag_of(section: &Section<'_, WorkflowProblem>, key: &str) -> ReadResult<Option<bool>> {
    let Some(field) = section.get(key) else { return Ok(None) };
    field.as_bool().map(Some).ok_or_else(|| field.wrong_type("true or false"))
}

fn object_of(section: &Section<'_, WorkflowProblem>, key: &str) -> ReadResult<Map<String, Value>> {
    let Some(field) = section.get(key) else { return Ok(Map::new()) };
    match field.value() {
        Some(Value::Object(object)) => Ok(object.clone()),
        _ => Err(field.wrong_type("a mapping")),
    }
}

fn whole(field: &Field<'_, WorkflowProblem>, min: u32, max: u32) -> ReadResult<u32> {
    let number = field.as_integer().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| field.wrong(format!("a whole number from {min} to {max}")))
}

/// Ids of steps are parts of pointers, of names such as `review[2]` and of names of folders.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.len() <= NAME_MAX
        && text.bytes().all(is_part)
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

fn shown(text: &str) -> String {
    shortened(&text.escape_debug().to_string(), SHOWN_MAX)
}
