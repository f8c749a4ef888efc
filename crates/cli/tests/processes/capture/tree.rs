//! No process is left: whatever an engine starts, and however it got away, is found and ended.
//!
//! Not shown here: a process that the kernel does not let go (in the middle of a system call on a dead network drive,
//! say). None can be made on purpose without a broken device; the host gives up after some seconds and says
//! `SURVIVORS_LEFT`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::host::{
    self, FIRST, HostLab, LONG, at_once, receive, receive_ended, send, spawn_piped, steps, wait_for_stdout,
};
use lab::{is_gone, signal, wait_until};
use serde_json::Value;
use skillrun_collect::HostConnection;
use skillrun_collect::plan::{self, Rung};
use skillrun_collect::protocol::{HostRequest, Notice};
use skillrun_collect::signals::SignalName;
use skillrun_model::{Code, EndedBy, Stream};

/// What cancel may take beyond the ladder's own time.
const BEYOND: Duration = Duration::from_secs(1);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn canceled(owner: &mut HostConnection) {
    send(owner, HostRequest::Cancel { ladder: at_once() });
    assert_eq!(receive_ended(owner), EndedBy::Canceled);
}

/// What the files say about survivors: process ids; all three places must agree.
fn survivors(lab: &HostLab) -> BTreeSet<u32> {
    let record = lab.record(1);
    let meta = lab.meta(1);
    let in_meta = meta["survivors"].as_array().expect("a list");
    let pids: BTreeSet<u32> = record.survivors.iter().map(|survivor| survivor.pid).collect();
    let pids_in_meta = in_meta.iter().map(|survivor| survivor["pid"].as_u64().expect("a number") as u32);
    assert_eq!(pids, pids_in_meta.collect());
    assert_eq!(record.survivors_total, pids.len() as u64);
    assert_eq!(meta["survivors_total"], pids.len());
    assert!(in_meta.iter().all(|survivor| survivor["name"].as_str().is_some_and(|name| !name.is_empty())));
    let warned = record.warnings.iter().any(|warning| warning.code == Code::SurvivorsEnded);
    assert_eq!(warned, !pids.is_empty(), "{:?}", record.warnings);
    pids
}

#[test]
fn escaped_processes_are_found_and_ended() {
    let lab = HostLab::new();
    // Each process of the chain closes its streams, leaves for a session of its own and starts the next.
    let words = r"session [ silence pid session.pid forever ] group [ silence pid group.pid forever ]
        orphan [ silence pid orphan.pid forever ] daemon [ silence pid daemon.pid forever ]
        daemon [ silence pid chain1.pid daemon [ silence pid chain2.pid daemon [ silence pid chain3.pid forever ]
        forever ] forever ]
        wait-file session.pid wait-file group.pid wait-file orphan.pid wait-file daemon.pid wait-file chain3.pid
        out done\n exit 3";
    let begin = Instant::now();
    let output = lab.run(&["--no-snapshot", "--linger", "60"], &steps(words));
    assert!(begin.elapsed() < LONG, "their streams are closed, so the host does not wait for them");
    lab.assert_no_process_is_left();
    assert_eq!((output.status.code(), host::text(&output.stdout).as_str()), (Some(3), "done\n"));
    assert!(host::text(&output.stderr).contains("SURVIVORS_ENDED"), "{}", host::text(&output.stderr));
    let names = ["session", "group", "orphan", "daemon", "chain1", "chain2", "chain3"];
    let expected: BTreeSet<_> = names.map(|name| lab.await_pid(&format!("{name}.pid"))).into();
    assert_eq!(survivors(&lab), expected);
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::Exited), Some(3)));
    assert!(record.survivors.iter().all(|survivor| survivor.name == "stand-in"), "{:?}", record.survivors);
    let verdict = lab.normalize(&["--engine", "codex"]);
    assert_eq!(verdict.status.code(), Some(0), "{}", host::text(&verdict.stderr));
}

