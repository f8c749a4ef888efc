//! Everything that a run keeps is vouched for: by the chain of its Log, and by hashes that the Log has.

use std::collections::BTreeMap;
use std::path::Path;

use skillrun_inspect::verify::{NotedHead, verify_against};
use skillrun_log::{EventLog, LineHash};
use skillrun_model::rasp::{ControlData, Data, EventType};
use skillrun_runs::record::Sharing;
use skillrun_runtime::{Reply, reply_files};

use super::*;

const ASKS_AND_WRITES: &str = concat!(
    "- - say: First.\n  - ask: {kind: open_text, prompt: Which colour?}\n",
    "- - write: {path: artifacts/note.txt, content: hello}\n",
    "  - output: {answer: blue}\n    done: true\n",
);

/// A run with everything that a run can have: an input file, an answer with a file, an artifact, two attempts.
fn full(lab: &RuntimeLab) -> RunId {
    let photo = lab.path("photo.png");
    fs::write(&photo, "pixels").expect("written");
    let new = lab.new_run(ExecutionMode::Interactive, ASKS_AND_WRITES);
    let new = NewRun { files: BTreeMap::from([("photo".to_owned(), photo.clone())]), ..new };
    let (runtime, run) = lab.begin(new);
    lab.wait_asked(run, 1);
    let files = reply_files(&lab.data().run(run), skillrun_model::InteractionId(1), &[photo]).expect("taken");
    runtime.reply(run, Reply { files, ..reply(1, "blue as the sea") }).expect("answered");
    lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    run
}

/// The words of the first break, which is of this kind.
fn first_break(report: &VerifyReport, kind: CheckKind) -> String {
    let check = report.first_break().unwrap_or_else(|| panic!("nothing is found broken: {report:#?}"));
    assert_eq!(check.what, kind, "{report:#?}");
    let (VerifyOutcome::Different { difference: words } | VerifyOutcome::Missing { why: words, .. }) = &check.outcome
    else {
        panic!("{kind:?} is {:?}", check.outcome)
    };
    words.clone()
}

/// Regression: each of these attacks was reported as "Nothing differs".
#[test]
fn whatever_is_changed_is_named_as_the_first_break() {
    let lab = RuntimeLab::new();
    let run = full(&lab);
    all_good(&lab, run);
    let root = lab.data().run(run).root().to_owned();
    let cases: [(&str, &str, &str, CheckKind, &str); 12] = [
        ("run.json", "\"priority\": 0", "\"priority\": 1", CheckKind::Record, "run.json was changed"),
        ("skill/SKILL.md", "Answer.", "Answer!", CheckKind::Skill, "copy of the skill"),
        ("skill/assets/output.json", "string", "number", CheckKind::Skill, "copy of the skill"),
        ("inputs/1-photo.png", "pixels", "pixals", CheckKind::Inputs, "inputs/1-photo.png"),
        ("inputs/script.yaml", "hello", "hallo", CheckKind::Inputs, "inputs/script.yaml"),
        ("inputs/reply-1-1-photo.png", "pixels", "pixals", CheckKind::Inputs, "inputs/reply-1-1-photo.png"),
        ("workspace/artifacts/note.txt", "hello", "hallo", CheckKind::Artifacts, "artifacts/note.txt"),
        (".audit/meta.1.json", "TURN_ENDED", "TURN_BEGUN", CheckKind::Meta, "in completion.reason_code"),
        (".audit/meta.2.json", "\"wiring\": \"", "\"wiring\": \"x", CheckKind::Meta, "in wiring"),
        (".audit/claim.1", "\"nonce\":\"", "\"nonce\":\"0", CheckKind::EvidenceFiles, "claim.1"),
        (".audit/host.2.json", "\"user_us\": ", "\"user_us\": 1", CheckKind::EvidenceFiles, "host.2.json"),
        (".audit/fs-diff.2.json", "note.txt", "nope.txt", CheckKind::EvidenceFiles, "fs-diff.2.json"),
    ];
    for (name, from, to, kind, words) in cases {
        let path = root.join(name);
        let whole = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        change(&path, |bytes| replaced(&bytes, from, to));
        let found = first_break(&check(&lab, run), kind);
        assert!(found.contains(words), "{name}: {found}");
        fs::write(&path, whole).expect("written");
    }
    for (name, kind) in [
        ("skill/assets/output.json", CheckKind::Skill),
        ("inputs/1-photo.png", CheckKind::Inputs),
        ("workspace/artifacts/note.txt", CheckKind::Artifacts),
        (".audit/claim.2", CheckKind::EvidenceFiles),
    ] {
        let whole = fs::read(root.join(name)).expect("readable");
        fs::remove_file(root.join(name)).expect("removed");
        first_break(&check(&lab, run), kind);
        fs::write(root.join(name), whole).expect("written");
    }
    all_good(&lab, run);
}

