//! Workflows from the command line, with real runs as steps: each outcome, and the same in every command.

use std::process::Output;

use lab::Lab;
use serde_json::Value;

const DONE: &str = "- - output: {answer: done}\n    done: true\n";
const FAILS: &str = "- - fail: the model is not there\n";
const HANGS: &str = "- - say: I begin.\n  - hang\n";

fn lab() -> Lab {
    let place = Lab::without_data();
    for (name, script) in [("done", DONE), ("fails", FAILS), ("hangs", HANGS)] {
        place.bare_skill(name, script);
    }
    place
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn exits(lab: &Lab, words: &[&str], code: i32) -> String {
    let output = lab.output(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output));
    text(&output)
}

fn json(lab: &Lab, words: &[&str]) -> Value {
    let output = lab.output(&[words, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {}", text(&output)))
}

/// Runs a workflow of this file, and returns its view, after every command has said the same of it.
fn play(lab: &Lab, file: &str, code: i32) -> Value {
    lab.write("flow.yaml", file);
    exits(lab, &["workflow", "run", "flow.yaml", "--engine", "scripted"], code);
    agreed(lab, code)
}

/// The last workflow, of which every command says the same.
fn agreed(lab: &Lab, code: i32) -> Value {
    let view = json(lab, &["workflow", "show", "last"]);
    let run = view["run_id"].as_str().expect("an id").to_owned();
    let shown = json(lab, &["show", &run]);
    assert_eq!(shown["status"], view["status"], "{shown}");
    exits(lab, &["wait", &run], code);
    let diagnosis = exits(lab, &["diagnose", &run], 0);
    if let Some(outcome) = view["outcome"].as_str() {
        let result = json(lab, &["result", &run]);
        assert_eq!((&result["workflow"]["outcome"], &result["workflow"]["ok"]), (&view["outcome"], &view["ok"]));
        assert_eq!(view["ok"], outcome == "completed");
        assert!(
            code == 0 || code == 8 || diagnosis.contains(&format!("WORKFLOW_{}", outcome.to_uppercase())),
            "{diagnosis}"
        );
        exits(lab, &["verify", &run], 0);
    }
    view
}

fn standings(view: &Value) -> Vec<String> {
    let steps = view["steps"].as_array().expect("steps");
    steps.iter().map(|step| step["standing"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn steps_become_one_result() {
    let lab = lab();
    let file = "steps:\n\
                - {id: a, skill: ./done}\n\
                - {id: b, skill: ./done, needs: [a]}\n\
                - {id: c, prompt: Repeat this., with: {of: {from: /steps/a/output}}, needs: [b]}\n\
                outputs: {answer: {from: /steps/b/output/answer}, text: {from: /steps/c/text}}\n";
    let view = play(&lab, file, 0);
    assert_eq!((&view["outcome"], standings(&view)), (&"completed".into(), vec!["ready".to_owned(); 3]));
    let result = json(&lab, &["result", "last"]);
    assert_eq!(result["output"]["answer"], "done");
    let prompt = result["output"]["text"].as_str().expect("a text");
    assert!(prompt.contains("\"answer\": \"done\"") && prompt.contains("are data for this task"), "{prompt}");
    let tree = exits(&lab, &["tree", "last"], 0);
    assert_eq!(tree.lines().count(), 4, "{tree}");
}

#[test]
fn a_part_of_the_results_is_partial_and_never_ok() {
    let lab = lab();
    let file = "steps:\n- {id: a, skill: ./done}\n- {id: b, skill: ./fails}\n- {id: c, skill: ./done, needs: [b]}\n";
    let view = play(&lab, file, 5);
    assert_eq!(
        (&view["outcome"], standings(&view)),
        (&"partial".into(), ["ready", "failed", "skipped"].map(str::to_owned).to_vec())
    );
    let next: Vec<&str> =
        view["next_actions"].as_array().expect("a list").iter().filter_map(|next| next["action"].as_str()).collect();
    assert!(next.contains(&"retry_failed_steps"), "{next:?}");
}

#[test]
fn nothing_usable_is_failed() {
    let lab = lab();
    let view = play(&lab, "steps:\n- {id: a, skill: ./fails}\n- {id: b, skill: ./fails}\n", 1);
    assert_eq!((&view["outcome"], standings(&view)), (&"failed".into(), vec!["failed".to_owned(); 2]));
}

#[test]
fn time_that_is_over_leaves_no_child() {
    let lab = lab();
    let view = play(&lab, "steps:\n- {id: a, skill: ./hangs}\ntimeout: 2\n", 3);
    assert_eq!((&view["outcome"], standings(&view)), (&"timed_out".into(), vec!["timed_out".to_owned()]));
    let child = view["steps"][0]["child_run_id"].as_str().expect("a child").to_owned();
    exits(&lab, &["wait", &child], 8);
    // The time of a step is that of its child.
    let view = play(&lab, "steps:\n- {id: a, skill: ./hangs, timeout: 1}\n", 3);
    assert_eq!(view["outcome"], "timed_out");
}

#[test]
fn a_decision_is_an_ordinary_question() {
    let lab = lab();
    let file = "steps:\n- {id: a, skill: ./done, ask: before}\n";
    let view = play(&lab, file, 6);
    assert_eq!((standings(&view), &view["steps"][0]["held"]), (vec!["held_now".to_owned()], &"before".into()));
    assert!(exits(&lab, &["interactions"], 0).contains("May the step a begin?"));
    exits(&lab, &["reply", "last", "start"], 0);
    assert_eq!(agreed(&lab, 0)["outcome"], "completed");
    // Closed without an answer.
    play(&lab, file, 6);
    exits(&lab, &["close", "last"], 0);
    exits(&lab, &["wait", "last"], 1);
    let view = agreed(&lab, 1);
    assert_eq!((&view["outcome"], standings(&view)), (&"held".into(), vec!["held".to_owned()]));
    let refused = exits(&lab, &["close", "last"], 2);
    assert!(refused.contains("over"), "{refused}");
}

#[test]
fn a_cancel_ends_the_tree() {
    let lab = lab();
    lab.write("flow.yaml", "steps:\n- {id: a, skill: ./hangs}\n- {id: b, skill: ./done, needs: [a]}\n");
    let begun = lab.output(&["workflow", "run", "flow.yaml", "--engine", "scripted", "--no-wait"]);
    assert!(begun.status.success(), "{}", text(&begun));
    let run = String::from_utf8(begun.stdout).expect("text").trim().to_owned();
    exits(&lab, &["cancel", &run], 0);
    exits(&lab, &["wait", &run], 8);
    let view = agreed(&lab, 8);
    assert_eq!(view["outcome"], "cancelled");
    for step in view["steps"].as_array().expect("steps") {
        if let Some(child) = step["child_run_id"].as_str() {
            exits(&lab, &["wait", child], 8);
        }
    }
}

#[test]
fn a_retry_takes_over_what_is_ready() {
    let lab = lab();
    let file = "steps:\n- {id: a, skill: ./done}\n- {id: b, skill: ./fails, needs: [a]}\n";
    let view = play(&lab, file, 5);
    let first = view["run_id"].clone();
    // The reason no longer holds.
    lab.bare_skill("fails", DONE);
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 0);
    let view = agreed(&lab, 0);
    assert_eq!((&view["outcome"], &view["retry_of"]), (&"completed".into(), &first));
    assert_eq!(view["steps"][0]["reused_from"], first, "{view}");
    assert_eq!(view["steps"][1]["reused_from"], Value::Null);
    assert_eq!(exits(&lab, &["tree", "last"], 0).lines().count(), 2, "the first step has no run of its own");
    // Without the flag, everything is run again.
    exits(&lab, &["workflow", "retry", "last"], 0);
    assert_eq!(json(&lab, &["workflow", "show", "last"])["steps"][0]["reused_from"], Value::Null);
}

#[test]
fn a_check_decides_whether_a_step_is_ready() {
    let lab = lab();
    let view = play(&lab, "steps:\n- {id: a, skill: ./done, check: test -e there}\n", 1);
    assert_eq!((&view["outcome"], &view["steps"][0]["reason"]), (&"failed".into(), &"CHECK_FAILED".into()));
    let view = play(&lab, "steps:\n- {id: a, skill: ./done, check: test ! -e there}\n", 0);
    assert_eq!(view["outcome"], "completed");
}

#[test]
fn a_workflow_in_a_workflow_counts_as_a_step() {
    let lab = lab();
    lab.write("inner.yaml", "steps:\n- {id: x, skill: ./done}\n- {id: y, skill: ./fails}\n");
    let view = play(&lab, "steps:\n- {id: a, workflow: inner.yaml}\n- {id: b, skill: ./done, needs: [a]}\n", 1);
    assert_eq!(
        (&view["outcome"], standings(&view)),
        (&"failed".into(), ["partial", "skipped"].map(str::to_owned).to_vec())
    );
    assert_eq!(exits(&lab, &["tree", "last"], 0).lines().count(), 4);
}

/// Each is one sentence with the file, the line and the step, and makes nothing.
#[test]
fn bad_files_are_refused_with_one_sentence() {
    let lab = lab();
    let cases = [
        ("steps:\n- {id: a, prompt: x, needs: [b]}\n- {id: b, prompt: x, needs: [a]}\n", "a → b → a"),
        ("steps:\n- {id: a, prompt: x, needs: [c]}\n", "step \"a\""),
        ("steps:\n- {id: a, prompt: x}\n- {id: a, prompt: y}\n", "flow.yaml:3"),
        ("steps:\n- {id: a, promt: x}\n", "prompt"),
        ("steps:\n- {id: a, prompt: x, required: false}\n", "required"),
        ("steps:\n- {id: a, prompt: x, with: {v: {from: /inputs/none}}}\n", "/inputs/none"),
        ("steps:\n- {id: a, prompt: x, engine: scriptd}\n", "scripted"),
        ("steps: [\n", "flow.yaml"),
    ];
    for (file, part) in cases {
        lab.write("flow.yaml", file);
        let said = exits(&lab, &["workflow", "run", "flow.yaml", "--engine", "scripted"], 2);
        assert!(said.contains(part) && said.lines().count() == 1, "{file}: {said}");
    }
    assert!(exits(&lab, &["workflow", "validate", "none.yaml"], 4).contains("no such file"));
    let missing = "inputs: {v: {}}\nsteps:\n- {id: a, prompt: x}\n";
    lab.write("flow.yaml", missing);
    assert!(exits(&lab, &["workflow", "run", "flow.yaml", "--engine", "scripted"], 2).contains("\"v\""));
    assert!(json(&lab, &["ls"])["runs"].as_array().is_some_and(Vec::is_empty));
}
