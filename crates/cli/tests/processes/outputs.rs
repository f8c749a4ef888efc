//! What `normalize` writes and where: the same bytes each time, in the files of `--out` as on stdout.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::recorded::{self, json_lines};
use testkit::{parallel, paths};

const SKILLRUN: &str = env!("CARGO_BIN_EXE_skillrun");

fn normalize(case: &str, args: &[&str]) -> Vec<u8> {
    let output = recorded::normalize(SKILLRUN, &paths::corpus().join(case), args);
    assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

const FILES: [&str; 4] = ["events.jsonl", "fcmp.jsonl", "parser_diagnostics.jsonl", "summary.jsonl"];

const TEXTS: [&str; 2] = ["stdout.txt", "stderr.txt"];

#[test]
fn the_same_evidence_gives_the_same_bytes() {
    parallel::each(&recorded::cases(&paths::corpus()), |case| {
        let read = || {
            let out = tempfile::tempdir().expect("a folder");
            let args = case.args().into_iter().chain(["--out".into(), out.path().into()]);
            let output = recorded::normalize(SKILLRUN, &case.folder, args);
            assert!(output.status.success(), "{}", case.name);
            let files = FILES.map(|name| fs::read(out.path().join(name)).expect(name));
            (output.stdout, files)
        };
        let (first, again) = (read(), read());
        assert!(first == again, "{}: not the same bytes twice", case.name);
        assert!(!first.0.is_empty(), "{}: nothing was said", case.name);
    });
}

#[test]
fn the_files_of_out_hold_what_the_formats_print() {
    let case = "codex-asks-then-done";
    let out = tempfile::tempdir().expect("a folder");
    // The folder is made, with those above it.
    let dir = out.path().join("a/b");
    normalize(case, &["--out", dir.to_str().expect("a path")]);
    for (name, format) in FILES.into_iter().zip(["rasp", "fcmp", "diagnostics", "summary"]) {
        let file = fs::read(dir.join(name)).expect(name);
        assert!(!file.is_empty(), "{name}");
        assert!(file == normalize(case, &["--format", format]), "{name} is not what --format {format} prints");
    }
    let written = fs::read_dir(&dir).expect("a folder").count();
    assert_eq!(written, FILES.len() + TEXTS.len());
}

/// What the engine wrote, all attempts joined, was in an exported zip alone.
#[test]
fn the_texts_of_out_hold_what_the_engine_wrote() {
    let out = tempfile::tempdir().expect("a folder");
    let dir = out.path().to_str().expect("a path");
    let wanted = |case: &str, stream: &str| {
        let log = |attempt: u32| fs::read(paths::corpus().join(case).join(format!(".audit/{stream}.{attempt}.log")));
        (1..).map_while(|attempt| log(attempt).ok()).collect::<Vec<_>>().concat()
    };
    for case in ["codex-asks-then-done", "gemini-document-on-stderr", "colours-and-odd-bytes"] {
        normalize(case, &["--out", dir]);
        for (name, stream) in TEXTS.into_iter().zip(["stdout", "stderr"]) {
            assert!(fs::read(out.path().join(name)).expect(name) == wanted(case, stream), "{case}: {name}");
        }
    }
    normalize("masked-secret", &["--out", dir]);
    let masked = fs::read(out.path().join("stdout.txt")).expect("stdout.txt");
    let recorded = wanted("masked-secret", "stdout");
    assert!(masked.len() == recorded.len() && masked != recorded, "what is masked is masked here too");
}

#[test]
fn out_replaces_what_was_there() {
    let out = tempfile::tempdir().expect("a folder");
    let dir = out.path().to_str().expect("a path");
    normalize("codex-asks-then-done", &["--out", dir]);
    normalize("question", &["--out", dir]);
    let alone = normalize("question", &["--format", "rasp"]);
    assert_eq!(fs::read(out.path().join("events.jsonl")).expect("events.jsonl"), alone);
}

#[test]
fn several_attempts_end_with_a_line_about_the_run() {
    let lines = json_lines(&normalize("codex-asks-then-done", &[]));
    let [first, second, last] = &lines[..] else { panic!("{} lines", lines.len()) };
    assert_eq!((&first["attempt_number"], &second["attempt_number"]), (&1.into(), &2.into()));
    let run = &last["run"];
    assert_eq!(run["status"], "succeeded");
    assert_eq!(run["attempts"], 2);
    assert_eq!(run["session_id"], first["session_id"]);
    assert_eq!(run["reason_code"], second["completion"]["reason_code"]);
    assert_eq!(run["output"], second["output"]);
    let events = json_lines(&normalize("codex-asks-then-done", &["--format", "rasp"]));
    assert_eq!(run["events"], events.len());
    assert_eq!(run["run_id"], events[0]["run_id"]);
    let alone = json_lines(&normalize("codex-asks-then-done", &["--attempt", "2"]));
    assert_eq!(alone.len(), 1, "one attempt has no line about the run");
}

/// Codes of the diagnostics of each attempt, and the types of the events that are not evidence, in order.
fn reported(case: &str) -> (Vec<(u64, String)>, Vec<String>) {
    let events = json_lines(&normalize(case, &["--format", "rasp"]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let diagnostics = events.iter().filter(|event| event["event"]["category"] == "diagnostic");
    let diagnostics = diagnostics.map(|e| (e["attempt_number"].as_u64().unwrap_or_default(), text(&e["data"]["code"])));
    let control = events.iter().filter(|event| event["source"]["stream"] == "control");
    (diagnostics.collect(), control.map(|event| text(&event["event"]["type"])).collect())
}

#[test]
fn a_missing_attempt_is_reported_in_its_place() {
    let (diagnostics, _) = reported("attempt-2-missing");
    assert_eq!(diagnostics, [(3, "ATTEMPT_MISSING".to_owned())]);
    let alone = normalize("attempt-2-missing", &["--attempt", "3", "--format", "diagnostics"]);
    assert!(alone.is_empty(), "asked for alone, nothing is missing");
}

#[test]
fn an_attempt_after_the_end_is_read_and_not_settled() {
    let (diagnostics, control) = reported("attempt-after-the-end");
    assert_eq!(diagnostics, [(2, "AFTER_TERMINAL".to_owned())]);
    let expected = "run.started run.status attempt.started turn.usage attempt.ended attempt.started parser.warning \
        run.completed";
    assert_eq!(control.join(" "), expected);
    let lines = json_lines(&normalize("attempt-after-the-end", &[]));
    assert_eq!(lines[1]["run_status"], Value::Null);
    assert_eq!(lines[1]["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(lines[2]["run"]["status"], "succeeded");
}

#[test]
fn a_conversation_ends_once_and_last() {
    let endings = ["conversation.completed", "conversation.failed", "conversation.canceled"];
    for (case, ending) in [
        ("done-then-lingered", Some("conversation.completed")),
        ("engine-not-found", Some("conversation.failed")),
        ("canceled-with-finished-answer", Some("conversation.canceled")),
        ("attempt-after-the-end", Some("conversation.completed")),
        ("question", None),
    ] {
        let events = json_lines(&normalize(case, &["--format", "fcmp"]));
        let is_ending = |event: &&Value| endings.iter().any(|ending| event["type"] == *ending);
        assert_eq!(events.iter().filter(is_ending).count(), usize::from(ending.is_some()), "{case}");
        if let Some(ending) = ending {
            assert_eq!(events.last().expect("events")["type"], ending, "{case}");
        }
    }
}

#[test]
fn an_echo_is_left_out_of_the_conversation_alone() {
    let case = "codex-answer-echoed-on-stderr";
    let raw = |format: &str, kind: fn(&Value) -> &Value| {
        let events = json_lines(&normalize(case, &["--format", format]));
        events.iter().filter(|event| kind(event) == "raw.stderr").count()
    };
    assert_eq!(raw("rasp", |event| &event["event"]["type"]), 4);
    assert_eq!(raw("fcmp", |event| &event["type"]), 1);
    let fcmp = json_lines(&normalize(case, &["--format", "fcmp"]));
    let reported: Vec<&Value> =
        fcmp.iter().filter(|event| event["data"]["code"] == "RAW_DUPLICATE_SUPPRESSED").collect();
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0]["data"]["count"], 3);
}

#[test]
fn a_masked_secret_is_in_no_output() {
    let out = tempfile::tempdir().expect("a folder");
    let stdout = normalize("masked-secret", &["--format", "conversation", "--out", out.path().to_str().expect("path")]);
    let mut all = vec![String::from_utf8(stdout).expect("text")];
    all.extend(FILES.map(|name| fs::read_to_string(out.path().join(name)).expect(name)));
    let evidence = fs::read_to_string(paths::corpus().join("masked-secret/.audit/stdout.1.log")).expect("evidence");
    assert!(evidence.contains("token-0123"));
    assert!(all[0].contains("I will use *****"), "{}", all[0]);
    for text in all {
        assert!(!text.contains("token-0123"), "{text}");
    }
}

/// A reader that goes away is not a failure.
#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = lab::host::spawn_piped(Command::new(SKILLRUN).args(["schema", "rasp"]));
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("skillrun ends");
    assert!(output.status.success(), "{}", output.status);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
