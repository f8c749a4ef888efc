//! kill -9, of the starter and of the host.

use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab, spawn, steps};
use lab::{Dice, is_gone, signal, wait_until};
use skillrun_collect::{Attached, attach};
use skillrun_model::EndedBy;

/// How often; `make kills` asks for more.
fn rounds() -> u32 {
    std::env::var("SKILLRUN_CHAOS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// An engine that works for a while: both streams, a file, a child that writes after its parent has gone.
const WORK: &str = r"out begin\n repeat 8 [ flood stdout 100K err working\n sleep 10 ] file made.txt text\n
    out end\n late 40 late\n exit 7";

#[test]
fn an_attempt_is_complete_whenever_its_starter_is_killed() {
    let undisturbed = HostLab::new();
    assert_eq!(undisturbed.run(&[], &steps(WORK)).status.code(), Some(7));
    let expected = host::read_back(&undisturbed.out(), 1);
    let mut dice = Dice::new();
    eprintln!("seed {}", dice.0);
    let (mut begun, mut attached) = (0, 0);
    for round in 0..rounds() {
        let lab = HostLab::new();
        let mut starter = spawn(&mut lab.capture(&[], &steps(WORK)));
        sleep(Duration::from_micros(dice.below(200_000)));
        starter.kill().expect("killed");
        starter.wait().expect("gone");
        // Before the host has its plan nothing is begun, and nothing is left.
        let claim = lab.audit().join("claim.1");
        let grace = Instant::now();
        while !claim.exists() && grace.elapsed() < Duration::from_millis(500) {
            sleep(Duration::from_millis(5));
        }
        if !claim.exists() {
            lab.assert_no_process_is_left();
            continue;
        }
        begun += 1;
        if let Attached::Live(mut owner) = attach(&lab.audit(), FIRST).expect("attached") {
            attached += 1;
            if round % 2 == 0 {
                // A second owner that is not killed is notified of the end.
                host::all_notices(&mut owner);
            }
        }
        let record = lab.record(1);
        assert_eq!((record.exit_code, record.ended_by), (Some(7), Some(EndedBy::Exited)), "round {round}");
        let fs_diff = record.fs_diff.expect("a diff");
        assert_eq!((fs_diff.created, fs_diff.modified, fs_diff.deleted), (1, 0, 0), "round {round}");
        assert!(host::read_back(&lab.out(), 1) == expected, "round {round}: the bytes differ");
        lab.wait_quiet();
        wait_until("the end of the host", || is_gone(record.host_pid));
        assert_eq!(lab.left(), undisturbed.left(), "round {round}");
    }
    eprintln!("{begun} of {} were begun, {attached} were attached to while they ran", rounds());
    assert!(begun > 0 && attached > 0, "no round was killed while it ran");
}

#[test]
fn what_a_killed_host_leaves_is_ended_by_the_next_who_attaches() {
    let words = "flood stdout 300K daemon [ silence ignore SIGTERM pid daemon.pid forever ]
        session [ ignore SIGHUP pid session.pid forever ]
        wait-file daemon.pid wait-file session.pid pid main.pid forever";
    let (lab, mut owner) = host::started(&steps(words));
    host::wait_for_stdout(&mut owner, 300 * 1024);
    lab.await_pid("main.pid");
    let before = lab.evidence("stdout.1.log");
    host::kill_host(&owner);
    assert!(!lab.alive().is_empty(), "children in sessions of their own outlive the host");
    let begin = Instant::now();
    let survivors = lab.attach_lost(FIRST);
    assert!(begin.elapsed() < Duration::from_secs(5), "it took {:?}", begin.elapsed());
    lab.assert_no_process_is_left();
    assert!(survivors >= 2, "{survivors}");
    assert_eq!(lab.evidence("stdout.1.log"), before);
    assert_eq!(lab.read_stdout(1), host::text(&host::flood(300 * 1024)));
    assert_eq!(lab.meta(1)["ended_by"], "host_lost");
    assert!(!lab.has("host.1.json"), "only a host writes its record");
    let summary = host::text(&lab.normalize(&["--engine", "codex"]).stdout);
    assert!(summary.contains("\"reason_code\":\"ATTEMPT_LOST\""), "{summary}");
}

#[test]
fn a_killed_host_does_not_stop_the_next_attempt() {
    let (lab, owner) = host::started(&["pid", "main.pid", "forever"]);
    lab.await_pid("main.pid");
    signal(owner.host_pid(), "KILL");
    drop(owner);
    // Its socket still exists, and no process listens on it.
    let output = lab.run(&[], &["out", "again\n"]);
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), "again\n".to_owned()));
    assert_eq!(lab.record(2).ended_by, Some(EndedBy::Exited));
    lab.wait_quiet();
}