#[test]
fn an_engine_that_leaves_no_process_has_no_survivors() {
    // All of them end by themselves at the same moment as their streams.
    let steps = steps(r"call [ out one\n ] child [ sleep 1 ] daemon [ sleep 20 out two\n ] out three\n exit 1");
    // Found so: one of sixty was taken for a survivor in the moment between the end of its streams and its own.
    for _ in 0..20 {
        let lab = HostLab::new();
        assert_eq!(lab.run(&["--no-snapshot"], &steps).status.code(), Some(1));
        assert_eq!(survivors(&lab), BTreeSet::new());
    }
}

/// A process that has dropped its environment, and with it the tag.
#[test]
fn a_process_without_its_environment_is_found_by_its_descent() {
    let lab = HostLab::new();
    let script = "env -i sleep 601 >/dev/null 2>&1 & echo $! > one.pid\n\
                  (setsid env -i sleep 602 >/dev/null 2>&1 & echo $! > two.pid)\n\
                  until grep -q sleep /proc/$(cat one.pid)/comm; do :; done; exit 0";
    let mut command = lab.bare_capture(&["--no-snapshot"]);
    let output = host::output(command.args(["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    for name in ["one.pid", "two.pid"] {
        assert!(is_gone(lab.await_pid(name)), "{name} is left");
    }
    let record = lab.record(1);
    assert!(record.survivors.iter().any(|survivor| survivor.name == "sleep"), "{:?}", record.survivors);
    assert!(survivors(&lab).contains(&lab.await_pid("one.pid")));
}

/// When an index has its last byte, and when it ends.
fn last_byte_and_end(lab: &HostLab) -> (Duration, Duration) {
    let lines = lab.index(1);
    let t = |line: &Value| Duration::from_nanos(line["t_ns"].as_u64().expect("a number"));
    let last = lines.iter().rfind(|line| line.get("stream").is_some()).map_or(Duration::ZERO, t);
    (last, lines.last().map_or(Duration::ZERO, t))
}

#[test]
fn what_outlives_the_engine_is_recorded_until_it_is_silent() {
    const LINGER: Duration = Duration::from_millis(800);
    let steps = steps(r"orphan [ pid silent.pid repeat 12 [ out tick\n sleep 100 ] forever ] out main\n exit 5");
    for _ in 0..10 {
        let lab = HostLab::new();
        let mut plan = lab.plan(&steps);
        plan.limits.linger = LINGER;
        let mut owner = lab.start(&plan);
        assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
        lab.assert_no_process_is_left();
        assert_eq!(lab.record(1).exit_code, Some(5));
        let (last, end) = last_byte_and_end(&lab);
        assert!(end - last >= LINGER - millis(1), "{:?} after the last byte", end - last);
        // Where the machine was so slow that it was silent in between, the host was right to end it.
        if lab.read_stdout(1).matches("tick\n").count() == 12 {
            assert_eq!(survivors(&lab), [lab.await_pid("silent.pid")].into());
            assert!(end > LINGER + millis(1100), "it wrote for longer than it may be silent");
            return;
        }
    }
    panic!("this machine is too slow to show anything");
}

/// Processor time of a process so far, all threads of it.
fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<_> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks: u64 = [11, 12].map(|field: usize| fields[field].parse::<u64>().expect("a number")).iter().sum();
    // A tick is a hundredth of a second on every Linux there is.
    millis(ticks * 10)
}

/// Lets time pass while the host has nothing to do, and sees that it does nothing. Found by reading: a moment that had
/// passed and changed nothing kept the loop spinning.
fn assert_idle(host: u32, time: Duration) {
    let before = processor_time(host);
    sleep(time);
    let used = processor_time(host) - before;
    assert!(used < time / 3, "the host has used {used:?} of {time:?}");
}

#[test]
fn a_wrapper_that_was_killed_does_not_end_the_real_program() {
    let lab = HostLab::new();
    let words = r"heir [ out real\n wait-file go out more\n err done\n ] out wrapper\n wait-file die die SIGTERM";
    let mut plan = lab.plan(&steps(words));
    plan.limits.linger = millis(200);
    let mut owner = lab.start(&plan);
    lab.put("die", "");
    host::receive_exit(&mut owner);
    // Far longer than it may be silent after an ordinary exit.
    assert_idle(owner.host_pid(), millis(1200));
    assert!(!lab.has("host.1.json"), "it continues");
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(1);
    assert_eq!((record.signal.as_deref(), record.exit_code), (Some("SIGTERM"), None));
    let streams = host::read_back(&lab.out(), 1);
    assert_eq!(host::text(host::of(&streams, Stream::Stdout)), "wrapper\nreal\nmore\n");
    assert_eq!(host::of(&streams, Stream::Stderr), b"done\n");
    assert_eq!(survivors(&lab), BTreeSet::new());
    lab.assert_no_process_is_left();
    // Found in real use: whether the end came before or after the signal was nowhere to be read.
    let index = host::text(&lab.evidence("chunks.1.jsonl"));
    let place = |wanted: &str| index.lines().position(|line| line.contains(wanted));
    let exited = place(r#""act":"exited""#).expect("the moment of its end");
    let (first, last) = (place(r#""stream":"stdout""#), index.lines().count());
    assert!(first.is_some_and(|first| first < exited) && exited < last - 2, "{index}");
}

/// Found by a run that stayed `running`: the host read the answer of the real program in the same round as the end of its
/// wrapper, recorded it, and never reported it to the owner.
#[test]
fn bytes_read_beside_the_end_of_a_wrapper_are_reported() {
    let words = r"heir [ out real\n pid written.pid forever ] pid main.pid forever";
    let (lab, mut owner) = host::started(&steps(words));
    let main = lab.await_pid("main.pid");
    // It finds the bytes and the end of the wrapper together.
    signal(owner.host_pid(), "STOP");
    signal(main, "KILL");
    lab.await_pid("written.pid");
    signal(owner.host_pid(), "CONT");
    wait_for_stdout(&mut owner, 5);
    canceled(&mut owner);
}

#[test]
fn a_deadline_ends_what_a_killed_wrapper_left() {
    for _ in 0..10 {
        let lab = HostLab::new();
        let mut plan = lab.plan(&steps(r"heir [ out real\n forever ] die SIGKILL"));
        plan.limits.linger = millis(100);
        plan.limits.stall = millis(700);
        let mut owner = lab.start(&plan);
        assert_eq!(receive_ended(&mut owner), EndedBy::Stall);
        lab.assert_no_process_is_left();
        // Else the machine was so slow that the wrapper itself was too late.
        if lab.record(1).signal.as_deref() == Some("SIGKILL") {
            return;
        }
    }
    panic!("this machine is too slow to show anything");
}

/// A process that is killed after its turn was not a wrapper.
#[test]
fn an_engine_that_is_killed_after_its_turn_is_over() {
    let lab = HostLab::new();
    let mut plan = lab.plan(&steps(r"heir [ out real\n forever ] pid main.pid forever"));
    plan.limits.linger = millis(300);
    let mut owner = lab.start(&plan);
    let main = lab.await_pid("main.pid");
    send(&mut owner, HostRequest::TurnOver { linger: Some(LONG) });
    signal(main, "KILL");
    let begin = Instant::now();
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert!(begin.elapsed() < LONG / 2, "it took {:?}", begin.elapsed());
}

/// Found by reading: a limit that is shorter than the time streams are waited for made a failure of a good end.
#[test]
fn an_engine_that_has_exited_is_no_stall() {
    let (lab, mut owner) = (0..10)
        .find_map(|_| {
            let lab = HostLab::new();
            let mut plan = lab.plan(&steps(r"orphan [ pid holds.pid forever ] out done\n exit 0"));
            plan.limits.stall = millis(300);
            plan.limits.linger = millis(1500);
            let mut owner = lab.start(&plan);
            // Where the end comes first, the machine is so slow that the engine was silent before.
            let has_exited = receive(&mut owner, "the exit or the end", |notice| {
                let is_either = matches!(notice, Notice::Exited { .. } | Notice::Ended { .. });
                is_either.then_some(matches!(notice, Notice::Exited { exit_code: Some(0), .. }))
            });
            has_exited.then_some((lab, owner))
        })
        .expect("a machine that is not too slow");
    send(&mut owner, HostRequest::TurnOver { linger: Some(millis(1)) });
    assert_idle(owner.host_pid(), millis(900));
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::Exited), Some(0)));
    assert!(!host::text(&lab.evidence("chunks.1.jsonl")).contains("act"), "nothing was done to it");
}

/// A tree in which everybody ignores what it is asked, one of them in a session of its own; with streams open.
const STUBBORN: &str = r"ignore SIGINT ignore SIGTERM
    child [ ignore SIGINT ignore SIGTERM session [ ignore SIGINT ignore SIGTERM ignore SIGHUP pid grandchild.pid forever ]
    pid child.pid forever ] daemon [ silence ignore SIGINT ignore SIGTERM pid daemon.pid forever ]
    wait-file grandchild.pid wait-file child.pid wait-file daemon.pid pid main.pid out ready\n forever";

/// Waits until everybody is gone; how long that took.
fn until_no_process_is_left(lab: &HostLab, begin: Instant) -> Duration {
    lab.wait_quiet();
    begin.elapsed()
}

#[test]
fn cancel_ends_a_tree_that_ignores_it() {
    let grace = millis(300);
    let (lab, mut owner) = host::started(&steps(STUBBORN));
    lab.await_pid("main.pid");
    assert_eq!(lab.alive().len(), 4);
    let begin = Instant::now();
    send(&mut owner, HostRequest::Cancel { ladder: Some(plan::ladder(grace)) });
    let took = until_no_process_is_left(&lab, begin);
    assert!(took >= 2 * grace && took <= 2 * grace + BEYOND, "it took {took:?}");
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.signal.as_deref()), (Some(EndedBy::Canceled), Some("SIGKILL")));
    let expected = ["grandchild.pid", "child.pid", "daemon.pid"].map(|name| lab.await_pid(name));
    assert_eq!(survivors(&lab), expected.into(), "everybody but the engine itself");
}

