//! One process over several attempts: `next_attempt` closes the files of one and opens those of the next.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab, at_once, hang_up, input, receive, receive_ended, receive_refused, send};
use lab::{eventually, is_gone, signal};
use serde_json::Value;
use skillrun_collect::plan::{HostPlan, SnapshotPlan, StdinPlan, Variable, VariableKind};
use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice, RecordedSizes};
use skillrun_collect::{Attached, HostConnection, attach};
use skillrun_evidence::HostRecord;
use skillrun_model::{AttemptNumber, EndedBy, Stream, Timestamp};

/// How long streams may take to reach a line end.
const LINE_END_TIMEOUT: Duration = Duration::from_secs(1);

fn plan(lab: &HostLab, steps: &[&str]) -> HostPlan {
    HostPlan { stdin: StdinPlan::Pipe, ..lab.plan(steps) }
}

fn ask_next(owner: &mut HostConnection, attempt: u32) {
    send(owner, HostRequest::NextAttempt { attempt: AttemptNumber(attempt) });
}

/// The sizes of the attempt before.
fn wait_for_next_attempt(owner: &mut HostConnection, attempt: u32) -> RecordedSizes {
    let sizes = receive(owner, "the next attempt", |notice| match notice {
        Notice::NextAttempt(sizes) => Some(*sizes),
        Notice::Refused { reason } => panic!("{reason}"),
        Notice::Progress(_)
        | Notice::Input { .. }
        | Notice::Exited { .. }
        | Notice::Ended { .. }
        | Notice::Closed { .. } => None,
    });
    assert_eq!(sizes.attempt, AttemptNumber(attempt));
    sizes
}

fn next(owner: &mut HostConnection, attempt: u32) -> RecordedSizes {
    ask_next(owner, attempt);
    wait_for_next_attempt(owner, attempt)
}

/// One turn of the engine `turns`; its number continues from one attempt to the next.
fn turn(lab: &HostLab, owner: &mut HostConnection, attempt: u32, turn: u32) {
    assert_eq!(input(owner, &format!("turn {turn}"), &format!("line {turn}\n")), InputAnswer::Written);
    lab.await_stdout(attempt, &format!("turn {turn} end\n"));
}

fn answer(turn: u32) -> String {
    format!("turn {turn} begin\nyou said: line {turn}\nturn {turn} end\n")
}

/// All files of an attempt, as they are.
fn files(lab: &HostLab, attempt: u32) -> BTreeMap<String, Vec<u8>> {
    let number = format!(".{attempt}.");
    let entries = fs::read_dir(lab.audit()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(&number)).map(|name| (name.clone(), lab.evidence(&name))).collect()
}

/// An attempt that is over while its process is not, at the moment the owner is notified.
fn assert_continues(lab: &HostLab, attempt: u32, sizes: RecordedSizes) {
    let record = HostRecord::read(&lab.audit(), AttemptNumber(attempt)).expect("readable").expect("there by now");
    assert!(record.process_continues);
    assert_eq!((record.exit_code, record.signal, record.ended_by), (None, None, None));
    assert!(record.ended_at.is_some());
    let meta = lab.meta(attempt);
    assert_eq!(meta["process_continues"], true);
    for field in ["exit_code", "signal", "ended_by"] {
        assert_eq!(meta[field], Value::Null, "{field}");
    }
    let len = |name: String| lab.evidence(&name).len() as u64;
    assert_eq!(sizes.stdout, len(format!("stdout.{attempt}.log")));
    assert_eq!(sizes.stderr, len(format!("stderr.{attempt}.log")));
    assert_eq!((record.bytes.stdout, record.bytes.stderr), (sizes.stdout, sizes.stderr));
    assert!(lab.audit().join(format!("claim.{}", attempt + 1)).exists());
}

/// When the first byte of an attempt came, as its index has it.
fn first_t_ns(lab: &HostLab, attempt: u32) -> u64 {
    let index = lab.evidence(&format!("chunks.{attempt}.jsonl"));
    let line = index.split(|byte| *byte == b'\n').next().expect("a line");
    serde_json::from_slice::<Value>(line).expect("JSON")["t_ns"].as_u64().expect("a number")
}

