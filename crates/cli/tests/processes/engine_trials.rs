//! `skillrun engines verify` and `record`, with an engine that writes what a real one once wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use testkit::paths;

/// How the engine `fake` is found, started and pointed at a model.
const DESCRIPTOR: &str = r#"
name = "fake"
title = "A fake"
profile = "codex_ndjson"
continuation = "resumable"

[executable]
names = ["fake"]

[version]
argv = ["--version"]

[start]
argv = ["1", "{{permission_flags}}", "{{prompt_flags}}"]

[resume]
argv = ["2", "{{permission_flags}}", "{{session_id}}", "{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission.workspace]
posture = "not_enforced"
flags = ["--free"]

[permission.read_only]
posture = "not_enforced"

[permission.full]
posture = "not_enforced"

[environment]
pass = ["FAKE_URL"]
secret = ["FAKE_KEY"]
set = { HOME = "{{home}}" }

[probe]
set = { FAKE_URL = "{{server}}/v1", FAKE_KEY = "probe" }

[process]
ladder = [{ signal = "SIGKILL", pause_ms = 0 }]
"#;

/// Plays the recording of its scenario. `ODD` is a place for whatever a test wants it to do otherwise.
const PROGRAM: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "fake 0.166.0"; exit; }
scenario=${FAKE_URL#*/s/}; scenario=${scenario%/v1}
[ "$FAKE_KEY" = probe ] || { echo "I know a secret of yours" >&2; exit 9; }
touch "$HOME/was-here" || exit 9
echo "$HOME $PWD $FAKE_URL" >&2
ODD
if [ "$scenario" = sleeptool ]; then
    echo '{"type":"thread.started","thread_id":"t-1"}'
    echo '{"type":"item.started","item":{"id":"i-1","type":"command_execution","command":"sleep 300","aggregated_output":"","exit_code":null,"status":"in_progress"}}'
    exec sleep 300
fi
cat "GOLDEN/codex-$scenario/.audit/stdout.$1.log"
[ "$scenario" = err401 ] && exit 1
exit 0
"#;

struct Lab {
    place: lab::Lab,
}

impl Lab {
    fn new(odd: &str) -> Self {
        let place = lab::Lab::without_data();
        place.write("engines/fake.toml", DESCRIPTOR);
        place.settings("engines = \"engines\"\n");
        let golden = paths::workspace().join("crates/trial/golden");
        let program = PROGRAM.replace("GOLDEN", &golden.display().to_string()).replace("ODD", odd);
        place.write_program("bin/fake", &program);
        Self { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display());
        let mut command = self.place.command(words);
        command.env("PATH", path).env("FAKE_KEY", "a-real-secret-of-the-user").env("FAKE_URL", "http://example.org");
        command.output().expect("run")
    }

    fn verify(&self, words: &[&str]) -> (Option<i32>, Value) {
        let output = self.run(&[&["engines", "verify", "fake", "--json"], words].concat());
        (output.status.code(), json(&output))
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// What is said about each thing that was tried.
fn states<'a>(report: &'a Value) -> Vec<(&'a str, &'a str, &'a str)> {
    let lines = report["recorded"].as_array().into_iter().chain(report["live"].as_array()).flatten();
    let text = |line: &'a Value, name: &str| line[name].as_str().unwrap_or_default();
    lines.map(|line| (text(line, "name"), text(line, "state"), text(line, "why"))).collect()
}

/// What is said about something that was tried live.
fn state_of<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    let found = report["live"].as_array().into_iter().flatten().find(|line| line["name"] == name);
    let line = found.unwrap_or_else(|| panic!("{name}: {report:#}"));
    (line["state"].as_str().unwrap_or_default(), line["why"].as_str().unwrap_or_default())
}

#[test]
fn an_engine_that_does_all_it_must_can_be_used() {
    let lab = Lab::new("");
    let (code, report) = lab.verify(&[]);
    assert_eq!((code, &report["works"]), (Some(0), &true.into()), "{report:#}");
    let names: Vec<&str> = states(&report).into_iter().map(|(name, _, _)| name).collect();
    let live = ["interactive, resumed", "auto", "tool call", "cancel in a tool call", "refused login (401)"];
    assert_eq!(names, [&["auto", "interactive", "err401"][..], &live].concat());
    assert!(states(&report).iter().all(|(_, state, _)| *state == "works"), "{report:#}");
    assert_eq!(report["installed"]["version"], "0.166.0");
    assert_eq!(report["drift"], serde_json::json!({"new": [], "unknown": [], "gone": []}));
    assert_eq!(fs::read_dir(lab.path("home")).expect("a home").count(), 0, "the user's home is not touched");
    assert_eq!(fs::read_dir(lab.path("data/tests")).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn a_login_that_is_refused_must_not_look_like_success() {
    let lab = Lab::new("[ \"$scenario\" = err401 ] && scenario=auto");
    let (code, report) = lab.verify(&[]);
    assert_eq!((code, &report["works"]), (Some(1), &false.into()));
    let (state, why) = state_of(&report, "refused login (401)");
    assert_eq!((state, why), ("fails", "it is succeeded, although the model refused everything"));
    assert_eq!(state_of(&report, "auto").0, "works");
}

#[test]
fn an_engine_that_forgets_its_session_is_reported() {
    let lab = Lab::new("[ \"$scenario\" = interactive ] && [ \"$1\" = 2 ] && exit 3");
    let (code, report) = lab.verify(&[]);
    assert_eq!(code, Some(1));
    let (state, why) = state_of(&report, "interactive, resumed");
    assert_eq!(state, "fails");
    assert!(why.starts_with("it failed: "), "{why}");
}

#[test]
fn new_or_missing_events_are_reported_not_failures() {
    let lab = Lab::new(
        "cat() { echo '{\"type\":\"turn.dreamed\",\"of\":\"sheep\"}'; /bin/cat \"$@\" | grep -v '\"turn.started\"'; }",
    );
    let (code, report) = lab.verify(&[]);
    assert_eq!(report["drift"]["new"], serde_json::json!(["turn.dreamed"]), "{report:#}");
    assert_eq!(report["drift"]["unknown"], serde_json::json!(["turn.dreamed"]));
    assert_eq!(report["drift"]["gone"], serde_json::json!(["turn.started"]));
    assert_eq!((code, &report["works"]), (Some(0), &true.into()));
}

#[test]
fn an_engine_that_hangs_is_given_up() {
    let lab = Lab::new("exec sleep 300");
    let (code, report) = lab.verify(&["--timeout", "1"]);
    assert_eq!(code, Some(1));
    assert_eq!(state_of(&report, "auto"), ("fails", "it was not done within 1 s"));
    assert_eq!(fs::read_dir(lab.path("data/tests")).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn an_engine_that_is_not_there_is_not_tried() {
    let lab = Lab::new("");
    fs::remove_file(lab.path("bin/fake")).expect("removed");
    let (code, report) = lab.verify(&[]);
    assert_eq!((code, &report["works"]), (Some(1), &false.into()));
    assert!(report["installed"]["problem"].as_str().is_some_and(|why| why.contains("is not installed")));
    let (state, why) = state_of(&report, "runs with a scripted model");
    assert_eq!((state, why), ("not_tried", "it is not installed"));
}

#[test]
fn a_recording_is_anonymous_and_parses_like_the_run() {
    let lab = Lab::new("");
    let record = ["engines", "record", "fake", "interactive", "--to", "out", "--json"];
    let output = lab.run(&record);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let told = json(&output);
    assert_eq!((&told["status"], &told["attempts"]), (&"succeeded".into(), &2.into()), "{told:#}");
    let names = ["stdout", "stderr", "chunks", "meta"].map(|name| name.to_owned());
    let audit = lab.path("out/fake-interactive/.audit");
    for (name, number) in names.iter().flat_map(|name| [(name, 1), (name, 2)]) {
        let ending = match name.as_str() {
            "chunks" => "jsonl",
            "meta" => "json",
            _ => "log",
        };
        let text = fs::read_to_string(audit.join(format!("{name}.{number}.{ending}"))).expect("a file");
        let root = lab.place.root().display().to_string();
        for word in [root.as_str(), "a-real-secret-of-the-user"] {
            assert!(!text.contains(word), "{name}.{number} has {word}: {text}");
        }
    }
    let stderr = fs::read_to_string(audit.join("stderr.1.log")).expect("a file");
    assert_eq!(stderr, "/lab/engine-home /lab/workspace http://127.0.0.1:18931/s/interactive/v1\n");
    check_index(&audit);
    let page = fs::read_to_string(lab.path("out/README.md")).expect("a page");
    assert!(page.starts_with("- `fake-interactive`: fake 0.166.0, recorded with skillrun "), "{page}");
    // The same verdicts come out of it, and every byte is where the index says.
    let read = lab.run(&["normalize", "out/fake-interactive", "--engine", "codex"]);
    let lines: Vec<Value> = serde_json::Deserializer::from_slice(&read.stdout).into_iter().flatten().collect();
    let reasons: Vec<&str> = lines.iter().filter_map(|line| line["completion"]["reason_code"].as_str()).collect();
    assert_eq!(&reasons[..2], ["TURN_ENDED_WITHOUT_MARKER", "DONE_MARKER_FOUND"], "{lines:#?}");
    assert!(!String::from_utf8_lossy(&read.stdout).contains("CHUNK_INDEX_TORN"));
    let again = lab.run(&record);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("out/fake-interactive: already exists"));
}

/// The index of every attempt covers its streams without a gap.
fn check_index(audit: &Path) {
    for number in [1, 2] {
        let index = fs::read_to_string(audit.join(format!("chunks.{number}.jsonl"))).expect("an index");
        for stream in ["stdout", "stderr"] {
            let size = fs::metadata(audit.join(format!("{stream}.{number}.log"))).expect("a stream").len();
            let mut at = 0;
            for record in index.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record")) {
                if record["stream"] == stream {
                    assert_eq!(record["from"], at, "{stream}.{number}: {index}");
                    at = record["to"].as_u64().expect("an offset");
                }
            }
            assert_eq!(at, size, "{stream}.{number}");
        }
    }
}
