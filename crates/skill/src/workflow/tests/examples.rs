//! The example workflows and the published schema: both are true of the reader.

use std::fs;

use super::*;
use crate::schema::Schema;
use crate::workflow::file::{CHECK_KEYS, FILE_KEYS, INPUT_KEYS, OUTPUT_KEYS, RETRIES_KEYS, STEP_KEYS};
use crate::workflow::{read_file, schema};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn example_files() -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(workspace().join("examples/workflows")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    files
}

#[test]
fn examples_are_accepted_and_fit_the_schema() {
    let compiled = Schema::compile(&schema::schema()).unwrap();
    let mut seen = Vec::new();
    for path in example_files() {
        let file = read_file(&path).unwrap_or_else(|error| panic!("{error}"));
        let search = SearchPath::new(Vec::new());
        let mut find = |name: &str, base: Option<&Path>| search.resolve(name, base.unwrap());
        let engines = ENGINES.map(str::to_owned);
        let context = &mut PlanContext { folder: path.parent(), find_skill: &mut find, engines: &engines };
        let plan = plan(&file, context).unwrap_or_else(|error| panic!("{error}"));
        inputs_of(&plan, Map::new()).expect("all inputs have defaults");
        seen.push((plan.name.clone(), needs(&plan).join(" ")));
        let text = fs::read_to_string(&path).unwrap();
        let value: Value =
            skillrun_base::yaml::parse(&text, text.len(), skillrun_base::yaml::YamlSize::Workflow).unwrap();
        assert_eq!(compiled.problems(&value), [], "{}", path.display());
    }
    let expected = [
        ("count-texts", "count< summarize<count"),
        ("review", "correctness< security< tests< judge<correctness,security,tests"),
    ];
    assert_eq!(seen, expected.map(|(name, needs)| (name.to_owned(), needs.to_owned())));
}

#[test]
fn committed_schema_is_the_one_that_is_printed() {
    let committed = fs::read_to_string(workspace().join("schemas/workflow.schema.json")).unwrap_or_default();
    assert!(committed == format!("{:#}\n", schema::schema()), "stale; `make schemas` regenerates it");
}

#[test]
fn schema_and_guide_have_every_key_of_the_reader() {
    let schema = schema::schema();
    let guide = fs::read_to_string(workspace().join("docs/workflows.md")).unwrap_or_default();
    let places = [
        ("/properties", FILE_KEYS),
        ("/$defs/input/properties", INPUT_KEYS),
        ("/$defs/step/properties", STEP_KEYS),
        ("/$defs/step/properties/retries/properties", RETRIES_KEYS),
        ("/$defs/step/properties/output/properties", OUTPUT_KEYS),
        ("/$defs/check/anyOf/1/properties", CHECK_KEYS),
    ];
    for (place, keys) in places {
        let properties = schema.pointer(place).and_then(Value::as_object).unwrap_or_else(|| panic!("{place}"));
        assert_eq!(properties.keys().map(String::as_str).collect::<Vec<_>>(), keys, "{place}");
        for key in keys {
            assert!(guide.contains(&format!("`{key}`")), "docs/workflows.md does not explain {key}");
        }
    }
}

/// Each with the verdicts of the reader and of the schema, which knows no limits between keys.
#[test]
fn schema_agrees_with_the_reader() {
    let compiled = Schema::compile(&schema::schema()).unwrap();
    let step = |more: Value| {
        let mut step = object(json!({"id": "a", "prompt": "x"}));
        step.extend(object(more));
        json!({"steps": [step]})
    };
    let cases = [
        (step(json!({})), true),
        (json!({"steps": []}), false),
        (json!({}), false),
        (step(json!({"skill": "s"})), false),
        (step(json!({"id": "-a"})), false),
        (step(json!({"need": []})), false),
        (step(json!({"timeout": "90s", "retries": {"max": 1}})), true),
        (step(json!({"timeout": "soon"})), false),
        (step(json!({"timeout": 0})), false),
        (step(json!({"check": ["a", {"command": "b", "timeout": 3}]})), true),
        (step(json!({"check": {"comand": "b"}})), false),
        (step(json!({"for_each": {"from": "/inputs/x"}})), true),
        (step(json!({"for_each": "x"})), false),
        (step(json!({"ask": "before", "on_failure": "hold", "permission": "read_only", "workspace": "shared"})), true),
        (step(json!({"ask": "later"})), false),
        (step(json!({"engines": []})), false),
        (step(json!({"output": {"schema": {}, "artifacts": ["a"]}})), true),
        (step(json!({"retries": {"on": ["quota"]}})), false),
    ];
    for (file, fits) in cases {
        let read = read("f", &file.to_string(), WorkflowForm::Json);
        assert_eq!((read.is_ok(), compiled.problems(&file).is_empty()), (fits, fits), "{file}: {read:?}");
    }
    let whole: Value = skillrun_base::yaml::parse(WHOLE, WHOLE.len(), skillrun_base::yaml::YamlSize::Workflow).unwrap();
    assert_eq!(compiled.problems(&whole), []);
}