#[test]
fn each_turn_has_its_own_attempt_and_all_of_them_one_process() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["err", "started\n", "turns"]));
    eventually("stderr", || (lab.evidence("stderr.1.log") == b"started\n").then_some(()));
    turn(&lab, &mut owner, 1, 1);
    let mut sealed = Vec::new();
    for attempt in 1..4 {
        let asked = Instant::now();
        let sizes = next(&mut owner, attempt + 1);
        assert_continues(&lab, attempt, sizes);
        sealed.push(files(&lab, attempt));
        turn(&lab, &mut owner, attempt + 1, attempt + 1);
        eventually("its record in the index", || {
            (!lab.evidence(&format!("chunks.{}.jsonl", attempt + 1)).is_empty()).then_some(())
        });
        let (t_ns, since) = (first_t_ns(&lab, attempt + 1), asked.elapsed().as_nanos() as u64);
        assert!(
            t_ns <= since,
            "time counts from the beginning of the attempt: {t_ns} ns, {since} ns after it was asked"
        );
    }
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    for (attempt, before) in (1..4).zip(&sealed) {
        assert_eq!(&files(&lab, attempt), before, "attempt {attempt} was touched after it was closed");
        let names: Vec<_> = before.keys().map(|name| name.split('.').next().unwrap_or_default()).collect();
        assert_eq!(names, ["chunks", "host", "meta", "redact", "stderr", "stdin", "stdout"]);
    }
    let mut whole = Vec::new();
    for attempt in 1..=4 {
        let bye = if attempt == 4 { "bye\n" } else { "" };
        let streams = host::read_back(&lab.out(), attempt);
        assert_eq!(host::text(host::of(&streams, Stream::Stdout)), format!("{}{bye}", answer(attempt)));
        assert_eq!(host::of(&streams, Stream::Stderr), if attempt == 1 { &b"started\n"[..] } else { b"" });
        assert_eq!(host::text(&lab.evidence(&format!("stdin.{attempt}.log"))), format!("line {attempt}\n"));
        whole.extend_from_slice(host::of(&streams, Stream::Stdout));
    }
    let expected: String = (1..=4).map(answer).collect();
    assert_eq!(host::text(&whole), format!("{expected}bye\n"));
    let records: Vec<_> = (1..=4).map(|attempt| lab.record(attempt)).collect();
    assert!(records.iter().all(|record| record.pid == records[0].pid && record.run_id == records[0].run_id));
    assert!(records.windows(2).all(|pair| pair[0].started_at <= pair[1].started_at));
    assert_eq!((records[3].exit_code, records[3].ended_by), (Some(0), Some(EndedBy::Exited)));
    assert!(!records[3].process_continues);
    lab.assert_no_process_is_left();
}

#[test]
fn twenty_turns_in_a_row() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["turns"]));
    for number in 1..=20 {
        turn(&lab, &mut owner, number, number);
        let sizes = next(&mut owner, number + 1);
        assert_eq!(sizes.stdout, answer(number).len() as u64);
    }
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    for number in 1..=20 {
        assert_eq!(host::text(host::of(&host::read_back(&lab.out(), number), Stream::Stdout)), answer(number));
    }
    assert_eq!(host::of(&host::read_back(&lab.out(), 21), Stream::Stdout), b"bye\n");
    lab.assert_no_process_is_left();
}

/// Waits until the host has received the request for a second attempt; it could read what comes next before that.
fn await_wish(lab: &HostLab) {
    eventually("the next files", || lab.audit().join("stdout.2.log").exists().then_some(()));
}

/// Does what a test needs within the time that streams have to reach a line end, again if the machine was too slow.
fn in_time(mut act: impl FnMut() -> Instant) {
    for _ in 0..20 {
        let asked = act();
        if asked.elapsed() < LINE_END_TIMEOUT {
            return;
        }
    }
    panic!("this machine is too slow to show anything");
}

#[test]
fn a_half_line_is_waited_for_and_belongs_where_it_began() {
    let steps = ["out", "half", "wait-file", "go", "out", " line\nmore\n", "file", "written", "x", "wait-file", "end"];
    let mut shown = None;
    in_time(|| {
        let lab = HostLab::new();
        let mut owner = lab.start(&plan(&lab, &steps));
        lab.await_stdout(1, "half");
        let asked = Instant::now();
        ask_next(&mut owner, 2);
        await_wish(&lab);
        lab.put("go", "");
        lab.await_file("written");
        shown = Some((lab, owner));
        asked
    });
    let (lab, mut owner) = shown.expect("one that was in time");
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    assert_eq!(lab.evidence("stdout.1.log"), b"half line\n");
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout), b"more\n");
    lab.assert_no_process_is_left();
}

