//! What is said about real runs.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use skillrun_log::FileLog;
use skillrun_model::rasp::Data;
use skillrun_model::{ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runtime::diagnose::{Diagnosis, FindingKind, Owner, Resolution, diagnose};
use skillrun_runtime::{Clock, NewRun, Options, SystemClock};

use super::{DONE, played};
use crate::lab::{Lab, reply, sticky};

/// Columns of labels, and of a terminal.
const LABEL: usize = 12;
const WIDTH: usize = 80;

fn look(lab: &Lab, run: RunId, owner: Owner, now: Timestamp) -> Diagnosis {
    let log = FileLog::new(lab.data().runs());
    diagnose(&lab.data(), &log, run, owner, now).expect("a diagnosis")
}

fn now(lab: &Lab, run: RunId) -> Diagnosis {
    look(lab, run, Owner::Unknown, SystemClock.now())
}

fn finds(diagnosis: &Diagnosis, is_it: impl Fn(&FindingKind) -> bool) -> bool {
    diagnosis.findings.iter().any(|finding| is_it(&finding.kind))
}

/// The lines as a terminal shows them, with what is never the same left out.
fn shown(diagnosis: &Diagnosis) -> String {
    let lines = diagnosis.lines();
    for (label, text) in &lines {
        assert!(label.len() < LABEL, "{label}");
        assert!(!text.contains(char::is_control), "{text:?}");
        let words = text.split(' ').map(|word| word.chars().count());
        // Only somebody else's text may have a word that does not fit.
        let fits = words.max().unwrap_or(0) <= WIDTH - LABEL;
        assert!(fits || text.contains(".log "), "{text}");
    }
    let wrapped: String = lines.iter().map(|(label, text)| wrapped(label, &steady(text))).collect();
    wrapped.lines().for_each(|line| assert!(line.chars().count() <= WIDTH, "{line}"));
    wrapped
}

fn wrapped(label: &str, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("a line");
            let used = line.chars().count() + usize::from(!line.is_empty());
            if used + word.len() <= WIDTH - LABEL {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(&word);
                break;
            }
            if line.is_empty() {
                line.extend(word.drain(..WIDTH - LABEL));
            } else {
                lines.push(String::new());
            }
        }
    }
    let label_of = |at: usize| if at == 0 { label } else { "" };
    lines.iter().enumerate().map(|(at, line)| format!("{}\n", format!("{:LABEL$}{line}", label_of(at)).trim_end())).collect()
}

/// Without ids, times, and what an engine costs.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_id = |text: &str| {
            let shape = |(at, c): (usize, char)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() };
            text.len() >= 36 && text.is_char_boundary(36) && text[..36].char_indices().all(shape)
        };
        let is_time = |text: &str| {
            text.get(..24).is_some_and(|time| time.ends_with('Z') && time.as_bytes()[10] == b'T' && time.starts_with("20"))
        };
        if is_id(rest) {
            steady.push_str("ID");
            rest = &rest[36..];
        } else if is_time(rest) {
            steady.push_str("TIME");
            rest = &rest[24..];
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            steady.push_str(if after.starts_with(" s") && number.contains('.') { "N" } else { number });
            rest = after;
        } else {
            steady.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    steady
}

#[test]
fn a_success() {
    let lab = Lab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn an_engine_that_says_it_failed() {
    let lab = Lab::new();
    let script = "- - say: Half a word.\n  - fail: The model is \\u001b[31maway.\n";
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, script));
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn an_output_that_does_not_fit() {
    let lab = Lab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, "- - output: {other: 1}\n    done: true\n"));
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn a_timeout() {
    let lab = Lab::new();
    let new = lab.new_run(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n");
    let run = played(&lab, NewRun { options: Options { hard_timeout_sec: Some(1.0), ..new.options.clone() }, ..new });
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn an_engine_that_dies_without_a_word() {
    let lab = Lab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, "- - exit: 3\n"));
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::NoOutput { .. })));
    assert_snapshot!(shown(&diagnosis), @"");
}

