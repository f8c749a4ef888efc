//! Runs without a skill: the prompt is the first message, and a clean final is the answer.

use std::fs;
use std::process::Command;

use lab::runtime::{RuntimeLab, reply, with};
use serde_json::Value;
use skillrun_model::rasp::data::{MessageOrigin, UserMessage};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{AttemptNumber, Code, ExecutionMode, RunId, RunStatus};
use skillrun_runs::prompt::PROMPT_MAX;
use skillrun_runs::record::Sharing;
use skillrun_runtime::{NewRun, Options};

use crate::SKILLRUN;
use crate::runs::offline::rows;

const PROMPT: &str = " Why is\nthe sky \"blue\"? \n";
const ANSWERED: &str = "9 completed completed CLEAN_FINAL succeeded";

fn ask(lab: &RuntimeLab, script: &str) -> NewRun {
    NewRun { script: Some(lab.script(script)), ..NewRun::ask(PROMPT, "scripted") }
}

fn first_message(lab: &RuntimeLab, run: RunId) -> UserMessage {
    let message = |event: skillrun_model::rasp::Event| match event.data {
        Data::Control(ControlData::MessageUser(message)) => Some(message),
        Data::Control(_) | Data::Evidence(_) => None,
    };
    lab.events(run).into_iter().find_map(message).expect("a message")
}

fn record(lab: &RuntimeLab, run: RunId) -> Value {
    serde_json::from_slice(&fs::read(lab.data().run(run).record()).expect("a record")).expect("JSON")
}

/// The verdict from the evidence, and every view, are the same again.
fn check_again(lab: &RuntimeLab, run: RunId) {
    let folder = lab.data().run(run);
    let mode = record(lab, run)["request"]["mode"].as_str().expect("a mode").to_owned();
    let words = ["--no-skill", "--mode", &mode, "--format", "rasp"];
    let output = Command::new(SKILLRUN).arg("normalize").arg(folder.root()).args(words).output().expect("normalize");
    let text = String::from_utf8(output.stdout).expect("text");
    let rules: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|event| event["event"]["type"] == "attempt.ended")
        .map(|event| event["data"]["verdict"]["rule"].as_str().expect("a rule").to_owned())
        .collect();
    let judged: Vec<String> = lab.verdicts(run).iter().map(|verdict| verdict.rule.to_string()).collect();
    assert_eq!(rules, judged);
    let data = lab.data().root().to_owned();
    let verified = Command::new(SKILLRUN).arg("--data").arg(data).args(["verify", &run.to_string()]).output();
    let verified = verified.expect("verify");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn prompt_without_a_script_is_repeated_as_the_answer() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(NewRun::ask(PROMPT, "scripted")).expect("accepted");
    lab.finish(&runtime, run);
    assert_eq!(rows(&lab, run), [ANSWERED]);
    assert_eq!(first_message(&lab, run), UserMessage::new(MessageOrigin::User, PROMPT));
    let result = lab.result(run);
    assert_eq!((result.text.as_deref(), result.output, result.warnings), (Some(PROMPT), None, Vec::new()));
    let record = record(&lab, run);
    assert_eq!((&record["format"], record.get("skill")), (&Value::from(2), None));
    assert_eq!(record["request"]["prompt"], PROMPT);
    let folder = lab.data().run(run);
    assert!(!folder.skill().exists() && !folder.workspace().join("artifacts").exists());
    check_again(&lab, run);
}

