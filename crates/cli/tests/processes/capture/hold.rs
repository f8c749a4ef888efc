//! A host that waits for the word to start: nothing runs before it, and without it nothing was ever begun.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab, LONG, hang_up, send};
use lab::{eventually, is_gone, signal, wait_until};
use skillrun_collect::owner::HostMessage;
use skillrun_collect::plan::{HostPlan, Limits, SnapshotPlan, StartWhen, StdinPlan};
use skillrun_collect::protocol::{CloseReason, HostRequest, Notice, ProcessState};
use skillrun_collect::{Attached, CollectError, HostConnection, attach, withdraw};
use skillrun_model::EndedBy;

const WORK: &[&str] = &["pid", "main.pid", "out", "hello\n", "exit", "7"];

/// A plan whose process waits, and whose workspace is listed.
fn held(lab: &HostLab, within: Duration, steps: &[&str]) -> HostPlan {
    let snapshot = SnapshotPlan::On { ignore: Vec::new() };
    HostPlan { start: StartWhen::Told { within }, snapshot, ..lab.plan(steps) }
}

fn started(steps: &[&str]) -> (HostLab, HostConnection) {
    let lab = HostLab::new();
    let owner = lab.start(&held(&lab, LONG, steps));
    (lab, owner)
}

fn assert_nothing_runs(lab: &HostLab) {
    wait_until("the listing", || lab.has("fs-before.1.json"));
    sleep(Duration::from_millis(100));
    lab.assert_no_process_is_left();
    assert!(!lab.workspace().join("main.pid").exists(), "the process has run");
    assert_eq!(lab.left(), ["claim.1", "fs-before.1.json", "host.sock", "reserve.1"]);
}

/// It ran, once, and everything is as if it had never waited.
fn assert_ran(lab: &HostLab) {
    let record = lab.record(1);
    assert_eq!((record.exit_code, record.ended_by), (Some(7), Some(EndedBy::Exited)));
    assert!(record.pid.is_some());
    assert_eq!(record.fs_diff.map(|diff| diff.created), Some(1), "the file with its process id");
    assert_eq!(lab.read_stdout(1), "hello\n");
    wait_until("the end of the host", || is_gone(record.host_pid));
    lab.assert_no_process_is_left();
    let undisturbed = HostLab::new();
    undisturbed.run(&[], WORK);
    assert_eq!(lab.left(), undisturbed.left());
}

fn assert_not_begun(lab: &HostLab) {
    let attached = attach(&lab.audit(), FIRST).expect("an answer");
    assert!(matches!(attached, Attached::NotBegun), "{attached:?}");
    assert_eq!(lab.left(), Vec::<String>::new(), "something is left");
    let of_hosts = fs::read_dir(lab.path("")).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = of_hosts.filter(|name| name.to_string_lossy().starts_with("skillrun-")).collect();
    assert!(left.is_empty(), "folders for temporary files are left: {left:?}");
    assert!(!lab.workspace().join("main.pid").exists(), "the process has run");
    lab.assert_no_process_is_left();
}

fn start_and_wait(owner: &mut HostConnection) {
    send(owner, HostRequest::Start);
    assert_eq!(host::receive_ended(owner), EndedBy::Exited);
}

/// Begins the same attempt once more, with a host of its own.
fn assert_can_be_begun(lab: &HostLab) {
    start_and_wait(&mut lab.start(&held(lab, LONG, WORK)));
    assert_ran(lab);
}

