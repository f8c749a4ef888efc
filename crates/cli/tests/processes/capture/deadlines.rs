//! The host enforces deadlines: they hold with and without an owner, and are paused while a user is asked.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab, LONG, at_once, hang_up, input, receive_ended, send, spawn};
use lab::wait_until;
use serde_json::Value;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::plan::{HostPlan, Limits, StdinPlan};
use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice};
use skillrun_collect::{Attached, HostConnection, attach};
use skillrun_evidence::OsText;
use skillrun_model::{AttemptNumber, EndedBy, ExecutionMode};

const SHORT: Duration = Duration::from_millis(400);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

type Change = fn(&mut Limits);

/// A plan with other limits than usual.
fn limited(lab: &HostLab, steps: &[&str], limit: impl FnOnce(&mut Limits)) -> HostPlan {
    let mut plan = lab.plan(steps);
    limit(&mut plan.limits);
    plan
}

fn t_ns(line: &Value) -> u64 {
    line["t_ns"].as_u64().expect("a number")
}

/// The one act in the index, and the moment of the last byte before it.
fn act(lab: &HostLab) -> (String, Duration, Duration) {
    let index = lab.index(1);
    let acts: Vec<_> = index.iter().filter(|line| line.get("act").is_some()).collect();
    let [act] = acts[..] else { panic!("{acts:?}") };
    let bytes = index.iter().take_while(|line| line.get("act").is_none()).filter(|line| line.get("stream").is_some());
    let last = bytes.last().map_or(0, t_ns);
    (act["act"].as_str().expect("a word").to_owned(), Duration::from_nanos(t_ns(act)), Duration::from_nanos(last))
}

/// What `normalize` says of the only attempt.
fn verdict(lab: &HostLab, options: &[&str]) -> Value {
    let output = lab.normalize(options);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", host::text(&output.stderr)))
}

#[test]
fn a_process_that_takes_too_long_is_ended() {
    let (lab, output) = host::captured(&["--timeout", "0.4", "--engine", "codex"], &["drip", "stdout", "1M", "2"]);
    assert_eq!(output.status.code(), Some(124), "{}", host::text(&output.stderr));
    assert!(host::text(&output.stderr).contains("longer than --timeout and was"), "{}", host::text(&output.stderr));
    lab.assert_no_process_is_left();
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.signal.as_deref()), (Some(EndedBy::HardTimeout), Some("SIGINT")));
    let (why, at, _) = act(&lab);
    assert_eq!(why, "hard_timeout");
    assert!(at >= SHORT, "after {at:?}");
    assert_eq!(lab.meta(1)["ended_by"], "hard_timeout");
    let verdict = verdict(&lab, &[]);
    assert_eq!(verdict["completion"]["reason_code"], "TIMEOUT", "{verdict}");
    assert_eq!(verdict["run_status"], "failed");
}

#[test]
fn silence_ends_a_process() {
    let (lab, output) = host::captured(&["--stall", "0.4", "--engine", "codex"], &["err", "thinking\n", "forever"]);
    assert_eq!(output.status.code(), Some(124), "{}", host::text(&output.stderr));
    assert!(host::text(&output.stderr).contains("longer than --stall and was"), "{}", host::text(&output.stderr));
    lab.assert_no_process_is_left();
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Stall));
    let (why, at, last) = act(&lab);
    assert_eq!(why, "stall");
    // Reads within a millisecond share a record, so the byte may be as much older than its record.
    assert!(at - last >= SHORT - millis(1), "{:?} after the last byte", at - last);
    let verdict = verdict(&lab, &[]);
    assert_eq!(verdict["run_status"], "failed", "{verdict}");
    assert_eq!(verdict["error"]["category"], "timeout", "{verdict}");
}

