//! What a user sees who waits for a run in a terminal of 80 columns, and that nothing of it is in a pipe. The terminal
//! is that of `skillrun capture`.

use std::io::{BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use lab::{Lab, skillrun, wait_exit};

const RETRIES: &str = r#"
- - say: Let me think.
  - stderr: "Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {}"
  - hang
"#;

/// Returns to the beginning of the line and clears it.
const ERASE: &str = "\r\u{1b}[K";

/// A command on a terminal.
struct OnTerminal {
    child: Child,
    stdout: BufReader<ChildStdout>,
    shown: String,
}

impl OnTerminal {
    fn start(lab: &Lab, name: &str, words: &[&str]) -> Self {
        let variable = |name: &str, value: &std::path::Path| format!("{name}={}", value.display());
        let variables = [
            variable("HOME", &lab.path("home")),
            variable("SKILLRUN_DATA", &lab.data()),
            variable("SKILLRUN_CONFIG", std::path::Path::new("/dev/null")),
            "TERM=xterm".to_owned(),
            "NO_COLOR=1".to_owned(),
        ];
        let mut all = vec!["capture", "--wiring", "one_pty", "--no-snapshot", "--timeout", "60", "--out", name];
        variables.iter().for_each(|variable| all.extend(["--env", variable]));
        all.extend(["--", "sh", "-c", "stty cols 80; exec \"$0\" \"$@\"", skillrun()]);
        all.extend(words);
        let mut child = lab.command(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdout, shown: String::new() }
    }

    /// Reads until these words were shown.
    fn shows(&mut self, words: &str) {
        let mut bytes = self.shown.clone().into_bytes();
        while !String::from_utf8_lossy(&bytes).contains(words) {
            let mut buffer = [0; 4096];
            let count = self.stdout.read(&mut buffer).expect("readable");
            assert!(count > 0, "it ended without {words:?}: {:?}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&buffer[..count]);
        }
        self.shown = String::from_utf8_lossy(&bytes).into_owned();
    }

    /// Everything that was shown, until it ends.
    fn ends(mut self) -> String {
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest).expect("readable");
        wait_exit(&mut self.child);
        self.shown + &String::from_utf8_lossy(&rest)
    }
}

/// The live lines, of which each must be erased before anything else is shown.
fn live_lines(shown: &str) -> Vec<&str> {
    let pieces: Vec<&str> = shown.split(ERASE).collect();
    let drawn = pieces.get(1..pieces.len().saturating_sub(1)).unwrap_or_default();
    let (lines, others): (Vec<&str>, Vec<&str>) = drawn.iter().partition(|piece| !piece.contains('\n'));
    assert!(
        others.iter().all(|other| other.ends_with('\n')),
        "a line begins after text that has not ended: {others:?}"
    );
    lines
}

/// gemini, opencode and qwen retry for a minute and more. Nothing was shown meanwhile.
#[test]
fn a_retry_is_shown_while_a_user_waits_in_a_terminal() {
    let lab = Lab::without_data();
    lab.bare_skill("paint", RETRIES);
    let mut run = OnTerminal::start(&lab, "run", &["run", "./paint", "--engine", "scripted"]);
    run.shows("retrying: 503");
    let mut logs = OnTerminal::start(&lab, "logs", &["logs", "-f", "last"]);
    let mut wait = OnTerminal::start(&lab, "wait", &["wait", "last"]);
    let piped = lab.command(&["logs", "-f", "last"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    logs.shows("retrying: 503");
    wait.shows("retrying: 503");
    assert!(lab.output(&["cancel", "last"]).status.success());
    for (command, shown, end) in [
        ("run", run.ends(), "== run canceled"),
        ("logs", logs.ends(), "== run canceled"),
        ("wait", wait.ends(), "canceled"),
    ] {
        let lines = live_lines(&shown);
        assert!(lines.iter().any(|line| line.starts_with("scripted 0:")), "{command}: {shown:?}");
        assert!(lines.iter().all(|line| line.chars().count() < 80), "{command}: {lines:?}");
        let last = shown.rsplit(ERASE).next().unwrap_or_default();
        assert!(last.contains(end), "{command}: the line is erased before the end: {shown:?}");
    }
    let piped = piped.expect("started").wait_with_output().expect("over");
    for text in [String::from_utf8_lossy(&piped.stdout), String::from_utf8_lossy(&piped.stderr)] {
        assert!(!text.contains('\u{1b}') && !text.contains("retrying: 503"), "{text:?}");
    }
}

/// Ctrl-C left the line in front of the next prompt.
#[test]
fn the_line_is_erased_when_a_reader_is_interrupted() {
    let lab = Lab::without_data();
    lab.bare_skill("paint", RETRIES);
    let begun = lab.output(&["run", "./paint", "--engine", "scripted", "--no-wait"]);
    assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
    let mut logs = OnTerminal::start(&lab, "logs", &["logs", "-f", "last"]);
    logs.shows("retrying: 503");
    lab::signal(logs.child.id(), "INT");
    let shown = logs.ends();
    assert!(shown.trim_end_matches("^C").ends_with(ERASE), "{shown:?}");
    assert!(lab.output(&["cancel", "last"]).status.success());
}

/// `skillrun test` printed nothing until its first case was over.
#[test]
fn a_test_shows_the_cases_that_run() {
    let lab = Lab::without_data();
    lab.bare_skill("paint", RETRIES);
    let mut test = OnTerminal::start(&lab, "test", &["test", "./paint", "--engines", "scripted"]);
    test.shows("on scripted 0:");
    test.shows(", retrying: 503");
    lab::signal(test.child.id(), "INT");
    let shown = test.ends();
    let lines = live_lines(&shown);
    assert!(lines.iter().any(|line| line.starts_with("[0/1] no input on scripted")), "{shown:?}");
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{lines:?}");
}

const PARALLEL: &str = r#"
- - raw: '{"type":"item.started","item":{"id":"a","type":"command_execution","command":"cat LONG","status":"in_progress"}}'
  - raw: '{"type":"item.started","item":{"id":"b","type":"command_execution","command":"ls","status":"in_progress"}}'
  - raw: '{"type":"item.completed","item":{"id":"b","type":"command_execution","command":"ls","aggregated_output":"two","exit_code":0,"status":"completed"}}'
  - raw: '{"type":"item.completed","item":{"id":"a","type":"command_execution","command":"cat LONG","aggregated_output":"one LONG","exit_code":0,"status":"completed"}}'
  - output: {answer: done, path: LONG}
    done: true
"#;

/// The outputs of tools that ran in parallel were far from their calls, and lines were cut in a pipe.
#[test]
fn logs_put_outputs_below_calls_and_use_the_width() {
    let lab = Lab::without_data();
    let long = "/a/long/path".repeat(10);
    lab.bare_skill("paint", &PARALLEL.replace("LONG", &long));
    let run = lab.output(&["run", "./paint", "--engine", "scripted"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let piped = String::from_utf8(lab.output(&["logs", "last"]).stdout).expect("text");
    let calls = format!(
        "tool command_execution {{\"command\":\"cat {long}\"}}\n  > one {long}\n\
         tool command_execution {{\"command\":\"ls\"}}\n  > two\n"
    );
    assert!(piped.contains(&calls), "{piped}");
    for words in [&["logs", "last"][..], &["show", "last"], &["diagnose", "last"], &["ls"], &["result", "last"]] {
        let shown = OnTerminal::start(&lab, words[0], words).ends();
        assert!(
            shown.lines().count() > 1 && shown.lines().all(|line| line.chars().count() <= 80),
            "{words:?}: {shown}"
        );
    }
}
