//! Data folders written by released versions open with this one: every run is listed, read, verified and continued.
//! The folders are in `testkit/data-folders`; nothing there is ever written again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::SKILLRUN;

const SUCCEEDED: &str = "01a1e31d-cc1b-7b1d-ba54-60876bc8b11e";
const WAITING: &str = "01a1e31d-cc5f-7794-baf4-8364fe5cdc60";
const CANCELED: &str = "01a1e31d-ccb4-7771-9232-9258d29477f9";
const FAILED: &str = "01a1e31f-c62e-753b-8517-6bc9d8fe669e";
const ZEROS_IN_LOG: &str = "01a1e31f-f681-7fe2-aaa9-6838ff56c473";

/// Where the program was that wrote the folder.
const PROGRAM: &str = "/opt/skillrun-0.1.0/skillrun";

/// A copy of the folder that 0.1.0 wrote, with the permissions it had.
struct DataFolder {
    place: lab::Lab,
}

impl DataFolder {
    fn of_0_1_0() -> Self {
        let place = lab::Lab::without_data();
        copy(&testkit::paths::workspace().join("testkit/data-folders/0.1.0"), &place.data());
        let folder = Self { place };
        // A run continues with the program that began it, which is not on this machine: this one takes its place.
        let record = folder.run_folder(WAITING).join("run.json");
        let text = fs::read_to_string(&record).expect("a record");
        assert!(text.contains(PROGRAM), "{text}");
        fs::write(&record, text.replace(PROGRAM, SKILLRUN)).expect("written");
        folder
    }

    fn run_folder(&self, run: &str) -> PathBuf {
        self.place.run_folder(run)
    }

    /// What a command prints, which must exit with this code.
    fn printed(&self, words: &[&str], code: i32) -> String {
        let output = self.place.output(words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let trouble = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}{trouble}");
        text
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.printed(words, 0)).expect("JSON")
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("permissions");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("permissions");
        }
    }
}

#[test]
fn every_run_is_listed_in_its_state() {
    let folder = DataFolder::of_0_1_0();
    let listed = folder.json(&["ls", "--json"]);
    let runs = listed["runs"].as_array().expect("runs");
    for (run, status) in
        [(SUCCEEDED, "succeeded"), (WAITING, "waiting_user"), (CANCELED, "canceled"), (FAILED, "failed")]
    {
        let found = runs.iter().find(|one| one["run_id"] == run).unwrap_or_else(|| panic!("{run} is not listed"));
        assert_eq!(found["status"], status, "{found}");
    }
    let text = folder.printed(&["ls"], 0);
    assert!(text.contains("damaged"), "the damaged runs are not listed as damaged:\n{text}");
}

#[test]
fn finished_runs_are_read_and_verified() {
    let folder = DataFolder::of_0_1_0();
    let result = folder.json(&["result", SUCCEEDED, "--json"]);
    assert_eq!(result["output"], serde_json::json!({"words": 9, "longest": "quick"}), "{result}");
    let failed = folder.json(&["show", FAILED, "--json"]);
    assert!(failed.to_string().contains("ENGINE_FAILED"), "{failed}");
    folder.printed(&["diagnose", FAILED], 0);
    for run in [SUCCEEDED, CANCELED, FAILED] {
        folder.printed(&["verify", run], 0);
        folder.printed(&["logs", run], 0);
    }
}

#[test]
fn a_waiting_run_is_answered_and_ends() {
    let folder = DataFolder::of_0_1_0();
    let before = fs::read(folder.run_folder(WAITING).join("events.jsonl")).expect("a Log");
    folder.printed(&["reply", WAITING, "rivers"], 0);
    let result = folder.json(&["result", WAITING, "--json"]);
    assert_eq!(result["status"], "succeeded", "{result}");
    assert_eq!(result["output"]["theme"], "rivers", "{result}");
    let after = fs::read(folder.run_folder(WAITING).join("events.jsonl")).expect("a Log");
    assert!(after.starts_with(&before), "what 0.1.0 wrote was changed");
    folder.printed(&["verify", WAITING], 0);
}

#[test]
fn a_damaged_run_is_reported_and_stops_no_other() {
    let folder = DataFolder::of_0_1_0();
    folder.printed(&["verify", ZEROS_IN_LOG], 1);
    let doctor = folder.printed(&["doctor"], 1);
    assert!(doctor.contains("2 of 6 damaged"), "{doctor}");
    folder.printed(&["recover"], 0);
    folder.printed(&["recover", "--cut", ZEROS_IN_LOG], 0);
    folder.printed(&["verify", SUCCEEDED], 0);
}