#[test]
fn each_stream_changes_over_at_its_own_line_end() {
    let steps = [
        "out",
        "a\n",
        "err",
        "half",
        "wait-file",
        "go",
        "out",
        "b\n",
        "err",
        " rest\nnext\n",
        "file",
        "written",
        "x",
        "wait-file",
        "end",
    ];
    let mut shown = None;
    in_time(|| {
        let lab = HostLab::new();
        let mut owner = lab.start(&plan(&lab, &steps));
        lab.await_stdout(1, "a\n");
        eventually("stderr", || (lab.evidence("stderr.1.log") == b"half").then_some(()));
        let asked = Instant::now();
        ask_next(&mut owner, 2);
        await_wish(&lab);
        lab.put("go", "");
        lab.await_file("written");
        shown = Some((lab, owner));
        asked
    });
    let (lab, mut owner) = shown.expect("one that was in time");
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let [first, second] = [1, 2].map(|attempt| host::read_back(&lab.out(), attempt));
    assert_eq!(
        (host::of(&first, Stream::Stdout), host::of(&first, Stream::Stderr)),
        (&b"a\n"[..], &b"half rest\n"[..])
    );
    assert_eq!((host::of(&second, Stream::Stdout), host::of(&second, Stream::Stderr)), (&b"b\n"[..], &b"next\n"[..]));
    lab.assert_no_process_is_left();
}

#[test]
fn a_half_line_that_never_ends_is_cut_after_a_second() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["out", "half", "wait-file", "go", "out", " line\n"]));
    lab.await_stdout(1, "half");
    let begin = Instant::now();
    let sizes = next(&mut owner, 2);
    let took = begin.elapsed();
    assert!(took >= LINE_END_TIMEOUT && took < 10 * LINE_END_TIMEOUT, "it took {took:?}");
    assert_continues(&lab, 1, sizes);
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout), b"half");
    assert_eq!(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout), b" line\n");
    lab.assert_no_process_is_left();
}

#[test]
fn only_the_next_attempt_can_be_opened_and_only_once() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["turns"]));
    turn(&lab, &mut owner, 1, 1);
    for wrong in [0, 1, 3, u32::MAX] {
        ask_next(&mut owner, wrong);
        assert_eq!(receive_refused(&mut owner), format!("the next attempt is 2, not {wrong}"));
    }
    assert!(!lab.audit().join("claim.2").exists(), "a refusal changes nothing");
    next(&mut owner, 2);
    ask_next(&mut owner, 2);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 3, not 2");
    assert!(!lab.audit().join("claim.3").exists());
    turn(&lab, &mut owner, 2, 2);
    // An attempt without a single byte is one too.
    two_more_attempts(&mut owner);
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.record(3).bytes.stdout, 0);
    assert_eq!(host::of(&host::read_back(&lab.out(), 4), Stream::Stdout), b"bye\n");
    lab.assert_no_process_is_left();
}

fn two_more_attempts(owner: &mut HostConnection) {
    next(owner, 3);
    assert_eq!(next(owner, 4).stdout, 0);
}

#[test]
fn while_a_line_is_waited_for_no_other_attempt_is_opened() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["out", "half", "forever"]));
    lab.await_stdout(1, "half");
    ask_next(&mut owner, 2);
    // Another owner, which cannot know that the previous one has asked. A refusal would mean that the process exits.
    ask_next(&mut owner, 2);
    ask_next(&mut owner, 3);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 2, not 3", "of three, one is refused");
    wait_for_next_attempt(&mut owner, 2);
    ask_next(&mut owner, 4);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 3, not 4", "and it is opened once");
    send(&mut owner, HostRequest::Cancel { ladder: at_once() });
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    lab.assert_no_process_is_left();
}

