//! The published JSON Schemas, the description of the service and our words: up to date, and true of every event the program writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jsonschema::Validator;
use serde_json::{Value, json};
use skillrun_model::rasp::Event;
use testkit::recorded::{self, Case};
use testkit::{parallel, paths};

const SKILLRUN: &str = env!("CARGO_BIN_EXE_skillrun");

fn committed(protocol: &str) -> PathBuf {
    paths::workspace().join(format!("schemas/{protocol}.schema.json"))
}

fn compiled(protocol: &str) -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(&recorded::read_json(&committed(protocol)))
        .unwrap_or_else(|error| panic!("schemas/{protocol}.schema.json: {error}"))
}

#[test]
fn committed_schemas_are_what_the_program_prints() {
    let files = [
        ("rasp", committed("rasp")),
        ("fcmp", committed("fcmp")),
        ("openapi", paths::workspace().join("schemas/openapi.json")),
        ("words", paths::workspace().join("schemas/words.json")),
    ];
    for (name, path) in files {
        let output = Command::new(SKILLRUN).args(["schema", name]).output().expect("skillrun runs");
        assert!(output.status.success());
        let committed = fs::read(&path).unwrap_or_default();
        assert!(committed == output.stdout, "{} is stale; `make schemas` writes it anew", path.display());
    }
}

/// The two protocols' schemas, compiled once.
struct Schemas {
    rasp: Validator,
    fcmp: Validator,
}

/// Problems with the events of one case, in words.
fn problems(schemas: &Schemas, case: &Case) -> Vec<String> {
    let out = tempfile::tempdir().expect("a folder");
    let args = case.args().into_iter().chain(["--out".into(), out.path().into()]);
    let output = recorded::normalize(SKILLRUN, &case.folder, args);
    if !output.status.success() {
        return vec![format!("{}: {}", case.name, String::from_utf8_lossy(&output.stderr))];
    }
    let mut problems = Vec::new();
    let rasp = fs::read_to_string(out.path().join("events.jsonl")).expect("events.jsonl");
    let mut last_seq = 0;
    for (line, seq) in rasp.lines().zip(1..) {
        let event: Value = serde_json::from_str(line).expect("JSON");
        problems.extend(broken(&schemas.rasp, &event, seq).map(|text| format!("rasp {seq}: {text}")));
        problems.extend(changed_by_reading(line, &event).map(|text| format!("rasp {seq}: {text}")));
        last_seq = seq;
    }
    let fcmp = recorded::json_lines(&fs::read(out.path().join("fcmp.jsonl")).expect("fcmp.jsonl"));
    for (event, seq) in fcmp.iter().zip(1..) {
        problems.extend(broken(&schemas.fcmp, event, seq).map(|text| format!("fcmp {seq}: {text}")));
        if !(1..=last_seq).contains(&event["meta"]["rasp_seq"].as_u64().unwrap_or_default()) {
            problems.push(format!("fcmp {seq}: made from an event that is not there"));
        }
    }
    if rasp.is_empty() || fcmp.is_empty() {
        problems.push("no events".to_owned());
    }
    problems.into_iter().map(|text| format!("{}: {text}", case.name)).collect()
}

fn broken<'a>(schema: &'a Validator, event: &'a Value, seq: u64) -> impl Iterator<Item = String> + 'a {
    let in_order = event["seq"].as_u64() == Some(seq);
    let order = (!in_order).then(|| format!("has seq {}", event["seq"]));
    let errors = schema.iter_errors(event).map(|error| format!("{error} at {}", error.instance_path()));
    order.into_iter().chain(errors)
}

/// What reading an event and writing it again changes.
fn changed_by_reading(line: &str, event: &Value) -> Option<String> {
    let read = match Event::from_json(line) {
        Ok(read) => read,
        Err(error) => return Some(error.to_string()),
    };
    let again = serde_json::to_value(&read).expect("JSON");
    (again != *event).then(|| format!("is written as {again} after it was read"))
}

