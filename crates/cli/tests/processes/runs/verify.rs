//! Real runs, verified; and the same after a file was changed.

mod diagnose;
mod kept;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, reply, speaking, sticky};
use skillrun_inspect::verify::{Absence, Check, CheckKind, VerifyOutcome, VerifyReport, verify};
use skillrun_log::FileLog;
use skillrun_model::rasp::Event;
use skillrun_model::status::Continuation;
use skillrun_model::{Code, ExecutionMode, ProfileId, RunId, RunStatus};
use skillrun_runs::record::GATE;
use skillrun_runtime::{NewRun, Options};

const DONE: &str = concat!(
    "- - think: Let me see.\n",
    "  - say: One moment.\n",
    "  - raw: no JSON at all\n",
    "  - stderr: a word beside it\n",
    "  - write: {path: artifacts/note.txt, content: hello}\n",
    "  - usage: {input: 3, output: 5}\n",
    "  - output: {answer: blue}\n    done: true\n",
);

const ASKS: &str = concat!(
    "- - say: First.\n  - ask: {kind: open_text, prompt: Which colour?}\n",
    "- - say: Second.\n  - output: {answer: '{{reply}}'}\n    done: true\n",
);

pub(super) fn check(lab: &RuntimeLab, run: RunId) -> VerifyReport {
    // As another process would: nothing of this is owned here.
    let log = FileLog::new(lab.data().runs());
    verify(&lab.data(), &log, run).expect("a report")
}

fn all_good(lab: &RuntimeLab, run: RunId) -> VerifyReport {
    let report = check(lab, run);
    let others: Vec<&Check> = report.checks.iter().filter(|check| check.outcome != VerifyOutcome::Same).collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(report.is_good());
    report
}

/// A run that is over, and of which everything is on the disk.
fn played(lab: &RuntimeLab, new: NewRun) -> RunId {
    let (runtime, run) = lab.begin(new);
    lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    run
}

fn done(lab: &RuntimeLab) -> RunId {
    played(lab, lab.new_run(ExecutionMode::Auto, DONE))
}

fn what(report: &VerifyReport, kind: CheckKind) -> &VerifyOutcome {
    let of_kind: Vec<&Check> = report.checks.iter().filter(|check| check.what == kind).collect();
    let [check] = of_kind.as_slice() else { panic!("not one {kind:?}: {report:#?}") };
    &check.outcome
}

/// The words of a difference.
fn differs(report: &VerifyReport, kind: CheckKind) -> &str {
    assert!(!report.is_good(), "{report:#?}");
    let outcome = what(report, kind);
    let VerifyOutcome::Different { difference } = outcome else { panic!("{kind:?} is {outcome:?}") };
    difference
}

/// These are not compared, for a reason with these words.
#[track_caller]
fn assert_not_comparable(report: &VerifyReport, kinds: &[CheckKind], words: &str) {
    for kind in kinds {
        let outcome = what(report, *kind);
        let is_it = matches!(outcome, VerifyOutcome::NotComparable { why } if why.contains(words));
        assert!(is_it, "{kind:?} is {outcome:?}");
    }
}

/// The Log of a run with other events and new sequence numbers.
fn rewrite_log(lab: &RuntimeLab, run: RunId, events: impl IntoIterator<Item = Event>) {
    let number = |(mut event, seq): (Event, u64)| {
        event.seq = seq;
        event.to_json() + "\n"
    };
    let lines: String = events.into_iter().zip(1..).map(number).collect();
    fs::write(lab.data().run(run).events(), lines).expect("written");
}

pub(super) fn bad(report: &VerifyReport) -> Vec<CheckKind> {
    report.checks.iter().filter(|check| !check.outcome.is_good()).map(|check| check.what).collect()
}

fn kinds(report: &VerifyReport) -> Vec<CheckKind> {
    report.checks.iter().map(|check| check.what).collect()
}

/// What is checked of every run, before its attempts.
const OF_RUN: [CheckKind; 5] =
    [CheckKind::Log, CheckKind::Chain, CheckKind::Record, CheckKind::Skill, CheckKind::Inputs];
const OF_ATTEMPT: [CheckKind; 5] =
    [CheckKind::EvidenceFiles, CheckKind::EvidenceEvents, CheckKind::Coverage, CheckKind::Verdict, CheckKind::Meta];
