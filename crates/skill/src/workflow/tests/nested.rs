//! Workflows in workflows.

use super::*;

fn nested(folder: &Folder, text: &str) -> Result<WorkflowPlan, String> {
    planned_in(folder, text, WorkflowForm::Yaml).map_err(|error| error.to_string())
}

const INNER: &str = "inputs: {n: {schema: {type: integer}}, m: {default: 1}}\nsteps: [{id: x, prompt: y}]\noutputs: {word: {from: /steps/x/text}}\n";

#[test]
fn nested_files_are_read_relative_to_their_own_folder() {
    let outer = "steps: [{id: a, workflow: sub/b.yaml}]";
    let folder = skills()
        .with("sub/b.yaml", "steps: [{id: b, workflow: ./c.json}, {id: s, skill: ../skills/free}]")
        .with("sub/c.json", r#"{"name": "c", "steps": [{"id": "x", "prompt": "y"}]}"#);
    let plan = nested(&folder, outer).unwrap();
    let StepTask::Workflow(b) = &plan.steps[0].task else { panic!("{plan:?}") };
    let StepTask::Workflow(c) = &b.steps[0].task else { panic!("{b:?}") };
    assert_eq!((b.name.as_str(), c.name.as_str()), ("b", "c"));
}

#[test]
fn inputs_and_outputs_of_a_nested_workflow_are_known() {
    let folder = skills().with("in.yaml", INNER);
    let step = |with: &str| {
        format!("inputs: {{t: {{schema: {{type: string}}}}}}\nsteps:\n- id: a\n  workflow: in.yaml\n  with: {with}\n")
    };
    assert!(nested(&folder, &step("{n: 3}")).is_ok());
    let cases = [
        (step("{}"), "flow.yaml:5: step \"a\": with: the workflow needs the input \"n\""),
        (step("{n: x}"), "flow.yaml:5: step \"a\": with.n: \"x\" is not of type \"integer\""),
        (step("{n: 1, mm: 2}"), "flow.yaml:5: step \"a\": with: the workflow has no input \"mm\"; did you mean \"m\"?"),
        (
            step("{n: {from: /inputs/t}}"),
            "flow.yaml:5: step \"a\": with.n: /inputs/t is a string, and an integer is needed there",
        ),
        (
            format!("{}outputs: {{o: {{from: /steps/a/output/words}}}}", step("{n: 3}")),
            "flow.yaml:6: outputs.o: /steps/a/output/words leads to nothing: there is no field \"words\"; did you mean \"word\"?",
        ),
        (step("{n: 3}\n  engine: codex"), "flow.yaml:6: step \"a\": engine has no meaning for a step with a workflow"),
    ];
    for (text, expected) in cases {
        assert_eq!(nested(&folder, &text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn problem_in_a_nested_file_has_its_place_there() {
    let folder = skills().with("sub/b.yaml", "name: b\nsteps:\n- {id: b, prompt: x, needs: [c]}");
    let error = nested(&folder, "steps: [{id: a, workflow: sub/b.yaml}]").unwrap_err();
    assert!(error.starts_with("sub/b.yaml:3: step \"b\": needs the step \"c\""), "{error}");
}

#[test]
fn nothing_is_read_outside_of_the_folder() {
    let outside = Folder::new().with("o.yaml", INNER);
    let folder = skills()
        .with_link("l.yaml", outside.at("o.yaml"))
        .with_link("d", outside.path())
        .with("sub/b.yaml", "steps: [{id: b, workflow: ../l.yaml}]");
    for (path, expected) in [
        ("../o.yaml", "the path has \"..\" in it"),
        ("/etc/passwd", "the path is absolute"),
        ("l.yaml", "is outside of the folder of the workflow"),
        ("d/o.yaml", "is outside of the folder of the workflow"),
        ("none.yaml", "there is no such file"),
        ("skills", "is not an ordinary file"),
    ] {
        let error = nested(&folder, &format!("steps:\n- {{id: a, workflow: {path}}}")).unwrap_err();
        let start = format!("flow.yaml:2: step \"a\": the workflow \"{path}\" cannot be used: ");
        assert!(error.starts_with(&start) && error.contains(expected), "{error}");
    }
    let error = nested(&folder, "steps: [{id: a, workflow: sub/b.yaml}]").unwrap_err();
    assert!(error.starts_with("sub/b.yaml:1: step \"b\": "), "{error}");

    let file = read("posted", "steps: [{id: a, workflow: b.yaml}]", WorkflowForm::Yaml).unwrap();
    let mut find = |_: &str, _: Option<&Path>| unreachable!("no skill is named");
    let error = plan(&file, &mut PlanContext { folder: None, find_skill: &mut find, engines: &[] }).unwrap_err();
    assert!(error.to_string().contains("a workflow without a folder cannot contain files"), "{error}");
    let file = read("posted", "steps: [{id: a, skill: ./b}]", WorkflowForm::Yaml).unwrap();
    let error = plan(&file, &mut PlanContext { folder: None, find_skill: &mut find, engines: &[] }).unwrap_err();
    assert!(error.to_string().contains("by their names alone"), "{error}");
}

#[test]
fn depth_cycles_and_totals_are_bounded() {
    let file = |next: &str| format!("steps: [{{id: a, workflow: {next}}}]");
    let cyclic = skills().with("b.yaml", file("c.yaml")).with("c.yaml", file("b.yaml"));
    let error = nested(&cyclic, &file("b.yaml")).unwrap_err();
    assert_eq!(error, "c.yaml:1: step \"a\": workflows contain each other in a cycle: b.yaml → c.yaml → b.yaml");

    let deep = (1..8)
        .fold(skills(), |folder, level| folder.with(&format!("{level}.yaml"), file(&format!("{}.yaml", level + 1))));
    let deep = deep.with("8.yaml", "steps: [{id: a, prompt: x}]");
    for (first, fits) in [(6, true), (5, true), (4, false)] {
        let result = nested(&deep, &file(&format!("{first}.yaml")));
        assert_eq!(result.is_ok(), fits, "{first}: {result:?}");
        assert!(fits || result.unwrap_err().ends_with("workflows are nested more than 4 deep"));
    }
    // 5.yaml is read first where it is allowed, and is then one level too deep.
    let error = nested(&deep, "steps: [{id: a, workflow: 5.yaml}, {id: b, workflow: 4.yaml}]").unwrap_err();
    assert!(error.ends_with("workflows are nested more than 4 deep"), "{error}");

    let steps: String = (0..5_000).map(|number| format!("- {{id: s{number}, prompt: x}}\n")).collect();
    let wide = skills().with("w.yaml", format!("steps:\n{steps}"));
    assert!(nested(&wide, &file("w.yaml")).is_ok());
    let error = nested(&wide, "steps: [{id: a, workflow: w.yaml}, {id: b, workflow: w.yaml}]").unwrap_err();
    assert_eq!(
        error,
        "flow.yaml:1: step \"b\": the workflow has 10002 steps with those of the workflows in it, and the limit is 10000"
    );

    let large = skills().with("l.yaml", format!("steps: [{{id: a, prompt: {}}}]", "x".repeat(3 << 20)));
    let uses: String = (0..6).map(|number| format!("- {{id: s{number}, workflow: l.yaml}}\n")).collect();
    let error = nested(&large, &format!("steps:\n{uses}")).unwrap_err();
    assert!(error.contains("larger than 16777216 bytes"), "{error}");
}