#[test]
fn a_second_cancel_makes_it_faster() {
    let (lab, mut owner) = host::started(&steps(STUBBORN));
    lab.await_pid("main.pid");
    send(&mut owner, HostRequest::Cancel { ladder: Some(plan::ladder(LONG)) });
    assert_idle(owner.host_pid(), millis(200));
    assert_eq!(lab.alive().len(), 4);
    let begin = Instant::now();
    send(&mut owner, HostRequest::Cancel { ladder: at_once() });
    let took = until_no_process_is_left(&lab, begin);
    assert!(took <= BEYOND, "it took {took:?}");
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
}

#[test]
fn an_engine_that_ends_when_it_is_asked_is_not_hurried() {
    let words = r"on SIGINT [ sleep 300 flood stdout 200K out bye\n exit 0 ] out ready\n forever";
    let (lab, mut owner) = host::started(&steps(words));
    lab.await_stdout(1, "ready\n");
    let begin = Instant::now();
    send(&mut owner, HostRequest::Cancel { ladder: Some(plan::ladder(LONG)) });
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    assert!(begin.elapsed() < LONG / 2, "it took {:?}", begin.elapsed());
    let record = lab.record(1);
    assert_eq!((record.exit_code, record.signal, record.ended_by), (Some(0), None, Some(EndedBy::Canceled)));
    let expected = [b"ready\n", &host::flood(200 * 1024)[..], b"bye\n"].concat();
    assert!(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout) == expected);
    assert_eq!(survivors(&lab), BTreeSet::new());
}