const OF_VIEWS: [CheckKind; 3] = [CheckKind::Result, CheckKind::Conversation, CheckKind::Diagnostics];

fn change(path: &PathBuf, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let bytes = fs::read(path).expect("readable");
    let changed = edit(bytes.clone());
    assert_ne!(bytes, changed, "nothing was changed in {}", path.display());
    fs::write(path, changed).expect("written");
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn every_kind_of_run_comes_out_the_same() {
    let lab = RuntimeLab::new();
    let scripts = [
        (DONE, RunStatus::Succeeded),
        ("- - output: {other: 1}\n    done: true\n", RunStatus::Failed),
        ("- - fail: The model is away.\n", RunStatus::Failed),
        ("- - say: Half a\n  - crash: SIGKILL\n", RunStatus::Failed),
        ("- - tool: {name: ls, status: open}\n  - cut: {before: 3}\n  - end: true\n", RunStatus::Failed),
        ("- - exit: 3\n", RunStatus::Failed),
        ("- - output: {answer: blue}\n    done: true\n  - end: true\n  - hang: true\n", RunStatus::Succeeded),
        ("- - flood: 300000\n  - output: {answer: blue}\n", RunStatus::Succeeded),
    ];
    for (script, status) in scripts {
        let run = played(&lab, lab.new_run(ExecutionMode::Auto, script));
        let report = all_good(&lab, run);
        assert_eq!(report.status, Some(status), "{script}");
        let artifacts = if script == DONE { vec![CheckKind::Artifacts] } else { vec![] };
        assert_eq!(kinds(&report), [&OF_RUN[..], &OF_ATTEMPT, &artifacts, &OF_VIEWS].concat(), "{script}");
    }
}

#[test]
fn every_format_comes_out_the_same() {
    let lab = RuntimeLab::new();
    let profiles = [
        ProfileId::GeminiStreamJson,
        ProfileId::OpencodeNdjson,
        ProfileId::ClaudeStreamJson,
        ProfileId::IflowText,
        ProfileId::PlainText,
    ];
    for profile in profiles {
        let run = played(&lab, speaking(lab.new_run(ExecutionMode::Auto, DONE), profile));
        all_good(&lab, run);
    }
}

/// Names of messages are given once per run, so the second attempt depends on the first.
#[test]
fn attempts_know_the_names_of_earlier_ones() {
    let lab = RuntimeLab::new();
    for continuation in [Continuation::Resumable, Continuation::Sticky] {
        let new = lab.new_run(ExecutionMode::Interactive, ASKS);
        let new = if continuation == Continuation::Sticky { sticky(new) } else { new };
        let (runtime, run) = lab.begin(new);
        lab.wait_asked(run, 1);
        let waiting = check(&lab, run);
        assert!(waiting.is_good(), "{waiting:#?}");
        let outcome = what(&waiting, CheckKind::Result);
        assert!(matches!(outcome, VerifyOutcome::Missing { absence: Absence::NotYet, .. }), "{outcome:?}");
        runtime.reply(run, reply(1, "blue")).expect("answered");
        lab.wait_over(run);
        assert!(runtime.wait_idle(TEST_TIMEOUT));
        let report = all_good(&lab, run);
        let verdicts = report.checks.iter().filter(|check| check.what == CheckKind::Verdict).count();
        assert_eq!((verdicts, report.status), (2, Some(RunStatus::Succeeded)));
    }
}

/// An engine that uses the same id for messages of two turns: the second gets another name, and gets it again.
#[test]
fn a_name_that_was_given_is_not_given_again() {
    let lab = RuntimeLab::new();
    let line = r#"{"type":"assistant","message":{"id":"msg_same","content":[{"type":"text","text":"Hello."}]}}"#;
    let script = format!(
        "- - raw: '{line}'\n  - ask: {{kind: open_text, prompt: Which?}}\n\
         - - raw: '{line}'\n  - output: {{answer: blue}}\n    done: true\n"
    );
    let new = speaking(lab.new_run(ExecutionMode::Interactive, &script), ProfileId::ClaudeStreamJson);
    let (runtime, run) = lab.begin(new);
    lab.answer(&runtime, run, 1, "blue");
    lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert!(lab.events(run).iter().any(|event| event.to_json().contains("msg_same#2")), "{:?}", lab.events(run));
    all_good(&lab, run);
}

/// What the Log lacks at the end of an attempt is found, though nothing in it differs.
#[test]
fn events_that_are_left_out_at_the_end_are_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let events = lab.events(run);
    let is_evidence = |event: &&Event| event.raw_ref != Default::default();
    let last = events.iter().rfind(is_evidence).expect("evidence").seq;
    rewrite_log(&lab, run, events.into_iter().filter(|event| event.seq != last));
    let report = check(&lab, run);
    let words = differs(&report, CheckKind::EvidenceEvents);
    assert!(words.contains(&format!("more after seq {}", last - 1)), "{words}");
}

