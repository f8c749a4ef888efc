//! Values with pointers: into the inputs of a workflow, and into what its steps have left.

use serde_json::{Map, Value};
use skillrun_lifecycle::workflow::{StepEnding, WorkflowState};
use skillrun_model::workflow::{StepId, StepState, WorkflowPlan, WorkflowStep};
use skillrun_runs::result::RunResult;
use skillrun_skill::workflow::{Pointer, PointerFault, resolve, resolve_fields};

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
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, PointerFault> {
        resolve(value, &mut |pointer| self.look_up(pointer))
    }

    pub(super) fn resolve_fields(&self, fields: &Map<String, Value>) -> Result<Map<String, Value>, PointerFault> {
        resolve_fields(fields, &mut |pointer| self.look_up(pointer))
    }

    fn look_up(&self, pointer: &Pointer) -> Result<Value, PointerFault> {
        let nowhere = || PointerFault::Nowhere(pointer.clone());
        match pointer {
            Pointer::Input { name, .. } => {
                pointer.part_of(self.run.record.request.input.get(name).ok_or_else(nowhere)?)
            }
            Pointer::Item { .. } => pointer.part_of(self.item.as_ref().ok_or_else(nowhere)?),
            Pointer::StepOutput { step, .. } => pointer.part_of(&self.output(step).ok_or_else(nowhere)?),
            Pointer::StepText { step } => self.text(step).ok_or_else(nowhere),
        }
    }

    /// The run that decided how a step ended: in another workflow where the step was taken over.
    fn result(&self, end: &StepEnding) -> Option<RunResult> {
        read_result(self.tools, end.child?)
    }

    fn output(&self, id: &StepId) -> Option<Value> {
        let step = self.plan.step(id)?;
        let output = |end: &StepEnding| self.result(end).and_then(|result| output_value(&result, step));
        match self.ready(step)? {
            ReadyEnds::One(end) => output(end).map(Value::Object),
            ReadyEnds::Items(ends) => {
                let output = |end| output(end).map_or(Value::Null, Value::Object);
                Some(Value::Array(ends.into_iter().map(output).collect()))
            }
        }
    }

    /// How a step became ready, or those of its items that did. None: nothing of it is ready.
    fn ready(&self, step: &WorkflowStep) -> Option<ReadyEnds<'a>> {
        let progress = self.workflow.steps.get(&step.id)?;
        let end = progress.end.as_ref().filter(|end| end.state == StepState::Ready);
        match (&step.for_each, progress.items) {
            (None, _) => end.map(ReadyEnds::One),
            // Its list was empty: it ended without an item.
            (Some(_), None) => end.map(|_| ReadyEnds::Items(Vec::new())),
            (Some(_), Some(_)) => {
                let ends = progress.instances.iter().filter_map(|one| one.end.as_ref());
                Some(ReadyEnds::Items(ends.filter(|end| end.state == StepState::Ready).collect()))
            }
        }
    }

    fn text(&self, id: &StepId) -> Option<Value> {
        let text = |end: &StepEnding| self.result(end).and_then(|result| result.text).map(Value::String);
        match self.ready(self.plan.step(id)?)? {
            ReadyEnds::One(end) => text(end),
            ReadyEnds::Items(ends) => {
                Some(Value::Array(ends.into_iter().map(|end| text(end).unwrap_or(Value::Null)).collect()))
            }
        }
    }
}

/// What of a step is ready.
enum ReadyEnds<'a> {
    One(&'a StepEnding),
    /// Of a step that repeats; none where its list was empty.
    Items(Vec<&'a StepEnding>),
}

/// The outputs of a workflow, as far as the steps to which they point are ready.
pub(crate) fn outputs(tools: &Tools, run: &Run) -> Option<Map<String, Value>> {
    let values = Values::of(tools, run)?;
    let known = |(name, value): (&String, &Value)| Some((name.clone(), values.resolve(value).ok()?));
    let outputs: Map<String, Value> = values.plan.outputs.iter().filter_map(known).collect();
    (!outputs.is_empty()).then_some(outputs)
}
