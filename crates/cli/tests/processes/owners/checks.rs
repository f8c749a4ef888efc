//! kill -9 of owners and hosts while a check runs: the run comes to the same end, a check whose host lives is not run
//! again, and one whose host was lost is, beside its incomplete recording.

use std::fs;
use std::time::{Duration, Instant};

use lab::{Dice, Lab, TEST_TIMEOUT, eventually, is_end, kind};
use serde_json::Value;

/// Rounds in `make test`; `make kills` asks for more.
const ROUNDS: u32 = 6;
const KILLS: u64 = 3;

const DONE: &str = "- - output: {answer: done}\n    done: true\n";

/// The number of times that a command with this name was started.
fn starts(lab: &Lab, name: &str) -> usize {
    fs::read_to_string(lab.path(name)).map_or(0, |text| text.lines().count())
}

/// A command that notes that it was started, and ends when the file `go` exists.
fn waits(lab: &Lab, name: &str) -> String {
    let (note, go) = (lab.path(name), lab.path("go"));
    format!("echo started | tee -a '{}'; until [ -e '{}' ]; do sleep 0.05; done", note.display(), go.display())
}

fn begun(lab: &Lab, checks: &[&str]) -> std::process::Child {
    let skill = lab.skill("checked", DONE);
    let mut words = vec!["run", skill.to_str().expect("a path"), "--engine", "scripted", "--mode", "auto", "--json"];
    for check in checks {
        words.extend(["--check", check]);
    }
    lab.start(&words)
}

fn ends(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| kind(event) == "check.ended").map(|event| &event["data"]).collect()
}

fn finished(lab: &Lab, run: &str) -> Vec<Value> {
    eventually("the end of the run", || {
        let events = lab.events(run);
        events.last().is_some_and(is_end).then_some(events)
    })
}

/// Kills the host of the first check, as soon as this recording has output.
fn kill_host(lab: &Lab, run: &str, recording: usize) {
    let folder = lab.data().join("runs").join(run).join(".audit/checks/1");
    eventually("output of the check", || {
        let text = fs::read(folder.join(format!("stdout.{recording}.log"))).ok()?;
        (text == b"started\n").then_some(())
    });
    let claim = fs::read(folder.join(format!("claim.{recording}"))).expect("a claim");
    let claim: Value = serde_json::from_slice(&claim).expect("JSON");
    lab::signal(claim["host_pid"].as_u64().expect("a number"), "KILL");
}

#[test]
fn check_of_a_killed_owner_is_continued_and_not_repeated() {
    let lab = Lab::new();
    let mut owner = begun(&lab, &[&waits(&lab, "starts")]);
    eventually("a start of the check", || (starts(&lab, "starts") == 1).then_some(()));
    let run = lab.runs().pop().expect("a run");
    lab::kill(&mut owner);
    assert_eq!(lab.events(&run).last().map(|event| event["data"]["phase"].clone()), Some("checking".into()));
    fs::write(lab.path("go"), "").expect("written");
    let mut next = lab.start(&["recover", "--json"]);
    let events = finished(&lab, &run);
    lab::wait_exit(&mut next);
    let [end] = ends(&events)[..] else { panic!("{events:?}") };
    assert_eq!((&end["status"], &end["recording"]), (&"passed".into(), &1.into()));
    assert_eq!(starts(&lab, "starts"), 1);
    assert_eq!(events.last().map(kind), Some("run.completed"));
    lab.wait_quiet();
}

#[test]
fn check_of_a_killed_host_is_run_again_beside_its_recording() {
    let lab = Lab::new();
    let mut owner = begun(&lab, &[&waits(&lab, "starts")]);
    let run = eventually("a run", || lab.runs().pop());
    kill_host(&lab, &run, 1);
    eventually("another start of the check", || (starts(&lab, "starts") == 2).then_some(()));
    fs::write(lab.path("go"), "").expect("written");
    let events = finished(&lab, &run);
    lab::wait_exit(&mut owner);
    let [end] = ends(&events)[..] else { panic!("{events:?}") };
    assert_eq!((&end["status"], &end["recording"]), (&"passed".into(), &2.into()));
    let folder = lab.data().join("runs").join(&run).join(".audit/checks/1");
    assert_eq!(fs::read(folder.join("stdout.1.log")).expect("evidence"), b"started\n", "evidence is never altered");
    lab.wait_quiet();
}