#[test]
fn a_large_output_is_compared_with_its_file() {
    let lab = RuntimeLab::new();
    let script = format!("- - output: {{answer: {}}}\n    done: true\n", "x".repeat(70_000));
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, &script));
    let report = all_good(&lab, run);
    assert_eq!(what(&report, CheckKind::LargeOutput), &VerifyOutcome::Same);
    let blob = lab.data().run(run).audit().join("blobs/output.1.json");
    change(&blob, |bytes| replaced(&bytes, "xxx", "xyx"));
    let report = check(&lab, run);
    assert!(differs(&report, CheckKind::LargeOutput).contains("in answer"), "{report:#?}");
    fs::remove_file(blob).expect("removed");
    let report = check(&lab, run);
    assert!(matches!(what(&report, CheckKind::LargeOutput), VerifyOutcome::Missing { absence: Absence::Lost, .. }));
}

/// Also while it is being written: what is there is compared, and what is not is not missed.
#[test]
fn a_living_attempt_is_compared_as_far_as_it_has_come() {
    let script = "- - say: One.\n  - say: Two.\n  - sleep_ms: 600000\n  - say: Three.\n";
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, script);
    lab.wait(run, "message", |state| state.last_seq > 0 && lab.types(run).contains(&"agent.message.final"));
    let report = check(&lab, run);
    assert!(report.is_good(), "{report:#?}");
    assert_eq!(what(&report, CheckKind::EvidenceEvents), &VerifyOutcome::Same);
    assert_not_comparable(&report, &[CheckKind::Verdict], "");
    // A difference is found in a living attempt too.
    let stdout = lab.data().run(run).audit().join("stdout.1.log");
    let text = fs::read_to_string(&stdout).expect("text");
    let at = text.find("One.").expect("what was said");
    let file = OpenOptions::new().write(true).open(&stdout).expect("the file");
    std::os::unix::fs::FileExt::write_all_at(&file, b"0", at as u64).expect("written");
    assert!(differs(&check(&lab, run), CheckKind::EvidenceEvents).contains("data.text"));
    runtime.cancel(run, "a test").expect("canceled");
    lab.wait_over(run);
}

#[test]
fn a_changed_byte_of_evidence_is_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let folder = lab.data().run(run);
    change(&folder.audit().join("stdout.1.log"), |bytes| replaced(&bytes, "One moment", "One mOment"));
    let report = check(&lab, run);
    let words = differs(&report, CheckKind::EvidenceFiles);
    assert!(words.contains("stdout.1.log"), "{words}");
    let words = differs(&report, CheckKind::EvidenceEvents);
    let said = lab.events(run).into_iter().find(|event| event.to_json().contains("One moment")).expect("it was said");
    assert!(words.contains(&format!("seq {} ", said.seq)) && words.contains("data.text"), "{words}");
    assert_eq!(what(&report, CheckKind::Coverage), &VerifyOutcome::Same);
    assert_eq!(what(&report, CheckKind::Verdict), &VerifyOutcome::Same);
}

/// The output is in the Log, and no hash could show the change; the evidence does.
#[test]
fn a_changed_verdict_is_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let folder = lab.data().run(run);
    change(&folder.events(), |bytes| {
        let text = String::from_utf8(bytes).expect("text");
        let lines = text.lines().map(|line| {
            if line.contains("\"attempt.ended\"") { line.replace("blue", "grey") } else { line.to_owned() }
        });
        lines.map(|line| line + "\n").collect::<String>().into_bytes()
    });
    let report = check(&lab, run);
    assert_eq!(what(&report, CheckKind::Log), &VerifyOutcome::Same);
    assert!(differs(&report, CheckKind::Verdict).contains("verdict.output.answer"), "{report:#?}");
    assert!(differs(&report, CheckKind::Result).contains("output.answer"), "{report:#?}");
}