/// All lines with the hash of the line before, as a skilled forger writes them.
fn chained(run: RunId, events: &[Event]) -> String {
    let mut before = LineHash::before_first(run);
    let mut lines = String::new();
    for event in events {
        let json = event.to_json();
        let line = format!("{},\"prev\":\"{before}\"}}", json.strip_suffix('}').expect("an object"));
        before = LineHash::of(line.as_bytes());
        lines += &(line + "\n");
    }
    lines
}

#[test]
fn a_rewritten_reply_is_found_and_its_place_is_named() {
    let lab = RuntimeLab::new();
    let run = full(&lab);
    let path = lab.data().run(run).events();
    let is_reply = |event: &&Event| event.event_type() == EventType::InteractionReplied;
    let seq = lab.events(run).iter().find(is_reply).expect("an answer").seq;
    change(&path, |bytes| replaced(&bytes, "blue as the sea", "red as the rose"));
    let words = first_break(&check(&lab, run), CheckKind::Chain);
    assert!(words.contains(&format!("seq {} does not carry the hash of seq {seq}", seq + 1)), "{words}");
    // A forger who recreates the whole chain is detected by an earlier answer: here by the result.
    fs::write(&path, chained(run, &lab.events(run))).expect("written");
    let report = check(&lab, run);
    assert_eq!(what(&report, CheckKind::Chain), &VerifyOutcome::Same);
    assert!(first_break(&report, CheckKind::Result).contains("log_head.hash"), "{report:#?}");
}

#[test]
fn the_folder_of_one_run_under_the_id_of_another_is_found() {
    let lab = RuntimeLab::new();
    let (one, other) = (done(&lab), done(&lab));
    let (root, others) = (lab.data().run(one).root().to_owned(), lab.data().run(other).root().to_owned());
    fs::remove_dir_all(&root).expect("removed");
    fs::rename(&others, &root).expect("moved");
    let report = check(&lab, one);
    assert_eq!(report.run_id, one);
    let words = first_break(&report, CheckKind::Log);
    assert!(words.contains(&other.to_string()), "{words}");
    assert!(differs(&report, CheckKind::Record).contains(&other.to_string()), "{report:#?}");
    // The same with the id written over wherever it stands.
    for name in ["events.jsonl", "run.json", "result.json", "fcmp.jsonl", ".audit/host.1.json", ".audit/claim.1"] {
        let text = fs::read_to_string(root.join(name)).expect("readable");
        fs::write(root.join(name), text.replace(&other.to_string(), &one.to_string())).expect("written");
    }
    let words = first_break(&check(&lab, one), CheckKind::Chain);
    assert!(words.contains("made for another run"), "{words}");
}

/// The events of a version before the chain.
fn old(events: &mut [Event]) {
    for event in events {
        if let Data::Control(ControlData::RunStarted(started)) = &mut event.data {
            started.record_hash = None;
        } else if let Data::Control(ControlData::AttemptEnded(ended)) = &mut event.data {
            ended.host_hash = None;
        }
    }
}

