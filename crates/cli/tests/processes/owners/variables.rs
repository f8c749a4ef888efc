//! Whose variables an attempt has: those of the process that the run was made for, or the attempt does not begin.

use std::fs;
use std::process::{Command, Output};

use lab::{Lab, Server, kind, signal, wait_until};
use serde_json::Value;

/// An engine that says whose account it uses. In interactive mode it asks first.
const ENGINE: &str = r#"
name = "account"
title = "An engine with an account"
profile = "codex_ndjson"
continuation = "resumable"

[executable]
path = "PROGRAM"

[start]
argv = ["{{mode}}", "{{prompt_flags}}"]

[resume]
argv = ["resume", "{{session_id}}", "{{prompt_flags}}"]

[prompt]
argument = ["--", "{{prompt}}"]

[permission]
workspace = { posture = "enforced" }
read_only = { posture = "enforced" }
full = { posture = "enforced" }

[environment]
pass = ["ACCOUNT", "ADDRESS"]
set = { HOME = "{{home}}" }

[login]
variables = ["ACCOUNT"]
"#;

const PROGRAM: &str = r#"#!/bin/sh
say() { printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}\n' "$1"; }
printf '{"type":"thread.started","thread_id":"session-1"}\n{"type":"turn.started"}\n'
if [ "$1" = interactive ]; then
    say 'Which colour?'
else
    say "{\\\"answer\\\":\\\"${ACCOUNT:-none}\\\",\\\"__SKILL_DONE__\\\":true}"
fi
printf '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}\n'
"#;

const MINE: &[(&str, &str)] = &[("ACCOUNT", "mine"), ("ADDRESS", "http://localhost:1")];
const SERVERS: &[(&str, &str)] = &[("ACCOUNT", "server"), ("ADDRESS", "http://localhost:1")];

fn lab() -> Lab {
    let lab = Lab::with_skill("asks", "[]\n");
    lab.write_program("account.sh", PROGRAM);
    let engine = ENGINE.replace("PROGRAM", &lab.path("account.sh").display().to_string());
    lab.write("engines/account.toml", &engine);
    lab.settings(&format!("engines = {:?}\n", lab.path("engines")));
    lab
}

fn command(lab: &Lab, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = lab.command(words);
    command.envs(variables.iter().copied());
    command
}