#[test]
fn a_dropped_event_is_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let events = lab.data().run(run).events();
    let mut offset = 0;
    change(&events, |bytes| {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let dropped = lines.len() / 2;
        offset = lines[..dropped].concat().len();
        [&lines[..dropped], &lines[dropped + 1..]].concat().concat()
    });
    let report = check(&lab, run);
    let words = differs(&report, CheckKind::Log);
    assert!(words.contains(&format!("byte {offset},")) && words.contains("has seq"), "{words}");
    assert_not_comparable(&report, &[CheckKind::Result], "");
}

/// An event that is gone with its number, so that the Log by itself is whole.
#[test]
fn an_event_that_is_left_out_without_a_gap_is_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let said = lab.events(run).into_iter().find(|event| event.to_json().contains("One moment")).expect("it was said");
    rewrite_log(&lab, run, lab.events(run).into_iter().filter(|event| event.seq != said.seq));
    fs::remove_file(lab.data().run(run).root().join("events.idx")).ok();
    let report = check(&lab, run);
    assert_eq!(what(&report, CheckKind::Log), &VerifyOutcome::Same);
    assert!(differs(&report, CheckKind::EvidenceEvents).contains(&format!("seq {} ", said.seq)), "{report:#?}");
    assert!(differs(&report, CheckKind::Coverage).contains("of stdout"), "{report:#?}");
    assert!(differs(&report, CheckKind::Conversation).contains("fcmp.jsonl"), "{report:#?}");
}

#[test]
fn events_that_cannot_stand_where_they_stand_are_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let events = lab.events(run);
    let position = |kind: &str| events.iter().position(|event| event.event_type().as_str() == kind).expect(kind);
    let without = |at: usize| [&events[..at], &events[at + 1..]].concat();
    for (changed, words) in [
        ([&events[..], &events[events.len() - 1..]].concat(), "after the end"),
        (without(position("attempt.ended")), "while attempt 1 is open"),
        (without(position("attempt.started")), "made from evidence of attempt 1"),
        (without(0), "run.started"),
    ] {
        rewrite_log(&lab, run, changed);
        let report = check(&lab, run);
        assert!(differs(&report, CheckKind::Log).contains(words), "{report:#?}");
    }
}

#[test]
fn an_edited_result_is_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    change(&lab.data().run(run).result(), |bytes| replaced(&bytes, "\"blue\"", "\"grey\""));
    let report = check(&lab, run);
    assert!(differs(&report, CheckKind::Result).contains("output.answer"), "{report:#?}");
    assert_eq!(bad(&report), [CheckKind::Result]);
}

#[test]
fn changed_views_are_found() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let folder = lab.data().run(run);
    let whole = fs::read(folder.fcmp()).expect("readable");
    let mut file = OpenOptions::new().append(true).open(folder.fcmp()).expect("the view");
    file.write_all(b"{}\n").expect("written");
    let report = check(&lab, run);
    let words = differs(&report, CheckKind::Conversation);
    assert!(words.contains(&format!("continues at byte {}", whole.len())), "{words}");
    change(&folder.fcmp(), |_| whole[..whole.len() - 10].to_vec());
    assert!(differs(&check(&lab, run), CheckKind::Conversation).contains("line"));
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    change(&folder.fcmp(), |_| lines[..lines.len() - 1].concat());
    assert!(differs(&check(&lab, run), CheckKind::Conversation).contains("ends at byte"));
    fs::write(folder.fcmp(), &whole).expect("written");
    change(&folder.diagnostics(), |bytes| replaced(&bytes, "LOW_CONFIDENCE_PARSE", "LOW_CONFIDENCE_PARSF"));
    assert!(differs(&check(&lab, run), CheckKind::Diagnostics).contains("parser_diagnostics.jsonl"));
    fs::remove_file(folder.diagnostics()).expect("removed");
    fs::remove_file(folder.result()).expect("removed");
    let report = check(&lab, run);
    for kind in [CheckKind::Diagnostics, CheckKind::Result] {
        assert!(matches!(what(&report, kind), VerifyOutcome::Missing { absence: Absence::Lost, .. }), "{report:#?}");
    }
    assert!(!report.is_good());
}