fn check(dir: &Path) {
    let schemas = Schemas { rasp: compiled("rasp"), fcmp: compiled("fcmp") };
    let cases = recorded::cases(dir);
    let problems: Vec<String> = parallel::each(&cases, |case| problems(&schemas, case)).into_iter().flatten().collect();
    assert!(
        problems.is_empty(),
        "{} problems; the first: {}",
        problems.len(),
        problems[..problems.len().min(10)].join("\n")
    );
}

#[test]
fn all_events_of_the_corpus_fit() {
    check(&paths::corpus());
}

#[test]
fn all_events_of_real_recordings_fit() {
    match paths::recordings() {
        Some(dir) => check(&dir),
        None => eprintln!("skipped: there are no recordings of real engines beside the repository"),
    }
}

/// Events of a case of the corpus.
fn events(case: &str, format: &str) -> Vec<Value> {
    let output = recorded::normalize(SKILLRUN, &paths::corpus().join(case), ["--format", format]);
    assert!(output.status.success());
    recorded::json_lines(&output.stdout)
}

/// Something that makes an event wrong, and what it is.
type Change = (&'static str, fn(&mut Value));

/// The schema must reject the event after each change, having agreed before.
fn rejects(schema: &Validator, event: &Value, changes: &[Change]) {
    assert!(schema.is_valid(event), "{event}");
    for (what, change) in changes {
        let mut wrong = event.clone();
        change(&mut wrong);
        assert_ne!(wrong, *event, "{what}: nothing changed");
        assert!(!schema.is_valid(&wrong), "{what}: accepted");
    }
}

fn remove(event: &mut Value, name: &str) {
    event.as_object_mut().expect("an object").remove(name);
}

#[test]
fn wrong_rasp_events_are_rejected() {
    let events = events("codex-tool-then-done", "rasp");
    let of_type = |name: &str| events.iter().find(|event| event["event"]["type"] == name).expect("such an event");
    let schema = compiled("rasp");
    rejects(
        &schema,
        of_type("agent.message.final"),
        &[
            ("no raw_ref", |event| remove(event, "raw_ref")),
            ("no data", |event| remove(event, "data")),
            ("no text", |event| remove(&mut event["data"], "text")),
            ("text of another type", |event| event["data"]["text"] = json!(7)),
            ("data of another type of event", |event| event["data"] = json!({"by": "someone"})),
            ("category of another type", |event| event["event"]["category"] = json!("tool")),
            ("unknown type", |event| event["event"]["type"] = json!("agent.message.sung")),
            ("unknown level", |event| event["event"]["level"] = json!("loud")),
            ("extra property", |event| event["colour"] = json!("red")),
            ("other protocol", |event| event["protocol_version"] = json!("rasp/2.0")),
            ("seq 0", |event| event["seq"] = json!(0)),
            ("run id that is none", |event| event["run_id"] = json!("seven")),
            ("time that is none", |event| event["ts"] = json!("noon")),
        ],
    );
    rejects(
        &schema,
        of_type("attempt.ended"),
        &[
            ("unknown code", |event| event["data"]["verdict"]["reason_code"] = json!("LUNCH_BREAK")),
            ("unknown rule", |event| event["data"]["verdict"]["rule"] = json!("99")),
            ("no verdict", |event| remove(&mut event["data"], "verdict")),
        ],
    );
}

#[test]
fn wrong_fcmp_events_are_rejected() {
    let events = events("codex-asks-then-done", "fcmp");
    let of_type = |name: &str| events.iter().find(|event| event["type"] == name).expect("such an event");
    rejects(
        &compiled("fcmp"),
        of_type("user.input.required"),
        &[
            ("no meta", |event| remove(event, "meta")),
            ("no prompt", |event| remove(&mut event["data"], "prompt")),
            ("unknown kind", |event| event["data"]["kind"] = json!("guess")),
            ("type of other data", |event| event["type"] = json!("assistant.reasoning")),
            ("unknown type", |event| event["type"] = json!("user.input.sung")),
            ("extra property", |event| event["colour"] = json!("red")),
            ("other protocol", |event| event["protocol_version"] = json!("rasp/1.0")),
        ],
    );
}
