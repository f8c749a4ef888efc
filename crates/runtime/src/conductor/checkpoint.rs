//! What a child of a workflow has left: its end event, its validated output, its files. No prose of an agent counts.

use std::fs;

use serde_json::{Map, Value};
use skillrun_lifecycle::workflow::{Checkpoint, CheckpointOutput, TrialCause, UnjudgedChild};
use skillrun_model::RunId;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::Data;
use skillrun_model::workflow::{RetryCause, StepTask, WorkflowStep};
use skillrun_parse::text::objects::find_objects;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::events::read_all;
use skillrun_runs::result::{RunResult, result_of};
use skillrun_skill::{Schema, SchemaRole, Skill};

use crate::accept::find_program;
use crate::run::{Run, Tools};
use crate::runtime::RuntimeConfig;

/// Reads what a child has left.
pub(crate) fn checkpoint(config: &RuntimeConfig, run: &Run, child: &UnjudgedChild) -> Checkpoint {
    let tools = &config.tools;
    let result = read_result(tools, child.run_id);
    let step = run.record.workflow().and_then(|plan| plan.step(&child.step_id));
    match (result, step) {
        (Some(result), Some(step)) => of_result(tools, &result, step),
        (_, step) => of_unmade(config, run, child, step),
    }
}

pub(super) fn read_result(tools: &Tools, child: RunId) -> Option<RunResult> {
    result_of(&tools.log, child, &tools.data.run(child)).ok().flatten()
}

fn of_result(tools: &Tools, result: &RunResult, step: &WorkflowStep) -> Checkpoint {
    let folder = tools.data.run(result.run_id);
    let error = result.error.as_ref();
    let completion = result.completion.map(|completion| completion.reason_code);
    let reason = error
        .map(|error| error.code)
        .or(completion)
        .unwrap_or_else(|| result.workflow.as_ref().map_or(Code::Canceled, |workflow| workflow.outcome.reason()));
    let (output, declares_partial) = output_of(result, step, &folder);
    let value = output_value(result, step);
    let is_partial =
        declares_partial && value.as_ref().and_then(|output| output.get("partial")) == Some(&Value::Bool(true));
    let cause = error.and_then(|error| match error.category {
        ErrorCategory::Quota => Some(TrialCause::Retry(RetryCause::Quota)),
        ErrorCategory::Network => Some(TrialCause::Retry(RetryCause::Network)),
        ErrorCategory::Host if !has_evidence(tools, result.run_id) => Some(TrialCause::Retry(RetryCause::HostLost)),
        ErrorCategory::Engine if error.code == Code::EngineNotFound => Some(TrialCause::EngineMissing),
        ErrorCategory::Engine
        | ErrorCategory::Host
        | ErrorCategory::Usage
        | ErrorCategory::Input
        | ErrorCategory::Skill
        | ErrorCategory::Auth
        | ErrorCategory::Session
        | ErrorCategory::Output
        | ErrorCategory::Interaction
        | ErrorCategory::Workflow
        | ErrorCategory::Timeout
        | ErrorCategory::Canceled
        | ErrorCategory::Internal => None,
    });
    let is_there = |path: &String| result.artifacts.iter().any(|artifact| artifact.path == *path);
    let mut missing: Vec<String> = step.output.artifacts.iter().filter(|path| !is_there(path)).cloned().collect();
    if result.warnings.contains(&Code::ArtifactMissing) {
        missing.push("a file that the skill requires".to_owned());
    }
    Checkpoint {
        child_seq: result.log_head.as_ref().map(|head| head.seq + 1),
        reason,
        details: error.map(|error| error.message.clone()),
        output,
        is_partial,
        missing,
        cause,
        reset_at: error.and_then(|error| error.reset_at),
    }
}

