//! `--demo`: the sample skills, and three example runs that need no model and no network: one that succeeds, one that
//! waits for an answer, and one that fails.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use skillrun_model::ExecutionMode;
use skillrun_runs::request_entries::RequestKey;
use skillrun_runtime::requests::SubmitError;
use skillrun_runtime::{NewRun, Runtime};
use skillrun_skill::Skill;

use crate::settings::Settings;

/// The engine that plays scripts.
const ENGINE: &str = "scripted";

macro_rules! sample {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../../examples/skills/", $path)))),+]
    };
}

/// Every file of the sample skills.
const FILES: &[(&str, &[u8])] = sample![
    "count-words/SKILL.md",
    "count-words/assets/input.schema.json",
    "count-words/assets/output.schema.json",
    "count-words/assets/runner.json",
    "count-words/assets/scripted.yaml",
    "count-words/tests/cases.yaml",
    "name-a-release/SKILL.md",
    "name-a-release/assets/input.schema.json",
    "name-a-release/assets/output.schema.json",
    "name-a-release/assets/runner.json",
    "name-a-release/assets/scripted.yaml",
    "name-a-release/tests/cases.yaml",
    "report-on-table/SKILL.md",
    "report-on-table/assets/example.csv",
    "report-on-table/assets/output.schema.json",
    "report-on-table/assets/runner.json",
    "report-on-table/assets/scripted.yaml",
    "report-on-table/tests/cases.yaml",
];

#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("the sample skills cannot be written ({0})")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Skill(#[from] skillrun_skill::SkillError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Key(#[from] skillrun_runs::request_entries::KeyError),
}

struct Sample {
    skill: &'static str,
    mode: ExecutionMode,
    input: Value,
    files: &'static [(&'static str, &'static str)],
    /// In place of the skill's own script.
    script: Option<&'static str>,
}

/// An engine that fails in the middle.
const FAILING: &str = include_str!("demo_failing.yaml");

pub(super) fn begin(settings: &Settings, runtime: &Arc<Runtime>) -> Result<(), DemoError> {
    let folder = settings.data.skills();
    install(&folder)?;
    let samples = [
        Sample {
            skill: "report-on-table",
            mode: ExecutionMode::Auto,
            input: json!({}),
            files: &[("table", "report-on-table/assets/example.csv")],
            script: None,
        },
        Sample {
            skill: "name-a-release",
            mode: ExecutionMode::Interactive,
            input: json!({"version": "v2"}),
            files: &[],
            script: None,
        },
        Sample {
            skill: "count-words",
            mode: ExecutionMode::Auto,
            input: json!({"text": "the quick brown fox"}),
            files: &[],
            script: Some(FAILING),
        },
    ];
    for (number, sample) in samples.into_iter().enumerate() {
        // A second start with --demo does not create a second set of runs.
        let key = RequestKey::new(&format!("skillrun-demo-{}", number + 1))?;
        let script = sample.script.map(|text| written(&settings.data.uploads(), text)).transpose()?;
        let new = NewRun {
            mode: Some(sample.mode),
            input: object(sample.input),
            files: sample.files.iter().map(|(slot, path)| ((*slot).to_owned(), folder.join(path))).collect(),
            script: script.as_ref().map(|script| script.path().to_owned()),
            ..NewRun::new(Skill::load(&folder.join(sample.skill))?, ENGINE)
        };
        runtime.submit_once(&key, blake3_of(number), || Ok::<_, SubmitError>(new))?;
    }
    Ok(())
}

/// The requests of the demo never change.
fn blake3_of(number: usize) -> blake3::Hash {
    blake3::hash(&number.to_le_bytes())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn written(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(file.path(), text)?;
    Ok(file)
}

/// An existing skill is not changed.
fn install(folder: &Path) -> io::Result<()> {
    for (path, bytes) in FILES {
        let target = folder.join(path);
        if !target.exists() {
            fs::create_dir_all(target.parent().unwrap_or(folder))?;
            fs::write(target, bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is added to a sample must be added here too.
    #[test]
    fn the_samples_are_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        assert_eq!(found, FILES.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
    }
}
