//! The published JSON Schemas, the OpenAPI document and the texts of codes: up to date, and true of every event the
//! program writes.

mod logs;
mod written;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jsonschema::Validator;
use serde_json::{Value, json};
use skillrun_model::rasp::Event;
use testkit::recorded::{self, Case};
use testkit::{parallel, paths};
use written::Written;

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
        ("workflow", committed("workflow")),
        ("words", paths::workspace().join("schemas/words.json")),
        ("presenters", paths::workspace().join("docs/presenters.md")),
    ];
    for (name, path) in files {
        let output = Command::new(SKILLRUN).args(["schema", name]).output().expect("skillrun runs");
        assert!(output.status.success());
        let committed = fs::read(&path).unwrap_or_default();
        assert!(committed == output.stdout, "{} is stale; `make schemas` regenerates it", path.display());
    }
}

/// The two protocols' schemas, compiled once.
struct Schemas {
    rasp: Validator,
    fcmp: Validator,
    rasp_document: Value,
    fcmp_document: Value,
}

impl Schemas {
    fn read() -> Self {
        let [rasp_document, fcmp_document] = ["rasp", "fcmp"].map(|name| recorded::read_json(&committed(name)));
        Self { rasp: compiled("rasp"), fcmp: compiled("fcmp"), rasp_document, fcmp_document }
    }
}

/// What is found in the events of a recording or a run.
struct Found<'a> {
    /// In words.
    problems: Vec<String>,
    rasp: Written<'a>,
    fcmp: Written<'a>,
}

impl<'a> Found<'a> {
    fn nothing(schemas: &'a Schemas) -> Self {
        let [rasp, fcmp] = [&schemas.rasp_document, &schemas.fcmp_document].map(Written::new);
        Self { problems: Vec::new(), rasp, fcmp }
    }
}

fn of_case<'a>(schemas: &'a Schemas, case: &Case) -> Found<'a> {
    of_recording(schemas, &case.name, &case.folder, case.args(), 1)
}

fn of_recording<'a>(schemas: &'a Schemas, name: &str, folder: &Path, args: Vec<OsString>, first: u64) -> Found<'a> {
    let out = tempfile::tempdir().expect("a folder");
    let args = args.into_iter().chain(["--out".into(), out.path().into()]);
    let output = recorded::normalize(SKILLRUN, folder, args);
    if !output.status.success() {
        let problems = vec![format!("{name}: {}", String::from_utf8_lossy(&output.stderr))];
        return Found { problems, ..Found::nothing(schemas) };
    }
    of_folder(schemas, name, out.path(), first)
}

/// Of a folder with `events.jsonl` and `fcmp.jsonl`: the events from this one on.
fn of_folder<'a>(schemas: &'a Schemas, name: &str, folder: &Path, first: u64) -> Found<'a> {
    let mut found = Found::nothing(schemas);
    let mut problems = Vec::new();
    let rasp = fs::read_to_string(folder.join("events.jsonl")).expect("events.jsonl");
    let mut last_seq = 0;
    for (line, seq) in rasp.lines().zip(1..).filter(|(_, seq)| *seq >= first) {
        let event: Value = serde_json::from_str(line).expect("JSON");
        problems.extend(broken(&schemas.rasp, &event, seq).map(|text| format!("rasp {seq}: {text}")));
        problems.extend(changed_by_reading(line, &event).map(|text| format!("rasp {seq}: {text}")));
        found.rasp.event(&event);
        last_seq = seq;
    }
    let fcmp = recorded::json_lines(&fs::read(folder.join("fcmp.jsonl")).expect("fcmp.jsonl"));
    for (event, seq) in fcmp.iter().zip(1..).filter(|(_, seq)| *seq >= first) {
        problems.extend(broken(&schemas.fcmp, event, seq).map(|text| format!("fcmp {seq}: {text}")));
        found.fcmp.event(event);
        if !(1..=last_seq).contains(&event["meta"]["rasp_seq"].as_u64().unwrap_or_default()) {
            problems.push(format!("fcmp {seq}: made from an event that is not there"));
        }
    }
    if rasp.is_empty() || fcmp.is_empty() {
        problems.push("no events".to_owned());
    }
    found.problems = problems.into_iter().map(|text| format!("{name}: {text}")).collect();
    found
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
    let mut again = serde_json::to_value(&read).expect("JSON");
    // The link to the line before is the Log's own: it is not part of an event that is read.
    if let Some(prev) = event.get("prev") {
        again["prev"] = prev.clone();
    }
    (again != *event).then(|| format!("is written as {again} after it was read"))
}

/// Fails with what is wrong; gives back what was seen of the schemas.
fn check<'a>(schemas: &'a Schemas, found: Vec<Found<'a>>) -> Found<'a> {
    let mut all = Found::nothing(schemas);
    for found in found {
        all.problems.extend(found.problems);
        all.rasp.join(found.rasp);
        all.fcmp.join(found.fcmp);
    }
    let (count, first) = (all.problems.len(), all.problems.iter().take(10).cloned().collect::<Vec<_>>());
    assert!(count == 0, "{count} problems; the first: {}", first.join("\n"));
    all
}

/// A client that is built on the schema must not wait for events that never come: `artifact.preview_ready`,
/// `parser.error`, `structured_payload` and the `result` of `run.completed` were in it, and nothing wrote them.
#[test]
fn all_events_fit_and_every_type_and_field_is_used() {
    let schemas = Schemas::read();
    let root = tempfile::tempdir().expect("a folder");
    let mut found = parallel::each(&recorded::cases(&paths::corpus()), |case| of_case(&schemas, case));
    let recordings = logs::recordings(root.path());
    found.extend(parallel::each(&recordings, |recording| {
        of_recording(&schemas, "long texts", &recording.folder, Vec::new(), recording.from)
    }));
    let runs = logs::runs(root.path());
    found.extend(parallel::each(&runs, |folder| of_folder(&schemas, "a run", folder, 1)));
    let mut all = check(&schemas, found);
    for event in recorded::json_lines(&fs::read(logs::kept()).expect("a Log")) {
        assert!(schemas.rasp.is_valid(&event), "{event}");
        all.rasp.event(&event);
    }
    assert_eq!(all.rasp.missing(), Vec::<String>::new(), "no event has these parts of rasp.schema.json");
    assert_eq!(all.fcmp.missing(), Vec::<String>::new(), "no event has these parts of fcmp.schema.json");
}

#[test]
fn all_events_of_real_recordings_fit() {
    match paths::recordings() {
        Some(dir) => {
            let schemas = Schemas::read();
            check(&schemas, parallel::each(&recorded::cases(&dir), |case| of_case(&schemas, case)));
        }
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