/// Regression: files that did not fit on a full disk when an attempt began were written only at its end, and not a byte
/// was read before; a run that should have asked a question continued forever. Found by `make chaos`.
#[test]
fn what_is_known_of_an_attempt_is_written_once_there_is_room() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["out", "one\n", "forever"]));
    lab.await_stdout(1, "one\n");
    // Nothing can be put in the place of a folder with something in it.
    let in_the_way = lab.audit().join("meta.2.json");
    fs::create_dir_all(in_the_way.join("room")).expect("a folder");
    next(&mut owner, 2);
    assert!(in_the_way.is_dir());
    fs::remove_dir_all(&in_the_way).expect("room");
    eventually("what is known", || in_the_way.is_file().then_some(()));
    assert!(!lab.meta(2)["started_at"].is_null());
    send(&mut owner, HostRequest::Cancel { ladder: at_once() });
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    lab.assert_no_process_is_left();
}

#[test]
fn after_the_exit_there_is_no_next_attempt() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["orphan", "[", "wait-file", "go", "out", "late\n", "]", "exit", "2"]));
    receive(&mut owner, "the exit", |notice| if let Notice::Exited { .. } = notice { Some(()) } else { None });
    ask_next(&mut owner, 2);
    assert_eq!(receive_refused(&mut owner), "the process has exited or is being terminated");
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert!(!lab.audit().join("claim.2").exists());
    assert_eq!(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout), b"late\n");
    lab.assert_no_process_is_left();
}

#[test]
fn what_is_given_after_the_wish_belongs_to_the_next_attempt() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["turns"]));
    turn(&lab, &mut owner, 1, 1);
    ask_next(&mut owner, 2);
    send(&mut owner, HostRequest::Input { id: "turn 2".to_owned(), text: Some("line 2\n".to_owned()), hex: None });
    wait_for_next_attempt(&mut owner, 2);
    lab.await_stdout(2, "turn 2 end\n");
    assert_eq!(input(&mut owner, "turn 1", "again\n"), InputAnswer::Repeated, "ids hold over attempts");
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.evidence("stdin.1.log"), b"line 1\n");
    assert_eq!(lab.evidence("stdin.2.log"), b"line 2\n");
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout)), answer(1));
    lab.assert_no_process_is_left();
}

#[test]
fn the_hard_limit_counts_from_the_input_that_begins_a_turn() {
    const HARD: Duration = Duration::from_millis(1200);
    let mut shown = None;
    for _ in 0..20 {
        let lab = HostLab::new();
        let mut plan = plan(&lab, &["turns"]);
        plan.limits.hard = HARD;
        let mut owner = lab.start(&plan);
        turn(&lab, &mut owner, 1, 1);
        let mut longest = Duration::ZERO;
        let mut last = Instant::now();
        for number in 2..=3 {
            next(&mut owner, number);
            std::thread::sleep(HARD / 2);
            // A host that timed out while the machine was slow does not receive this, and the round does not count.
            let text = Some(format!("line {number}\n"));
            owner.send(&HostRequest::Input { id: format!("turn {number}"), text, hex: None }).ok();
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        if longest < HARD * 9 / 10 {
            shown = Some((lab, owner, last));
            break;
        }
    }
    let (lab, mut owner, last) = shown.expect("a machine that is not too slow");
    lab.await_stdout(3, "turn 3 end\n");
    // More input within the turn does not put it off.
    let mut number = 3;
    let ended_by = loop {
        number += 1;
        let text = Some(format!("line {number}\n"));
        if owner.send(&HostRequest::Input { id: format!("turn {number}"), text, hex: None }).is_err() {
            break lab.record(3).ended_by;
        }
        std::thread::sleep(HARD / 10);
        assert!(last.elapsed() < host::LONG, "it is fed and never ends");
    };
    assert_eq!(ended_by, Some(EndedBy::HardTimeout));
    assert!(last.elapsed() >= HARD, "it had its time after the input that began the turn");
    assert!(lab.record(1).process_continues && lab.record(2).process_continues);
    lab.assert_no_process_is_left();
}

#[test]
fn a_later_death_does_not_change_earlier_attempts() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["turns"]));
    turn(&lab, &mut owner, 1, 1);
    next(&mut owner, 2);
    let before = files(&lab, 1);
    turn(&lab, &mut owner, 2, 2);
    signal(lab.meta(2)["pid"].as_u64().expect("a process id") as u32, "KILL");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(2);
    assert_eq!((record.exit_code, record.signal.as_deref()), (None, Some("SIGKILL")));
    assert!(!record.process_continues);
    assert_eq!(files(&lab, 1), before);
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout)), answer(2));
    lab.assert_no_process_is_left();
}

