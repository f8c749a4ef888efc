use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use skillrun_engine::Permission;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::{ProfileId, Timestamp};
use tempfile::TempDir;

use super::*;
use crate::record::{HomeChoice, Sharing, Snapshot};

fn id(number: u8) -> RunId {
    RunId::new(u64::from(number), [number; 10])
}

fn record(number: u8) -> RunRecord {
    let mut record = testkit::run_files::run_record(&id(number).to_string());
    record["engine"]["version"] = json!("1");
    record["request"]["input"] = json!({"b": 1, "a": {"y": 1, "x": [2]}});
    record["request"]["files"] = json!({"data": "data.csv"});
    record["request"]["script"] = json!("script.toml");
    serde_json::from_value(record).expect("a record")
}

fn skill_of(record: &mut RunRecord) -> &mut SkillRecord {
    record.skill.as_mut().expect("a skill")
}

fn inputs() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("data.csv"), "1,2").expect("a file");
    fs::write(dir.path().join("script.toml"), "a").expect("a file");
    dir
}

fn key(record: &RunRecord, inputs: &TempDir) -> CacheKey {
    CacheKey::of(record, inputs.path()).expect("readable").expect("it can be used again")
}

#[test]
fn what_can_change_a_result_changes_the_key() {
    let inputs = inputs();
    let first = key(&record(1), &inputs);
    let changes: &[fn(&mut RunRecord)] = &[
        |r| r.skillrun = "0.2.0".into(),
        |r| skill_of(r).name = "other".into(),
        |r| skill_of(r).hash = "ab".into(),
        |r| skill_of(r).layers_hash = "bc".into(),
        |r| r.skill = None,
        |r| r.request.prompt = Some("Why?".into()),
        |r| r.engine.name = "other".into(),
        |r| r.engine.program = "elsewhere/skillrun".into(),
        |r| r.engine.version = None,
        |r| r.engine.profile = ProfileId::CodexNdjson,
        |r| r.engine.profile_version = 2,
        |r| drop(r.request.input.insert("c".into(), Value::Null)),
        |r| drop(r.request.parameter.insert("c".into(), Value::Null)),
        |r| r.request.files.clear(),
        |r| drop(r.request.files.insert("other".into(), "data.csv".into())),
        |r| r.request.home = HomeChoice::User,
        |r| r.request.permission = Permission::Full,
        |r| r.request.model = Some("large".into()),
        |r| r.request.effort = Some("high".into()),
        |r| r.request.script = None,
        |r| r.request.timeouts.hard_sec = 1.0,
        |r| r.request.max_bytes = 2,
        |r| r.request.max_attempt = Some(1),
        |r| r.request.require_marker = true,
        |r| r.request.snapshot = Snapshot::Off,
        |r| r.request.env.push("X".into()),
        |r| r.request.secrets.push("X".into()),
        |r| r.redact_patterns.push("x".into()),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = record(1);
        change(&mut other);
        assert_ne!(key(&other, &inputs), first, "change {number}");
    }
    fs::write(inputs.path().join("data.csv"), "1,3").expect("a file");
    let other = key(&record(1), &inputs);
    assert_ne!(other, first, "another content under the same name");
    fs::write(inputs.path().join("script.toml"), "b").expect("a file");
    assert_ne!(key(&record(1), &inputs), other, "another script");
}

#[test]
fn what_cannot_change_it_does_not() {
    let inputs = inputs();
    let first = key(&record(1), &inputs);
    let changes: &[fn(&mut RunRecord)] = &[
        |r| r.run_id = id(2),
        |r| r.created_at = Timestamp::EPOCH.plus_nanos(5),
        |r| r.retry_of = Some(id(7)),
        |r| skill_of(r).source = "elsewhere".into(),
        |r| r.request.priority = 9,
        |r| r.request.request_id = Some("x".into()),
        |r| r.request.session_timeout_sec = 1.0,
        |r| r.request.interactive_require_user_reply = false,
        |r| r.request.auto_decision_limit = 1,
        |r| r.request.default_decision_policy = Some(DecisionPolicy::Abort),
        |r| r.request.input = json!({"a": {"x": [2], "y": 1}, "b": 1}).as_object().cloned().expect("an object"),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = record(1);
        change(&mut other);
        assert_eq!(key(&other, &inputs), first, "change {number}");
    }
}

#[test]
fn an_interactive_run_or_a_folder_of_the_users_has_no_key() {
    let inputs = inputs();
    let mut interactive = record(1);
    interactive.request.mode = ExecutionMode::Interactive;
    let mut folder = record(1);
    folder.request.workspace = Workspace::Folder { path: "/project".into(), sharing: Sharing::Alone };
    for record in [interactive, folder] {
        assert_eq!(CacheKey::of(&record, inputs.path()).expect("readable"), None);
    }
}