#[test]
fn a_drip_keeps_a_process_alive() {
    const STALL: Duration = Duration::from_secs(1);
    // Twice as long as silence may be, and never silent.
    let steps = ["drip", "stdout", "30", "35", "drip", "stderr", "30", "35"];
    for _ in 0..10 {
        let lab = HostLab::new();
        let mut owner = lab.start(&limited(&lab, &steps, |limits| limits.stall = STALL));
        let ended_by = receive_ended(&mut owner);
        lab.assert_no_process_is_left();
        if ended_by == EndedBy::Exited {
            let end = lab.index(1).last().map(t_ns).expect("a line");
            assert!(Duration::from_nanos(end) >= 2 * STALL);
            return;
        }
        // It was silent after all, because the machine was busy with other things; the host must have seen that.
        assert_eq!(ended_by, EndedBy::Stall);
        let (_, at, last) = act(&lab);
        assert!(at - last >= STALL - millis(1), "{:?} after the last byte", at - last);
    }
    panic!("this machine is too slow to show anything");
}

/// `sh` that writes what an engine wrote once, and does not exit.
fn recorded_engine(lab: &HostLab, recording: &str) -> HostPlan {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testkit/corpus");
    let stdout = corpus.join(recording).join(".audit/stdout.1.log");
    let mut plan = lab.plan(&[]);
    let command = "cat \"$1\"; sleep 600";
    plan.argv = ["sh", "-c", command, "sh"].map(OsText::from).to_vec();
    plan.argv.push(stdout.as_path().into());
    plan.label.engine = Some("codex".to_owned());
    plan.label.execution_mode = Some(ExecutionMode::Auto);
    plan
}

#[test]
fn a_process_may_linger_after_its_turn_without_harm() {
    for linger in [None, Some(SHORT)] {
        let lab = HostLab::new();
        let mut plan = recorded_engine(&lab, "codex-tool-then-done");
        plan.limits.linger = if linger.is_none() { SHORT } else { LONG };
        let mut owner = lab.start(&plan);
        lab.await_stdout(1, "turn.completed");
        let begin = Instant::now();
        send(&mut owner, HostRequest::TurnOver { linger });
        assert_eq!(receive_ended(&mut owner), EndedBy::Linger);
        assert!(begin.elapsed() >= SHORT, "after {:?}", begin.elapsed());
        lab.assert_no_process_is_left();
        assert_eq!(lab.record(1).ended_by, Some(EndedBy::Linger));
        let (why, at, last) = act(&lab);
        assert_eq!(why, "linger");
        assert!(at > last);
        let verdict = verdict(&lab, &[]);
        assert_eq!(verdict["run_status"], "succeeded", "{verdict}");
        assert_eq!(verdict["warnings"], serde_json::json!(["LINGER_ENDED"]), "{verdict}");
    }
}

#[test]
fn a_continued_turn_is_not_ended() {
    const LINGER: Duration = Duration::from_secs(1);
    for _ in 0..20 {
        let (lab, mut owner) = host::started(&["out", "done?\n", "wait-file", "go", "out", "done\n"]);
        lab.await_stdout(1, "done?\n");
        let begin = Instant::now();
        send(&mut owner, HostRequest::TurnOver { linger: Some(LINGER) });
        let goes_on = owner.send(&HostRequest::TurnGoesOn).is_ok() && has_heard(&mut owner);
        if !goes_on || begin.elapsed() >= LINGER {
            // Too slow to show anything.
            lab.kill_processes();
            continue;
        }
        sleep(LINGER + millis(200));
        lab.put("go", "");
        assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
        assert_eq!(lab.record(1).exit_code, Some(0));
        assert_eq!(lab.read_stdout(1), "done?\ndone\n");
        return;
    }
    panic!("this machine is too slow to show anything");
}