#[test]
fn a_host_that_is_killed_later_loses_the_last_attempt_alone() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["daemon", "[", "silence", "pid", "daemon.pid", "forever", "]", "turns"]));
    lab.await_pid("daemon.pid");
    turn(&lab, &mut owner, 1, 1);
    next(&mut owner, 2);
    let before = files(&lab, 1);
    turn(&lab, &mut owner, 2, 2);
    signal(owner.host_pid(), "KILL");
    eventually("the death of the host", || is_gone(owner.host_pid()).then_some(()));
    match attach(&lab.audit(), AttemptNumber(2)).expect("an answer") {
        Attached::Lost { survivors } => assert!(!survivors.is_empty(), "the daemon at least"),
        other @ (Attached::NotBegun | Attached::Live(_) | Attached::Ended(_)) => panic!("{other:?}"),
    }
    lab.assert_no_process_is_left();
    match attach(&lab.audit(), FIRST).expect("an answer") {
        Attached::Ended(record) => assert!(record.process_continues),
        other @ (Attached::NotBegun | Attached::Live(_) | Attached::Lost { .. }) => panic!("{other:?}"),
    }
    assert_eq!(files(&lab, 1), before);
    assert_eq!(lab.meta(2)["ended_by"], "host_lost");
    assert!(!lab.audit().join("host.2.json").exists());
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout)), answer(2));
    for left in ["reserve.1", "reserve.2"] {
        assert!(!lab.audit().join(left).exists(), "{left} is left");
    }
}

#[test]
fn another_owner_finds_the_attempt_that_is_going_on() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["turns"]));
    turn(&lab, &mut owner, 1, 1);
    next(&mut owner, 2);
    turn(&lab, &mut owner, 2, 2);
    send(&mut owner, HostRequest::Detach);
    let ended = attach(&lab.audit(), FIRST).expect("an answer");
    assert!(matches!(&ended, Attached::Ended(record) if record.process_continues), "{ended:?}");
    assert!(matches!(attach(&lab.audit(), AttemptNumber(3)).expect("an answer"), Attached::NotBegun));
    hang_up(owner);
    let mut owner = lab.attach(AttemptNumber(2));
    assert_eq!(owner.attempt(), AttemptNumber(2));
    next(&mut owner, 3);
    turn(&lab, &mut owner, 3, 3);
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 3), Stream::Stdout)), format!("{}bye\n", answer(3)));
    lab.assert_no_process_is_left();
}

fn diff(lab: &HostLab, attempt: u32) -> Value {
    serde_json::from_slice(&lab.evidence(&format!("fs-diff.{attempt}.json"))).expect("JSON")
}

fn paths(diff: &Value, what: &str) -> Vec<String> {
    let entries = diff[what].as_array().expect("a list");
    entries.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
}

/// Enough to look at for a while: a hundred in each folder.
fn put_many_files(lab: &HostLab, folders: u32) {
    for folder in 0..folders {
        let folder = lab.workspace().join(format!("many/{folder}"));
        fs::create_dir_all(&folder).expect("a folder");
        (0..100).for_each(|file| fs::write(folder.join(file.to_string()), format!("{file}\n")).expect("a file"));
    }
}

