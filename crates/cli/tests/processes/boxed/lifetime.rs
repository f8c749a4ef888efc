//! Exits, signals, time limits and leftovers are those of a process without a box.

use std::fs;
use std::time::Duration;

use lab::host::{HostLab, receive_ended, send, start_host, steps};
use lab::{is_gone, wait_until};
use skillrun_collect::plan::{HostPlan, Limits};
use skillrun_collect::protocol::HostRequest;
use skillrun_evidence::HostRecord;
use skillrun_model::EndedBy;
use skillrun_model::confinement::BoxMechanism;

use super::{confined, mechanisms};

/// Runs steps to their end, in a lab of their own.
fn ran(mechanism: BoxMechanism, words: &str) -> (HostLab, HostRecord) {
    let lab = HostLab::new();
    let plan = confined(&lab, &steps(words), mechanism);
    start_host(&plan);
    wait_until("the record", || lab.has("host.1.json"));
    let record = lab.record(1);
    (lab, record)
}

fn report(lab: &HostLab) -> serde_json::Value {
    serde_json::from_str(&lab.read_stdout(1)).expect("a report")
}

#[test]
fn an_exit_is_the_engines() {
    for mechanism in mechanisms() {
        let (_, record) = ran(mechanism, "out hello exit 7");
        assert_eq!((record.exit_code, record.signal.as_deref()), (Some(7), None), "{mechanism}");
        assert_eq!((record.ended_by, record.survivors_total), (Some(EndedBy::Exited), 0), "{mechanism}: {record:?}");
        assert!(record.warnings.is_empty() && record.error.is_none(), "{mechanism}: {record:?}");
        let (_, record) = ran(mechanism, "die SIGSEGV");
        assert_eq!((record.exit_code, record.signal.as_deref()), (None, Some("SIGSEGV")), "{mechanism}");
    }
}

#[test]
fn a_process_begins_as_without_a_box() {
    for mechanism in mechanisms() {
        let (lab, record) = ran(mechanism, "report");
        let report = report(&lab);
        assert_eq!(report["fds"], serde_json::json!([0, 1, 2]), "{mechanism}");
        assert_eq!(report["sigblk"], "0000000000000000", "{mechanism}");
        assert_eq!(report["cwd"], lab.workspace().to_str().expect("UTF-8"), "{mechanism}");
        assert_eq!(report["pid"], report["sid"], "{mechanism}: a session of its own");
        assert!(record.rusage.is_some_and(|usage| usage.max_rss_kib > 0), "{mechanism}");
    }
}

#[test]
fn what_is_left_is_ended_and_counted() {
    for mechanism in mechanisms() {
        let words = "session [ silence pid session.pid forever ] daemon [ silence pid daemon.pid forever ] \
                     wait-file session.pid wait-file daemon.pid exit 0";
        let (_, record) = ran(mechanism, words);
        assert_eq!((record.exit_code, record.survivors_total), (Some(0), 2), "{mechanism}: {record:?}");
        assert!(record.survivors.iter().all(|one| is_gone(one.pid)), "{mechanism}: {record:?}");
        assert!(record.survivors.iter().all(|one| one.name == "stand-in"), "{mechanism}: {record:?}");
    }
}

/// The real program of a wrapper that was killed is still the engine.
#[test]
fn a_program_outlives_its_killed_wrapper() {
    for mechanism in mechanisms() {
        let (lab, record) = ran(mechanism, r"child [ sleep 300 out late\n ] die SIGKILL");
        assert_eq!(lab.read_stdout(1), "late\n", "{mechanism}");
        assert_eq!((record.signal.as_deref(), record.survivors_total), (Some("SIGKILL"), 0), "{mechanism}");
        assert_eq!(record.ended_by, Some(EndedBy::Exited), "{mechanism}");
    }
}

#[test]
fn a_cancel_reaches_the_engine_by_each_signal() {
    for mechanism in mechanisms() {
        let rows = [
            (r"on SIGINT [ out bye\n exit 5 ] file ready x forever", Some(5), "bye\n"),
            (r"ignore SIGINT on SIGTERM [ out late\n exit 6 ] file ready x forever", Some(6), "late\n"),
            (r"ignore SIGINT ignore SIGTERM file ready x forever", None, ""),
        ];
        for (words, code, output) in rows {
            let lab = HostLab::new();
            let mut owner = lab.start(&confined(&lab, &steps(words), mechanism));
            lab.await_file("ready");
            send(&mut owner, HostRequest::Cancel { ladder: None });
            assert_eq!(receive_ended(&mut owner), EndedBy::Canceled, "{mechanism} {words}");
            let record = lab.record(1);
            assert_eq!((record.exit_code, lab.read_stdout(1).as_str()), (code, output), "{mechanism} {words}");
            assert_eq!(record.signal.is_some(), code.is_none(), "{mechanism} {words}");
            assert_eq!(record.survivors_total, 0, "{mechanism} {words}: {record:?}");
        }
    }
}

#[test]
fn a_time_limit_ends_everything_in_the_box() {
    for mechanism in mechanisms() {
        let lab = HostLab::new();
        let words = "ignore SIGINT ignore SIGTERM session [ silence ignore SIGTERM pid tool.pid forever ] forever";
        let plan = confined(&lab, &steps(words), mechanism);
        let limits = Limits { hard: Duration::from_millis(1500), ..Limits::default() };
        start_host(&HostPlan { limits, ..plan });
        wait_until("the record", || lab.has("host.1.json"));
        let record = lab.record(1);
        assert_eq!(record.ended_by, Some(EndedBy::HardTimeout), "{mechanism}");
        assert_eq!((record.signal.as_deref(), record.survivors_total), (Some("SIGKILL"), 1), "{mechanism}");
    }
}

/// Without a box this is not promised: the process has lost its parents, and the variable by which it would be found.
#[test]
fn nothing_in_a_box_outlives_a_killed_host() {
    if !mechanisms().contains(&BoxMechanism::Namespaces) {
        return;
    }
    let lab = HostLab::new();
    // No other process waits exactly as long.
    let time = format!("600.{}", std::process::id());
    let script = format!("setsid env -i sh -c 'exec sleep {time}' & echo ready > ready; wait");
    let mut plan = confined(&lab, &[], BoxMechanism::Namespaces);
    plan.argv = ["sh", "-c", &script].map(Into::into).to_vec();
    let owner = lab.start(&plan);
    lab.await_file("ready");
    let mut sleeper = None;
    wait_until("the tool", || {
        sleeper = lab::processes().map(|(pid, _)| pid).find(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == format!("sleep\0{time}\0").as_bytes())
        });
        sleeper.is_some()
    });
    lab::host::kill_host(&owner);
    wait_until("everything in the box is gone", || sleeper.is_some_and(is_gone));
    drop(owner);
}
