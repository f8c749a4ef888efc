//! The user's login in runs: who has it when, what becomes of it, and who gets to see it.

use std::fs;
use std::path::PathBuf;

use lab::TEST_TIMEOUT;
use lab::runtime::{LONG, RuntimeLab, kill_hard, on, reply, sticky, with};
use serde_json::Value;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runs::record::Sharing;
use skillrun_runtime::NewRun;

use crate::SKILLRUN;

const FIRST: &str = r#"{"token":"first-4711"}"#;
const SECOND: &str = r#"{"token":"second-4711"}"#;
const THIRD: &str = r#"{"token":"third-4711"}"#;

const LOGIN: &str = "[login]\nfiles = [{ path = \".fake/auth.json\", keep = \"copy_back\" }]\n";

const TWO_TURNS: &str = "- - ask: {prompt: One?}\n- - output: {answer: done}\n    done: true\n";
const ONE_TURN: &str = "- - output: {answer: done}\n    done: true\n";

/// A user who is logged in, and an engine that plays scripts and does something to its login before; `$login` is the file.
fn logged_in(before: impl Fn(&RuntimeLab) -> String) -> RuntimeLab {
    let mut lab = RuntimeLab::new();
    lab.add_engine("logged", LOGIN);
    lab.place.write("home/.fake/auth.json", FIRST);
    let before = before(&lab);
    lab.wrap_engine(&format!("login=\"$HOME/.fake/auth.json\"\n{before}"));
    lab
}

fn users(lab: &RuntimeLab) -> PathBuf {
    lab.path("home/.fake/auth.json")
}

fn users_text(lab: &RuntimeLab) -> String {
    fs::read_to_string(users(lab)).expect("a login")
}

fn copy(lab: &RuntimeLab, run: RunId) -> PathBuf {
    lab.data().run(run).home().join(".fake/auth.json")
}

fn interactive(lab: &RuntimeLab) -> NewRun {
    on(sticky(lab.new_run(ExecutionMode::Interactive, TWO_TURNS)), "logged")
}

fn warnings(lab: &RuntimeLab, run: RunId) -> Vec<String> {
    let told = |data: Data| {
        let Data::Control(ControlData::ParserWarning(warning)) = data else { return None };
        (warning.code == Code::LoginNotKept).then_some(warning.message)
    };
    lab.events(run).into_iter().filter_map(|event| told(event.data)).collect()
}

/// A workspace above the data folder showed the old and the new token in `fs-diff.1.json`.
#[test]
fn a_workspace_that_holds_the_data_folder_shows_no_login() {
    let lab = logged_in(|_| format!("printf %s '{SECOND}' > \"$login\""));
    let workspace = fs::canonicalize(lab.path(".")).expect("a path");
    let new = on(lab.new_run(ExecutionMode::Auto, ONE_TURN), "logged");
    let (runtime, run) = lab.begin(NewRun { workspace: Some((workspace, Sharing::Alone)), ..new });
    assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(users_text(&lab), SECOND);
    let diff = fs::read_to_string(lab.data().run(run).audit().join("fs-diff.1.json")).expect("a diff");
    assert!(!diff.contains("-4711") && !diff.contains("data/"), "{diff}");
    let diff: Value = serde_json::from_str(&diff).expect("JSON");
    assert_eq!(diff["truncated"], Value::Bool(false), "all was looked at");
}

/// The login of a process that lives on after its turn was copied back when no event could report it any more.
#[test]
fn a_surviving_process_is_reported_too() {
    let lab = logged_in(|lab| {
        let users = users(lab).display().to_string();
        format!("printf %s '{SECOND}' > \"$login\"\nprintf %s '{THIRD}' > '{users}'")
    });
    let (runtime, run) = lab.begin(interactive(&lab));
    lab.wait_asked(run, 1);
    assert_eq!(warnings(&lab, run).len(), 1, "{:?}", lab.types(run));
    assert!(copy(&lab, run).exists(), "it lives, and has its login");
    runtime.reply(run, reply(1, "go on")).expect("answered");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    assert_eq!((users_text(&lab).as_str(), copy(&lab, run).exists()), (THIRD, false));
    assert_eq!(warnings(&lab, run).len(), 1, "once");
}

/// A run that was over took its agent's login away while that was still being ended.
#[test]
fn an_agent_that_is_still_ending_keeps_its_login() {
    let lab = logged_in(|lab| {
        let go = lab.path("go").display().to_string();
        format!(
            "case \"$*\" in *--sticky*)\n  '{SKILLRUN}' \"$@\"\n  n=0\n  while [ ! -e '{go}' ] && [ $n -lt 3000 ]; do \
             sleep 0.02; n=$((n+1)); done\n  printf %s '{SECOND}' > \"$login\"\n  exit 0;;\nesac"
        )
    });
    let (runtime, run) = lab.begin(with(interactive(&lab), |options| options.linger_sec = Some(LONG)));
    lab.answer(&runtime, run, 1, "go on");
    lab.wait_over(run);
    let other = on(lab.new_run(ExecutionMode::Auto, ONE_TURN), "logged");
    let other = runtime.submit(other).expect("accepted");
    assert_eq!(lab.wait_over(other).status, Some(RunStatus::Succeeded));
    assert!(copy(&lab, run).exists());
    fs::write(lab.path("go"), "").expect("written");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!((users_text(&lab).as_str(), copy(&lab, run).exists()), (SECOND, false));
}

#[test]
fn a_run_that_is_canceled_after_its_process_died_keeps_no_login() {
    let lab = logged_in(|_| String::new());
    let (runtime, run) = lab.begin(interactive(&lab));
    lab.wait_asked(run, 1);
    drop(runtime);
    fs::write(copy(&lab, run), SECOND).expect("refreshed");
    kill_hard(lab.hosts(run)[0]);
    let runtime = lab.runtime();
    runtime.cancel(run, "me").expect("canceled");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!((users_text(&lab).as_str(), copy(&lab, run).exists()), (SECOND, false));
}

/// The run reports what happened to the user's login: that it was copied back, or that another account's was not.
#[test]
fn a_run_reports_whether_its_login_was_copied_back() {
    const MINE: &str = r#"{"account_id":"mine","token":"first-4711"}"#;
    for (left, code, users_has) in [
        (r#"{"account_id":"mine","token":"second-4711"}"#, Code::LoginCopiedBack, "second-4711"),
        (r#"{"account_id":"yours","token":"second-4711"}"#, Code::LoginOtherAccount, "first-4711"),
    ] {
        let lab = logged_in(|_| format!("printf %s '{left}' > \"$login\""));
        fs::write(users(&lab), MINE).expect("a login");
        let (runtime, run) = lab.begin(on(lab.new_run(ExecutionMode::Auto, ONE_TURN), "logged"));
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
        assert!(runtime.wait_idle(TEST_TIMEOUT));
        assert!(users_text(&lab).contains(users_has), "{}", users_text(&lab));
        let is_told = |data: &Data| {
            if let Data::Control(ControlData::ParserWarning(told)) = data { told.code == code } else { false }
        };
        assert!(lab.events(run).iter().any(|event| is_told(&event.data)), "{code}");
    }
}
