//! One process over several attempts: `next_attempt` closes the files of one and opens those of the next.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use lab::host::{
    self, FIRST, HostLab, at_once, hang_up, input, receive, receive_ended, receive_exit, receive_refused, send, steps,
};
use lab::{signal, wait_until};
use serde_json::Value;
use skillrun_collect::plan::{HostPlan, SnapshotPlan, StdinPlan, Variable, VariableKind};
use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice, RecordedSizes};
use skillrun_collect::{Attached, HostConnection, attach};
use skillrun_evidence::HostRecord;
use skillrun_model::{AttemptNumber, EndedBy, Stream, Timestamp};

use super::changes::paths;

/// How long streams may take to reach a line end.
const LINE_END_TIMEOUT: Duration = Duration::from_secs(1);

fn plan(lab: &HostLab, steps: &[&str]) -> HostPlan {
    HostPlan { stdin: StdinPlan::Pipe, ..lab.plan(steps) }
}

fn started(steps: &[&str]) -> (HostLab, HostConnection) {
    let lab = HostLab::new();
    let owner = lab.start(&plan(&lab, steps));
    (lab, owner)
}

fn ask_next(owner: &mut HostConnection, attempt: u32) {
    send(owner, HostRequest::NextAttempt { attempt: AttemptNumber(attempt) });
}

