//! A skill of the examples, with a file for it, an output schema and artifacts. A reader of `result.json` need not know
//! which engine it was.

use std::fs;
use std::sync::Mutex;

use serde_json::{Map, Value, json};
use skillrun_base::sync::lock;
use skillrun_model::RunStatus;
use testkit::paths;

use crate::problem::{Miss, must};
use crate::trial::Trial;

/// The name of the script below.
pub(crate) const SCRIPT: &str = "report";

const SKILL: &str = "examples/skills/report-on-table";

/// A line of the table, which only an engine that received the table can know.
const LINE: &str = "Basel,178000,Rhine";

/// Turns of the model: reads the table it was given, writes the files, answers.
pub(crate) fn script() -> Value {
    // Without `$(…)`, which not every engine lets a command have. And what a command prints is not relied on: an
    // engine may lose it.
    let read = "head -n 1 ../inputs/*.csv";
    let write = [
        "mkdir -p artifacts",
        r"printf '# Three towns\n\n' > artifacts/report.md",
        "cat ../inputs/*.csv >> artifacts/report.md",
        r#"printf '[{"name": "city"}]\n' > artifacts/columns.json"#,
    ];
    let write = write.join(" && ");
    json!({"turns": [
        {"say": "I look at the table.", "tool": read},
        {"say": "Three rows, so I write the report.", "tool": write},
        {"answer": answer()},
    ]})
}

fn answer() -> Value {
    json!({"rows": 3, "report": "artifacts/report.md", "columns": "artifacts/columns.json"})
}

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let skill = paths::workspace().join(SKILL);
    let table = format!("table={}", skill.join("assets/example.csv").display());
    let command = trial.run_skill(&skill.display().to_string(), &["--file", &table]);
    let finished = trial.finish(command, "run")?;
    let over = trial.over(trial.only_run(&finished)?)?;
    over.must_be(RunStatus::Succeeded)?;
    must(over.json["output"] == answer(), "output", || format!("the output is {}", over.json["output"]))?;
    let report = fs::read_to_string(trial.place.file(over.run, "workspace/artifacts/report.md")).unwrap_or_default();
    must(report.contains(LINE), "no table", || "the engine's command did not find the table".to_owned())?;
    let roles: Vec<_> = over.result.artifacts.iter().map(|file| (file.path.as_str(), file.role.as_deref())).collect();
    let expected = [("artifacts/columns.json", Some("data")), ("artifacts/report.md", Some("report"))];
    must(roles == expected, "artifacts", || format!("the artifacts are {roles:?}"))?;
    trial.lab.shapes.compare(&trial.engine.name, shape(&over.json))
}

/// The shapes of the results so far: the first one is what all others are compared with.
#[derive(Debug, Default)]
pub(crate) struct Shapes(Mutex<Option<(String, Value)>>);

impl Shapes {
    fn compare(&self, engine: &str, shape: Value) -> Result<(), Miss> {
        let mut first = lock(&self.0);
        let (other, expected) = first.get_or_insert_with(|| (engine.to_owned(), shape.clone()));
        must(*expected == shape, "shape differs", || {
            format!("result.json of {engine} has another shape than that of {other}: {shape} instead of {expected}")
        })
    }
}

/// A result with kinds of values instead of values, except for what the skill gives back.
fn shape(result: &Value) -> Value {
    let mut shape = kinds(result);
    for same in ["status", "output", "artifacts", "attempts", "next_actions", "warnings"] {
        shape[same] = result[same].clone();
    }
    // What an engine counts beyond the common numbers is its own, and some count less.
    if let Some(usage) = shape["usage"].as_object_mut() {
        usage.remove("reported");
        usage.values_mut().filter(|kind| *kind == "null").for_each(|kind| *kind = json!("number"));
    }
    shape
}

fn kinds(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(list) => list.iter().map(kinds).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), kinds(value))).collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(usage: Value) -> Value {
        json!({"status": "succeeded", "output": {"rows": 3}, "text": "x", "usage": usage, "artifacts": [],
               "attempts": 1, "next_actions": [], "warnings": []})
    }

    #[test]
    fn uncounted_usage_is_equal_but_a_missing_key_differs() {
        let shapes = Shapes::default();
        let first = result(json!({"input_tokens": 7, "reasoning_tokens": null, "reported": {"cost": 1}}));
        shapes.compare("one", shape(&first)).expect("the first");
        let same = result(json!({"input_tokens": 9, "reasoning_tokens": 4}));
        shapes.compare("two", shape(&same)).expect("the same");
        let miss = shapes.compare("three", shape(&result(json!({"input_tokens": 9})))).expect_err("differs");
        assert_eq!(miss.word, "shape differs");
    }
}