#[test]
fn a_question_that_waits() {
    let lab = Lab::new();
    let runtime = lab.runtime();
    let script = "- - ask: {kind: choose_one, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
    let run = runtime.submit(lab.new_run(ExecutionMode::Interactive, script)).expect("accepted");
    lab.wait_asked(run, 1);
    let diagnosis = look(&lab, run, Owner::Nobody, SystemClock.now());
    // It waits for ever, so nobody need be there.
    assert!(!finds(&diagnosis, |kind| matches!(kind, FindingKind::QuestionWithoutOwner | FindingKind::WithoutOwner)));
    assert_snapshot!(shown(&diagnosis), @"");
    runtime.reply(run, reply(1, "blue")).expect("answered");
    lab.wait_over(run);
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn a_question_whose_time_is_up() {
    let lab = Lab::new();
    let runtime = lab.runtime();
    let new = sticky(lab.new_run(ExecutionMode::Interactive, "- - ask: {kind: open_text, prompt: Which?}\n- - end: true\n"));
    let run = runtime.submit(new).expect("accepted");
    lab.wait_asked(run, 1);
    let later = SystemClock.now().plus_nanos(2_000 * 1_000_000_000);
    let diagnosis = look(&lab, run, Owner::Nobody, later);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::DeadlinePassed { .. })), "{diagnosis:#?}");
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::QuestionWithoutOwner)), "{diagnosis:#?}");
    let diagnosis = look(&lab, run, Owner::Somebody { pid: Some(7) }, SystemClock.now());
    assert!(!finds(&diagnosis, |kind| matches!(kind, FindingKind::DeadlinePassed { .. } | FindingKind::QuestionWithoutOwner)));
    assert!(diagnosis.lines().contains(&("owner", "process 7".to_owned())));
    runtime.cancel(run, "a test").expect("canceled");
    lab.wait_over(run);
    let diagnosis = now(&lab, run);
    assert_eq!(diagnosis.questions[0].resolution, Resolution::Closed);
    assert_snapshot!(shown(&diagnosis), @"");
}

#[test]
fn a_cancel_in_the_middle() {
    let lab = Lab::new();
    let runtime = lab.runtime();
    let run = runtime.submit(lab.new_run(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n")).expect("accepted");
    lab.wait(run, "message", |_| lab.types(run).contains(&"agent.message.final"));
    let diagnosis = look(&lab, run, Owner::Nobody, SystemClock.now());
    assert_eq!(diagnosis.status, RunStatus::Running);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::WithoutOwner)));
    assert!(diagnosis.attempts[0].ending.is_none());
    runtime.cancel(run, "a test").expect("canceled");
    lab.wait_over(run);
    assert_snapshot!(shown(&now(&lab, run)), @"");
}

#[test]
fn a_lost_host() {
    let lab = Lab::new();
    let runtime = lab.runtime();
    let run = runtime.submit(lab.new_run(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n")).expect("accepted");
    lab.wait(run, "message", |_| lab.types(run).contains(&"agent.message.final"));
    let host = lab.events(run).into_iter().find_map(|event| match event.data {
        Data::AttemptStarted(started) => started.host_pid,
        _ => None,
    });
    let killed = Command::new("kill").arg("-9").arg(host.expect("a host").to_string()).status().expect("a command");
    assert!(killed.success());
    lab.wait_over(run);
    assert!(runtime.wait_idle(crate::lab::PATIENCE));
    assert_snapshot!(shown(&now(&lab, run)), @"");
    // What its host could not vouch for is compared with nothing; the rest comes out the same.
    let report = super::check(&lab, run);
    assert!(report.is_good(), "{report:#?}");
}

#[test]
fn a_run_in_the_queue() {
    let mut lab = Lab::new();
    lab.slots.total = 0;
    let runtime = lab.runtime();
    let run = runtime.submit(lab.new_run(ExecutionMode::Auto, DONE)).expect("accepted");
    let diagnosis = look(&lab, run, Owner::Nobody, SystemClock.now().plus_nanos(65_000_000_000));
    assert!(diagnosis.elapsed_ms >= 65_000);
    assert_snapshot!(shown(&diagnosis), @"");
}

#[test]
fn what_is_missing_or_torn_is_found() {
    let lab = Lab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    let folder = lab.data().run(run);
    fs::write(folder.root().join("events.torn.1"), "{").expect("written");
    fs::remove_file(folder.audit().join("stdout.1.log")).expect("removed");
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::LogTorn { files } if files == &["events.torn.1"])));
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::EvidenceMissing { file, .. } if file == "stdout.1.log")));
    assert!(diagnosis.attempts[0].evidence.iter().all(|passage| passage.excerpt.is_none()));
    fs::write(folder.audit().join("removed.json"), "{}").expect("written");
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::EvidenceRemoved)));
    assert!(!finds(&diagnosis, |kind| matches!(kind, FindingKind::EvidenceMissing { .. })));
    let text = fs::read_to_string(folder.events()).expect("readable");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(folder.events(), [&lines[..4], &lines[5..]].concat().concat()).expect("written");
    assert!(finds(&now(&lab, run), |kind| matches!(kind, FindingKind::LogDamaged)));
}

#[test]
fn a_diagnosis_as_json() {
    let lab = Lab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    let json = serde_json::to_value(now(&lab, run)).expect("JSON");
    assert_eq!(json["status"], "succeeded");
    assert_eq!(json["decided"]["rule"], "3c");
    assert_eq!(json["attempts"][0]["evidence"][0]["file"], "stdout.1.log");
    assert_eq!(json["findings"][0]["finding"], "noticed");
    assert_eq!(json["timeline"][0]["what"], "created");
}