/// `make e2e` found that the interrupt of a turn took the whole pause of the first rung with gemini and opencode: they exit
/// at once, and leave their tools in sessions of their own, which an interrupt does not reach.
#[test]
fn tools_that_an_engine_leaves_behind_are_asked_at_once() {
    for exit in ["exit 0", "die SIGINT"] {
        let tool = "session [ on SIGTERM [ file tool.term x exit 0 ] silence pid tool.pid forever ] wait-file tool.pid";
        let words = format!(r"{tool} on SIGINT [ {exit} ] out ready\n forever");
        let (lab, mut owner) = host::started(&steps(&words));
        lab.await_stdout(1, "ready\n");
        let begin = Instant::now();
        send(&mut owner, HostRequest::Cancel { ladder: Some(plan::ladder(LONG)) });
        assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
        assert!(begin.elapsed() < LONG / 2, "{exit}: it took {:?}", begin.elapsed());
        assert!(lab.workspace().join("tool.term").exists(), "{exit}: the tool was not asked to end");
        assert_eq!(survivors(&lab), BTreeSet::new());
    }
}

fn rung(signal: SignalName) -> Option<Vec<Rung>> {
    Some(vec![Rung { signal, pause: LONG }])
}

#[test]
fn an_interrupt_is_for_the_group_and_an_end_for_everybody() {
    let on = |name: &str| format!("on SIGINT [ file {name}.int x ] on SIGTERM [ file {name}.term x exit 0 ]");
    let start = |how: &str| format!("{how} [ {} pid {how}.pid forever ]", on(how));
    let words = ["child", "session", "group", "daemon"].map(|how| format!("{} wait-file {how}.pid ", start(how)));
    let words = format!("{}{} pid main.pid forever", words.concat(), on("main"));
    let (lab, mut owner) = host::started(&steps(&words));
    lab.await_pid("main.pid");
    send(&mut owner, HostRequest::Cancel { ladder: rung(SignalName::INT) });
    for name in ["main", "child"] {
        lab.await_file(&format!("{name}.int"));
    }
    send(&mut owner, HostRequest::Cancel { ladder: rung(SignalName::TERM) });
    let begin = Instant::now();
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    assert!(begin.elapsed() < LONG / 2, "everybody has ended, so nothing is waited for");
    for name in ["main", "child", "session", "group", "daemon"] {
        assert!(lab.workspace().join(format!("{name}.term")).exists(), "{name} was not asked to end");
    }
    for name in ["session", "group", "daemon"] {
        assert!(!lab.workspace().join(format!("{name}.int")).exists(), "{name} was interrupted");
    }
    assert_eq!(survivors(&lab), BTreeSet::new());
}