#[test]
fn a_file_that_is_gone_is_an_error_and_no_key() {
    let inputs = inputs();
    fs::remove_file(inputs.path().join("data.csv")).expect("removed");
    CacheKey::of(&record(1), inputs.path()).expect_err("not readable");
    symlink("script.toml", inputs.path().join("data.csv")).expect("a link");
    CacheKey::of(&record(1), inputs.path()).expect_err("a link");
    let mut without = record(1);
    (without.request.files, without.request.script) = (BTreeMap::new(), None);
    assert!(CacheKey::of(&without, &inputs.path().join("nowhere")).expect("no file is needed").is_some());
}

/// A data folder with one run that succeeded.
fn world() -> (TempDir, DataFolder, CacheKey) {
    let dir = tempfile::tempdir().expect("a folder");
    let data = DataFolder::new(dir.path());
    let folder = data.run(id(1));
    fs::create_dir_all(folder.workspace().join("artifacts")).expect("a folder");
    fs::create_dir_all(folder.inputs()).expect("a folder");
    fs::write(folder.inputs().join("data.csv"), "1,2").expect("a file");
    fs::write(folder.inputs().join("script.toml"), "a").expect("a file");
    fs::write(folder.workspace().join("artifacts/a"), "made").expect("a file");
    let record = record(1);
    record.write(&folder.record()).expect("written");
    let mut result = testkit::run_files::run_result(&id(1).to_string(), "succeeded");
    result["artifacts"] = json!([{"path": "artifacts/a", "size": 4, "hash": "", "type": "", "role": null}]);
    fs::write(folder.result(), result.to_string()).expect("written");
    write_last_event(&folder, "run.completed", json!({"reason_code": "CLEAN_FINAL"}));
    let key = CacheKey::of(&record, &folder.inputs()).expect("readable").expect("a key");
    remember(&data, &key, id(1)).expect("remembered");
    (dir, data, key)
}

fn write_last_event(run: &RunFolder, event_type: &str, data: Value) {
    let event = json!({
        "protocol_version": "rasp/1.0", "run_id": id(1), "seq": 1, "ts": Timestamp::EPOCH, "attempt_number": 1,
        "source": {"engine": "scripted", "stream": "control", "parser": null, "confidence": 1.0},
        "event": {"category": "lifecycle", "type": event_type, "level": "info"},
        "data": data,
        "correlation": {"interaction_id": null, "tool_call_id": null, "session_id": null, "request_id": null,
            "artifact_id": null, "parent_run_id": null, "step_id": null},
        "raw_ref": {"stdout_from": 0, "stdout_to": 0, "stderr_from": 0, "stderr_to": 0},
    });
    fs::write(run.events(), format!("{event}\n")).expect("written");
}

#[test]
fn a_run_that_succeeded_is_found_again() {
    let (_dir, data, key) = world();
    assert_eq!(lookup(&data, &key), Some(id(1)));
    remember(&data, &key, id(1)).expect("again");
    let other = CacheKey(blake3::hash(b"other"));
    assert_eq!(lookup(&data, &other), None);
}

#[test]
fn an_entry_is_only_a_hint() {
    let spoil: &[fn(&DataFolder, &RunFolder, &CacheKey)] = &[
        |_, run, _| fs::remove_dir_all(run.root()).expect("removed"),
        |_, run, _| fs::remove_file(run.result()).expect("removed"),
        |_, run, _| fs::remove_file(run.events()).expect("removed"),
        |_, run, _| write_last_event(run, "run.canceled", json!({"reason_code": "CANCELED", "by": null})),
        |_, run, _| write_last_event(run, "run.heartbeat", json!({"elapsed_ms": 1, "bytes": 1})),
        |_, run, _| fs::remove_file(run.workspace().join("artifacts/a")).expect("removed"),
        |_, run, _| fs::write(run.workspace().join("artifacts/a"), "longer than it was").expect("written"),
        |_, run, _| fs::write(run.inputs().join("data.csv"), "1,3").expect("written"),
        |_, run, _| {
            let mut other = record(1);
            other.request.model = Some("other".into());
            other.write(&run.record()).expect("written");
        },
        |_, run, _| drop(record(2).write(&run.record()).expect("written")),
        |data, _, key| fs::write(data.cache().join(key.to_string()), "nonsense").expect("written"),
        |data, _, key| fs::write(data.cache().join(key.to_string()), "../../etc").expect("written"),
        |data, _, key| {
            let entry = data.cache().join(key.to_string());
            fs::rename(&entry, data.cache().join("elsewhere")).expect("moved");
            symlink("elsewhere", entry).expect("a link");
        },
    ];
    for (number, spoil) in spoil.iter().enumerate() {
        let (_dir, data, key) = world();
        spoil(&data, &data.run(id(1)), &key);
        assert_eq!(lookup(&data, &key), None, "{number}");
    }
}
