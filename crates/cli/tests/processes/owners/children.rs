//! kill -9 of owners and hosts while a run waits for other runs: no child is made twice or lost, no process is left, and
//! what the parent says of each child follows from the Log of the child.

use std::time::{Duration, Instant};

use lab::{Dice, Lab, TEST_TIMEOUT, is_end, kind};
use serde_json::Value;

/// Rounds in `make test`; `make kills` asks for more.
const ROUNDS: u32 = 6;

/// Owners that are killed in one round, at most.
const KILLS: u64 = 3;

const PARENT: &str = "
- - delegate: {do: spawn, request: {key: a, prompt: First.}}
  - delegate: {do: spawn, request: {key: b, prompt: Second.}}
  - delegate: {do: spawn, request: {key: a, prompt: First.}}
  - sleep_ms: 20
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated.outcome}}'}
    done: true
";

/// The run without a parent, if it exists.
fn top(lab: &Lab) -> Option<String> {
    let is_top = |run: &String| lab.events(run).first().is_some_and(|first| first["data"]["parent"].is_null());
    lab.runs().into_iter().find(is_top)
}

/// Plays a parent with two children. Owners are killed after these times, each counted from its start.
fn play(lab: &Lab, mut moments: impl Iterator<Item = Duration>) -> (Vec<Value>, u32) {
    let skill = lab.skill("parent", PARENT);
    let skill = skill.to_str().expect("a path");
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        assert!(begin.elapsed() < TEST_TIMEOUT, "no end in time: {:?}", lab.runs());
        let run = top(lab);
        if let Some(run) = run.as_ref().filter(|run| lab.events(run).last().is_some_and(is_end)) {
            lab.wait_quiet();
            return (lab.events(run), killed);
        }
        let words = match run {
            None => vec!["run", skill, "--engine", "scripted", "--mode", "auto", "--delegate", "--json"],
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

/// What the Log of a child says of its end, in the words of its parent.
fn own_end(events: &[Value]) -> &'static str {
    match events.last().map(kind) {
        Some("run.completed") => "completed",
        Some("run.failed") => "failed",
        Some("run.canceled") => "cancelled",
        other => panic!("a child ends with {other:?}"),
    }
}

fn check(lab: &Lab, events: &[Value], seed: u64) {
    let of = |word: &str| events.iter().filter(|event| kind(event) == word).collect::<Vec<_>>();
    let requested = of("subagent.requested");
    let keys: Vec<&str> = requested.iter().filter_map(|event| event["data"]["key"].as_str()).collect();
    assert_eq!(keys, ["a", "b"], "seed {seed}: each key is one child");
    assert_eq!(lab.runs().len(), 3, "seed {seed}: no child is made twice, and none is lost");
    let ended = of("subagent.ended");
    assert_eq!(ended.len(), 2, "seed {seed}: {ended:?}");
    for end in ended {
        let data = &end["data"];
        let child = lab.events(data["child_run_id"].as_str().expect("an id"));
        assert_eq!(data["status"], own_end(&child), "seed {seed}");
        assert_eq!(data["child_seq"], child.last().expect("an event")["seq"], "seed {seed}");
    }
    let last = events.last().expect("an event");
    assert_eq!(kind(last), "run.completed", "seed {seed}: {last}");
}

#[test]
fn whatever_moment_an_owner_is_killed_at_each_child_is_made_once() {
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