/// The sizes of the attempt before.
fn wait_for_next_attempt(owner: &mut HostConnection, attempt: u32) -> RecordedSizes {
    let sizes = receive(owner, "the next attempt", |notice| {
        assert!(!matches!(notice, Notice::Refused { .. }), "{notice:?}");
        if let Notice::NextAttempt(sizes) = notice { Some(*sizes) } else { None }
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

/// Ends the input of the engine, and with it the engine.
fn close_and_wait(owner: &mut HostConnection) {
    send(owner, HostRequest::CloseStdin);
    assert_eq!(receive_ended(owner), EndedBy::Exited);
}

fn cancel_and_wait(owner: &mut HostConnection) {
    send(owner, HostRequest::Cancel { ladder: at_once() });
    assert_eq!(receive_ended(owner), EndedBy::Canceled);
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
    assert!(lab.has(&format!("claim.{}", attempt + 1)));
}

/// When the first byte of an attempt came, as its index has it.
fn first_t_ns(lab: &HostLab, attempt: u32) -> u64 {
    lab.index(attempt)[0]["t_ns"].as_u64().expect("a number")
}

#[test]
fn each_turn_has_its_own_attempt_and_all_of_them_one_process() {
    let (lab, mut owner) = started(&["err", "started\n", "turns"]);
    wait_until("stderr", || lab.evidence("stderr.1.log") == b"started\n");
    turn(&lab, &mut owner, 1, 1);
    let mut sealed = Vec::new();
    for attempt in 1..4 {
        let asked = Instant::now();
        let sizes = next(&mut owner, attempt + 1);
        assert_continues(&lab, attempt, sizes);
        sealed.push(files(&lab, attempt));
        turn(&lab, &mut owner, attempt + 1, attempt + 1);
        let index = format!("chunks.{}.jsonl", attempt + 1);
        wait_until("its record in the index", || !lab.evidence(&index).is_empty());
        let (t_ns, since) = (first_t_ns(&lab, attempt + 1), asked.elapsed().as_nanos() as u64);
        assert!(t_ns <= since, "time counts from the beginning of the attempt: {t_ns} ns, asked {since} ns ago");
    }
    close_and_wait(&mut owner);
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
}

#[test]
fn twenty_turns_in_a_row() {
    let (lab, mut owner) = started(&["turns"]);
    for number in 1..=20 {
        turn(&lab, &mut owner, number, number);
        let sizes = next(&mut owner, number + 1);
        assert_eq!(sizes.stdout, answer(number).len() as u64);
    }
    close_and_wait(&mut owner);
    for number in 1..=20 {
        assert_eq!(lab.read_stdout(number), answer(number));
    }
    assert_eq!(lab.read_stdout(21), "bye\n");
}

/// Waits until the host has received the request for a second attempt; it could read what comes next before that.
fn await_wish(lab: &HostLab) {
    wait_until("the next files", || lab.has("stdout.2.log"));
}

/// Asks for a second attempt while the engine waits for `go` with a line that has no end, and has the engine write on
/// within the time that streams have to reach a line end; again if the machine was too slow.
fn continue_a_line(secrets: &[&str], words: &str, is_half: impl Fn(&HostLab) -> bool) -> (HostLab, HostConnection) {
    for _ in 0..20 {
        let lab = HostLab::new();
        let mut plan = plan(&lab, &steps(&format!("{words} file written x wait-file end")));
        plan.variables.extend(secrets.iter().map(|value| secret(value)));
        let mut owner = lab.start(&plan);
        wait_until("half a line", || is_half(&lab));
        let asked = Instant::now();
        ask_next(&mut owner, 2);
        await_wish(&lab);
        lab.put("go", "");
        lab.await_file("written");
        if asked.elapsed() < LINE_END_TIMEOUT {
            return (lab, owner);
        }
        lab.kill_processes();
    }
    panic!("this machine is too slow to show anything");
}

/// What readers see of stdout and stderr of an attempt.
fn out_and_err(lab: &HostLab, attempt: u32) -> [String; 2] {
    let streams = host::read_back(&lab.out(), attempt);
    [Stream::Stdout, Stream::Stderr].map(|stream| host::text(host::of(&streams, stream)))
}

#[test]
fn a_half_line_is_waited_for_and_belongs_where_it_began() {
    let words = r"out half wait-file go out \x20line\nmore\n";
    let (lab, mut owner) = continue_a_line(&[], words, |lab| lab.evidence("stdout.1.log") == b"half");
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    assert_eq!(lab.evidence("stdout.1.log"), b"half line\n");
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.read_stdout(2), "more\n");
}

#[test]
fn each_stream_changes_over_at_its_own_line_end() {
    let words = r"out a\n err half wait-file go out b\n err \x20rest\nnext\n";
    let is_half = |lab: &HostLab| lab.evidence("stdout.1.log") == b"a\n" && lab.evidence("stderr.1.log") == b"half";
    let (lab, mut owner) = continue_a_line(&[], words, is_half);
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!([out_and_err(&lab, 1), out_and_err(&lab, 2)], [["a\n", "half rest\n"], ["b\n", "next\n"]]);
}

#[test]
fn a_half_line_that_never_ends_is_cut_after_a_second() {
    let (lab, mut owner) = started(&["out", "half", "wait-file", "go", "out", " line\n"]);
    lab.await_stdout(1, "half");
    let begin = Instant::now();
    let sizes = next(&mut owner, 2);
    let took = begin.elapsed();
    assert!(took >= LINE_END_TIMEOUT && took < 10 * LINE_END_TIMEOUT, "it took {took:?}");
    assert_continues(&lab, 1, sizes);
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.read_stdout(1), "half");
    assert_eq!(lab.read_stdout(2), " line\n");
}

#[test]
fn only_the_next_attempt_can_be_opened_and_only_once() {
    let (lab, mut owner) = started(&["turns"]);
    turn(&lab, &mut owner, 1, 1);
    for wrong in [0, 1, 3, u32::MAX] {
        ask_next(&mut owner, wrong);
        assert_eq!(receive_refused(&mut owner), format!("the next attempt is 2, not {wrong}"));
    }
    assert!(!lab.has("claim.2"), "a refusal changes nothing");
    next(&mut owner, 2);
    ask_next(&mut owner, 2);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 3, not 2");
    assert!(!lab.has("claim.3"));
    turn(&lab, &mut owner, 2, 2);
    // An attempt without a single byte is one too.
    next(&mut owner, 3);
    assert_eq!(next(&mut owner, 4).stdout, 0);
    close_and_wait(&mut owner);
    assert_eq!(lab.record(3).bytes.stdout, 0);
    assert_eq!(lab.read_stdout(4), "bye\n");
}

#[test]
fn while_a_line_is_waited_for_no_other_attempt_is_opened() {
    let (lab, mut owner) = started(&["out", "half", "forever"]);
    lab.await_stdout(1, "half");
    ask_next(&mut owner, 2);
    // Another owner, which cannot know that the previous one has asked. A refusal would mean that the process exits.
    ask_next(&mut owner, 2);
    ask_next(&mut owner, 3);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 2, not 3", "of three, one is refused");
    wait_for_next_attempt(&mut owner, 2);
    ask_next(&mut owner, 4);
    assert_eq!(receive_refused(&mut owner), "the next attempt is 3, not 4", "and it is opened once");
    cancel_and_wait(&mut owner);
}

/// Regression: files that did not fit on a full disk when an attempt began were written only at its end, and not a byte
/// was read before; a run that should have asked a question continued forever. Found by `make chaos`.
#[test]
fn what_is_known_of_an_attempt_is_written_once_there_is_room() {
    let (lab, mut owner) = started(&["out", "one\n", "forever"]);
    lab.await_stdout(1, "one\n");
    // Nothing can be put in the place of a folder with something in it.
    let in_the_way = lab.audit().join("meta.2.json");
    fs::create_dir_all(in_the_way.join("room")).expect("a folder");
    next(&mut owner, 2);
    assert!(in_the_way.is_dir());
    fs::remove_dir_all(&in_the_way).expect("room");
    wait_until("what is known", || in_the_way.is_file());
    assert!(!lab.meta(2)["started_at"].is_null());
    cancel_and_wait(&mut owner);
}

#[test]
fn after_the_exit_there_is_no_next_attempt() {
    let (lab, mut owner) = started(&["orphan", "[", "wait-file", "go", "out", "late\n", "]", "exit", "2"]);
    assert_eq!(receive_exit(&mut owner), Some(2));
    ask_next(&mut owner, 2);
    assert_eq!(receive_refused(&mut owner), "the process has exited or is being terminated");
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert!(!lab.has("claim.2"));
    assert_eq!(lab.read_stdout(1), "late\n");
}

#[test]
fn what_is_given_after_the_wish_belongs_to_the_next_attempt() {
    let (lab, mut owner) = started(&["turns"]);
    turn(&lab, &mut owner, 1, 1);
    ask_next(&mut owner, 2);
    send(&mut owner, HostRequest::Input { id: "turn 2".to_owned(), text: Some("line 2\n".to_owned()), hex: None });
    wait_for_next_attempt(&mut owner, 2);
    lab.await_stdout(2, "turn 2 end\n");
    assert_eq!(input(&mut owner, "turn 1", "again\n"), InputAnswer::Repeated, "ids hold over attempts");
    close_and_wait(&mut owner);
    assert_eq!(lab.evidence("stdin.1.log"), b"line 1\n");
    assert_eq!(lab.evidence("stdin.2.log"), b"line 2\n");
    assert_eq!(lab.read_stdout(1), answer(1));
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
}

#[test]
fn a_later_death_does_not_change_earlier_attempts() {
    let (lab, mut owner) = started(&["turns"]);
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
    assert_eq!(lab.read_stdout(2), answer(2));
}

#[test]
fn a_host_that_is_killed_later_loses_the_last_attempt_alone() {
    let (lab, mut owner) = started(&["daemon", "[", "silence", "pid", "daemon.pid", "forever", "]", "turns"]);
    lab.await_pid("daemon.pid");
    turn(&lab, &mut owner, 1, 1);
    next(&mut owner, 2);
    let before = files(&lab, 1);
    turn(&lab, &mut owner, 2, 2);
    host::kill_host(&owner);
    assert!(lab.attach_lost(AttemptNumber(2)) > 0, "the daemon at least");
    lab.assert_no_process_is_left();
    assert!(lab.attach_ended(FIRST).process_continues);
    assert_eq!(files(&lab, 1), before);
    assert_eq!(lab.meta(2)["ended_by"], "host_lost");
    assert!(!lab.has("host.2.json"));
    assert_eq!(lab.read_stdout(2), answer(2));
    for left in ["reserve.1", "reserve.2"] {
        assert!(!lab.has(left), "{left} is left");
    }
}

#[test]
fn another_owner_finds_the_attempt_that_is_going_on() {
    let (lab, mut owner) = started(&["turns"]);
    turn(&lab, &mut owner, 1, 1);
    next(&mut owner, 2);
    turn(&lab, &mut owner, 2, 2);
    send(&mut owner, HostRequest::Detach);
    assert!(lab.attach_ended(FIRST).process_continues);
    assert!(matches!(attach(&lab.audit(), AttemptNumber(3)).expect("an answer"), Attached::NotBegun));
    hang_up(owner);
    let mut owner = lab.attach(AttemptNumber(2));
    assert_eq!(owner.attempt(), AttemptNumber(2));
    next(&mut owner, 3);
    turn(&lab, &mut owner, 3, 3);
    close_and_wait(&mut owner);
    assert_eq!(lab.read_stdout(3), format!("{}bye\n", answer(3)));
}

fn diff(lab: &HostLab, attempt: u32) -> Value {
    lab.json(&format!("fs-diff.{attempt}.json"))
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
    let steps = steps(
        r"read-line file a.txt one\n file many/0/0 changed\n out turn\x201\x20end\n
        repeat 400 [ flood stdout 10K out \ntick\n ] file all-out x
        read-line file b.txt two\n append a.txt more\n remove many/1 out turn\x202\x20end\n read-line",
    );
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
    close_and_wait(&mut owner);
    assert_eq!(files(&lab, 1), before);
    let whole = [1, 2].map(|attempt| lab.read_stdout(attempt)).concat();
    let tick = host::text(&host::flood(10 * 1024)) + "\ntick\n";
    let expected = format!("got: go\nturn 1 end\n{}got: go on\nturn 2 end\ngot eof\n", tick.repeat(400));
    assert!(whole == expected, "{} bytes, not {}", whole.len(), expected.len());
    let (first, second) = (diff(&lab, 1), diff(&lab, 2));
    assert_eq!(paths(&first, "created"), ["a.txt"]);
    assert_eq!(paths(&first, "modified"), ["many/0/0"]);
    assert_eq!(paths(&first, "deleted"), [""; 0]);
    assert_eq!(paths(&second, "created"), ["b.txt"]);
    assert_eq!(paths(&second, "modified"), ["a.txt"]);
    assert_eq!(second["modified"][0]["diff"], "@@ -1 +1,2 @@\n one\n+more\n");
    assert_eq!(paths(&second, "deleted").len(), 101, "a folder and a hundred files");
    for (attempt, expected) in [(1, (1, 1, 0)), (2, (1, 1, 101))] {
        let counts = lab.record(attempt).fs_diff.expect("counts");
        assert_eq!((counts.created, counts.modified, counts.deleted), expected, "attempt {attempt}");
    }
}

fn secret(value: &str) -> Variable {
    Variable { name: "KEY".into(), value: value.into(), kind: VariableKind::Secret }
}

/// A value of two lines: the attempt must not change at the end of the first.
#[test]
fn no_attempt_ends_in_the_middle_of_a_secret() {
    let words = r"out x\x20first-half\n wait-file go out second-half\x20y\nafter\n";
    let is_half = |lab: &HostLab| lab.evidence("stdout.1.log").ends_with(b"first-half\n");
    let (lab, mut owner) = continue_a_line(&["first-half\nsecond-half"], words, is_half);
    wait_for_next_attempt(&mut owner, 2);
    lab.put("end", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.evidence("stdout.1.log"), b"x first-half\nsecond-half y\n");
    assert_eq!(lab.read_stdout(1), format!("x {} y\n", "*".repeat(22)));
    assert_eq!(lab.read_stdout(2), "after\n");
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
    assert_eq!(lab.read_stdout(1), "key: *******");
    assert_eq!(lab.read_stdout(2), "*******, and more\n");
}

/// The acts in the index of an attempt.
fn acts(lab: &HostLab, attempt: u32) -> Vec<String> {
    lab.index(attempt).iter().filter_map(|line| Some(line.get("act")?.as_str()?.to_owned())).collect()
}

/// Found by reading: the part that had been opened was dropped, so that its attempt was claimed and had no record.
#[test]
fn a_cancel_while_a_line_is_waited_for_ends_the_new_attempt() {
    for ladder in [at_once(), None] {
        let (lab, mut owner) = started(&["err", "whole\n", "out", "half", "forever"]);
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
        assert_eq!([out_and_err(&lab, 1), out_and_err(&lab, 2)], [["half", "whole\n"], ["", ""]]);
        assert_eq!((acts(&lab, 1), acts(&lab, 2)), (vec![], vec!["canceled".to_owned()]));
        lab.attach_ended(AttemptNumber(2));
    }
}

#[test]
fn an_exit_while_a_line_is_waited_for_is_the_new_attempts() {
    let (lab, mut owner) = started(&["out", "half", "wait-file", "go", "exit", "4"]);
    lab.await_stdout(1, "half");
    ask_next(&mut owner, 2);
    await_wish(&lab);
    lab.put("go", "");
    let sizes = wait_for_next_attempt(&mut owner, 2);
    assert_continues(&lab, 1, sizes);
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(2);
    assert_eq!((record.exit_code, record.bytes.stdout), (Some(4), 0));
    assert_eq!(lab.read_stdout(1), "half");
    host::read_back(&lab.out(), 2);
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
    let index = lab.index(2);
    let last = index.iter().filter(|line| line.get("stream").is_some()).filter_map(|line| line["t_ns"].as_u64()).max();
    let last = lab.record(2).started_at.plus_nanos(last.unwrap_or(0));
    let listed = fs::metadata(lab.audit().join("fs-before.2.json")).and_then(|file| file.modified()).expect("a date");
    let listed = Timestamp::try_from(listed).expect("a date");
    assert!(last < listed, "it wrote until {last}, and the listings were done at {listed}");
}
