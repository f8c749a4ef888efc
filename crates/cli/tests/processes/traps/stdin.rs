//! No user is at the keyboard: an engine that reads stdin must find its prompt there, and its end at once.

use std::fs;

use crate::traps::lab::{Lab, plays};
use crate::traps::tape::{ENGINES, Tape};

/// Regression: the prompt was an argument, which every user of the machine can see (found by an attack).
#[test]
fn every_engine_gets_its_prompt_on_stdin_only() {
    const INPUT: &str = "a word of the input";
    for engine in ENGINES {
        let lab = Lab::new();
        lab.put("input.json", &serde_json::json!({ "text": INPUT }).to_string());
        lab.stand_in(engine, &format!("cat >'{}'; {}", lab.path("prompt").display(), lab.steps("report")));
        let run = lab.run(engine, &["--input", "input.json", "--timeout", "50"]);
        assert_ne!(run.report()["stdin"], "/dev/null", "{engine}");
        assert!(fs::read_to_string(lab.path("prompt")).expect("a prompt").contains(INPUT), "{engine}");
        assert!(!run.argv(1).iter().any(|word| word.contains(INPUT)), "{engine}: {:?}", run.argv(1));
    }
    let lab = Lab::new();
    lab.stand_in("iflow", &lab.steps("report"));
    assert_eq!(lab.run("iflow", &[]).report()["stdin"], "/dev/null", "it takes its prompt as an argument alone");
}

/// The stand-in answers when stdin has come to its end, and not before.
#[track_caller]
fn reads_to_the_end(engine: &str) {
    let lab = Lab::new();
    lab.stand_in(engine, &format!("cat >/dev/null; {}", plays(&format!("{engine}-tool-then-done"), 1)));
    lab.run(engine, &["--timeout", "50"]).ends_as("succeeded", "");
}

#[test]
fn codex_waits_for_the_end_of_stdin() {
    // As it was recorded with a pipe that was never closed.
    Tape::timed_out("codex-stdin-left-open");
    reads_to_the_end("codex");
}

#[test]
fn opencode_waits_for_the_end_of_stdin_without_a_word() {
    reads_to_the_end("opencode");
}

#[test]
fn claude_warns_of_an_open_stdin_and_continues() {
    let tape = Tape::of("claude-stdin-left-open");
    assert!(tape.text("stderr.1.log").contains("no stdin data received in 3s"));
    assert_eq!(tape.succeeds().happened(), Tape::done("claude").succeeds().happened());
}

#[test]
fn a_prompt_on_stdin_comes_to_its_end() {
    let lab = Lab::new();
    let long = "word ".repeat(40_000);
    lab.put("input.json", &serde_json::json!({ "text": long }).to_string());
    let keep = format!("cat >'{}'", lab.path("prompt").display());
    lab.stand_in("codex", &format!("{keep}; {}", plays("codex-tool-then-done", 1)));
    let run = lab.run("codex", &["--input", "input.json", "--timeout", "50"]);
    run.ends_as("succeeded", "");
    assert!(fs::read_to_string(lab.path("prompt")).expect("a prompt").contains(&long));
    assert_eq!(run.argv(1).last().map(String::as_str), Some("-"));
}
