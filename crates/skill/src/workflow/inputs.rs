//! What a workflow is given when it starts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use skillrun_base::suggest::{closest, hint};
use skillrun_model::workflow::{WorkflowInput, WorkflowPlan};
use skillrun_model::{Classified, ErrorClass};

use crate::schema::Schema;

/// Why a workflow cannot start with its input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowInputError {
    #[error("the workflow has no input \"{name}\"{}", if known.is_empty() { String::new() } else { hint(suggestion.as_deref(), known) })]
    Unknown { name: String, suggestion: Option<String>, known: Vec<String> },
    #[error("the workflow needs the input{} {}", if names.len() == 1 { "" } else { "s" }, names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))]
    Missing { names: Vec<String> },
    #[error("input {name}{path}: {message}")]
    DoesNotFit { name: String, path: String, message: String },
    /// The schema in the file is at fault.
    #[error("the schema of the input {name} cannot be used: {message}")]
    Schema { name: String, message: String },
}

impl Classified for WorkflowInputError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

/// The whole input of a workflow, with defaults. Inputs that the file does not declare are refused.
pub fn inputs_of(plan: &WorkflowPlan, mut given: Map<String, Value>) -> Result<Map<String, Value>, WorkflowInputError> {
    if let Some(name) = given.keys().find(|name| !plan.inputs.contains_key(*name)) {
        return Err(unknown(name, &plan.inputs));
    }
    let is_missing = |(name, input): &(&String, &WorkflowInput)| input.default.is_none() && !given.contains_key(*name);
    let names: Vec<String> = plan.inputs.iter().filter(is_missing).map(|(name, _)| name.clone()).collect();
    if !names.is_empty() {
        return Err(WorkflowInputError::Missing { names });
    }
    let mut inputs = Map::new();
    for (name, input) in &plan.inputs {
        let Some(value) = given.shift_remove(name).or_else(|| input.default.clone()) else { continue };
        if let Some(schema) = &input.schema {
            let schema = Schema::compile(schema)
                .map_err(|error| WorkflowInputError::Schema { name: name.clone(), message: error.to_string() })?;
            if let Some(problem) = schema.problems(&value).into_iter().next() {
                let name = name.clone();
                return Err(WorkflowInputError::DoesNotFit { name, path: problem.path, message: problem.message });
            }
        }
        inputs.insert(name.clone(), value);
    }
    Ok(inputs)
}

fn unknown(name: &str, inputs: &BTreeMap<String, WorkflowInput>) -> WorkflowInputError {
    let known = || inputs.keys().map(String::as_str);
    WorkflowInputError::Unknown {
        name: skillrun_base::text::shortened(&name.escape_debug().to_string(), 80),
        suggestion: closest(name, known()).map(str::to_owned),
        known: super::error::offered(known()),
    }
}
