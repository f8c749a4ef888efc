//! Workflows from the command line, with real runs as steps: each outcome, and the same in every command.

use std::fs;
use std::process::{Output, Stdio};

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

/// Consents to the checks of the file.
fn agree(lab: &Lab) -> String {
    let validated = json(lab, &["workflow", "validate", "flow.yaml", "--engine", "scripted"]);
    let name = validated["consent"].as_str().expect("a name").to_owned();
    exits(lab, &["consent", &name, "--yes"], 0);
    name
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
    let play = |file: &str, code: i32| {
        lab.write("flow.yaml", file);
        agree(&lab);
        play(&lab, file, code)
    };
    let view = play("steps:\n- {id: a, skill: ./done, check: test -e there}\n", 1);
    assert_eq!((&view["outcome"], &view["steps"][0]["reason"]), (&"failed".into(), &"CHECK_FAILED".into()));
    let view = play("steps:\n- {id: a, skill: ./done, check: test ! -e there}\n", 0);
    assert_eq!(view["outcome"], "completed");
}

/// Checks of a file ran without consent, although those of a skill needed it.
#[test]
fn checks_of_a_file_need_consent_to_exactly_them() {
    let lab = lab();
    let run = ["workflow", "run", "flow.yaml", "--engine", "scripted"];
    let refused = |part: &str| {
        let said = exits(&lab, &run, 2);
        let is_one = said.lines().count() == 1;
        assert!(is_one && said.contains(&format!("agree once with `skillrun consent {part}")), "{said}");
    };
    lab.write("flow.yaml", "steps:\n- {id: a, skill: ./done, check: 'true'}\n");
    refused("check:flow@");
    assert!(json(&lab, &["ls"])["runs"].as_array().is_some_and(Vec::is_empty), "nothing is made");
    let plan = exits(&lab, &["workflow", "plan", "flow.yaml", "--engine", "scripted"], 0);
    assert!(plan.contains("check:flow@") && plan.contains("  a  true"), "{plan}");
    // Consent to a skill of that name is consent to its checks alone.
    exits(&lab, &["consent", "check:flow", "--yes"], 0);
    refused("check:flow@");
    let name = agree(&lab);
    exits(&lab, &run, 0);
    // The same checks of another step, and other checks.
    lab.write("flow.yaml", "name: flow\nsteps:\n- {id: a, skill: ./done, required: true, check: 'true'}\n");
    exits(&lab, &run, 0);
    exits(&lab, &["workflow", "retry", "last"], 0);
    exits(&lab, &["consent", &name, "--revoke"], 0);
    let said = exits(&lab, &["workflow", "retry", "last"], 2);
    assert!(said.contains(&name), "{said}");
    agree(&lab);
    lab.write("flow.yaml", "steps:\n- {id: a, skill: ./done, check: 'false'}\n");
    refused("check:flow@");
    // Those of a file inside count like those of the file.
    lab.write("inner.yaml", "steps:\n- {id: x, skill: ./done, check: 'true'}\n");
    lab.write("flow.yaml", "steps:\n- {id: a, workflow: inner.yaml}\n");
    refused("check:flow@");
    agree(&lab);
    exits(&lab, &run, 0);
    lab.write("inner.yaml", "steps:\n- {id: x, skill: ./done, check: 'true && true'}\n");
    refused("check:flow@");
}

#[test]
fn checks_of_a_workflow_of_a_skill_need_consent() {
    let lab = lab();
    let skill = lab.bare_skill("tidy", DONE);
    lab.write("tidy/assets/workflow.yaml", "steps:\n- {id: a, prompt: Tidy up., check: 'true'}\n");
    let run = ["workflow", "run", &skill.display().to_string(), "--engine", "scripted"].map(str::to_owned);
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let said = exits(&lab, &run, 2);
    assert!(said.contains("agree once with `skillrun consent check:tidy`"), "{said}");
    exits(&lab, &["consent", "check:tidy", "--yes"], 0);
    exits(&lab, &run, 0);
}

/// The plan has the hash of a skill from when the file was read, and a retry took the plan over.
#[test]
fn a_step_whose_skill_was_edited_is_run_again() {
    let lab = lab();
    let edited = DONE.replace("done}", "edited}");
    let file = "steps:\n\
                - {id: a, skill: ./done}\n\
                - {id: b, skill: ./fails, needs: [a]}\n\
                outputs: {answer: {from: /steps/a/output/answer}}\n";
    play(&lab, file, 5);
    lab.bare_skill("done", &edited);
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 5);
    let view = agreed(&lab, 5);
    assert_eq!(view["steps"][0]["reused_from"], Value::Null, "its skill is another one");
    // Not edited since.
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 5);
    assert_ne!(agreed(&lab, 5)["steps"][0]["reused_from"], Value::Null);
}

