//! What is refused before anything starts, and what no longer matters once a run was accepted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, on, speaking, sticky, with};
use serde_json::{Value, json};
use skillrun_model::mcp::McpServers;
use skillrun_model::{Code, ExecutionMode, InteractionId, ProfileId, RunStatus};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::Sharing;
use skillrun_runtime::{AcceptError, Clock, NewRun, Reply, SlotLimits, SystemClock, consent, reply_files};
use skillrun_skill::Skill;

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

/// A skill that wants a colour.
fn picky(lab: &RuntimeLab) -> Skill {
    let schema = json!({
        "type": "object",
        "properties": { "colour": { "type": "string" } },
        "required": ["colour"],
        "additionalProperties": false,
    });
    lab.place.write("skills/picky/assets/input.json", &schema.to_string());
    lab.skill("picky", json!({ "schemas": { "input": "assets/input.json", "output": "assets/output.json" } }))
}

/// An engine that is a program of its own.
fn installed(lab: &RuntimeLab, name: &str, how: &str) {
    lab.add_engine(name, "");
    let file = lab.path("engines").join(format!("{name}.toml"));
    let text = fs::read_to_string(&file).expect("readable");
    fs::write(&file, text.replace("kind = \"self\"", &format!("kind = \"installed\"\n{how}"))).expect("written");
}

fn servers(value: Value) -> McpServers {
    serde_json::from_value(value).expect("servers")
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    let Value::Object(object) = value else { panic!("an object") };
    object
}