#[test]
fn a_forking_process_is_ended_while_it_forks() {
    let storm = "repeat 200 [ daemon [ silence sleep 50000 ] ]";
    let words = format!("session [ {storm} ] {storm} forever");
    let (lab, mut owner) = host::started(&steps(&words));
    wait_until("a crowd", || lab.alive().len() >= 30);
    let begin = Instant::now();
    canceled(&mut owner);
    lab.assert_no_process_is_left();
    assert!(begin.elapsed() <= BEYOND, "it took {:?}", begin.elapsed());
    let record = lab.record(1);
    assert!(record.survivors_total >= 20, "{}", record.survivors_total);
    // None of them was between two looks.
    sleep(millis(200));
}

/// Children of a process that have ended and were not waited for, and those that live.
fn children(parent: u32) -> (Vec<u32>, Vec<u32>) {
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit(") ").next()?.split(' ');
        let (state, ppid) = (fields.next()?.to_owned(), fields.next()?.parse::<u32>().ok()?);
        (ppid == parent).then_some((pid, state))
    };
    let (over, alive): (Vec<_>, Vec<_>) = pids.filter_map(state).partition(|(_, state)| state == "Z");
    let pids = |list: Vec<(u32, String)>| list.into_iter().map(|(pid, _)| pid).collect();
    (pids(over), pids(alive))
}