/// What counts is the skill that the step really ran, and not the one that the file named when it was read.
#[test]
fn a_skill_that_is_edited_during_a_run_is_not_confused() {
    let lab = lab();
    let file = "steps:\n\
                - {id: a, skill: ./done, ask: before}\n\
                - {id: b, workflow: inner.yaml, needs: [a]}\n\
                - {id: c, skill: ./fails, needs: [b]}\n";
    lab.write("inner.yaml", "steps:\n- {id: x, skill: ./done}\n");
    play(&lab, file, 6);
    lab.bare_skill("done", &DONE.replace("done}", "edited}"));
    exits(&lab, &["reply", "last", "start"], 5);
    agreed(&lab, 5);
    // The skill is again as it was when the file was read, which is not what has run.
    lab.bare_skill("done", DONE);
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 6);
    exits(&lab, &["reply", "last", "start"], 5);
    let view = agreed(&lab, 5);
    for step in 0..2 {
        assert_eq!(view["steps"][step]["reused_from"], Value::Null, "{view}");
    }
}

/// The step that made the file was taken over, and the next one began in an empty folder.
#[test]
fn a_retry_begins_with_the_shared_folder_as_it_was_left() {
    let lab = lab();
    lab.bare_skill("writes", "- - write: {path: made.txt, content: made}\n  - output: {answer: ok}\n    done: true\n");
    let file = "steps:\n\
                - {id: a, skill: ./writes, workspace: shared}\n\
                - {id: b, skill: ./fails, workspace: shared, needs: [a], check: test -s made.txt}\n";
    lab.write("flow.yaml", file);
    agree(&lab);
    play(&lab, file, 5);
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 5);
    lab.bare_skill("fails", DONE);
    exits(&lab, &["workflow", "retry", "last", "--from-failed"], 0);
    let view = agreed(&lab, 0);
    assert_ne!(view["steps"][0]["reused_from"], Value::Null);
    // From the beginning, there is nothing in the folder.
    lab.bare_skill("writes", DONE);
    exits(&lab, &["workflow", "retry", "last"], 5);
    assert_eq!(agreed(&lab, 5)["steps"][1]["reason"], "CHECK_FAILED");
}

/// Only the turns of the inner steps ended after that time, each for itself.
#[test]
fn time_of_a_step_is_that_of_its_inner_workflow() {
    let lab = lab();
    lab.bare_skill("slow", "- - sleep_ms: 3500\n  - output: {answer: done}\n    done: true\n");
    let inner = "steps:\n- {id: x, skill: ./slow}\n- {id: y, skill: ./slow, needs: [x]}\n";
    lab.write("inner.yaml", inner);
    let view = play(&lab, "steps:\n- {id: a, workflow: inner.yaml, timeout: 6}\n", 1);
    assert_eq!(standings(&view), ["partial"]);
    let child = view["steps"][0]["child_run_id"].as_str().expect("a child").to_owned();
    let inside = json(&lab, &["workflow", "show", &child]);
    assert_eq!(standings(&inside), ["ready", "timed_out"], "{inside}");
    // The time of the file is shorter.
    lab.write("inner.yaml", &format!("timeout: 1\n{inner}"));
    let view = play(&lab, "steps:\n- {id: a, workflow: inner.yaml, timeout: 1h}\n", 3);
    assert_eq!((&view["outcome"], standings(&view)), (&"timed_out".into(), vec!["timed_out".to_owned()]));
}

/// The pointer led to nothing, and the step that has it ended with `STEP_INPUT_INVALID`.
#[test]
fn outputs_of_an_empty_list_are_an_empty_list() {
    let lab = lab();
    let file = "inputs: {list: {default: []}}\n\
                steps:\n\
                - {id: a, prompt: Why?, for_each: {from: /inputs/list}}\n\
                - {id: b, prompt: Sum up., with: {all: {from: /steps/a/output}, texts: {from: /steps/a/text}}}\n\
                - {id: c, prompt: Why?, for_each: {from: /steps/a/output}, needs: [b]}\n\
                outputs: {all: {from: /steps/a/output}, text: {from: /steps/b/text}, rest: {from: /steps/c/text}}\n";
    let view = play(&lab, file, 0);
    assert_eq!(standings(&view), ["ready"; 3]);
    let output = json(&lab, &["result", "last"])["output"].clone();
    assert_eq!((&output["all"], &output["rest"]), (&serde_json::json!([]), &serde_json::json!([])));
    let prompt = output["text"].as_str().expect("a text");
    assert!(prompt.contains("\"all\": []") && prompt.contains("\"texts\": []"), "{prompt}");
}