#[test]
fn a_bad_request_is_refused_and_leaves_nothing() {
    let lab = RuntimeLab::new();
    installed(&lab, "absent", "names = [\"skillrun-absent\"]");
    let good = lab.new_run(ExecutionMode::Auto, DONE);
    let broken = lab.skill("broken", json!({}));
    fs::write(broken.root.join("assets/output.json"), r#"{"type": "no such type"}"#).expect("written");
    let no_json = lab.skill("no-json", json!({}));
    fs::write(no_json.root.join("assets/output.json"), "{").expect("written");
    let missing = lab.skill("missing", json!({}));
    fs::remove_file(missing.root.join("assets/output.json")).expect("removed");
    let auto_only = lab.skill("auto-only", json!({ "execution_modes": ["auto"] }));
    let elsewhere = lab.skill("elsewhere", json!({ "engines": ["codex"] }));
    let nonsense = lab.skill("nonsense", json!({ "runtime_options": { "session_timeout_sec": "soon" } }));
    let interactive = ExecutionMode::Interactive;
    let of = |skill: &Skill| NewRun { task: skill.clone().into(), ..good.clone() };
    let file = |path: PathBuf| NewRun { files: BTreeMap::from([("photo".to_owned(), path)]), ..good.clone() };
    let in_folder = |path: PathBuf| NewRun { workspace: Some((path, Sharing::Alone)), ..good.clone() };
    lab.add_engine("served", "[mcp]\nform = \"claude\"\n");
    let brings = lab.skill("brings", json!({"mcp_servers": {"lab": {"command": "x", "env": {"A": "${PATH}"}}}}));
    let wants = picky(&lab);
    let requests: Vec<(&str, NewRun)> = vec![
        ("colour", of(&wants)),
        ("colour", NewRun { input: object(json!({ "colour": 7 })), ..of(&wants) }),
        ("size", NewRun { input: object(json!({ "colour": "red", "size": 1 })), ..of(&wants) }),
        ("scriptd", on(good.clone(), "scriptd")),
        ("absent is not installed: there is no skillrun-absent in PATH", on(good.clone(), "absent")),
        ("does not run in interactive mode", NewRun { mode: Some(interactive), ..of(&auto_only) }),
        ("it runs on codex", of(&elsewhere)),
        ("output.json", of(&broken)),
        ("output.json", of(&no_json)),
        ("output.json", of(&missing)),
        ("session_timeout_sec", of(&nonsense)),
        ("nowhere.yaml", NewRun { script: Some(lab.path("nowhere.yaml")), ..good.clone() }),
        ("assets/scripted.yaml", NewRun { script: None, ..good.clone() }),
        ("nowhere.png", file(lab.path("nowhere.png"))),
        ("is not a file", file(lab.path("home"))),
        ("nowhere", in_folder(lab.path("nowhere"))),
        ("is not a folder", in_folder(good.script.clone().expect("a script"))),
        (
            "cannot continue a session",
            NewRun { mode: Some(interactive), ..speaking(good.clone(), ProfileId::PlainText) },
        ),
        (
            "scripted cannot take MCP servers; use another engine, or leave out mcp_servers",
            with(good.clone(), |options| options.mcp_servers = servers(json!({"lab": {"command": "x"}}))),
        ),
        (
            "mcp_servers.lab: the variable SKILLRUN_TEST_NOT_SET is not set",
            with(on(good.clone(), "served"), |options| {
                options.mcp_servers =
                    servers(json!({"lab": {"command": "x", "env": {"A": "${SKILLRUN_TEST_NOT_SET}"}}}));
            }),
        ),
        (
            "the MCP server lab of the skill brings needs the variable PATH; pass it with --secret PATH",
            on(of(&brings), "served"),
        ),
        ("hard_timeout_sec", with(good.clone(), |options| options.hard_timeout_sec = Some(0.0))),
    ];
    let runtime = lab.runtime();
    for (words, new) in requests {
        let refused = runtime.submit(new).expect_err(words);
        let sentence = refused.to_string();
        assert!(sentence.contains(words), "{words}: {sentence}");
        assert!(!sentence.contains('\n') && sentence.len() < 600, "one sentence: {sentence}");
    }
    assert_eq!(lab.run_folders(), Vec::<String>::new());
    assert!(!lab.data().workspaces().join("lock").exists(), "no folder was claimed");
    let run = runtime.submit(good).expect("and the good one is accepted");
    assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
}

#[test]
fn an_engine_that_nothing_holds_back_needs_consent() {
    let lab = RuntimeLab::new();
    // It is installed, and would do what it likes.
    let program = lab.path("bin/free");
    fs::create_dir_all(lab.path("bin")).expect("a folder");
    fs::copy(crate::SKILLRUN, &program).expect("copied");
    installed(&lab, "free", &format!("path = {:?}", program.display().to_string()));
    let runtime = lab.runtime();
    let refused = runtime.submit(on(lab.new_run(ExecutionMode::Auto, DONE), "free")).expect_err("refused");
    assert!(matches!(refused, AcceptError::NoConsent { .. }), "{refused}");
    assert!(refused.to_string().contains("skillrun consent free"), "{refused}");
    assert_eq!(lab.run_folders(), Vec::<String>::new());
    // A runtime that is there already takes note of what the user says meanwhile.
    consent::give(&lab.data(), "other", SystemClock.now()).expect("given");
    runtime.submit(on(lab.new_run(ExecutionMode::Auto, DONE), "free")).expect_err("consent is for one engine");
    consent::give(&lab.data(), "free", SystemClock.now()).expect("given");
    let run = runtime.submit(on(lab.new_run(ExecutionMode::Auto, DONE), "free")).expect("accepted");
    lab.wait_over(run);
    consent::revoke(&lab.data(), "free").expect("revoked");
    let refused = runtime.submit(on(lab.new_run(ExecutionMode::Auto, DONE), "free")).expect_err("refused");
    assert!(matches!(refused, AcceptError::NoConsent { .. }), "{refused}");
}

#[test]
fn a_run_continues_whatever_happens_to_its_skill() {
    let (lab, runtime) = RuntimeLab::running();
    let valid = "- - ask: {prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
    let invalid = "- - ask: {prompt: Which?}\n- - output: {colour: '{{reply}}'}\n    done: true\n";
    let input = lab.path("photo.png");
    fs::write(&input, "pixels").expect("written");
    let mut runs = Vec::new();
    for script in [valid, invalid] {
        let new = lab.new_run(ExecutionMode::Interactive, script);
        let new = NewRun { files: BTreeMap::from([("photo".to_owned(), input.clone())]), ..new };
        for new in [new.clone(), sticky(new)] {
            let script = new.script.clone().expect("a script");
            let run = runtime.submit(new).expect("accepted");
            lab.wait_asked(run, 1);
            runs.push((run, script));
        }
    }
    // All of it is gone, or says something else.
    fs::remove_dir_all(lab.path("skills")).expect("removed");
    fs::remove_file(&input).expect("removed");
    for (run, script) in &runs {
        fs::write(script, "- - exit: 9\n").expect("written");
        runtime.reply(*run, lab::runtime::reply(1, "blue")).expect("answered");
    }
    for (number, (run, _)) in runs.iter().enumerate() {
        let state = lab.wait_over(*run);
        let wanted = if number < 2 { None } else { Some(Code::OutputSchemaInvalid) };
        assert_eq!((lab.failure(*run), state.attempt.0), (wanted, 2));
        let copy = lab.data().run(*run).inputs().join("1-photo.png");
        assert_eq!(fs::read_to_string(copy).expect("there"), "pixels");
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().for_each(|(run, _)| lab.check_whole(*run));
}

#[test]
fn a_schema_deleted_after_acceptance_still_counts() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Auto, "- - output: {colour: blue}\n");
    let schema = new.task.skill().expect("a skill").root.join("assets/output.json");
    let run = runtime.accept(new).expect("accepted");
    fs::remove_file(&schema).expect("removed");
    runtime.take_up(run).expect("taken up");
    lab.finish(&runtime, run);
    assert_eq!(lab.failure(run), Some(Code::OutputSchemaInvalid));
    assert_eq!(lab.verdicts(run)[0].reason_code, Code::OutputInvalid);
}

