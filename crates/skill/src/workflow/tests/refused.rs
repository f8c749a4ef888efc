//! Every file that is refused: one sentence with file, line and step.

use super::*;

/// The sentence about a file.
fn refused(text: &str) -> String {
    let error = planned(text).expect_err(text).to_string();
    assert!(!error.contains('\n') && error.len() < 1200, "{error}");
    error
}

#[test]
fn each_problem_has_its_sentence() {
    let step = |more: &str| format!("steps:\n  - id: a\n    prompt: x\n    {more}\n");
    let two = |more: &str| format!("steps:\n  - id: list\n    skill: list\n    with: {{topic: x}}\n  - id: b\n{more}");
    let cases: Vec<(String, &str)> = vec![
        ("stebs: []".into(), "flow.yaml:1: stebs: there is no such key; did you mean \"steps\"?"),
        ("name: x".into(), "flow.yaml:1: steps is missing"),
        ("name: x\nsteps: []".into(), "flow.yaml:2: the workflow has no steps"),
        ("- a".into(), "flow.yaml:1: must be a mapping, and is a list"),
        (step("need: [a]"), "flow.yaml:4: step \"a\": need: there is no such key; did you mean \"needs\"?"),
        (step("required: no"), "flow.yaml:4: step \"a\": required must be true or false, and is a string"),
        (step("required: false"), "flow.yaml:1: no step is required; leave \"required\" out of at least one"),
        (
            step("timeout: 2 weeks"),
            "flow.yaml:4: step \"a\": timeout must be a time above 0 of at most 365 days, in seconds or such as 90s, 10m, 2h or 1d, and is \"2 weeks\"",
        ),
        (step("retries: {max: 200}"), "flow.yaml:4: step \"a\": retries.max must be a whole number from 0 to 100, and is 200"),
        (step("retries: {on: [quota]}"), "flow.yaml:4: step \"a\": retries.max is missing"),
        (
            step("retries:\n      max: 1\n      on: [crash]"),
            "flow.yaml:6: step \"a\": retries.on: \"crash\" is not known here; the known ones are: quota, network, host_lost",
        ),
        (
            step("on_failure: stopp"),
            "flow.yaml:4: step \"a\": on_failure: \"stopp\" is not known here; did you mean \"stop\"?",
        ),
        (
            step("ask: during"),
            "flow.yaml:4: step \"a\": ask: \"during\" is not known here; the known ones are: before, after",
        ),
        (
            step("permission: readonly"),
            "flow.yaml:4: step \"a\": permission: \"readonly\" is not known here; did you mean \"read_only\"?",
        ),
        (step("skill: free"), "flow.yaml:3: step \"a\": skill and prompt exclude each other; give one of them"),
        ("steps:\n- id: a".into(), "flow.yaml:2: step \"a\": there is nothing to do; give one of skill, prompt and workflow"),
        ("steps:\n- prompt: a".into(), "flow.yaml:2: step 1: id is missing"),
        (
            "steps:\n- {id: a, prompt: x}\n- {prompt: a, id: a/b}".into(),
            "flow.yaml:3: step 2: the id \"a/b\" is not usable; use up to 64 letters, digits, \"-\" and \"_\", and begin with a letter or digit",
        ),
        (
            "steps:\n- {id: a, prompt: x}\n- {id: b, prompt: x}\n-\n  id: a\n  prompt: x".into(),
            "flow.yaml:5: step \"a\": another step, on line 2, has the same id",
        ),
        (
            "inputs: {a b: }\nsteps: [{id: a, prompt: x}]".into(),
            "flow.yaml:1: the name of an input, \"a b\", is not usable; use up to 64 letters, digits, \"-\" and \"_\", and begin with a letter or digit",
        ),
        (step("engine: codx"), "flow.yaml:4: step \"a\": there is no engine \"codx\"; did you mean \"codex\"?"),
        (
            step("engines: [codex, gpt]"),
            "flow.yaml:4: step \"a\": there is no engine \"gpt\"; the known ones are: codex, claude, scripted",
        ),
        (step("engines: [codex, codex]"), "flow.yaml:4: step \"a\": engines names \"codex\" twice"),
        (
            step("engine: codex\n    engines: [claude]"),
            "flow.yaml:5: step \"a\": engine and engines exclude each other; give one of them",
        ),
        (
            "steps:\n- {id: a, prompt: x}\n- id: b\n  prompt: x\n  needs:\n  - a\n  - aa".into(),
            "flow.yaml:7: step \"b\": needs the step \"aa\", which does not exist; did you mean \"a\"?",
        ),
        (step("needs: [a]"), "flow.yaml:4: step \"a\": steps need each other in a cycle: a → a"),
        (
            "steps:\n- {id: c, prompt: x, needs: [b]}\n- {id: a, prompt: x, needs: [b]}\n- {id: b, prompt: x, with: {v: {from: /steps/a/text}}}".into(),
            "flow.yaml:4: step \"b\": steps need each other in a cycle: b → a → b",
        ),
        (
            step("with: {v: [1, {from: /input/x}]}"),
            "flow.yaml:4: step \"a\": with.v.1: \"/input/x\" is not a pointer; it must be /inputs/NAME, /steps/ID/output, /steps/ID/text or /item, and a pointer into an input, an output or an item may continue",
        ),
        (
            format!("inputs: {{topic: }}\n{}", step("with:\n      v: {from: /inputs/topics}")),
            "flow.yaml:6: step \"a\": with.v: /inputs/topics leads to nothing: there is no input \"topics\"; did you mean \"topic\"?",
        ),
        (
            step("with: {v: {from: /steps/z/output}}"),
            "flow.yaml:4: step \"a\": with.v: /steps/z/output leads to nothing: there is no step \"z\"; did you mean \"a\"?",
        ),
        (
            step("with: {v: {from: /item}}"),
            "flow.yaml:4: step \"a\": with.v: /item has a meaning only in a step with for_each",
        ),
        (
            two("    prompt: x\n    with:\n      w: 1\n      v: {from: /steps/list/output/item}\n"),
            "flow.yaml:9: step \"b\": with.v: /steps/list/output/item leads to nothing: there is no field \"item\"; did you mean \"items\"?",
        ),
        (
            two("    prompt: x\n    with: {v: {from: /steps/list/output/items/0/x}}\n"),
            "flow.yaml:7: step \"b\": with.v: /steps/list/output/items/0/x leads to nothing: there is no field \"x\"",
        ),
        (
            two("    skill: list\n    with: {topic: {from: /steps/list/output/items}}\n"),
            "flow.yaml:7: step \"b\": with.topic: /steps/list/output/items is a list, and a string is needed there",
        ),
        (
            two("    skill: list\n    with:\n      count: many\n      topic: {from: /steps/list/text}\n"),
            "flow.yaml:8: step \"b\": with.count: \"many\" is not of type \"integer\"",
        ),
        (two("    skill: list\n"), "flow.yaml:5: step \"b\": with: \"topic\" is a required property"),
        (
            format!("inputs: {{n: {{default: 3}}}}\n{}", two("    skill: list\n    with: {topic: {from: /inputs/n}}\n")),
            "flow.yaml:8: step \"b\": with.topic: 3 is not of type \"string\"",
        ),
        (
            two("    skill: list\n    for_each: [a, b, 3]\n    with: {topic: {from: /item}}\n"),
            "flow.yaml:8: step \"b\": with.topic: 3 is not of type \"string\"",
        ),
        (
            two("    prompt: x\n    for_each: {from: /steps/list/text}\n"),
            "flow.yaml:7: step \"b\": for_each: /steps/list/text is a string, and a list is needed there",
        ),
        (
            two("    prompt: x\n    for_each: {from: /steps/list/output/items}\n    with: {v: {from: /item/name}}\n"),
            "flow.yaml:8: step \"b\": with.v: /item/name leads to nothing: there is no field \"name\"",
        ),
        (
            step("for_each: {from: here}"),
            "flow.yaml:4: step \"a\": for_each must be a list, or a pointer to one such as {from: /inputs/NAME}, and is a mapping",
        ),
        (
            "steps:\n- {id: a, prompt: x, for_each: [1]}\n- {id: b, prompt: x, with: {v: {from: /steps/a/output/word}}}".into(),
            "flow.yaml:3: step \"b\": with.v: /steps/a/output/word leads to nothing: there is no item \"word\"",
        ),
        (
            format!("outputs:\n  v: 1\n  w: [{{from: /steps/b/text}}]\n{}", step("")),
            "flow.yaml:3: outputs.w.0: /steps/b/text leads to nothing: there is no step \"b\"; did you mean \"a\"?",
        ),
        (
            format!("outputs: {{w: {{from: /item}}}}\n{}", step("")),
            "flow.yaml:1: outputs.w: /item has a meaning only in a step with for_each",
        ),
        (
            format!("inputs:\n  n:\n    schema: {{type: integer}}\n    default: x\n{}", step("")),
            "flow.yaml:4: inputs.n.default: \"x\" is not of type \"integer\"",
        ),
        (
            step("output:\n      schema: {type: mystery}"),
            "flow.yaml:5: step \"a\": output.schema: this is not a JSON Schema: \"mystery\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        (
            step("output: {artifacts: [../x]}"),
            "flow.yaml:4: step \"a\": output.artifacts has the path \"../x\", which has \"..\" in it; it must stay inside the workspace",
        ),
        (
            two("    skill: free\n    output: {schema: {}}\n"),
            "flow.yaml:7: step \"b\": output.schema has no meaning for a step with a skill",
        ),
        (step("check: [3]"), "flow.yaml:4: step \"a\": check must be a command, or a list of commands or of {command, timeout}, and is a number"),
        (step("concurrency: 3"), "flow.yaml:4: step \"a\": concurrency: there is no such key; the known ones are: id, skill, prompt, workflow, engine, engines, model, needs, with, for_each, required, timeout, retries, on_failure, ask, permission, workspace, output, check"),
        ("concurrency: 0\nsteps: [{id: a, prompt: x}]".into(), "flow.yaml:1: concurrency must be a whole number from 1 to 256, and is 0"),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let said = refused(&text);
        if said != expected {
            wrong.push(format!("{text}\n  said:     {said}\n  expected: {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_of_json_are_found_too() {
    let text = "{\n \"steps\": [\n  {\"id\": \"a\", \"prompt\": \"x\"},\n  {\"id\": \"b\",\n   \"needs\": [\"c\"],\n   \"prompt\": \"x\"}\n ]\n}";
    let error = planned_in(&skills(), text, WorkflowForm::Json).unwrap_err().to_string();
    assert!(error.starts_with("flow.yaml:5: step \"b\": needs the step \"c\""), "{error}");
    let error = planned_in(&skills(), "{\n\"steps\": [\n}", WorkflowForm::Json).unwrap_err().to_string();
    assert_eq!(error, "flow.yaml:3: is not JSON: expected value");
}

#[test]
fn skill_that_cannot_be_used_is_named() {
    let error = refused("steps:\n- {id: a, skill: lst}");
    assert!(
        error.starts_with("flow.yaml:2: step \"a\": the skill \"lst\" cannot be used: there is no skill"),
        "{error}"
    );
    let folder = skills().with("skills/bad/SKILL.md", "---\nname: bad\ndescription: D.\n---\nx");
    let folder = folder.with("skills/bad/assets/runner.json", r#"{"max_attempt": 0}"#);
    let error =
        planned_in(&folder, "steps: [{id: a, skill: ./skills/bad}]", WorkflowForm::Yaml).unwrap_err().to_string();
    assert!(
        error.contains("step \"a\": the skill \"./skills/bad\" cannot be used: ") && error.contains("max_attempt"),
        "{error}"
    );
}

#[test]
fn syntax_errors_have_a_line() {
    let error = refused("name: x\nsteps: [\n");
    assert!(error.starts_with("flow.yaml:") && error.contains(": is not usable YAML: "), "{error}");
    let error = refused("name: x\nname: y\nsteps: []\n");
    assert!(error.starts_with("flow.yaml:2: is not usable YAML: "), "{error}");
}

#[test]
fn only_what_is_certain_is_refused() {
    for text in [
        // `note` is declared without a type, and the skill `free` has no schemas.
        "steps: [{id: a, skill: list, with: {topic: x}}, {id: b, skill: list, with: {topic: {from: /steps/a/output/note/any}}}]",
        "steps: [{id: a, skill: free}, {id: b, skill: list, with: {topic: {from: /steps/a/output/x/y/0}}}]",
        "steps: [{id: a, skill: free, for_each: [1, 2]}, {id: b, prompt: x, with: {v: {from: /steps/a/output/0/x}, w: {from: /steps/a/text}}}]",
        "inputs: {t: {schema: {type: [string, integer]}}}\nsteps: [{id: a, skill: list, with: {topic: {from: /inputs/t}}}]",
        "steps: [{id: a, prompt: x, with: {v: {from: here}, w: {from: /a, to: /b}}}]",
    ] {
        planned(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}