/// Whether the output fits the schema that the step or its skill declares, and whether that schema declares `partial` at
/// its root.
fn output_of(result: &RunResult, step: &WorkflowStep, folder: &RunFolder) -> (CheckpointOutput, bool) {
    let declares = |schema: &Value| schema.pointer("/properties/partial").is_some();
    match (&step.output.schema, &step.task) {
        (Some(schema), _) => {
            let validator = match Schema::compile(schema) {
                Ok(validator) => validator,
                Err(error) => return (CheckpointOutput::Invalid(error.to_string()), false),
            };
            let problem = match output_value(result, step) {
                None => Some("the answer has no JSON object".to_owned()),
                Some(output) => validator
                    .problems(&Value::Object(output))
                    .into_iter()
                    .next()
                    .map(|one| format!("{}: {}", one.path, one.message)),
            };
            (problem.map_or(CheckpointOutput::Valid, CheckpointOutput::Invalid), declares(schema))
        }
        // The gate has validated it.
        (None, StepTask::Skill { .. }) => {
            let schema = Skill::load(&folder.skill()).ok().and_then(|skill| {
                let path = skill.root.join(skill.runner.schema(SchemaRole::Output)?.as_path());
                serde_json::from_slice::<Value>(&fs::read(path).ok()?).ok()
            });
            match schema {
                Some(schema) if result.output.is_some() => (CheckpointOutput::Valid, declares(&schema)),
                Some(_) | None => (CheckpointOutput::NotDeclared, false),
            }
        }
        (None, StepTask::Workflow(_)) if result.output.is_some() => (CheckpointOutput::Valid, false),
        (None, StepTask::Prompt(_) | StepTask::Workflow(_)) => (CheckpointOutput::NotDeclared, false),
    }
}

/// The output of a step: of a skill or workflow its own; of a prompt with a schema the last object of the answer that
/// fits, else the last one.
pub(super) fn output_value(result: &RunResult, step: &WorkflowStep) -> Option<Map<String, Value>> {
    if let (StepTask::Skill { .. } | StepTask::Workflow(_), Some(output)) = (&step.task, &result.output) {
        return Some(output.clone());
    }
    let text = result.text.as_deref()?;
    let validator = Schema::compile(step.output.schema.as_ref()?).ok()?;
    let parsed = |found: &skillrun_parse::text::objects::FoundObject| {
        serde_json::from_str::<Map<String, Value>>(&text[found.start..found.end]).ok()
    };
    let objects: Vec<Map<String, Value>> =
        find_objects(text).iter().filter(|found| !found.after_cut).filter_map(parsed).collect();
    let fits = |object: &&Map<String, Value>| validator.problems(&Value::Object((*object).clone())).is_empty();
    objects.iter().rev().find(fits).or(objects.last()).cloned()
}

/// A child that does not exist: why its engine cannot be used is found out again.
fn of_unmade(config: &RuntimeConfig, run: &Run, child: &UnjudgedChild, step: Option<&WorkflowStep>) -> Checkpoint {
    let workflow = run.state.workflow.as_deref();
    let instance = workflow.and_then(|workflow| workflow.steps.get(&child.step_id)?.instance(child.item));
    let engine = step.zip(instance).and_then(|(step, instance)| step.engines.get(instance.engine_index as usize));
    let is_missing = engine.is_some_and(|name| {
        config.engines.get(name).map_or(true, |descriptor| find_program(config, descriptor).is_err())
    });
    let known = run.state.child(child.run_id);
    Checkpoint {
        child_seq: None,
        reason: Code::ChildNotMade,
        details: known.and_then(|known| known.fault.clone()),
        output: CheckpointOutput::NotDeclared,
        is_partial: false,
        missing: Vec::new(),
        cause: is_missing.then_some(TrialCause::EngineMissing),
        reset_at: None,
    }
}

/// The engine of a run has written something, so that it may have done something.
fn has_evidence(tools: &Tools, run: RunId) -> bool {
    let mut found = false;
    let read = read_all(&tools.log, run, |event| {
        found |= matches!(event.data, Data::Evidence(_));
        Ok::<(), skillrun_log::LogError>(())
    });
    found || read.is_err()
}
