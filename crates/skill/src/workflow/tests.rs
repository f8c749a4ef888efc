//! Files as users write them: what becomes of them, and in which sentence what is wrong is reported.

mod examples;
mod nested;
mod refused;
mod scale;

use std::path::Path;

use serde_json::{Map, Value, json};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{
    AskMoment, OnStepFailure, RetryCause, StepTask, StepWorkspace, WorkflowPlan, WorkflowStep,
};

use super::{PlanContext, WorkflowError, WorkflowForm, inputs_of, plan, read};
use crate::search::{SearchFolder, SearchPath, SkillOrigin};
use crate::testing::Folder;

/// Engines that exist in these tests.
const ENGINES: [&str; 3] = ["codex", "claude", "scripted"];

/// The plan of a text, with the skills in the folder `skills` and the folder as that of the file.
fn planned_in(folder: &Folder, text: &str, form: WorkflowForm) -> Result<WorkflowPlan, WorkflowError> {
    let file = read("flow.yaml", text, form)?;
    let path = SearchPath::new(vec![SearchFolder { path: folder.at("skills"), origin: SkillOrigin::Project }]);
    let mut find_skill = |name: &str, base: Option<&Path>| path.resolve(name, base.unwrap_or(Path::new("/none")));
    let engines = ENGINES.map(str::to_owned);
    plan(&file, &mut PlanContext { folder: Some(folder.path()), find_skill: &mut find_skill, engines: &engines })
}

fn planned(text: &str) -> Result<WorkflowPlan, WorkflowError> {
    planned_in(&skills(), text, WorkflowForm::Yaml)
}

/// A skill `list` that needs `{topic: string}` and returns `{items: [string], note?: …}`, and a skill `free` without
/// schemas.
fn skills() -> Folder {
    Folder::new()
        .with_skill("skills/list")
        .with("skills/list/assets/runner.json", r#"{"schemas": {"input": "assets/i.json", "output": "assets/o.json"}}"#)
        .with(
            "skills/list/assets/i.json",
            r#"{"type": "object", "properties": {"topic": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["topic"], "additionalProperties": false}"#,
        )
        .with(
            "skills/list/assets/o.json",
            r#"{"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}, "note": {}},
                "required": ["items"], "additionalProperties": false}"#,
        )
        .with_skill("skills/free")
}

/// How the steps of a plan need each other.
fn needs(plan: &WorkflowPlan) -> Vec<String> {
    let needs = |step: &WorkflowStep| step.needs.iter().map(|need| need.0.clone()).collect::<Vec<_>>().join(",");
    plan.steps.iter().map(|step| format!("{}<{}", step.id, needs(step))).collect()
}

const WHOLE: &str = r#"
name: whole
description: Every key.
inputs:
  topic: {description: About what., schema: {type: string}, default: rivers}
  plain:
concurrency: 3
timeout: 2h
steps:
  - id: list
    skill: list
    engines: [codex, claude]
    model: large
    with: {topic: {from: /inputs/topic}}
    timeout: 90s
    retries: {max: 2, on: [quota, network]}
    on_failure: hold
    ask: after
    permission: read_only
    workspace: shared
    output: {artifacts: [out/a.md]}
    check: make test
  - id: each
    prompt: Say something.
    engine: scripted
    for_each: {from: /steps/list/output/items}
    with: {item: {from: /item}, plain: [{from: /inputs/plain/deep}]}
    required: false
    needs: [free]
    output: {schema: {type: object, properties: {word: {type: string}}}}
    check: [one, {command: two, timeout: 10}]
  - id: free
    skill: skills/free
    with: {texts: {from: /steps/list/text}}
outputs:
  words: {from: /steps/each/output}
  first: {from: /steps/each/output/0/word}
"#;

