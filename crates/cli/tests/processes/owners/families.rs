//! kill -9 of a server, of the host of a parent and of the host of a child at random moments: no child is made twice or
//! lost, no process is left, and no wait says more of a child than its Log.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use lab::{Dice, Lab, TEST_TIMEOUT, is_end, kind, signal};
use serde_json::{Value, json};

/// Rounds in `make test`; `make kills` asks for more.
const ROUNDS: u32 = 4;

/// Processes that are killed in one round, at most.
const KILLS: u64 = 3;

/// Moments of kills are below this, in milliseconds: an undisturbed round takes as long.
const RANGE: u64 = 600;

const PARENT: &str = "
- - delegate: {do: spawn, request: {key: a, skill: works}}
  - delegate: {do: spawn, request: {key: b, prompt: Second.}}
  - delegate: {do: spawn, request: {key: a, skill: works}}
  - sleep_ms: 20
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated}}'}
    done: true
";

const WORKS: &str = "- - say: I begin.\n  - sleep_ms: 150\n  - output: {answer: done}\n    done: true\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    ParentHost,
    ChildHost,
}

impl Victim {
    const ALL: [Self; 3] = [Self::Server, Self::ParentHost, Self::ChildHost];
}

#[derive(Debug, Default)]
struct Tally {
    rounds: u32,
    killed: BTreeMap<Victim, u32>,
    hit_rounds: u32,
    /// Ends of parents and of children, by status.
    parents: BTreeMap<String, u32>,
    children: BTreeMap<String, u32>,
    /// Outcomes of waits that a parent has answered with.
    waits: BTreeMap<String, u32>,
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u32>, key: K) {
    *counts.entry(key).or_default() += 1;
}

/// The host of one of these runs. It has nothing but its open files that says whose it is.
fn host_of(lab: &Lab, runs: &[String]) -> Option<u32> {
    let folders: Vec<_> = runs.iter().map(|run| lab.run_folder(run)).collect();
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let is_host = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.starts_with(b"skillrun"));
        let mut files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        is_host
            && files.any(|file| {
                let target = fs::read_link(file.path()).unwrap_or_default();
                folders.iter().any(|folder| target.starts_with(folder))
            })
    })
}

/// The ids of the children that a Log has.
fn requested(events: &[Value]) -> Vec<String> {
    let requested = events.iter().filter(|event| kind(event) == "subagent.requested");
    requested.filter_map(|event| event["data"]["child_run_id"].as_str().map(str::to_owned)).collect()
}

/// Plays a parent with two children to its end. Gives back its id.
fn play(lab: &Lab, mut kills: Vec<(Duration, Victim)>, tally: &mut Tally) -> String {
    lab.installed_skill("parent", PARENT);
    lab.installed_skill("works", WORKS);
    let mut server = lab.serve();
    let parent = server.run("parent", json!({ "options": { "delegation": {} } }));
    let begin = Instant::now();
    let mut has_hit = false;
    kills.sort();
    while !lab.events(&parent).last().is_some_and(is_end) {
        assert!(begin.elapsed() < TEST_TIMEOUT, "no end in time: {:#?}", lab.events(&parent));
        // A host that does not live yet is killed as soon as it does.
        let due = kills.first().filter(|(moment, _)| begin.elapsed() >= *moment).map(|(_, victim)| *victim);
        let host = match due {
            Some(Victim::ParentHost) => host_of(lab, std::slice::from_ref(&parent)),
            Some(Victim::ChildHost) => host_of(lab, &requested(&lab.events(&parent))),
            Some(Victim::Server) | None => None,
        };
        if let Some(pid) = host {
            signal(pid, "KILL");
        } else if due == Some(Victim::Server) {
            server.kill();
            server = lab.serve();
        }
        if let Some(victim) = due.filter(|victim| host.is_some() || *victim == Victim::Server) {
            kills.remove(0);
            has_hit = true;
            count(&mut tally.killed, victim);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    server.stop();
    lab.wait_quiet();
    tally.rounds += 1;
    tally.hit_rounds += u32::from(has_hit);
    parent
}

/// What a parent may say of a child with this Log.
fn own_end(events: &[Value]) -> &'static str {
    let last = events.last().expect("an event");
    match kind(last) {
        "run.completed" => "completed",
        "run.failed" if last["data"]["error"]["category"] == "timeout" => "timed_out",
        "run.failed" => "failed",
        "run.canceled" => "cancelled",
        other => panic!("a child ends with {other}"),
    }
}

fn check(lab: &Lab, parent: &str, seed: u64, tally: &mut Tally) {
    let events = lab.events(parent);
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>(), "seed {seed}");
    let keys: Vec<&str> = events.iter().filter_map(|event| event["data"]["key"].as_str()).collect();
    assert!(["a", "b"].starts_with(&keys), "seed {seed}: each key is one child, in order: {keys:?}");
    let ends: Vec<&Value> = events.iter().filter(|event| kind(event) == "subagent.ended").collect();
    let mut made = 0;
    let mut states = BTreeMap::new();
    for child in requested(&events) {
        let own: Vec<&Value> = ends.iter().map(|end| &end["data"]).filter(|end| end["child_run_id"] == child).collect();
        let [end] = own[..] else { panic!("seed {seed}: the ends of {child} are {own:?}") };
        let log = lab.events(&child);
        count(&mut tally.children, end["status"].as_str().unwrap_or_default().to_owned());
        states.insert(child, end["status"].clone());
        if log.is_empty() {
            assert_eq!(end["reason"], "CHILD_NOT_MADE", "seed {seed}: the child is lost");
            continue;
        }
        made += 1;
        assert_eq!(log[0]["data"]["parent"]["run_id"], parent, "seed {seed}");
        assert_eq!(end["status"], own_end(&log), "seed {seed}: {end}");
        assert_eq!(end["child_seq"], log.last().expect("an event")["seq"], "seed {seed}");
        assert_eq!(log.iter().filter(|event| is_end(event)).count(), 1, "seed {seed}");
    }
    assert_eq!(lab.runs().len(), 1 + made, "seed {seed}: no child is made twice, and none is lost");
    let last = events.last().expect("an event");
    count(&mut tally.parents, kind(last).to_owned());
    if kind(last) == "run.completed" {
        let output = lab.run_json(parent, "result.json")["output"]["answer"].as_str().map(str::to_owned);
        let wait: Value = serde_json::from_str(&output.expect("an answer")).expect("JSON");
        check_wait(&wait, &states, seed, tally);
    }
}