#[test]
fn logs_without_a_chain_are_read_and_reported_as_unchained() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Interactive, ASKS);
    lab.wait_asked(run, 1);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let mut events = lab.events(run);
    old(&mut events);
    let lines: String = events.iter().map(|event| event.to_json() + "\n").collect();
    fs::write(lab.data().run(run).events(), lines).expect("written");
    let report = check(&lab, run);
    assert!(report.is_good() && report.log_head.is_none(), "{report:#?}");
    assert_not_comparable(&report, &[CheckKind::Chain, CheckKind::Record], "older version");
    // A later version continues it.
    runtime.reply(run, reply(1, "blue")).expect("answered");
    lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let report = check(&lab, run);
    assert!(report.is_good() && report.log_head.is_some(), "{report:#?}");
    let first = format!("before seq {} are unchained", events.len() + 1);
    assert_not_comparable(&report, &[CheckKind::Chain], &first);
    // One that says that it is chained is not taken for an old one.
    let run = done(&lab);
    let lines: String = lab.events(run).iter().map(|event| event.to_json() + "\n").collect();
    fs::write(lab.data().run(run).events(), lines).expect("written");
    assert!(first_break(&check(&lab, run), CheckKind::Chain).contains("seq 1 carries no hash"));
}

#[test]
fn the_head_in_an_answer_vouches_for_the_whole_log() {
    let lab = RuntimeLab::new();
    let run = done(&lab);
    let log = FileLog::new(lab.data().runs());
    let events = lab.events(run);
    let head = log.chain_head(run).expect("readable").expect("chained");
    assert_eq!(head.seq, events.len() as u64);
    let written = lab.result(run);
    let before = written.log_head.clone().expect("a head");
    assert_eq!(before.seq, head.seq - 1, "result.json is written before the last event");
    let answered = skillrun_runs::result::answered(written, &log);
    assert_eq!(answered.log_head, Some(head.clone()));
    let with = |text: String| {
        let noted: NotedHead = text.parse().expect("a head");
        verify_against(&lab.data(), &log, run, Some(noted)).expect("a report")
    };
    for noted in [head.hash.clone(), format!("{}:{}", head.seq, head.hash), format!("{}:{}", before.seq, before.hash)] {
        let report = with(noted);
        assert_eq!((what(&report, CheckKind::Head), report.is_good()), (&VerifyOutcome::Same, true));
        assert_eq!(report.log_head, Some(head.clone()));
    }
    let other = with(format!("{}:{}", head.seq, before.hash));
    assert!(first_break(&other, CheckKind::Head).contains(&format!("is seq {}, not", before.seq)));
    // The last event has none after it that would carry its hash.
    change(&lab.data().run(run).events(), |bytes| {
        let text = String::from_utf8(bytes).expect("text");
        let (before, after) = text.rsplit_once("DONE_MARKER_FOUND").expect("the reason");
        format!("{before}OUTPUT_VALID{after}").into_bytes()
    });
    assert_eq!(what(&check(&lab, run), CheckKind::Chain), &VerifyOutcome::Same);
    assert!(first_break(&with(head.hash), CheckKind::Head).contains("no event has that hash"));
    assert!("12:34".parse::<NotedHead>().is_err() && "x:".parse::<NotedHead>().is_err());
}

/// The user's folder belongs to the user: changes there are reported, and nothing is wrong.
#[test]
fn artifacts_in_a_folder_of_the_users_may_change() {
    let lab = RuntimeLab::new();
    let folder = lab.path("project");
    fs::create_dir_all(&folder).expect("a folder");
    let new = NewRun { workspace: Some((folder.clone(), Sharing::Alone)), ..lab.new_run(ExecutionMode::Auto, DONE) };
    let run = played(&lab, new);
    all_good(&lab, run);
    let changes: [fn(&Path); 2] =
        [|note| fs::write(note, "hello again").expect("written"), |note| fs::remove_file(note).expect("removed")];
    for change in changes {
        change(&folder.join("artifacts/note.txt"));
        let report = check(&lab, run);
        assert!(report.is_good(), "{report:#?}");
        let VerifyOutcome::ChangedSince { what_changed: words } = what(&report, CheckKind::Artifacts) else {
            panic!("{report:#?}")
        };
        assert!(words.contains("artifacts/note.txt") && words.contains("the user's"), "{words}");
    }
}
