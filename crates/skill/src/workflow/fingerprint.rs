//! Whether a step is the same as one of an earlier run: then its result counts here too.

use serde::Serialize;
use serde_json::{Map, Value};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{StepCheck, StepOutput, StepTask, StepWorkspace};

/// Everything on which the result of a step depends, as far as skillrun knows it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct StepIdentity<'a> {
    /// A skill counts by its hash and name; the folder in which it was found does not.
    #[serde(serialize_with = "without_source")]
    pub task: &'a StepTask,
    /// With every pointer replaced.
    pub input: &'a Map<String, Value>,
    pub engine: &'a str,
    pub model: Option<&'a str>,
    /// That of the workflow where the step has none.
    pub permission: Permission,
    pub workspace: StepWorkspace,
    pub output: &'a StepOutput,
    pub checks: &'a [StepCheck],
    pub timeout_sec: Option<f64>,
}

fn without_source<S: serde::Serializer>(task: &&StepTask, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(task).unwrap_or_default();
    remove_sources(&mut value);
    value.serialize(serializer)
}

/// In the place of tasks alone: inputs and schemas may have a field of that name.
fn remove_sources(task: &mut Value) {
    if let Some(skill) = task.get_mut("skill").and_then(Value::as_object_mut) {
        skill.shift_remove("source");
    }
    let steps = task.get_mut("workflow").and_then(|plan| plan.get_mut("steps")).and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        if let Some(task) = step.get_mut("task") {
            remove_sources(task);
        }
    }
}

/// BLAKE3 of the canonical JSON, in hexadecimal digits.
pub fn fingerprint(step: &StepIdentity<'_>) -> String {
    let mut value = serde_json::to_value(step).unwrap_or_default();
    // The reader keeps the order of keys; here it must not count.
    value.sort_all_objects();
    blake3::hash(value.to_string().as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn skill(source: &str, hash: &str) -> StepTask {
        StepTask::Skill { name: "s".to_owned(), source: source.to_owned(), hash: hash.to_owned() }
    }

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn everything_counts_but_the_place_and_the_order_of_keys() {
        let (task, output) = (skill("/one", "h"), StepOutput::default());
        let input = object(&json!({"a": {"x": 1, "y": [{"p": 1, "q": 2}]}, "b": 2}));
        let base = StepIdentity {
            task: &task,
            input: &input,
            engine: "codex",
            model: None,
            permission: Permission::Workspace,
            workspace: StepWorkspace::Own,
            output: &output,
            checks: &[],
            timeout_sec: None,
        };
        let elsewhere = skill("/two", "h");
        let turned = object(&json!({"b": 2, "a": {"y": [{"q": 2, "p": 1}], "x": 1}}));
        assert_eq!(fingerprint(&base), fingerprint(&StepIdentity { task: &elsewhere, input: &turned, ..base }));
        assert_eq!(fingerprint(&base).len(), 64);

        let (other_task, prompt) = (skill("/one", "i"), StepTask::Prompt("h".to_owned()));
        let other_input = object(&json!({"a": {"x": 1, "y": [{"p": 1, "q": 3}]}, "b": 2}));
        let other_output = StepOutput { schema: None, artifacts: vec!["a".to_owned()] };
        let check = [StepCheck { command: "true".to_owned(), timeout_sec: None }];
        let others = [
            StepIdentity { task: &other_task, ..base },
            StepIdentity { task: &prompt, ..base },
            StepIdentity { input: &other_input, ..base },
            StepIdentity { engine: "claude", ..base },
            StepIdentity { model: Some("m"), ..base },
            StepIdentity { permission: Permission::ReadOnly, ..base },
            StepIdentity { workspace: StepWorkspace::Shared, ..base },
            StepIdentity { output: &other_output, ..base },
            StepIdentity { checks: &check, ..base },
            StepIdentity { timeout_sec: Some(1.0), ..base },
        ];
        let mut seen = vec![fingerprint(&base)];
        for other in &others {
            let one = fingerprint(other);
            assert!(!seen.contains(&one), "{other:?}");
            seen.push(one);
        }
    }
}