#[test]
fn deadlines_hold_without_an_owner() {
    let steps = ["out", "begun\n", "forever"];
    let cases: [(EndedBy, Change); 3] = [
        (EndedBy::HardTimeout, |limits| limits.hard = SHORT),
        (EndedBy::Stall, |limits| limits.stall = SHORT),
        (EndedBy::Linger, |limits| limits.linger = SHORT),
    ];
    for (why, limit) in cases {
        let lab = HostLab::new();
        host::start_host(&limited(&lab, &steps, limit));
        if why == EndedBy::Linger {
            let mut owner = lab.attach(FIRST);
            send(&mut owner, HostRequest::TurnOver { linger: None });
            send(&mut owner, HostRequest::Detach);
        }
        assert_eq!(lab.record(1).ended_by, Some(why));
        assert_eq!(act(&lab).0, why.as_str());
        lab.wait_quiet();
    }
}

#[test]
fn deadlines_hold_when_the_starter_was_killed() {
    let lab = HostLab::new();
    let options = ["--no-snapshot", "--stall", "1"];
    let mut starter = spawn(&mut lab.capture(&options, &["out", "begun\n", "file", "begun", "x", "forever"]));
    lab.await_file("begun");
    starter.kill().expect("killed");
    starter.wait().expect("gone");
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Stall));
    lab.wait_quiet();
}

/// Whether the host has carried out everything that was asked of it, and has not ended. It answers this alone, in order.
fn has_heard(owner: &mut HostConnection) -> bool {
    let nonsense = HostRequest::NextAttempt { attempt: AttemptNumber(0) };
    if owner.send(&nonsense).is_err() {
        return false;
    }
    loop {
        match owner.receive(LONG) {
            Ok(HostMessage::Notice(Notice::Refused { reason })) => return reason.starts_with("the next attempt is"),
            Ok(HostMessage::Notice(_)) => {}
            Ok(HostMessage::Nothing | HostMessage::Gone) | Err(_) => return false,
        }
    }
}

/// An attempt that waits for a person before its deadline.
fn waiting(limit: Duration, steps: &[&str], limits: fn(&mut Limits, Duration)) -> (HostLab, HostConnection) {
    for _ in 0..20 {
        let lab = HostLab::new();
        let begin = Instant::now();
        let mut plan = limited(&lab, steps, |these| limits(these, limit));
        plan.stdin = StdinPlan::Pipe;
        let mut owner = lab.start(&plan);
        let is_asked = owner.send(&HostRequest::Wait { deadline: None }).is_ok() && has_heard(&mut owner);
        if is_asked && begin.elapsed() < limit {
            return (lab, owner);
        }
        lab.kill_processes();
    }
    panic!("this machine is too slow to show anything");
}

#[test]
fn the_clock_stands_still_while_a_person_is_asked() {
    const LIMIT: Duration = Duration::from_millis(700);
    let hard: fn(&mut Limits, Duration) = |limits, limit| limits.hard = limit;
    let stall: fn(&mut Limits, Duration) = |limits, limit| limits.stall = limit;
    for (why, limits) in [(EndedBy::HardTimeout, hard), (EndedBy::Stall, stall)] {
        let (lab, mut owner) = waiting(LIMIT, &["forever"], limits);
        sleep(LIMIT + millis(300));
        assert!(!lab.has("host.1.json") && !lab.alive().is_empty(), "{why:?}: it was ended");
        send(&mut owner, HostRequest::GoOn);
        assert_eq!(receive_ended(&mut owner), why);
        lab.assert_no_process_is_left();
        assert!(act(&lab).1 >= LIMIT + LIMIT, "the time of waiting does not count");
    }
}

#[test]
fn an_answer_restarts_the_clock() {
    const LIMIT: Duration = Duration::from_millis(700);
    let (_lab, mut owner) = waiting(LIMIT, &["forever"], |limits, limit| limits.stall = limit);
    sleep(LIMIT + millis(300));
    let begin = Instant::now();
    assert_eq!(input(&mut owner, "1", "blue\n"), InputAnswer::Written);
    assert_eq!(receive_ended(&mut owner), EndedBy::Stall);
    assert!(begin.elapsed() >= LIMIT, "it has time to do something with it");
}

