//! Every format that the scripted engine speaks, once through in each mode.

use lab::runtime::{RuntimeLab, reply, speaking, sticky};
use lab::{Lab, TEST_TIMEOUT, kind};
use serde_json::{Value, json};
use skillrun_model::status::Continuation;
use skillrun_model::{Code, ExecutionMode, ProfileId, RunId, RunStatus};

use crate::runs::offline::check_probe;

const WORKS: &str = "- - think: Let me see.\n  - tool: {name: shell, input: {command: ls}, output: notes.md}\n  \
                     - usage: {input: 20, output: 4}\n  - output: {answer: blue}\n    done: true\n";
const ASKS: &str = "- - think: Let me see.\n  - ask: {kind: choose_one, prompt: Which colour?, options: [red, blue]}\n\
                    - - expect_reply: blue\n  - output: {answer: '{{reply}}'}\n    done: true\n";

fn check(lab: &RuntimeLab, run: RunId, mode: ExecutionMode, profile: ProfileId) {
    assert_eq!(lab.state(run).status, Some(RunStatus::Succeeded), "{profile}: {:?}", lab.types(run));
    assert_eq!(lab.output(run), json!({ "answer": "blue" }), "{profile}");
    check_probe(lab, run, mode);
    lab.check_whole(run);
}

#[test]
fn every_format_in_auto() {
    let (lab, runtime) = RuntimeLab::running();
    let auto = ExecutionMode::Auto;
    let new = lab.new_run(auto, WORKS);
    let runs: Vec<(RunId, ProfileId)> = ProfileId::ALL
        .iter()
        // A protocol needs a peer; see `acp`.
        .filter(|profile| **profile != ProfileId::AcpJsonrpc)
        .map(|profile| (runtime.submit(speaking(new.clone(), *profile)).expect("accepted"), *profile))
        .collect();
    runs.iter().for_each(|(run, _)| drop(lab.wait_over(*run)));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().for_each(|(run, profile)| check(&lab, *run, auto, *profile));
}

#[test]
fn every_format_that_can_continue_after_a_question() {
    let (lab, runtime) = RuntimeLab::running();
    let interactive = ExecutionMode::Interactive;
    let resumable = |profile: &&ProfileId| profile.continuation() == Continuation::Resumable;
    let new = lab.new_run(interactive, ASKS);
    let mut runs = Vec::new();
    for profile in ProfileId::ALL.iter().filter(resumable) {
        let new = speaking(new.clone(), *profile);
        runs.push((runtime.submit(new.clone()).expect("accepted"), *profile));
        // The text format shows the end of its turn by its exit, so no process can continue.
        if *profile != ProfileId::IflowText {
            runs.push((runtime.submit(sticky(new)).expect("accepted"), *profile));
        }
    }
    assert!(runs.len() > 10, "{runs:?}");
    for (run, profile) in &runs {
        let state = lab.wait(*run, "question", |state| state.is_over() || state.status == Some(RunStatus::WaitingUser));
        let question = state.question.unwrap_or_else(|| panic!("{profile}: {:?}", lab.types(*run)));
        assert_eq!((question.prompt.as_str(), question.options.len()), ("Which colour?", 2), "{profile}");
        runtime.reply(*run, reply(1, "blue")).expect("answered");
    }
    runs.iter().for_each(|(run, _)| drop(lab.wait_over(*run)));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    for (run, profile) in &runs {
        assert_eq!(lab.state(*run).attempt.0, 2);
        check(&lab, *run, interactive, *profile);
    }
}

/// Found in real use: the list showed the general text of a code, and the reason was in the evidence alone.
#[test]
fn the_reason_on_stderr_is_in_every_view() {
    let quiet = "  - stderr: A line beside it.\n".repeat(120);
    let dies = format!("- - say: I begin.\n{quiet}  - stderr: Credit balance is too low\n  - exit: 1\n");
    let lab = Lab::with_skill("dies", &dies);
    lab.skill(
        "talks",
        "- - say: I begin.\n  - stderr: A line beside it.\n  - output: {answer: blue}\n    done: true\n",
    );
    let message = "Credit balance is too low (the engine exited with code 1)";
    for profile in ["codex_ndjson", "claude_stream_json", "opencode_ndjson", "plain_text"] {
        let output = lab.output(&["run", "./dies", "--engine", "scripted", "--profile", profile, "--json"]);
        let result: Value = serde_json::from_slice(&output.stdout).expect("a result");
        assert_eq!(result["error"]["message"], message, "{profile}: {result:#}");
        assert_eq!(result["error"]["category"], "quota", "{profile}");
        let run = result["run_id"].as_str().expect("an id");
        let events = lab.events(run);
        let ended = events.iter().find(|event| kind(event) == "attempt.ended").expect("settled");
        assert_eq!(ended["data"]["verdict"]["error"]["message"], message, "{profile}");
        let warned = |event: &&Value| {
            let is_warning = kind(event).starts_with("parser.") && event["event"]["level"] != "info";
            is_warning && event["source"]["stream"] == "stderr"
        };
        assert_eq!(events.iter().find(warned), None, "{profile}: lines on stderr are not a warning");
        assert!(lab.printed(&["verify", run]).contains("Nothing differs."), "{profile}");
    }
    assert!(lab.printed(&["ls"]).contains("ENGINE_FAILED · Credit balance is too low"), "{}", lab.printed(&["ls"]));
    let listed = lab.json(&["ls", "--json"]);
    assert_eq!(listed["runs"][0]["error_message"], message, "{listed:#}");
    let healthy = lab.json(&["run", "./talks", "--engine", "scripted", "--profile", "codex_ndjson", "--json"]);
    let run = healthy["run_id"].as_str().expect("an id");
    let diagnostics: Vec<Value> =
        lab.events(run).into_iter().filter(|event| kind(event).starts_with("parser.")).collect();
    assert_eq!(diagnostics, Vec::<Value>::new(), "lines on stderr of a healthy run are not warnings");
}

#[test]
fn an_unknown_session_is_reported_as_unknown() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Interactive, ASKS);
    let resumable = |profile: &&ProfileId| profile.continuation() == Continuation::Resumable;
    let runs: Vec<(RunId, ProfileId)> = ProfileId::ALL
        .iter()
        .filter(resumable)
        .map(|profile| (runtime.submit(speaking(new.clone(), *profile)).expect("accepted"), *profile))
        .collect();
    for (run, _) in &runs {
        lab.wait_asked(*run, 1);
        std::fs::remove_dir_all(lab.data().run(*run).home().join(".scripted")).expect("forgotten");
        runtime.reply(*run, reply(1, "blue")).expect("answered");
    }
    for (run, profile) in &runs {
        lab.wait_over(*run);
        let error = lab.result(*run).error.expect("an error");
        assert_eq!(error.code, Code::SessionNotFound, "{profile}: {}", error.message);
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().for_each(|(run, _)| lab.check_whole(*run));
}
