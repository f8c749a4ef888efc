//! The commands of `examples/README.md` and the first one of the README work, word for word, and what the engine
//! `scripted` answers in them follows from the input.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
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

fn run(data: &Path, words: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
    command.args(words).arg("--json").current_dir(paths::workspace()).env("SKILLRUN_DATA", data);
    command.env("SKILLRUN_CONFIG", "/dev/null").stdin(std::process::Stdio::null()).output().expect("run")
}

/// What a run of these words printed.
fn told(data: &Path, words: &[String]) -> Value {
    let output = run(data, words);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Found by a user: the answer to "one two three" was `{"words": 9, "longest": "quick"}`.
#[test]
fn the_first_command_of_the_readme_counts_its_own_words() {
    let data = tempfile::tempdir().expect("a folder");
    let page = std::fs::read_to_string(paths::workspace().join("README.md")).expect("the page");
    let (_, section) = page.split_once("\n## Run a skill\n").expect("a section about runs");
    let first = commands(section).remove(0);
    assert!(first.iter().any(|word| word == "text=one two three"), "{first:?}");
    assert_eq!(told(data.path(), &first[1..])["output"], json!({"words": 3, "longest": "three"}));
}

#[test]
fn answers_of_the_examples_follow_from_the_input() {
    let data = tempfile::tempdir().expect("a folder");
    let table = data.path().join("rivers.csv");
    std::fs::write(&table, "river,km\nRhine,1230\nAare,288\n").expect("a file");
    let table = format!("table={}", table.display());
    for (words, output) in [
        ("count-words --input text=a", json!({"words": 1, "longest": "a"})),
        ("count-words --input text=", json!({"words": 0, "longest": ""})),
        (
            "name-a-release --mode interactive --input version=v2 --input theme=rivers",
            json!({"name": "Moldau", "theme": "rivers", "why": "It carries a lot and stays calm."}),
        ),
        (
            "name-a-release --mode auto --input version=v2 --input theme=tea",
            json!({"name": "Northstar", "theme": "tea", "why": "It is easy to say."}),
        ),
        (
            "name-a-release --mode auto --input version=v2",
            json!({"name": "Kingfisher", "theme": "birds", "why": "It is small and quick."}),
        ),
        (
            &format!("report-on-table --file {table}"),
            json!({"rows": 2, "report": "artifacts/report.md", "columns": "artifacts/columns.json"}),
        ),
    ] {
        let line = self::words(&format!("run examples/skills/{words} --engine scripted"));
        let told = told(data.path(), &line);
        assert_eq!(told["output"], output, "{words}: {told:#}");
        if words.starts_with("report-on-table") {
            let id = told["run_id"].as_str().expect("an id");
            let columns = data.path().join("runs").join(id).join("workspace/artifacts/columns.json");
            let columns: Value = serde_json::from_slice(&std::fs::read(columns).expect("a file")).expect("JSON");
            assert_eq!(columns, json!([{"name": "river"}, {"name": "km", "smallest": 288, "largest": 1230}]));
        }
    }
}

#[test]
fn the_commands_of_the_examples_work() {
    let root = paths::workspace();
    let data = tempfile::tempdir().expect("a folder");
    let run = |words: &[String]| run(data.path(), words);
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
            assert_eq!(result["status"], "succeeded", "{result:#}");
            let expected = json!({"name": "Flint", "theme": "stones", "why": "It is hard and makes sparks."});
            assert_eq!(result["output"], expected);
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