fn refused(lab: &HostLab) -> String {
    match withdraw(&lab.audit(), FIRST) {
        Err(CollectError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_runs_before_the_word() {
    let (lab, mut owner) = started(WORK);
    assert_eq!(owner.process(), ProcessState::Held);
    assert_nothing_runs(&lab);
    assert_eq!(refused(&lab), "the host of attempt 1 is alive");
    start_and_wait(&mut owner);
    assert_ran(&lab);
    assert_eq!(refused(&lab), "attempt 1 was begun; its evidence is kept");
}

#[test]
fn a_start_may_be_repeated_and_superfluous() {
    let steps = ["pid", "main.pid", "wait-file", "go", "out", "hello\n", "exit", "7"];
    let (lab, mut owner) = started(&steps);
    send(&mut owner, HostRequest::Start);
    send(&mut owner, HostRequest::Start);
    let pid = lab.await_pid("main.pid");
    send(&mut owner, HostRequest::Start);
    hang_up(owner);
    let mut owner = eventually("a free place", || attach_live(&lab));
    assert_eq!(owner.process(), ProcessState::Started);
    send(&mut owner, HostRequest::Start);
    lab.put("go", "");
    assert_eq!(host::receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(1);
    assert_eq!((record.exit_code, record.pid), (Some(7), Some(pid)));
    assert_eq!(lab.read_stdout(1), "hello\n");

    let (lab, mut owner) = host::started(&["wait-file", "go", "out", "hello\n"]);
    assert_eq!(owner.process(), ProcessState::Started);
    send(&mut owner, HostRequest::Start);
    lab.put("go", "");
    assert_eq!(host::receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.read_stdout(1), "hello\n");
}

/// None while the host has not noticed that its owner is gone.
fn attach_live(lab: &HostLab) -> Option<HostConnection> {
    match attach(&lab.audit(), FIRST) {
        Ok(Attached::Live(owner)) => Some(*owner),
        Err(CollectError::Owned) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_owner_that_leaves_is_followed_by_one_that_says_it() {
    let (lab, owner) = started(WORK);
    assert_nothing_runs(&lab);
    hang_up(owner);
    let mut owner = eventually("a free place", || attach_live(&lab));
    assert_eq!(owner.process(), ProcessState::Held);
    assert_nothing_runs(&lab);
    start_and_wait(&mut owner);
    assert_ran(&lab);
}

#[test]
fn a_word_said_while_the_workspace_is_listed_counts() {
    let lab = HostLab::new();
    for number in 0..3000 {
        lab.put(&format!("file-{number}"), &number.to_string());
    }
    let mut owner = lab.start(&held(&lab, LONG, WORK));
    send(&mut owner, HostRequest::Start);
    send(&mut owner, HostRequest::Detach);
    host::all_notices(&mut owner);
    assert_eq!(lab.record(1).fs_diff.map(|diff| diff.created), Some(1));
}

#[test]
fn what_is_asked_for_before_the_word_is_done_after_it() {
    let lab = HostLab::new();
    let plan = HostPlan { stdin: StdinPlan::Pipe, ..held(&lab, LONG, &["echo-stdin"]) };
    let mut owner = lab.start(&plan);
    send(&mut owner, HostRequest::Input { id: "1".to_owned(), text: Some("blue\n".to_owned()), hex: None });
    send(&mut owner, HostRequest::CloseStdin);
    assert_nothing_runs(&lab);
    start_and_wait(&mut owner);
    assert_eq!((lab.evidence("stdin.1.log"), lab.evidence("stdout.1.log")), (b"blue\n".to_vec(), b"blue\n".to_vec()));
}

#[test]
fn a_host_that_is_never_started_leaves_nothing() {
    let lab = HostLab::new();
    let mut owner = lab.start(&held(&lab, Duration::from_millis(300), WORK));
    // Attached or not: an owner that says nothing is as good as none.
    let begin = Instant::now();
    let notices = host::all_notices(&mut owner);
    assert!(begin.elapsed() < Duration::from_secs(10), "it took {:?}", begin.elapsed());
    let is_withdrawn = matches!(notices.last(), Some(Notice::Closed { reason: CloseReason::Withdrawn, .. }));
    assert!(is_withdrawn, "it did not say why: {notices:?}");
    assert_not_begun(&lab);
    withdraw(&lab.audit(), FIRST).expect("there is nothing to withdraw");

    hang_up(lab.start(&held(&lab, Duration::from_millis(50), WORK)));
    wait_until("the end of the claim", || !lab.has("claim.1"));
    assert_not_begun(&lab);
    assert_can_be_begun(&lab);
}

/// The word and the end of the wait come at the same moment, again and again: it ran, or it was never begun.
#[test]
fn a_late_start_starts_the_process_or_is_refused() {
    let within = Duration::from_millis(40);
    let mut started = 0;
    for round in 0..40u64 {
        let lab = HostLab::new();
        let begin = Instant::now();
        host::start_host(&held(&lab, within, WORK));
        let Attached::Live(mut owner) = attach(&lab.audit(), FIRST).expect("an answer") else {
            assert_not_begun(&lab);
            continue;
        };
        // The host's clock begins a few milliseconds after ours.
        let at = within + Duration::from_micros(round * 400);
        sleep(at.saturating_sub(begin.elapsed()));
        // It may have hung up by now.
        owner.send(&HostRequest::Start).ok();
        let mut has_ended = false;
        loop {
            match owner.receive(LONG) {
                Ok(HostMessage::Notice(notice)) => has_ended |= matches!(notice, Notice::Ended { .. }),
                Ok(HostMessage::Gone) | Err(CollectError::Silent(_)) => break,
                other => panic!("{other:?}"),
            }
        }
        if has_ended {
            started += 1;
            assert_eq!(lab.record(1).ended_by, Some(EndedBy::Exited));
            lab.await_pid("main.pid");
        } else {
            assert_not_begun(&lab);
        }
    }
    eprintln!("{started} of 40 were started");
}

#[test]
fn a_cancel_before_the_word_leaves_a_record_and_no_process() {
    let (lab, mut owner) = started(WORK);
    assert_nothing_runs(&lab);
    send(&mut owner, HostRequest::Cancel { ladder: None });
    assert_eq!(host::receive_ended(&mut owner), EndedBy::Canceled);
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.error), (Some(EndedBy::Canceled), None));
    assert_eq!((record.pid, record.exit_code, record.signal), (None, None, None));
    assert!(!lab.workspace().join("main.pid").exists(), "the process has run");
    assert_eq!(host::read_back(&lab.out(), 1), <[Vec<u8>; 3]>::default());
}

#[test]
fn a_host_killed_before_the_word_can_be_withdrawn() {
    let (lab, owner) = started(WORK);
    assert_nothing_runs(&lab);
    host::kill_host(&owner);
    // Some owners look first, and what they note is withdrawn too.
    assert_eq!(lab.attach_lost(FIRST), 0);
    assert!(lab.has("meta.1.json"));
    withdraw(&lab.audit(), FIRST).expect("withdrawn");
    // Only a host removes a socket; the next one replaces it.
    assert_eq!(lab.left(), ["host.sock"]);
    fs::remove_file(lab.audit().join("host.sock")).expect("removed");
    assert_not_begun(&lab);

    let owner = lab.start(&held(&lab, LONG, WORK));
    host::kill_host(&owner);
    withdraw(&lab.audit(), FIRST).expect("withdrawn");
    assert_can_be_begun(&lab);
}

/// Evidence is never removed: a host that received the start request may have started.
#[test]
fn a_host_killed_after_the_word_cannot_be_withdrawn() {
    let (lab, mut owner) = started(&["out", "hello\n", "pid", "main.pid", "forever"]);
    send(&mut owner, HostRequest::Start);
    lab.await_pid("main.pid");
    host::kill_host(&owner);
    assert_eq!(refused(&lab), "attempt 1 was begun; its evidence is kept");
    assert!(lab.has("claim.1") && lab.has("chunks.1.jsonl"));
    lab.kill_processes();
}

#[test]
fn a_host_ended_before_its_start_withdraws() {
    let (lab, mut owner) = started(WORK);
    assert_nothing_runs(&lab);
    signal(owner.host_pid(), "TERM");
    host::all_notices(&mut owner);
    assert_not_begun(&lab);
}

#[test]
fn deadlines_count_from_the_word() {
    let lab = HostLab::new();
    let limit = Duration::from_secs(2);
    let limits = Limits { hard: limit, stall: limit, ..Limits::default() };
    let mut owner = lab.start(&HostPlan { limits, ..held(&lab, LONG, &["sleep", "100", "out", "done\n"]) });
    sleep(limit + Duration::from_millis(300));
    start_and_wait(&mut owner);
    let record = lab.record(1);
    let first = lab.index(1)[0]["t_ns"].as_u64().expect("a time");
    assert!(first < 2_000_000_000, "its time begins before the word: {first} {record:?}");
}