#[test]
fn every_key_arrives_in_the_plan() {
    let plan = planned(WHOLE).unwrap();
    assert_eq!((plan.name.as_str(), plan.description.as_deref()), ("whole", Some("Every key.")));
    assert_eq!((plan.concurrency, plan.timeout_sec), (3, Some(7200.0)));
    assert_eq!(plan.inputs["topic"].default, Some(json!("rivers")));
    assert_eq!((&plan.inputs["plain"].default, &plan.inputs["plain"].schema), (&None, &None));
    assert_eq!(needs(&plan), ["list<", "each<free,list", "free<list"]);
    let [list, each, free] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert!(matches!(&list.task, StepTask::Skill { name, hash, source }
        if name == "list" && hash.len() == 64 && source.ends_with("/skills/list")));
    assert_eq!((list.engines.join(","), list.model.as_deref()), ("codex,claude".to_owned(), Some("large")));
    assert_eq!((list.required, list.timeout_sec, list.on_failure), (true, Some(90.0), OnStepFailure::Hold));
    assert_eq!(
        (list.retries.max, list.retries.on.as_slice()),
        (2, [RetryCause::Quota, RetryCause::Network].as_slice())
    );
    assert_eq!((list.ask, list.permission), (Some(AskMoment::After), Some(Permission::ReadOnly)));
    assert_eq!((list.workspace, list.output.artifacts.join(",")), (StepWorkspace::Shared, "out/a.md".to_owned()));
    assert_eq!(list.checks[0].command, "make test");
    assert_eq!((&each.task, each.required), (&StepTask::Prompt("Say something.".to_owned()), false));
    assert_eq!((each.on_failure, each.workspace), (OnStepFailure::Continue, StepWorkspace::Own));
    assert_eq!(each.for_each, Some(json!({"from": "/steps/list/output/items"})));
    assert_eq!((each.checks[1].command.as_str(), each.checks[1].timeout_sec), ("two", Some(10.0)));
    assert_eq!(each.output.schema, Some(json!({"type": "object", "properties": {"word": {"type": "string"}}})));
    assert_eq!((free.engines.len(), free.retries.max, free.on_failure), (0, 0, OnStepFailure::Stop));
    assert!(matches!(&free.task, StepTask::Skill { name, .. } if name == "skills/free"), "a path is found too");
}

#[test]
fn json_and_yaml_are_the_same() {
    let value: Value = skillrun_base::yaml::parse(WHOLE, WHOLE.len(), skillrun_base::yaml::YamlSize::Workflow).unwrap();
    let folder = skills();
    let from_json = planned_in(&folder, &format!("{value:#}"), WorkflowForm::Json).unwrap();
    assert_eq!(from_json, planned_in(&folder, WHOLE, WorkflowForm::Yaml).unwrap());
    assert_eq!(WorkflowForm::of(Path::new("a.JSON")), WorkflowForm::Json);
    assert_eq!(WorkflowForm::of(Path::new("a.yml")), WorkflowForm::Yaml);
}

#[test]
fn defaults_are_few_and_fixed() {
    let plan = planned("steps: [{id: a, prompt: x}, {id: b, prompt: y, retries: {max: 1}}]").unwrap();
    assert_eq!((plan.name.as_str(), plan.concurrency, plan.timeout_sec), ("flow", 8, None), "named after its file");
    assert_eq!(plan.steps[0].retries.on, []);
    assert_eq!(plan.steps[1].retries.on, RetryCause::ALL);
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn inputs_are_completed_and_checked() {
    let plan = planned(WHOLE).unwrap();
    let inputs = |given: Value| inputs_of(&plan, object(given)).map(Value::Object).map_err(|error| error.to_string());
    assert_eq!(inputs(json!({"plain": [1]})), Ok(json!({"plain": [1], "topic": "rivers"})));
    assert_eq!(inputs(json!({"plain": null, "topic": "x"})), Ok(json!({"plain": null, "topic": "x"})));
    let refused = [
        (json!({}), "the workflow needs the input \"plain\""),
        (json!({"plain": 1, "topics": 2}), "the workflow has no input \"topics\"; did you mean \"topic\"?"),
        (json!({"plain": 1, "zebra": 2}), "the workflow has no input \"zebra\"; the known ones are: plain, topic"),
        (json!({"plain": 1, "topic": 2}), "input topic: 2 is not of type \"string\""),
    ];
    for (given, expected) in refused {
        assert_eq!(inputs(given), Err(expected.to_owned()));
    }
    let none = planned("steps: [{id: a, prompt: x}]").unwrap();
    let error = inputs_of(&none, object(json!({"x": 1}))).unwrap_err().to_string();
    assert_eq!(error, "the workflow has no input \"x\"");
}