fn output(lab: &Lab, words: &[&str], variables: &[(&str, &str)]) -> Output {
    command(lab, words, variables).output().expect("run")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn serve(lab: &Lab, variables: &[(&str, &str)]) -> Server {
    Lab::started(command(lab, &["serve", "--listen", "127.0.0.1:0"], variables))
}

fn answer(lab: &Lab, run: &str) -> String {
    let end = lab.wait_end(run);
    assert_eq!(kind(&end), "run.completed", "{end:#}");
    lab.run_json(run, "result.json")["output"]["answer"].as_str().expect("an answer").to_owned()
}

/// A run that has asked its question, made with these variables.
fn asked(lab: &Lab, variables: &[(&str, &str)], more: &[&str]) -> String {
    let words = ["run", "./asks", "--engine", "account", "--mode", "interactive", "--json"];
    let told = json(&output(lab, &[&words[..], more].concat(), variables));
    told["run_id"].as_str().expect("an id").to_owned()
}

/// Regression: the caller's run went to the account of the server, without a word.
#[test]
fn a_server_with_another_account_does_not_get_the_run() {
    let lab = lab();
    let server = serve(&lab, SERVERS);
    for more in [&["--json"][..], &["--no-wait", "--json"]] {
        let words = ["run", "./asks", "--engine", "account", "--mode", "auto"];
        let done = output(&lab, &[&words[..], more].concat(), MINE);
        let run = json(&done)["run_id"].as_str().expect("an id").to_owned();
        assert_eq!(answer(&lab, &run), "mine", "{}", stderr(&done));
        assert!(stderr(&done).contains("other environment variables"), "{}", stderr(&done));
    }
    // With the same variables the server has it.
    let same = output(&lab, &["run", "./asks", "--engine", "account", "--mode", "auto", "--json"], SERVERS);
    assert!(same.status.success() && !stderr(&same).contains("other environment variables"), "{}", stderr(&same));
    drop(server);
    lab.wait_quiet();
    let folder = lab.data().join("runs").join(&lab.runs()[0]);
    let text = fs::read_to_string(folder.join("variables.json")).expect("a file");
    assert!(text.contains("ACCOUNT") && !text.contains("mine") && !text.contains("localhost"), "{text}");
}

/// Regression: an answer from a shell without the variables ended the run.
#[test]
fn without_its_variables_an_answer_is_refused() {
    let lab = lab();
    let run = asked(&lab, MINE, &[]);
    let log = lab.run_folder(&run).join("events.jsonl");
    let before = fs::read(&log).expect("a Log");
    fs::write(lab.path("more.txt"), "more").expect("written");
    for (variables, names) in [
        (&[][..], &["ACCOUNT is not set here", "ADDRESS is not set here"][..]),
        (SERVERS, &["ACCOUNT has another value here"]),
    ] {
        let refused = output(&lab, &["reply", &run, "blue", "--file", "more.txt"], variables);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        names.iter().for_each(|name| assert!(stderr(&refused).contains(name), "{}", stderr(&refused)));
        assert_eq!(fs::read(&log).expect("a Log"), before, "nothing was written");
        let inputs: Vec<_> = fs::read_dir(log.with_file_name("inputs")).expect("inputs").flatten().collect();
        assert!(!inputs.iter().any(|entry| entry.file_name().to_string_lossy().starts_with("reply")), "{inputs:?}");
    }
    assert!(output(&lab, &["reply", &run, "blue", "--json"], MINE).status.success());
    assert_eq!(answer(&lab, &run), "mine");
    lab.wait_quiet();
}

/// A key that was replaced must not make a question one that can never be answered.
#[test]
fn a_run_resumes_with_other_variables_on_request() {
    let lab = lab();
    let run = asked(&lab, MINE, &[]);
    let replied = output(&lab, &["reply", &run, "blue", "--json", "--use-my-variables"], SERVERS);
    assert!(replied.status.success(), "{}", stderr(&replied));
    assert_eq!(answer(&lab, &run), "server");
    lab.wait_quiet();
}

/// A server is asked over HTTP, and has the run's variables or not.
#[test]
fn a_server_answers_for_the_account_that_it_has() {
    let lab = lab();
    let run = asked(&lab, MINE, &[]);
    let body = serde_json::json!({"interaction_id": 1, "text": "blue"});
    let reply = format!("/v1/runs/{run}/interaction/reply");
    let other = serve(&lab, SERVERS);
    let refused = other.post(&reply, &body).json();
    assert_eq!((&refused["code"], &refused["status"]), (&"OTHER_VARIABLES".into(), &409.into()), "{refused:#}");
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("ACCOUNT")), "{refused:#}");
    drop(other);
    // An answer from a shell that has nothing goes to the server that has the variables.
    let same = serve(&lab, MINE);
    let replied = output(&lab, &["reply", &run, "blue", "--json"], &[]);
    assert!(replied.status.success(), "{}", stderr(&replied));
    assert_eq!(answer(&lab, &run), "mine");
    drop(same);
    lab.wait_quiet();
}

/// An owner in the background that was killed while its run waits for an answer, before the time of the question was up.
fn left_with_question(lab: &Lab) -> String {
    for _ in 0..10 {
        let run = asked(lab, MINE, &["--no-reply-needed", "--session-timeout", "2", "--no-wait"]);
        let has = |word: &str| lab.events(&run).iter().any(|event| kind(event) == word);
        wait_until("question", || has("interaction.requested"));
        let owners = fs::read_dir(lab.data().join("owners")).expect("owners").flatten();
        for owner in owners.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".sock")?.to_owned())) {
            signal(owner, "KILL");
        }
        lab.wait_quiet();
        if !has("interaction.timeout") {
            return run;
        }
        // The machine was busy, and the owner was quicker than the kill: another one.
    }
    panic!("every owner was quicker");
}

/// Regression: an owner that came upon the run by itself decided the question and ended the run, because it had no
/// variables to start the attempt with.
#[test]
fn an_owner_without_the_variables_leaves_the_run_as_it_is() {
    let lab = lab();
    let run = left_with_question(&lab);
    let log = lab.run_folder(&run).join("events.jsonl");
    let before = fs::read(&log).expect("a Log");
    // It stays until the deadline, and then finds that it cannot continue.
    let recovered = output(&lab, &["recover", "--json"], &[]);
    assert!(recovered.status.success(), "{}", stderr(&recovered));
    lab.wait_quiet();
    assert_eq!(fs::read(&log).expect("a Log"), before, "the question waits for an owner that can continue");
    let recovered = output(&lab, &["recover", "--json"], MINE);
    assert!(recovered.status.success(), "{}", stderr(&recovered));
    assert_eq!(answer(&lab, &run), "mine");
    lab.wait_quiet();
}