/// What the last wait of a parent gave, against the ends in its Log.
fn check_wait(wait: &Value, states: &BTreeMap<String, Value>, seed: u64, tally: &mut Tally) {
    if wait["is"] == "refused" {
        return count(&mut tally.waits, "refused".to_owned());
    }
    let outcome = wait["outcome"].as_str().expect("an outcome");
    count(&mut tally.waits, outcome.to_owned());
    let runs = wait["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), states.len(), "seed {seed}: {wait}");
    for run in runs {
        let state = &states[run["run_id"].as_str().expect("an id")];
        let is_open = ["queued", "running", "needs_orchestrator"].iter().any(|open| run["state"] == *open);
        assert!(
            run["state"] == *state || (is_open && outcome == "incomplete"),
            "seed {seed}: {run}, and it is {state}"
        );
    }
    let all_completed = runs.iter().all(|run| run["state"] == "completed");
    assert_eq!(outcome == "completed", all_completed, "seed {seed}: {wait}");
}

#[test]
fn a_family_survives_kills_of_server_and_hosts() {
    let rounds = std::env::var("SKILLRUN_CHAOS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut tally = Tally::default();
    for round in 0..rounds {
        let mut dice = Dice::new();
        let (seed, lab) = (dice.0, Lab::new());
        let kills = (0..1 + dice.below(KILLS)).map(|number| {
            // Each of the three comes first as often as the others.
            let at = if number == 0 { u64::from(round) % 3 } else { dice.below(3) };
            let victim = Victim::ALL[usize::try_from(at).expect("below 3")];
            (Duration::from_millis(dice.below(RANGE)), victim)
        });
        let kills = kills.collect();
        let parent = play(&lab, kills, &mut tally);
        check(&lab, &parent, seed, &mut tally);
    }
    eprintln!("{tally:?}");
    // A host lives for a part of the time alone; in a few rounds that is chance.
    assert!(rounds < 40 || tally.hit_rounds >= rounds / 2, "too few rounds were disturbed: {tally:?}");
}

/// It asks once before its server is killed, and once after.
const PATIENT: &str = "
- - delegate: {do: spawn, request: {key: a, skill: works}}
  - sleep_ms: 1500
  - delegate: {do: spawn, request: {key: b, skill: works}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: '{{delegated}}'}
    done: true
";

/// In a box, too, an engine reaches the socket of the owner that continues its run.
#[test]
fn a_parent_in_a_box_asks_its_next_owner() {
    let lab = Lab::new();
    lab.settings("box = \"on\"\n");
    lab.installed_skill("parent", PATIENT);
    lab.installed_skill("works", WORKS);
    let server = lab.serve();
    let parent = server.run("parent", json!({ "options": { "delegation": {} } }));
    lab::wait_until("the first child", || !requested(&lab.events(&parent)).is_empty());
    server.kill();
    let server = lab.serve();
    lab::wait_until("the end", || lab.events(&parent).last().is_some_and(is_end));
    let events = lab.events(&parent);
    assert_eq!(kind(events.last().expect("an event")), "run.completed", "{events:#?}");
    assert_eq!(requested(&events).len(), 2, "{events:#?}");
    let wait = lab.run_json(&parent, "result.json")["output"]["answer"].as_str().map(str::to_owned);
    let wait: Value = serde_json::from_str(&wait.expect("an answer")).expect("JSON");
    assert_eq!(wait["outcome"], "completed", "{wait}");
    server.stop();
    lab.wait_quiet();
    let left = fs::read_dir(lab.data().join("delegation")).expect("a folder").count();
    assert_eq!(left, 0, "the folders of sockets are gone with their runs");
}