/// What a skill would be judged by is text.
#[test]
fn marker_in_the_answer_to_a_prompt_is_text() {
    let (lab, runtime) = RuntimeLab::running();
    for mode in [ExecutionMode::Auto, ExecutionMode::Interactive] {
        let script = r#"- - say: '{"__SKILL_DONE__": false, "answer": 1}'"#;
        let run = runtime.submit(NewRun { mode: Some(mode), ..ask(&lab, script) }).expect("accepted");
        assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
        assert_eq!(lab.result(run).text.as_deref(), Some(r#"{"__SKILL_DONE__": false, "answer": 1}"#));
        check_again(&lab, run);
    }
    let run = runtime.submit(ask(&lab, r#"- - say: '{"__SKILL_DONE__": true}'"#)).expect("accepted");
    lab.finish(&runtime, run);
    assert_eq!(rows(&lab, run), [ANSWERED]);
    assert_eq!(lab.result(run).text.as_deref(), Some(r#"{"__SKILL_DONE__": true}"#), "and it is not removed");
    check_again(&lab, run);
}

#[test]
fn failed_turn_of_a_prompt_is_a_failed_run() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(ask(&lab, "- - say: I begin.\n  - fail: the model is gone\n")).expect("accepted");
    lab.finish(&runtime, run);
    assert_eq!(lab.failure(run), Some(Code::EngineFailed));
    assert_eq!(lab.result(run).text, None);
    check_again(&lab, run);
}

#[test]
fn conversation_without_a_skill_takes_prompt_after_prompt() {
    let (lab, runtime) = RuntimeLab::running();
    let new = NewRun { mode: Some(ExecutionMode::Conversation), ..NewRun::ask("one", "scripted") };
    let run = runtime.submit(new).expect("accepted");
    for (attempt, text) in [(1, "two"), (2, "three")] {
        lab.wait(run, "rest", |state| state.attempt == AttemptNumber(attempt) && state.is_at_rest());
        runtime.reply(run, reply(attempt, text)).expect("sent");
    }
    lab.wait(run, "rest", |state| state.attempt == AttemptNumber(3) && state.is_at_rest());
    lab.wait_said(run, "three");
    runtime.close(run, "test").expect("closed");
    lab.finish(&runtime, run);
    assert_eq!(lab.result(run).text.as_deref(), Some("three"));
    check_again(&lab, run);
}

/// The user's folder gets nothing but what the engine makes, and the files are named in the message.
#[test]
fn files_of_a_prompt_are_named_in_its_message() {
    let (lab, runtime) = RuntimeLab::running();
    let (folder, file) = (lab.path("work"), lab.path("notes.md"));
    fs::create_dir(&folder).expect("a folder");
    fs::write(&file, "Blue.").expect("a file");
    let new = NewRun {
        files: [("file".to_owned(), file)].into(),
        workspace: Some((folder.clone(), Sharing::Alone)),
        ..NewRun::ask("Read it.", "scripted")
    };
    let run = runtime.submit(new).expect("accepted");
    lab.finish(&runtime, run);
    let message = first_message(&lab, run);
    assert_eq!(message.files, ["1-notes.md"]);
    let place = lab.data().run(run).inputs().join("1-notes.md");
    assert_eq!(message.text, format!("Read it.\n\nFiles that came with this message:\n- {}", place.display()));
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0);
    check_again(&lab, run);
}

#[test]
fn unusable_prompt_is_refused_in_one_sentence() {
    let (lab, runtime) = RuntimeLab::running();
    let good = || NewRun::ask("Why?", "scripted");
    let marker = with(good(), |options: &mut Options| options.require_marker = Some(true));
    let value = || [("a".to_owned(), Value::from(1))].into_iter().collect();
    let cases = [
        (NewRun::ask(" \n", "scripted"), "the prompt is empty; give a text"),
        (NewRun::ask("a\0", "scripted"), "the prompt contains a NUL character at byte 1; remove it"),
        (
            NewRun::ask("x".repeat(PROMPT_MAX), "scripted"),
            "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file",
        ),
        (marker, "require_marker needs a skill: an agent without one is not asked for a done marker"),
        (NewRun { input: value(), ..good() }, "input needs a skill: write it into the prompt, or attach it as a file"),
        (NewRun { parameter: value(), ..good() }, "parameter needs a skill: write it into the prompt"),
    ];
    for (new, sentence) in cases {
        assert_eq!(runtime.submit(new).expect_err(sentence).to_string(), sentence);
    }
    assert_eq!(lab.run_folders(), Vec::<String>::new(), "nothing was created");
}

#[test]
fn retry_of_a_prompt_has_the_same_prompt() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(NewRun::ask(PROMPT, "scripted")).expect("accepted");
    lab.finish(&runtime, run);
    let place = lab.data().run(run);
    let record = skillrun_runs::RunRecord::read(&place.record()).expect("a record");
    let again = skillrun_runtime::retry::again(&record, &place, Default::default()).expect("a request");
    let next = runtime.submit(again.new).expect("accepted");
    lab.finish(&runtime, next);
    assert_eq!(lab.result(next).text.as_deref(), Some(PROMPT));
}