#[test]
fn each_attempt_has_its_own_changes_and_none_is_lost() {
    let lab = HostLab::new();
    put_many_files(&lab, 30);
    let steps = [
        "read-line",
        "file",
        "a.txt",
        "one\n",
        "file",
        "many/0/0",
        "changed\n",
        "out",
        "turn 1 end\n",
        "repeat",
        "400",
        "[",
        "flood",
        "stdout",
        "10K",
        "out",
        "\ntick\n",
        "]",
        "file",
        "all-out",
        "x",
        "read-line",
        "file",
        "b.txt",
        "two\n",
        "append",
        "a.txt",
        "more\n",
        "remove",
        "many/1",
        "out",
        "turn 2 end\n",
        "read-line",
    ];
    let mut plan = plan(&lab, &steps);
    plan.snapshot = SnapshotPlan::On { ignore: vec!["all-out".to_owned()] };
    let mut owner = lab.start(&plan);
    assert_eq!(input(&mut owner, "1", "go\n"), InputAnswer::Written);
    lab.await_stdout(1, "turn 1 end\n");
    let sizes = next(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    eprintln!("{} bytes in attempt 1, {} in 2 so far", sizes.stdout, lab.evidence("stdout.2.log").len());
    let before = files(&lab, 1);
    lab.await_file("all-out");
    assert_eq!(input(&mut owner, "2", "go on\n"), InputAnswer::Written);
    lab.await_stdout(2, "turn 2 end\n");
    send(&mut owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(files(&lab, 1), before);
    let whole = [1, 2].map(|attempt| host::of(&host::read_back(&lab.out(), attempt), Stream::Stdout).to_vec()).concat();
    let tick = [host::flood(10 * 1024), b"\ntick\n".to_vec()].concat();
    let expected = [b"got: go\nturn 1 end\n", &tick.repeat(400)[..], b"got: go on\nturn 2 end\ngot eof\n"].concat();
    assert!(whole == expected, "{} bytes, not {}", whole.len(), expected.len());
    let (first, second) = (diff(&lab, 1), diff(&lab, 2));
    assert_eq!(paths(&first, "created"), ["a.txt"]);
    assert_eq!(paths(&first, "modified"), ["many/0/0"]);
    assert_eq!(paths(&first, "deleted"), [""; 0]);
    assert_eq!(paths(&second, "created"), ["b.txt"]);
    assert_eq!(paths(&second, "modified"), ["a.txt"]);
    assert_eq!(second["modified"][0]["diff"], "@@ -1 +1,2 @@\n one\n+more\n");
    assert_eq!(paths(&second, "deleted").len(), 101, "a folder and a hundred files");
    let counts = lab.record(1).fs_diff.expect("counts");
    assert_eq!((counts.created, counts.modified, counts.deleted), (1, 1, 0));
    let counts = lab.record(2).fs_diff.expect("counts");
    assert_eq!((counts.created, counts.modified, counts.deleted), (1, 1, 101));
    lab.assert_no_process_is_left();
}

fn secret(value: &str) -> Variable {
    Variable { name: "KEY".into(), value: value.into(), kind: VariableKind::Secret }
}

/// A value of two lines: the attempt must not change at the end of the first.
#[test]
fn no_attempt_ends_in_the_middle_of_a_secret() {
    let steps = [
        "out",
        "x first-half\n",
        "wait-file",
        "go",
        "out",
        "second-half y\nafter\n",
        "file",
        "written",
        "x",
        "wait-file",
        "end",
    ];
    let mut shown = None;
    in_time(|| {
        let lab = HostLab::new();
        let mut plan = plan(&lab, &steps);
        plan.variables.push(secret("first-half\nsecond-half"));
        let mut owner = lab.start(&plan);
        lab.await_stdout(1, "first-half\n");
        let asked = Instant::now();
        ask_next(&mut owner, 2);
        await_wish(&lab);
        lab.put("go", "");
        lab.await_file("written");
        shown = Some((lab, owner));
        asked
    });
    let (lab, mut owner) = shown.expect("one that was in time");
    wait_for_next_attempt(&mut owner, 2);
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.evidence("stdout.1.log"), b"x first-half\nsecond-half y\n");
    assert_eq!(
        host::text(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout)),
        format!("x {} y\n", "*".repeat(22))
    );
    assert_eq!(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout), b"after\n");
    lab.assert_no_process_is_left();
}

/// Where it cannot be helped, both halves are hidden.
#[test]
fn a_secret_that_is_cut_is_masked_on_both_sides() {
    let lab = HostLab::new();
    let mut plan = plan(&lab, &["out", "key: hunter-", "wait-file", "go", "out", "two-two, and more\n"]);
    plan.variables.push(secret("hunter-two-two"));
    let mut owner = lab.start(&plan);
    lab.await_stdout(1, "hunter-");
    let sizes = next(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.evidence("stdout.1.log"), b"key: hunter-", "the evidence is the truth");
    assert_eq!(lab.evidence("stdout.2.log"), b"two-two, and more\n");
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout)), "key: *******");
    assert_eq!(host::text(host::of(&host::read_back(&lab.out(), 2), Stream::Stdout)), "*******, and more\n");
    lab.assert_no_process_is_left();
}