#[test]
fn a_conversation_that_is_too_large_is_not_compared() {
    let lab = RuntimeLab::new();
    let tool = "  - tool: {name: shell, input: {command: ls}, output: notes.md}\n";
    let script = format!("- - say: One.\n{}  - output: {{answer: blue}}\n    done: true\n", tool.repeat(7_000));
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, &script));
    assert!(!lab.data().run(run).stores_conversation() && !lab.data().run(run).fcmp().exists());
    let report = check(&lab, run);
    assert_not_comparable(&report, &[CheckKind::Conversation], "is not stored for a Log of more than 8 MiB");
    assert!(report.is_good() && bad(&report).is_empty(), "{report:#?}");
    // A file that is there is compared: nothing is passed over because of the size.
    fs::write(lab.data().run(run).fcmp(), "{}\n").expect("written");
    assert!(differs(&check(&lab, run), CheckKind::Conversation).contains("line 1"));
}

#[test]
fn a_removed_evidence_file_is_named() {
    let lab = RuntimeLab::new();
    for name in ["stdout.1.log", "chunks.1.jsonl", "redact.1.jsonl", "host.1.json"] {
        let run = done(&lab);
        fs::remove_file(lab.data().run(run).audit().join(name)).expect("removed");
        let report = check(&lab, run);
        let VerifyOutcome::Missing { why, absence } = what(&report, CheckKind::EvidenceFiles) else {
            panic!("{report:#?}")
        };
        assert!(why.contains(name), "{why}");
        assert_eq!((*absence, report.is_good()), (Absence::Lost, false));
    }
}

/// It would hide bytes from every reader.
#[test]
fn a_file_that_no_host_wrote_is_named() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    fs::write(lab.data().run(run).audit().join("pty-output.1.log"), "planted").expect("written");
    let words = differs(&check(&lab, run), CheckKind::EvidenceFiles).to_owned();
    assert!(words.contains("pty-output.1.log"), "{words}");
}

#[test]
fn evidence_that_was_removed_to_save_space_is_not_missed() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let audit = lab.data().run(run).audit();
    fs::write(audit.join("removed.json"), "{}\n").expect("written");
    for name in ["stdout.1.log", "stderr.1.log", "chunks.1.jsonl", "redact.1.jsonl", "stdin.1.log"] {
        fs::remove_file(audit.join(name)).expect("removed");
    }
    let report = check(&lab, run);
    assert!(report.is_good(), "{report:#?}");
    let of_evidence = [CheckKind::EvidenceFiles, CheckKind::EvidenceEvents, CheckKind::Coverage, CheckKind::Verdict];
    assert_not_comparable(&report, &of_evidence, "removed");
    for kind in [CheckKind::Log, CheckKind::Result, CheckKind::Conversation, CheckKind::Diagnostics] {
        assert_eq!(what(&report, kind), &VerifyOutcome::Same);
    }
}

#[test]
fn another_version_is_not_comparable() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let folder = lab.data().run(run);
    let record = fs::read(folder.record()).expect("readable");
    change(&folder.record(), |bytes| {
        replaced(&bytes, &format!("\"skillrun\": \"{}\"", env!("CARGO_PKG_VERSION")), "\"skillrun\": \"0.0.1\"")
    });
    let report = check(&lab, run);
    assert_not_comparable(&report, &[CheckKind::EvidenceEvents, CheckKind::Verdict], "0.0.1");
    fs::write(folder.record(), record).expect("written");
    change(&folder.events(), |bytes| replaced(&bytes, "\"profile_version\":", "\"profile_version\":9"));
    let report = check(&lab, run);
    assert_eq!(bad(&report), [CheckKind::Chain], "{report:#?}");
    assert_not_comparable(&report, &[CheckKind::EvidenceEvents], "version 9");
    change(&folder.record(), |bytes| replaced(&bytes, "\"translator\": ", "\"translator\": 9"));
    assert_not_comparable(&check(&lab, run), &[CheckKind::Conversation], "translator 9");
}