/// Nothing that is not valid is called valid because the copy inside the run cannot be read any more.
#[test]
fn a_run_without_its_skill_copy_is_never_valid() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.accept(lab.new_run(ExecutionMode::Auto, DONE)).expect("accepted");
    fs::remove_dir_all(lab.data().run(run).skill()).expect("removed");
    runtime.take_up(run).expect("taken up");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Failed));
    assert!(lab.result(run).error.is_some_and(|error| !error.message.is_empty()));
}

fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => empty(&path),
            path => fs::write(path, "").expect("emptied"),
        }
    }
}

/// A power cut that leaves names without content: the run continued, and succeeded on nothing.
#[test]
fn a_run_whose_files_are_not_what_was_accepted_is_not_started() {
    let lab = RuntimeLab::new();
    let photo = lab.path("photo.png");
    fs::write(&photo, "pixels").expect("written");
    type Damage = fn(&RunFolder);
    let cases: [(Damage, &str); 4] = [
        (|run| empty(&run.skill()), "copy of the skill"),
        (|run| fs::remove_file(run.skill().join("assets/output.json")).expect("removed"), "copy of the skill"),
        (|run| fs::write(run.inputs().join("1-photo.png"), "").expect("emptied"), "inputs/1-photo.png"),
        (|run| fs::remove_file(run.inputs().join("1-photo.png")).expect("removed"), "inputs/1-photo.png is missing"),
    ];
    for (change, words) in cases {
        let runtime = lab.runtime();
        let new = lab.new_run(ExecutionMode::Auto, "- - output: {answer: blue}\n    done: true\n");
        let new = NewRun { files: BTreeMap::from([("photo".to_owned(), photo.clone())]), ..new };
        let run = runtime.accept(new).expect("accepted");
        change(&lab.data().run(run));
        runtime.take_up(run).expect("taken up");
        lab.wait_over(run);
        assert!(runtime.wait_idle(TEST_TIMEOUT));
        assert_eq!(lab.failure(run), Some(Code::InputChanged), "{words}");
        let error = lab.result(run).error.expect("an error");
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!lab.types(run).contains(&"attempt.started"));
    }
}

/// The same for what came with an answer.
#[test]
fn files_of_an_answer_are_checked_before_the_attempt() {
    let mut lab = RuntimeLab::new();
    let photo = lab.path("photo.png");
    fs::write(&photo, "pixels").expect("written");
    let script = "- - ask: {prompt: Which?}\n- - output: {answer: blue}\n    done: true\n";
    let (runtime, run) = lab.begin(lab.new_run(ExecutionMode::Interactive, script));
    lab.wait_asked(run, 1);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    drop(runtime);
    // No owner has a place for the next attempt.
    let slots = std::mem::replace(&mut lab.slots, SlotLimits { total: 0, ..SlotLimits::default() });
    let runtime = lab.runtime();
    let files = reply_files(&lab.data().run(run), InteractionId(1), &[photo]).expect("taken");
    let copy = lab.data().run(run).inputs().join(&files[0]);
    runtime.reply(run, Reply { files, ..lab::runtime::reply(1, "this") }).expect("answered");
    drop(runtime);
    fs::write(&copy, "").expect("emptied");
    lab.slots = slots;
    let runtime = lab.runtime();
    runtime.take_up(run).expect("taken up");
    lab.wait_over(run);
    assert_eq!(lab.failure(run), Some(Code::InputChanged));
    assert!(lab.result(run).error.expect("an error").message.contains("inputs/reply-1-1-photo.png"));
    assert_eq!(lab.verdicts(run).len(), 1);
}
