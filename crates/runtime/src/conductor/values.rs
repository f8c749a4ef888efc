//! Values with pointers: into the inputs of a workflow, and into what its steps have left.

use serde_json::{Map, Value};
use skillrun_lifecycle::workflow::{StepEnding, WorkflowState};
use skillrun_model::workflow::{StepId, StepState, WorkflowPlan};
use skillrun_runs::result::RunResult;

use super::checkpoint::{output_value, read_result};
use crate::run::{Run, Tools};

/// Where pointers lead.
pub(super) struct Values<'a> {
    tools: &'a Tools,
    run: &'a Run,
    plan: &'a WorkflowPlan,
    workflow: &'a WorkflowState,
    /// The item of a step that repeats.
    pub(super) item: Option<Value>,
}

impl<'a> Values<'a> {
    /// None where the run is not a workflow.
    pub(super) fn of(tools: &'a Tools, run: &'a Run) -> Option<Self> {
        let (plan, workflow) = (run.record.workflow()?, run.state.workflow.as_deref()?);
        Some(Self { tools, run, plan, workflow, item: None })
    }

    /// A value with every pointer in it replaced by the value to which it leads.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::Object(object) => match pointer(object) {
                Some(pointer) => self.look_up(pointer),
                None => {
                    let entry = |(key, value): (&String, &Value)| Ok((key.clone(), self.resolve(value)?));
                    object.iter().map(entry).collect::<Result<Map<_, _>, String>>().map(Value::Object)
                }
            },
            Value::Array(list) => {
                list.iter().map(|value| self.resolve(value)).collect::<Result<_, _>>().map(Value::Array)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
        }
    }

    fn look_up(&self, pointer: &str) -> Result<Value, String> {
        let nowhere = || format!("{pointer} leads to nothing");
        let (root, rest) = split(pointer.strip_prefix('/').unwrap_or(pointer));
        let (value, rest) = match root {
            "inputs" => (Value::Object(self.run.record.request.input.clone()), rest),
            "item" => (self.item.clone().ok_or_else(nowhere)?, rest),
            "steps" => {
                let (step, rest) = split(rest);
                let (part, rest) = split(rest);
                let step = StepId(step.to_owned());
                match part {
                    "output" => (self.output(&step).ok_or_else(nowhere)?, rest),
                    "text" => (self.text(&step).map(Value::String).ok_or_else(nowhere)?, rest),
                    _ => return Err(nowhere()),
                }
            }
            _ => return Err(nowhere()),
        };
        if rest.is_empty() {
            return Ok(value);
        }
        value.pointer(&format!("/{rest}")).cloned().ok_or_else(nowhere)
    }

    /// The run that decided how a step ended: in another workflow where the step was taken over.
    fn result(&self, end: &StepEnding) -> Option<RunResult> {
        read_result(self.tools, end.child?)
    }

    fn output(&self, id: &StepId) -> Option<Value> {
        let step = self.plan.step(id)?;
        let progress = self.workflow.steps.get(id)?;
        if progress.items.is_none() {
            let end = progress.end.as_ref().filter(|end| end.state == StepState::Ready)?;
            return output_value(&self.result(end)?, step).map(Value::Object);
        }
        let ends = progress.instances.iter().filter_map(|one| one.end.as_ref());
        let ready = ends.filter(|end| end.state == StepState::Ready);
        let output = |end: &StepEnding| {
            let result = self.result(end);
            result.and_then(|result| output_value(&result, step)).map_or(Value::Null, Value::Object)
        };
        Some(Value::Array(ready.map(output).collect()))
    }

    fn text(&self, id: &StepId) -> Option<String> {
        let end = self.workflow.end_of(id).filter(|end| end.state == StepState::Ready)?;
        self.result(end)?.text
    }
}

/// The pointer of an object with the single key `from`.
fn pointer(object: &Map<String, Value>) -> Option<&str> {
    let is_single = object.len() == 1;
    object.get("from").filter(|_| is_single)?.as_str().filter(|text| text.starts_with('/'))
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

/// The outputs of a workflow, as far as the steps to which they point are ready.
pub(crate) fn outputs(tools: &Tools, run: &Run) -> Option<Map<String, Value>> {
    let values = Values::of(tools, run)?;
    let known = |(name, value): (&String, &Value)| Some((name.clone(), values.resolve(value).ok()?));
    let outputs: Map<String, Value> = values.plan.outputs.iter().filter_map(known).collect();
    (!outputs.is_empty()).then_some(outputs)
}
