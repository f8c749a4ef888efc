//! The engine iflow, by its stand-in: the program itself, from the request to the result.

use std::fs;

use lab::Lab;
use serde_json::{Value, json};
use testkit::paths;

use crate::SKILLRUN;

/// The program with an iflow that plays this scenario, and a clean environment.
fn skillrun(lab: &Lab, scenario: &str, words: &[&str]) -> (Option<i32>, Value) {
    let program = paths::stand_in(SKILLRUN);
    let script = format!("#!/bin/sh\nSKILLRUN_IFLOW_SCENARIO={scenario} exec '{}' iflow \"$@\"\n", program.display());
    lab.write_program("iflow", &script);
    // Nothing holds it back, so the user must have agreed.
    lab.settings("consent = [\"iflow\"]\n");
    let mut command = lab.command(&[words, &["--json"]].concat());
    command.env("SKILLRUN_IFLOW", lab.path("iflow")).current_dir(lab.path("home"));
    let output = command.output().expect("run");
    let told = serde_json::from_slice(&output.stdout);
    (output.status.code(), told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

fn run(lab: &Lab, scenario: &str, mode: &str) -> (Option<i32>, Value) {
    let skill = lab.skill("probe", "");
    let skill = skill.to_str().expect("text");
    skillrun(lab, scenario, &["run", skill, "--engine", "iflow", "--mode", mode])
}

#[test]
fn an_answer_is_found_on_whatever_stream_it_is() {
    let lab = Lab::without_data();
    for scenario in ["auto", "fenced", "drift", "noinfo"] {
        let (code, told) = run(&lab, scenario, "auto");
        assert_eq!((code, &told["output"]), (Some(0), &json!({"answer": "done"})), "{scenario}: {told:#}");
    }
}

#[test]
fn a_question_is_answered_in_the_same_session() {
    let lab = Lab::without_data();
    let (code, told) = run(&lab, "interactive", "interactive");
    assert_eq!((code, &told["status"]), (Some(6), &json!("waiting_user")), "{told:#}");
    let id = told["run_id"].as_str().expect("an id");
    let (code, told) = skillrun(&lab, "interactive", &["reply", id, "blue"]);
    assert_eq!((code, &told["output"]), (Some(0), &json!({"answer": "blue"})), "{told:#}");
    assert_eq!(fs::read_dir(lab.path("home")).expect("the home").count(), 0, "nothing of the user's has changed");
}

#[test]
fn a_lost_session_is_reported_as_lost() {
    let lab = Lab::without_data();
    let (_, told) = run(&lab, "interactive", "interactive");
    let id = told["run_id"].as_str().expect("an id");
    fs::remove_dir_all(lab.run_folder(id).join("home/.iflow")).expect("forgotten");
    let (code, told) = skillrun(&lab, "interactive", &["reply", id, "blue"]);
    assert_eq!((code, &told["error"]["code"]), (Some(1), &json!("SESSION_NOT_FOUND")), "{told:#}");
}

#[test]
fn errors_and_quota_are_distinguished() {
    let lab = Lab::without_data();
    let failure = |scenario: &str| {
        let (code, told) = run(&lab, scenario, "auto");
        assert_eq!((code, &told["status"]), (Some(1), &json!("failed")), "{scenario}: {told:#}");
        told["error"].clone()
    };
    let quota = failure("quota");
    assert_eq!(quota["category"], "quota");
    assert!(quota["reset_at"].is_string(), "the time of the reset was reported: {quota:#}");
    assert_eq!(failure("error")["category"], "engine");
}
