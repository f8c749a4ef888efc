//! What is wrong with a workflow file: one sentence with file, line and step.

use std::fmt;

use skillrun_base::fields::FieldProblem;
use skillrun_base::suggest::hint;
use skillrun_model::workflow::{DEPTH_MAX, ITEMS_MAX, STEPS_MAX};
use skillrun_model::{Classified, ErrorClass};

use super::pointer::{Pointer, PointerFault};
use super::{EXPANDED_MAX, FILE_MAX};

/// A problem, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowError {
    /// As the caller named it.
    pub file: String,
    /// From 1. None: of the file as a whole.
    pub line: Option<usize>,
    pub step: Option<StepLabel>,
    pub problem: Box<WorkflowProblem>,
}

/// A step in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepLabel {
    Id(String),
    /// Its place in the list, from 1, where its id cannot be used.
    Number(usize),
}

/// What can be wrong with a workflow file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowProblem {
    #[error("{}{problem}", key.as_ref().map(|key| format!("{key}{}", after_key(problem))).unwrap_or_default())]
    Field { key: Option<String>, problem: FieldProblem },
    #[error("{0}")]
    Unreadable(String),
    #[error("the file is larger than {FILE_MAX} bytes")]
    TooLarge,
    #[error("the workflow has no steps")]
    NoSteps,
    #[error("the workflow has {0} steps, and the limit is {STEPS_MAX}")]
    TooManySteps(usize),
    #[error("no step is required; leave \"required\" out of at least one")]
    NoRequiredStep,
    #[error(
        "the id \"{0}\" is not usable; use up to 64 letters, digits, \"-\" and \"_\", and begin with a letter or digit"
    )]
    BadId(String),
    #[error(
        "the name of an input, \"{0}\", is not usable; use up to 64 letters, digits, \"-\" and \"_\", and begin with a letter or digit"
    )]
    BadInputName(String),
    #[error("another step, on line {first}, has the same id")]
    DuplicateId { first: usize },
    #[error("there is nothing to do; give one of skill, prompt and workflow")]
    NoTask,
    #[error("{} exclude each other; give one of them", keys.join(" and "))]
    Exclusive { keys: Vec<&'static str> },
    #[error("{key} has no meaning for a step with {task}")]
    NotForTask { key: &'static str, task: &'static str },
    #[error("needs the step \"{step}\", which does not exist{}", hinted(suggestion.as_deref(), known))]
    MissingNeed { step: String, suggestion: Option<String>, known: Vec<String> },
    #[error("steps need each other in a cycle: {0}")]
    Cycle(String),
    #[error("{key}: {fault}")]
    Pointer { key: String, fault: PointerFault },
    #[error("{key}: {pointer} leads to nothing: there is no {what} \"{name}\"{}", hinted(suggestion.as_deref(), known))]
    Nowhere {
        key: String,
        pointer: Pointer,
        what: PointerPart,
        name: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("{key}: {pointer} has a meaning only in a step with for_each")]
    NoItem { key: String, pointer: Pointer },
    #[error("{key}: {pointer} is {found}, and {expected} is needed there")]
    TypeMismatch { key: String, pointer: Pointer, found: String, expected: String },
    #[error("{key}: {message}")]
    DoesNotFit { key: String, message: String },
    #[error("for_each has {0} items, and the limit is {ITEMS_MAX}")]
    TooManyItems(usize),
    #[error("there is no engine \"{given}\"{}", hinted(suggestion.as_deref(), known))]
    UnknownEngine { given: String, suggestion: Option<String>, known: Vec<String> },
    #[error("the skill \"{name}\" cannot be used: {message}")]
    Skill { name: String, message: String },
    #[error("the workflow \"{path}\" cannot be used: {message}")]
    NestedFile { path: String, message: String },
    #[error("workflows contain each other in a cycle: {0}")]
    NestedCycle(String),
    #[error("workflows are nested more than {DEPTH_MAX} deep")]
    TooDeep,
    #[error("the workflow has {0} steps with those of the workflows in it, and the limit is {STEPS_MAX}")]
    TooManyStepsInAll(usize),
    #[error("the files of the workflow are larger than {EXPANDED_MAX} bytes, each counted as often as it is used")]
    TooLargeInAll,
}

/// Most names that a message lists.
const KNOWN_MAX: usize = 12;

/// The names that a message offers: a workflow may have thousands.
pub(super) fn offered<'a>(known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut known: Vec<String> = known.into_iter().take(KNOWN_MAX + 1).map(str::to_owned).collect();
    if known.len() > KNOWN_MAX {
        known[KNOWN_MAX] = "…".to_owned();
    }
    known
}

fn hinted(suggestion: Option<&str>, known: &[String]) -> String {
    if known.is_empty() { String::new() } else { hint(suggestion, known) }
}

/// Sentences that name something else than the key stand for themselves.
fn after_key(problem: &FieldProblem) -> &'static str {
    match problem {
        FieldProblem::UnknownKey { .. } | FieldProblem::UnknownWord { .. } => ": ",
        FieldProblem::Syntax { .. }
        | FieldProblem::Wrong { .. }
        | FieldProblem::Missing
        | FieldProblem::Unusable(_) => " ",
    }
}

/// What a pointer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerPart {
    Input,
    Step,
    Field,
    Item,
}

impl fmt::Display for PointerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Step => "step",
            Self::Field => "field",
            Self::Item => "item",
        })
    }
}

impl From<FieldProblem> for WorkflowProblem {
    fn from(problem: FieldProblem) -> Self {
        Self::Field { key: None, problem }
    }
}

impl fmt::Display for StepLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "step \"{id}\""),
            Self::Number(number) => write!(f, "step {number}"),
        }
    }
}

impl fmt::Display for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(step) = &self.step {
            write!(f, ": {step}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for WorkflowError {}

impl Classified for WorkflowError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}