#[test]
fn an_undecided_question_ends_the_process_after_its_deadline() {
    // A minute in real life.
    let grace = millis(300);
    let deadline = Some(millis(400));
    for stays in [true, false] {
        let lab = HostLab::new();
        let mut owner = lab.start(&limited(&lab, &["forever"], |limits| limits.wait_grace = grace));
        let begin = Instant::now();
        send(&mut owner, HostRequest::Wait { deadline });
        if !stays {
            send(&mut owner, HostRequest::Detach);
        }
        assert_eq!(lab.record(1).ended_by, Some(EndedBy::WaitTimeout));
        assert!(begin.elapsed() >= millis(700), "after {:?}", begin.elapsed());
        assert_eq!(act(&lab).0, "wait_timeout");
        lab.wait_quiet();
    }
}

#[test]
fn without_an_owner_an_open_question_ends_the_process() {
    // A day in real life.
    let ownerless = millis(500);
    let lab = HostLab::new();
    let mut owner = lab.start(&limited(&lab, &["forever"], |limits| limits.ownerless = ownerless));
    send(&mut owner, HostRequest::Wait { deadline: None });
    sleep(ownerless + millis(300));
    assert!(!lab.has("host.1.json") && !lab.alive().is_empty(), "the owner is there");
    let begin = Instant::now();
    hang_up(owner);
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::WaitTimeout));
    assert!(begin.elapsed() >= ownerless, "after {:?}", begin.elapsed());
    lab.wait_quiet();
}

#[test]
fn an_owner_that_comes_back_puts_the_end_off() {
    let ownerless = millis(700);
    for _ in 0..20 {
        let lab = HostLab::new();
        let mut owner = lab.start(&limited(&lab, &["forever"], |limits| limits.ownerless = ownerless));
        send(&mut owner, HostRequest::Wait { deadline: None });
        let begin = Instant::now();
        hang_up(owner);
        sleep(ownerless / 2);
        let attached = attach(&lab.audit(), FIRST).expect("an answer");
        let Attached::Live(mut owner) = attached else {
            lab.kill_processes();
            continue;
        };
        if !has_heard(&mut owner) || begin.elapsed() >= ownerless {
            // Too slow to show anything.
            lab.kill_processes();
            continue;
        }
        sleep(ownerless);
        assert!(!lab.has("host.1.json") && !lab.alive().is_empty(), "the owner is attached again");
        send(&mut owner, HostRequest::Cancel { ladder: at_once() });
        assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
        lab.assert_no_process_is_left();
        return;
    }
    panic!("this machine is too slow to show anything");
}

#[test]
fn the_index_has_the_act_after_everything_that_came_before_it() {
    let words = r"on SIGINT [ out bye\n exit 0 ] flood stdout 300K err warning\n out last\n file written x forever";
    let (lab, mut owner) = host::started(&host::steps(words));
    lab.await_file("written");
    lab.await_stdout(1, "last\n");
    wait_until("stderr", || lab.evidence("stderr.1.log") == b"warning\n");
    send(&mut owner, HostRequest::Cancel { ladder: None });
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    let index = lab.index(1);
    let at = index.iter().position(|line| line.get("act").is_some()).expect("an act");
    let reached = |stream: &str, lines: &[Value]| {
        lines.iter().filter(|line| line["stream"] == stream).filter_map(|line| line["to"].as_u64()).max()
    };
    let before = 300 * 1024 + 5;
    assert_eq!(reached("stdout", &index[..at]), Some(before), "all bytes of before");
    assert_eq!(reached("stderr", &index[..at]), Some(8));
    assert_eq!(reached("stdout", &index[at..]), Some(before + 4), "what it said because of the act, after it");
    assert_eq!(index[at]["act"], "canceled");
    assert!(index.windows(2).all(|pair| t_ns(&pair[0]) <= t_ns(&pair[1])), "time goes one way");
    assert!(index.iter().enumerate().all(|(i, line)| line["i"] == i), "records are numbered without a gap");
}
