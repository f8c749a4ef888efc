//! The commands of `examples/README.md` work, word for word.

use std::process::{Command, Output};

use serde_json::Value;
use testkit::paths;

/// The commands of the first block of commands, each as one line of words.
fn commands(page: &str) -> Vec<Vec<String>> {
    let block = page.split("```").nth(1).expect("a block of commands");
    let lines = block.replace("\\\n", " ");
    lines.lines().map(str::trim).filter(|line| line.starts_with("skillrun ")).map(words).collect()
}

/// As a shell takes them apart; quotes are all that the page uses.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in line.chars().chain([' ']) {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            other => word.push(other),
        }
    }
    words
}

#[test]
fn the_commands_of_the_examples_work() {
    let root = paths::workspace();
    let data = tempfile::tempdir().expect("a folder");
    let run = |words: &[String]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
        command.args(words).arg("--json").current_dir(&root).env("SKILLRUN_DATA", data.path());
        command.env("SKILLRUN_CONFIG", "/dev/null").stdin(std::process::Stdio::null()).output().expect("run")
    };
    let page = std::fs::read_to_string(root.join("examples/README.md")).expect("the page");
    let commands = commands(&page);
    assert_eq!(commands.len(), 3, "{commands:?}");
    let mut codes = Vec::new();
    for command in &commands {
        let output = run(&command[1..]);
        codes.push(output.status.code());
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_ne!(told["status"], "failed", "{told:#}");
        if told["status"] == "waiting_user" {
            let answer = ["reply", told["run_id"].as_str().expect("an id"), "stones"].map(str::to_owned);
            let result: Value = serde_json::from_slice(&run(&answer).stdout).expect("a result");
            assert_eq!((&result["status"], &result["output"]["theme"]), (&"succeeded".into(), &"stones".into()));
        }
    }
    assert_eq!(codes, [Some(0), Some(6), Some(0)]);
}

#[test]
fn the_example_skills_are_without_a_fault() {
    for name in ["count-words", "name-a-release", "report-on-table"] {
        let report = skillrun_skill::validate::validate(&paths::workspace().join("examples/skills").join(name));
        assert!(report.is_usable(), "{name}: {report:?}");
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    }
}