/// The acts in the index of an attempt.
fn acts(lab: &HostLab, attempt: u32) -> Vec<String> {
    let index = host::text(&lab.evidence(&format!("chunks.{attempt}.jsonl")));
    let lines = index.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| Some(line.get("act")?.as_str()?.to_owned())).collect()
}

/// Found by reading: the part that had been opened was dropped, so that its attempt was claimed and had no record.
#[test]
fn a_cancel_while_a_line_is_waited_for_ends_the_new_attempt() {
    for ladder in [at_once(), None] {
        let lab = HostLab::new();
        let mut owner = lab.start(&plan(&lab, &["err", "whole\n", "out", "half", "forever"]));
        lab.await_stdout(1, "half");
        ask_next(&mut owner, 2);
        send(&mut owner, HostRequest::Cancel { ladder });
        let sizes = wait_for_next_attempt(&mut owner, 2);
        assert_continues(&lab, 1, sizes);
        assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
        lab.assert_no_process_is_left();
        let record = lab.record(2);
        assert_eq!((record.ended_by, record.process_continues), (Some(EndedBy::Canceled), false));
        assert!(record.signal.is_some());
        let [first, second] = [1, 2].map(|attempt| host::read_back(&lab.out(), attempt));
        assert_eq!(
            (host::of(&first, Stream::Stdout), host::of(&first, Stream::Stderr)),
            (&b"half"[..], &b"whole\n"[..])
        );
        assert_eq!((host::of(&second, Stream::Stdout), host::of(&second, Stream::Stderr)), (&b""[..], &b""[..]));
        assert_eq!((acts(&lab, 1), acts(&lab, 2)), (vec![], vec!["canceled".to_owned()]));
        let ended = attach(&lab.audit(), AttemptNumber(2)).expect("an answer");
        assert!(matches!(ended, Attached::Ended(_)), "{ended:?}");
    }
}

#[test]
fn an_exit_while_a_line_is_waited_for_is_the_new_attempts() {
    let lab = HostLab::new();
    let mut owner = lab.start(&plan(&lab, &["out", "half", "wait-file", "go", "exit", "4"]));
    lab.await_stdout(1, "half");
    ask_next(&mut owner, 2);
    await_wish(&lab);
    lab.put("go", "");
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(2);
    assert_eq!((record.exit_code, record.bytes.stdout), (Some(4), 0));
    assert_eq!(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout), b"half");
    host::read_back(&lab.out(), 2);
    lab.assert_no_process_is_left();
}

/// Found with two gigabytes in the workspace: a cancel came to pass when they were listed.
#[test]
fn a_cancel_does_not_wait_until_the_workspace_is_listed() {
    let lab = HostLab::new();
    put_many_files(&lab, 8);
    let mut plan = plan(&lab, &["repeat", "100000", "[", "out", "tick\n", "sleep", "1", "]"]);
    plan.snapshot = SnapshotPlan::On { ignore: vec![] };
    let mut owner = lab.start(&plan);
    lab.await_stdout(1, "tick\n");
    // It writes whole lines alone, so the change is made at once, and with it come two listings.
    ask_next(&mut owner, 2);
    send(&mut owner, HostRequest::Cancel { ladder: at_once() });
    wait_for_next_attempt(&mut owner, 2);
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    lab.assert_no_process_is_left();
    assert_eq!(acts(&lab, 2), ["canceled"]);
    let index = host::text(&lab.evidence("chunks.2.jsonl"));
    let lines = index.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let last = lines.filter(|line| line.get("stream").is_some()).filter_map(|line| line["t_ns"].as_u64()).max();
    let last = lab.record(2).started_at.plus_nanos(last.unwrap_or(0));
    let listed = fs::metadata(lab.audit().join("fs-before.2.json")).and_then(|file| file.modified()).expect("a date");
    let listed = Timestamp::try_from(listed).expect("a date");
    assert!(last < listed, "it wrote until {last}, and the listings were done at {listed}");
}
