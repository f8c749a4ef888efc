//! Log lines on stderr: off unless wanted, one JSON object per line on request, and without the texts of users.

use std::process::Stdio;

use lab::{Lab, wait_exit};
use serde_json::Value;

const SCRIPT: &str = "- - output: {answer: 'the answer'}\n    done: true\n";

/// What `skillrun run` writes to stderr with these options.
fn stderr_of(options: &[&str]) -> String {
    let lab = Lab::with_skill("asks", SCRIPT);
    let words = ["run", "./asks", "--engine", "scripted", "--mode", "auto", "--json"];
    let output = lab.output(&[&words[..], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_command_logs_nothing_unless_it_is_asked_to() {
    let silent = stderr_of(&[]);
    assert!(!silent.contains("RunStarted"), "{silent}");
}

#[test]
fn log_lines_show_the_run_and_its_attempt_but_no_answer() {
    let lines = stderr_of(&["--log", "debug"]);
    for part in ["run{id=", "attempt{number=1}", "RunStarted", "AttemptEnded", "RunCompleted"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    assert!(!lines.contains("the answer"), "{lines}");
}

#[test]
fn json_log_lines_are_one_object_each() {
    let lines = stderr_of(&["--log", "skillrun_runtime=info", "--log-format", "json"]);
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(events.iter().any(|event| event["fields"]["message"] == "RunCompleted"), "{lines}");
    assert!(events.iter().all(|event| event["level"] == "INFO"), "{lines}");
}

#[test]
fn a_bad_log_filter_is_bad_usage() {
    for filter in ["skillrun=loud", "loud"] {
        let output = Lab::new().output(&["ls", "--log", filter]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("--log {filter}")) && message.contains("try --log debug"), "{message}");
    }
}

/// Found by reading the output through `head`: the thread of the run panicked on its next log line, and the command
/// waited without end.
#[test]
fn a_run_ends_though_its_log_lines_cannot_be_written() {
    let lab = Lab::with_skill("asks", SCRIPT);
    let words = ["run", "./asks", "--engine", "scripted", "--mode", "auto", "--json", "--log", "trace"];
    let mut child = lab.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    drop(child.stderr.take());
    assert!(wait_exit(&mut child).success());
}