#[test]
fn check_whose_host_is_lost_again_and_again_fails() {
    let lab = Lab::new();
    let mut owner = begun(&lab, &[&waits(&lab, "starts")]);
    let run = eventually("a run", || lab.runs().pop());
    for recording in 1..=3 {
        kill_host(&lab, &run, recording);
    }
    let events = finished(&lab, &run);
    lab::wait_exit(&mut owner);
    let last = events.last().expect("an end");
    assert_eq!(last["data"]["error"]["message"], "the check \"check 1\" did not end: its host was lost 3 times");
    assert_eq!(starts(&lab, "starts"), 3);
    lab.wait_quiet();
}

/// Plays a run with two checks. Owners are killed after these times, each counted from its start.
fn play(lab: &Lab, mut moments: impl Iterator<Item = Duration>) -> (Vec<Value>, u32) {
    let skill = lab.skill("checked", DONE);
    let note = |name: &str| format!("echo started >> '{}'; sleep 0.1", lab.path(name).display());
    let (first, second) = (note("first"), note("second"));
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        assert!(begin.elapsed() < TEST_TIMEOUT, "no end in time: {:?}", lab.runs());
        let run = lab.runs().pop().filter(|run| !lab.events(run).is_empty());
        if let Some(run) = run.as_ref().filter(|run| lab.events(run).last().is_some_and(is_end)) {
            lab.wait_quiet();
            return (lab.events(run), killed);
        }
        let skill = skill.to_str().expect("a path");
        let words = match run {
            None => vec![
                "run", skill, "--engine", "scripted", "--mode", "auto", "--json", "--check", &first, "--check", &second,
            ],
            Some(_) => vec!["recover", "--json"],
        };
        let mut owner = lab.start(&words);
        let (started, moment) = (Instant::now(), moments.next());
        while owner.try_wait().expect("waited").is_none() {
            if moment.is_some_and(|moment| started.elapsed() >= moment) {
                killed += 1;
                lab::kill(&mut owner);
                break;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "{words:?} does not come to an end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn check(lab: &Lab, events: &[Value], seed: u64) {
    let statuses: Vec<_> = ends(events).iter().map(|end| (end["check"].clone(), end["status"].clone())).collect();
    assert_eq!(statuses, [(1.into(), "passed".into()), (2.into(), "passed".into())], "seed {seed}");
    assert_eq!(events.last().map(kind), Some("run.completed"), "seed {seed}");
    // Hosts live longer than their owners, so no owner repeats what its predecessor began.
    assert_eq!((starts(lab, "first"), starts(lab, "second")), (1, 1), "seed {seed}");
}

#[test]
fn whatever_moment_an_owner_is_killed_at_each_check_is_run_once() {
    let rounds = std::env::var("SKILLRUN_CHAOS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let begin = Instant::now();
    let lab = Lab::new();
    let (events, _) = play(&lab, std::iter::empty());
    check(&lab, &events, 0);
    let range = u64::try_from(begin.elapsed().as_millis()).unwrap_or(1000).max(50);
    let mut owners = 0;
    for _ in 0..rounds {
        let mut dice = Dice::new();
        let (seed, lab) = (dice.0, Lab::new());
        let kills = 1 + dice.below(KILLS);
        let moments: Vec<Duration> = (0..kills).map(|_| Duration::from_millis(dice.below(range))).collect();
        let (events, killed) = play(&lab, moments.into_iter());
        check(&lab, &events, seed);
        owners += killed;
    }
    eprintln!("{rounds} rounds, {owners} owners killed at work");
}