/// 0.1.0 judged by other rules, and its records do not name them.
#[test]
fn a_verdict_by_earlier_rules_is_not_called_wrong() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, "- - output: {answer: blue}\n"));
    let folder = lab.data().run(run);
    let warned = "\"warnings\":[\"COMPLETED_WITHOUT_DONE_MARKER\"],\"output\"";
    change(&folder.events(), |bytes| replaced(&bytes, warned, "\"warnings\":[],\"output\""));
    assert!(differs(&check(&lab, run), CheckKind::Verdict).contains("attempt.ended"));
    change(&folder.record(), |bytes| replaced(&bytes, &format!("  \"gate\": {GATE},\n"), ""));
    assert_not_comparable(&check(&lab, run), &[CheckKind::Verdict], "rules 1");
}

#[test]
fn events_of_two_parsers_are_not_comparable() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let path = lab.data().run(run).events();
    change(&path, |bytes| {
        let changed = format!("\"code\":\"{}\"", Code::ParserChanged);
        let text = String::from_utf8(bytes).expect("text");
        let started = text.lines().position(|line| line.contains("\"attempt.started\"")).expect("an attempt");
        let mut lines: Vec<String> = text.lines().map(|line| line.to_owned() + "\n").collect();
        let note = lines[started].replace(
            "\"category\":\"runtime\",\"type\":\"attempt.started\"",
            "\"category\":\"diagnostic\",\"type\":\"parser.warning\"",
        );
        let data = note.find("\"data\":").expect("data") + 7;
        let rest = note.find(",\"correlation\"").expect("what follows");
        let note = format!("{}{{{changed},\"message\":\"another\"}}{}", &note[..data], &note[rest..]);
        lines.insert(started + 1, note);
        let number = |(line, seq): (&String, u64)| {
            let from = line.find("\"seq\":").expect("a seq") + 6;
            let to = from + line[from..].find(',').expect("an end");
            format!("{}{seq}{}", &line[..from], &line[to..])
        };
        lines.iter().zip(1..).map(number).collect::<String>().into_bytes()
    });
    let report = check(&lab, run);
    assert_eq!(what(&report, CheckKind::Log), &VerifyOutcome::Same, "{report:#?}");
    assert_not_comparable(
        &report,
        &[CheckKind::EvidenceEvents, CheckKind::Coverage, CheckKind::Verdict],
        "two versions",
    );
}

#[test]
fn a_run_that_never_began_is_checked_too() {
    let mut lab = RuntimeLab::new();
    lab.slots.total = 0;
    let (_runtime, run) = lab.begin(lab.new_run(ExecutionMode::Auto, DONE));
    let report = check(&lab, run);
    assert!(report.is_good(), "{report:#?}");
    assert_eq!(report.status, Some(RunStatus::Queued));
    assert_eq!(kinds(&report), [&OF_RUN[..], &OF_VIEWS].concat());
    let nobody = "0192f0c1-2d3e-7f40-8123-456789abcdef".parse().expect("an id");
    assert!(verify(&lab.data(), &FileLog::new(lab.data().runs()), nobody).is_err());
}

/// As `--json` prints it.
#[test]
fn a_report_as_json() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    fs::remove_file(lab.data().run(run).result()).expect("removed");
    let report = serde_json::to_value(check(&lab, run)).expect("JSON");
    assert_eq!(report["status"], "succeeded");
    assert_eq!(report["checks"][5], serde_json::json!({"what": "evidence_files", "attempt": 1, "outcome": "same"}));
    let missing = serde_json::json!({
        "what": "result", "attempt": null, "outcome": "missing", "why": "result.json is missing", "absence": "lost",
    });
    assert_eq!(report["checks"][11], missing);
}

/// A timeout is settled with what the host did; the same comes out again.
#[test]
fn what_the_host_did_is_part_of_the_evidence() {
    let lab = RuntimeLab::new();
    let new = lab.new_run(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n");
    let run = played(&lab, NewRun { options: Options { hard_timeout_sec: Some(1.0), ..new.options.clone() }, ..new });
    assert_eq!(lab.failure(run), Some(Code::Timeout));
    all_good(&lab, run);
}