#[test]
fn orphans_are_waited_for_while_the_engine_works() {
    let words = "repeat 60 [ orphan [ exit 7 ] ] orphan [ pid last.pid wait-file go ] pid main.pid forever";
    let (lab, mut owner) = host::started(&steps(words));
    let (main, last) = (lab.await_pid("main.pid"), lab.await_pid("last.pid"));
    let host = owner.host_pid();
    wait_until("no zombies", || {
        let (over, alive) = children(host);
        over.is_empty() && alive.into_iter().collect::<BTreeSet<_>>() == [main, last].into()
    });
    lab.put("go", "");
    wait_until("one child", || children(host) == (vec![], vec![main]));
    canceled(&mut owner);
    assert_eq!(survivors(&lab), BTreeSet::new(), "those that ended by themselves do not count");
}

#[test]
fn stopped_processes_are_ended_too() {
    let grace = millis(200);
    let words = "session [ pid session.pid forever ] wait-file session.pid pid main.pid forever";
    let (lab, mut owner) = host::started(&steps(words));
    for pid in [lab.await_pid("main.pid"), lab.await_pid("session.pid")] {
        signal(pid, "STOP");
    }
    let begin = Instant::now();
    send(&mut owner, HostRequest::Cancel { ladder: Some(plan::ladder(grace)) });
    let took = until_no_process_is_left(&lab, begin);
    assert!(took <= 2 * grace + BEYOND, "it took {took:?}");
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    // At the normal end as well.
    let (lab, mut owner) = host::started(&steps("daemon [ silence pid daemon.pid forever ] wait-file go exit 0"));
    let daemon = lab.await_pid("daemon.pid");
    signal(daemon, "STOP");
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    lab.assert_no_process_is_left();
    assert_eq!(survivors(&lab), [daemon].into());
}

/// `skillrun capture` that has shown the engine's first line, so it listens to signals.
struct Shown {
    capture: Child,
    stdout: BufReader<ChildStdout>,
}

impl Shown {
    fn new(lab: &HostLab, options: &[&str], steps: &[&str]) -> Self {
        let mut command = lab.capture(options, steps);
        let mut capture = spawn_piped(&mut command);
        let mut stdout = BufReader::new(capture.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Self { capture, stdout }
    }

    fn signal(&self, signal: &str) {
        lab::signal(self.capture.id(), signal);
    }

    /// Exit code, rest of stdout, stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).expect("text");
        self.capture.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        (self.capture.wait().expect("an end").code(), out, err)
    }
}

#[test]
fn an_interrupt_of_the_command_cancels() {
    for signal in ["INT", "TERM"] {
        let lab = HostLab::new();
        let steps = steps(r"on SIGINT [ out bye\n exit 0 ] out ready\n forever");
        let shown = Shown::new(&lab, &["--no-snapshot"], &steps);
        shown.signal(signal);
        let (code, out, err) = shown.end();
        assert_eq!((code, out.as_str()), (Some(130), "bye\n"), "{err}");
        assert_eq!(lab.record(1).ended_by, Some(EndedBy::Canceled));
    }
}

#[test]
fn a_second_interrupt_leaves_the_end_to_the_host() {
    let lab = HostLab::new();
    let steps = steps(r"on SIGINT [ file interrupted x ] out ready\n forever");
    let shown = Shown::new(&lab, &["--no-snapshot", "--grace", "60"], &steps);
    shown.signal("INT");
    lab.await_file("interrupted");
    shown.signal("INT");
    let (code, _, err) = shown.end();
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("the host process terminates the command"), "{err}");
    assert_eq!(lab.alive().len(), 1, "it continues");
    canceled(&mut lab.attach(FIRST));
}

