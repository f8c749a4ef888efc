//! `skillrun test` from outside: what is interrupted, what engines see, what is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lab::{signal, wait_until};
use serde_json::Value;

struct Lab {
    place: lab::Lab,
}

impl Lab {
    /// A skill `probe` with these cases, and this script.
    fn new(cases: &str, script: &str) -> Self {
        let place = lab::Lab::without_data();
        place.bare_skill("probe", script);
        place.write("probe/tests/cases.yaml", cases);
        place.write("probe/tests/notes.txt", "for everybody\n");
        Self { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.place.write(name, text);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(&["test", "./probe", "--engines", "scripted"]);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, Value) {
        let output = self.command(words).arg("--json").output().expect("run");
        (output.status.code(), json(&output))
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Folders of runs below a folder.
fn runs(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join("runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn an_interrupt_cancels_what_runs_and_prints_what_there_is() {
    let cases = "- {name: quick, script: quick.yaml}\n- {name: slow}\n- {name: never}\n";
    let lab = Lab::new(cases, "- - say: wait\n  - sleep_ms: 600000\n");
    lab.write("probe/tests/quick.yaml", "- - output: {a: 1}\n    done: true\n");
    let child = lab.command(&["--jobs", "1", "--keep", "kept", "--json"]).spawn().expect("started");
    let kept = lab.path("kept");
    let is_slow =
        |run: &PathBuf| fs::read_to_string(run.join(".audit/stdout.1.log")).is_ok_and(|text| text.contains("wait"));
    wait_until("slow run", || runs(&kept).iter().any(is_slow));
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let report = json(&output);
    let verdicts: Vec<&Value> = report["rows"].as_array().expect("rows").iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, ["passed", "interrupted", "interrupted"]);
    assert_eq!(report["verdict"], "interrupted");
    assert_eq!(report["rows"][1]["runs"][0]["status"], "canceled");
    assert_eq!(report["rows"][2]["runs"][0]["run_id"], Value::Null, "the third was never begun");
    assert!(String::from_utf8_lossy(&output.stderr).contains("canceling; press Ctrl-C again to exit at once"));
    assert_eq!(runs(&kept).len(), 2);
}

#[test]
fn engines_do_not_see_the_cases() {
    let lab = Lab::new("- {name: one}\n", "- - output: {a: 1}\n    done: true\n");
    let (code, report) = lab.run(&["--keep", "kept"]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"passed".into()), "{report:#}");
    let [run] = &runs(&lab.path("kept"))[..] else { panic!("one run") };
    let skill = run.join("skill/tests");
    assert!(skill.join("notes.txt").exists(), "the rest of the skill is there");
    assert!(!skill.join("cases.yaml").exists(), "an engine could read what is expected");
    assert!(lab.path("probe/tests/cases.yaml").exists(), "the skill itself is not touched");
}

#[test]
fn runs_are_removed_when_all_is_well_and_kept_when_not() {
    let lab = Lab::new("- {name: one, expect: {output: {a: 1}}}\n", "- - output: {a: 1}\n    done: true\n");
    let left = |lab: &Lab| fs::read_dir(lab.path("data/tests")).expect("a folder").count();
    let (code, report) = lab.run(&[]);
    assert_eq!((code, &report["folder"], left(&lab)), (Some(0), &Value::Null, 0));
    lab.write("probe/tests/cases.yaml", "- {name: one, expect: {output: {a: 2}}}\n");
    let (code, report) = lab.run(&[]);
    assert_eq!((code, left(&lab)), (Some(1), 1));
    let folder = PathBuf::from(report["folder"].as_str().expect("a folder"));
    assert_eq!(runs(&folder).len(), 1);
    assert_eq!(report["rows"][0]["runs"][0]["problems"][0], "a is 1, not 2");
    assert!(!lab.path("data/runs").exists(), "real runs are elsewhere");
}

#[test]
fn many_at_once_are_all_there_and_in_order() {
    let cases: String = (0..6).map(|number| format!("- {{name: case {number}}}\n")).collect();
    let lab = Lab::new(&cases, "- - output: {a: 1}\n    done: true\n");
    let (code, report) = lab.run(&["--n", "3", "--jobs", "4"]);
    assert_eq!(code, Some(0), "{report:#}");
    let rows = report["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["case"].as_str()).collect();
    assert_eq!(names, ["case 0", "case 1", "case 2", "case 3", "case 4", "case 5"]);
    assert!(rows.iter().all(|row| row["passed"] == 3), "{report:#}");
}

/// Regression: a skill that waits for quota left an owner behind each test, which asked the engine hours later. And a
/// case that expects a failure passed, because there was no quota.
#[test]
fn an_exhausted_quota_is_not_a_failure_of_the_skill() {
    let script = "- - fail: Rate limit reached. Please try again in 1 hour.\n";
    let lab = Lab::new("- {name: one, expect: {status: failed}}\n", script);
    lab.write("probe/assets/runner.json", r#"{"runtime_options": {"retry": {"quota": "wait"}}}"#);
    let (code, report) = lab.run(&["--keep", "kept"]);
    let [run] = &runs(&lab.path("kept"))[..] else { panic!("no run but the one of the test: {report:#}") };
    let events = fs::read_to_string(run.join("events.jsonl")).expect("a Log");
    let failed = events.lines().find(|line| line.contains("run.failed")).expect("a failed run");
    let failed: Value = serde_json::from_str(failed).expect("an event");
    assert_eq!((&failed["data"]["error"]["category"], &failed["data"]["retry"]), (&"quota".into(), &Value::Null));
    let owners = fs::read_dir(lab.path("kept/owners")).expect("a folder").count();
    assert_eq!(owners, 0, "no owner remains after a test");
    assert_eq!((code, &report["verdict"], &report["rows"][0]["verdict"]), (Some(1), &"failed".into(), &"error".into()));
    let one = &report["rows"][0]["runs"][0];
    assert_eq!((&one["verdict"], &one["status"]), (&"error".into(), &"failed".into()));
    let why = one["problems"][0].as_str().expect("a reason");
    assert!(why.starts_with("it could not be run: ") && why.contains("Rate limit"), "{why}");
}

#[test]
fn models_are_asked_for_by_engine_or_for_all() {
    let lab = Lab::new("- {name: one}\n", "- - output: {a: 1}\n    done: true\n");
    let cases: [(&[&str], &str); 3] = [
        (&["--model", "small"], "small"),
        (&["--model", "small", "--model", "scripted=large"], "large"),
        (&["--model", "codex=large", "--model", "small"], "small"),
    ];
    for (number, (words, model)) in cases.into_iter().enumerate() {
        let kept = format!("kept-{number}");
        let (code, report) = lab.run(&[words, &["--keep", &kept]].concat());
        assert_eq!(code, Some(0), "{report:#}");
        let [run] = &runs(&lab.path(&kept))[..] else { panic!("one run") };
        let record: Value = serde_json::from_slice(&fs::read(run.join("run.json")).expect("a record")).expect("JSON");
        assert_eq!(record["request"]["model"], model, "{words:?} {record:#}");
    }
}