/// Only files in `artifacts/` counted, so that a step with another required file was always partial.
#[test]
fn a_required_file_may_be_anywhere_in_the_workspace() {
    let lab = lab();
    lab.bare_skill("writes", "- - write: {path: out/notes.md, content: made}\n  - output: {a: 1}\n    done: true\n");
    let view = play(&lab, "steps:\n- {id: a, skill: ./writes, output: {artifacts: [./out//notes.md]}}\n", 0);
    assert_eq!(standings(&view), ["ready"]);
    let view = play(&lab, "steps:\n- {id: a, skill: ./writes, output: {artifacts: [out/none.md]}}\n", 1);
    assert_eq!(
        (standings(&view), &view["steps"][0]["reason"]),
        (vec!["partial".to_owned()], &"ARTIFACT_MISSING".into())
    );
    // It is there, although another step has made it.
    let file = "steps:\n\
                - {id: a, skill: ./writes, workspace: shared}\n\
                - {id: b, skill: ./done, workspace: shared, needs: [a], output: {artifacts: [out/notes.md]}}\n";
    assert_eq!(standings(&play(&lab, file, 0)), ["ready"; 2]);
}

/// The command waited without a word.
#[test]
fn a_question_of_a_step_is_shown_with_its_answer() {
    let lab = lab();
    lab.bare_skill(
        "asks",
        "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {a: '{{reply}}'}\n    done: true\n",
    );
    lab.write("asks/assets/runner.json", r#"{"execution_modes": ["interactive"]}"#);
    lab.write("inner.yaml", "steps:\n- {id: x, skill: ./asks}\n");
    lab.write("flow.yaml", "steps:\n- {id: a, workflow: inner.yaml}\n");
    let said = lab.path("said");
    let mut command = lab.command(&["workflow", "run", "flow.yaml", "--engine", "scripted"]);
    let file = fs::File::create(&said).expect("a file");
    let mut child = command.stdin(Stdio::null()).stderr(file).stdout(Stdio::null()).spawn().expect("started");
    let (asks, line) = lab::eventually("the question", || {
        let said = fs::read_to_string(&said).expect("text");
        let mut lines = said.lines().map(str::to_owned).skip_while(|line| !line.contains(" asks: "));
        Some((lines.next()?, lines.next()?))
    });
    assert_eq!(asks, "the step a/x asks: Which colour?");
    let view = json(&lab, &["workflow", "show", "last"]);
    assert_eq!((&view["status"], standings(&view)), (&"running".into(), vec!["asks".to_owned()]));
    let asked = line.split_whitespace().skip_while(|word| *word != "reply").nth(1).expect("a run").to_owned();
    assert!(exits(&lab, &["workflow", "show", "last"], 0).contains(&format!("skillrun reply {asked} TEXT")));
    exits(&lab, &["reply", &asked, "blue"], 0);
    assert!(lab::wait_exit(&mut child).success());
}

/// As their README and the comments in them say.
#[test]
fn examples_end_as_they_say() {
    let lab = lab();
    let file = |name: &str| testkit::paths::workspace().join("examples/workflows").join(name).display().to_string();
    exits(&lab, &["workflow", "run", &file("review.yaml")], 0);
    let view = agreed(&lab, 0);
    assert_eq!((&view["outcome"], standings(&view)), (&"completed".into(), vec!["ready".to_owned(); 4]));
    let output = json(&lab, &["result", "last"])["output"].clone();
    assert!(output["verdict"].is_string() && output["findings"].is_array(), "{output}");
    let count = file("count-texts.yaml");
    assert!(exits(&lab, &["workflow", "run", &count], 2).contains("skillrun consent check:count-texts@"));
    let name = json(&lab, &["workflow", "validate", &count])["consent"].as_str().expect("a name").to_owned();
    exits(&lab, &["consent", &name, "--yes"], 0);
    exits(&lab, &["workflow", "run", &count, "--input", r#"texts=["a b", "c"]"#], 6);
    exits(&lab, &["reply", "last", "start"], 0);
    assert_eq!(standings(&agreed(&lab, 0)), ["ready"; 2]);
    let output = json(&lab, &["result", "last"])["output"].clone();
    assert_eq!(output["counts"].as_array().map(Vec::len), Some(2), "{output}");
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