#[test]
fn a_terminal_that_is_closed_leaves_it_running() {
    let lab = HostLab::new();
    let steps = ["out", "ready\n", "wait-file", "go", "out", "done\n", "exit", "4"];
    let shown = Shown::new(&lab, &["--no-snapshot"], &steps);
    shown.signal("HUP");
    let (_, _, err) = shown.end();
    assert!(err.contains("left running"), "{err}");
    lab.put("go", "");
    let record = lab.record(1);
    assert_eq!((record.exit_code, record.ended_by), (Some(4), Some(EndedBy::Exited)));
    assert_eq!(lab.read_stdout(1), "ready\ndone\n");
    lab.wait_quiet();
}

/// Where a control group of a host would be, if this machine gives one; else why not.
fn group_folder() -> Result<PathBuf, &'static str> {
    let groups = fs::read_to_string("/proc/self/cgroup").map_err(|_| "there are no control groups")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("there is no cgroup v2")?.to_owned();
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|_| "there are no mounts")?;
    let mount =
        mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")).ok_or("cgroup v2 is not mounted")?;
    let folder = Path::new(mount.split(' ').nth(1).unwrap_or_default()).join(own);
    if Path::new("/run/systemd/system").exists() {
        return Err("systemd manages the hierarchy, and whether a part of it is ours is not for a test to say");
    }
    let try_out = folder.join(format!("skillrun-test-{}", std::process::id()));
    fs::create_dir(&try_out).map_err(|_| "the hierarchy cannot be written to")?;
    let can_kill = try_out.join("cgroup.kill").exists();
    fs::remove_dir(&try_out).map_err(|_| "a group cannot be removed")?;
    if can_kill { Ok(folder) } else { Err("this kernel has no cgroup.kill") }
}

#[test]
fn an_engine_that_lives_for_a_while_gets_a_group_of_its_own() {
    let folder = match group_folder() {
        Ok(folder) => folder,
        Err(why) => {
            eprintln!("skipped: {why}");
            return;
        }
    };
    let lab = HostLab::new();
    let words = "daemon [ silence pid daemon.pid forever ] pid main.pid
        wait-file more session [ pid later.pid forever ] forever";
    let plan = lab.plan(&steps(words));
    let name = format!("skillrun-{}", plan.nonce);
    let group = folder.join(&name);
    let is_in = |pid: u32| {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        groups.lines().any(|line| line.starts_with("0::") && line.ends_with(&format!("/{name}")))
    };
    let mut owner = lab.start(&plan);
    for early in ["main.pid", "daemon.pid"] {
        let pid = lab.await_pid(early);
        wait_until("a group", || is_in(pid));
    }
    assert!(!is_in(owner.host_pid()), "the host itself stays outside, or it would end itself");
    lab.put("more", "");
    assert!(is_in(lab.await_pid("later.pid")), "who comes later is born there");
    canceled(&mut owner);
    lab.assert_no_process_is_left();
    assert!(!group.exists(), "{} is left", group.display());
    // A killed host cannot clean up; the process that finds it does.
    let lab = HostLab::new();
    let plan = lab.plan(&steps("daemon [ silence pid daemon.pid forever ] forever"));
    let group = folder.join(format!("skillrun-{}", plan.nonce));
    let owner = lab.start(&plan);
    lab.await_pid("daemon.pid");
    wait_until("a group", || group.exists());
    host::kill_host(&owner);
    lab.attach_lost(FIRST);
    lab.assert_no_process_is_left();
    assert!(!group.exists(), "{} is left", group.display());
}

#[test]
fn warnings_of_the_host_are_reported_with_the_verdict() {
    let lab = HostLab::new();
    lab.run(&["--engine", "codex"], &["daemon", "[", "silence", "forever", "]", "out", "hello\n"]);
    let diagnostics = lab.normalize(&["--format", "diagnostics"]);
    let diagnostics = host::text(&diagnostics.stdout);
    assert!(diagnostics.contains("\"code\":\"SURVIVORS_ENDED\""), "{diagnostics}");
}
