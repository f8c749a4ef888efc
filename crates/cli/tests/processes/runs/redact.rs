//! A pattern in the settings: its matches are in the files of the evidence, and in nothing that is shown.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Output};

use lab::runtime::RuntimeLab;
use serde_json::json;
use skillrun_engine::Engines;
use skillrun_inspect::bundle::{self, Contents};
use skillrun_inspect::verify::{VerifyOutcome, verify};
use skillrun_log::FileLog;
use skillrun_model::{ExecutionMode, RunId};
use skillrun_runs::RunRecord;
use skillrun_runs::hidden::Hidden;
use skillrun_runtime::AcceptError;

use crate::SKILLRUN;

const MAIL: &str = "jo@example.org";
const STARS: &str = "**************";
const PATTERN: &str = r"[a-z]+@example\.org";

const SCRIPT: &str = "
- - say: Write to jo@example.org.
  - raw: no JSON, and by jo@example.org
  - stderr: jo@example.org is slow
  - output: {answer: ask jo@example.org}
    done: true
";

fn skillrun(lab: &RuntimeLab, words: &[&str]) -> Output {
    let mut command = Command::new(SKILLRUN);
    command.args(words).arg("--data").arg(lab.path("data")).arg("--config").arg(lab.path("config.toml"));
    command.current_dir(lab.path("home")).env("HOME", lab.path("home")).output().expect("skillrun")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything that a reader makes of it shows stars in its place.
fn check(what: &str, shown: &str) {
    assert!(!shown.contains(MAIL), "{what}: {shown}");
    assert!(shown.contains(STARS), "{what}: {shown}");
}

#[test]
fn what_a_pattern_matches_is_in_the_evidence_and_in_no_view() {
    let lab = RuntimeLab::new();
    let skill = lab.skill("probe", json!({}));
    fs::write(lab.path("config.toml"), format!("redact = ['{PATTERN}']\n")).expect("written");
    let (skill, script) = (skill.root.display().to_string(), lab.script(SCRIPT).display().to_string());
    let run = ["run", &skill, "--engine", "scripted", "--script", &script, "--follow", "--linger", "600"];
    let output = skillrun(&lab, &run);
    assert!(output.status.success(), "{}", text(&output));
    check("run", &text(&output));
    check("stdout of run", &String::from_utf8_lossy(&output.stdout));

    let id: RunId = lab.run_folders().first().and_then(|name| name.parse().ok()).expect("a run");
    let folder = lab.data().run(id);
    for name in ["events.jsonl", "fcmp.jsonl", "result.json"] {
        check(name, &read(&folder.root().join(name)));
    }
    assert_eq!(lab.output(id), json!({ "answer": format!("ask {STARS}") }));
    for name in ["stdout.1.log", "stderr.1.log"] {
        assert!(read(&folder.audit().join(name)).contains(MAIL), "{name} keeps the truth");
    }

    let report = verify(&lab.data(), &FileLog::new(lab.data().runs()), id).expect("a report");
    assert!(report.checks.iter().all(|check| check.outcome == VerifyOutcome::Same), "{report:?}");
    let record = RunRecord::read(&folder.record()).expect("a record");
    let hidden = Hidden::of(&record, &folder.record(), &Engines::load(None), |_| None).expect("patterns");
    let summary = bundle::write(&folder, Contents::Full(&hidden), &mut Cursor::new(Vec::new())).expect("a bundle");
    let exported = [("stdout.txt", "stdout"), (".audit/stdout.1.log", "stdout"), ("stderr.txt", "stderr")];
    for (name, stream) in exported {
        let masked = read(&folder.audit().join(format!("{stream}.1.log"))).replace(MAIL, STARS);
        let packed = summary.files.iter().find(|file| file.name == name).expect(name);
        assert_eq!(packed.hash, blake3::hash(masked.as_bytes()).to_hex().to_string(), "{name}");
    }
    let root = folder.root().display().to_string();
    let id = id.to_string();
    for words in
        [&["normalize", &root, "--format", "rasp"][..], &["logs", &id, "--raw"], &["logs", &id], &["result", &id]]
    {
        check(words[0], &text(&skillrun(&lab, words)));
    }
    let diagnosis = text(&skillrun(&lab, &["diagnose", &id]));
    assert!(!diagnosis.contains(MAIL), "{diagnosis}");
}

#[test]
fn a_recording_is_read_through_patterns_that_are_given() {
    let (lab, _runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, SCRIPT);
    lab.wait_over(run);
    fs::write(lab.path("config.toml"), "").expect("written");
    let audit = lab.data().run(run).audit().display().to_string();
    let normalize = |more: &[&str]| skillrun(&lab, &[&["normalize", &audit, "--format", "fcmp"], more].concat());
    assert!(text(&normalize(&[])).contains(MAIL));
    check("normalize", &text(&normalize(&["--redact", "nothing", "--redact", PATTERN])));
    let refused = normalize(&["--redact", "a(b"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(text(&refused), "error: the pattern \"a(b\" is not a regular expression (unclosed group)\n");
}

#[test]
fn an_invalid_pattern_is_refused_before_the_start() {
    let mut lab = RuntimeLab::new();
    fs::write(lab.path("config.toml"), "engine = 'scripted'\nredact = ['fine', 'a(b']\n").expect("written");
    let refused = skillrun(&lab, &["ls"]);
    assert_eq!(refused.status.code(), Some(2));
    let expected = "config.toml, line 2: redact: the pattern \"a(b\" is not a regular expression (unclosed group)\n";
    assert!(text(&refused).ends_with(expected), "{}", text(&refused));

    lab.redact = vec!["a(b".to_owned()];
    let refused = lab.runtime().submit(lab.new_run(ExecutionMode::Auto, SCRIPT)).expect_err("refused");
    assert!(matches!(refused, AcceptError::Pattern(_)), "{refused}");
    assert_eq!(lab.run_folders(), Vec::<String>::new(), "nothing is left of it");
}
