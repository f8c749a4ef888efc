//! Runs that wait for quota, with the program as a person uses it, and with owners that are killed between two of them.

use std::time::Duration;

use lab::{Lab, eventually, is_end, kind, wait_exit, wait_until};
use serde_json::Value;

/// Each kills an owner a little later after the end of the first run.
const ROUNDS: u64 = 6;

fn no_quota(when: &str) -> String {
    format!("- - fail: 'Rate limit reached for the model. Please try again in {when}.'\n")
}

/// The run of two that comes after the other.
fn second(lab: &Lab) -> Option<String> {
    let is_retry = |run: &String| lab.events(run).first().is_some_and(|event| event["data"]["retry_of"].is_string());
    lab.runs().into_iter().find(is_retry)
}

/// The words of a run of the skill `probe`.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let words = ["run", "./probe", "--engine", "scripted", "--mode", "auto", "--retry-quota", "wait"];
    [&words[..], more].concat()
}

/// Whenever the owner dies, there is exactly one run after the first, and nothing is added to that.
#[test]
fn an_owner_killed_between_two_runs_leaves_exactly_one() {
    for round in 0..ROUNDS {
        let lab = Lab::with_skill("probe", &no_quota("1s"));
        let mut owner = lab.start(&words(&["--retry-quota-max", "1", "--json"]));
        let first = eventually("end", || {
            let runs = lab.runs();
            runs.into_iter().find(|run| lab.events(run).last().is_some_and(is_end))
        });
        std::thread::sleep(Duration::from_millis(round * 3));
        lab::kill(&mut owner);
        let before = lab.events(&first);
        let recovered = lab.json(&["recover", "--json"]);
        assert_eq!(recovered["broken"], serde_json::json!({}), "round {round}");
        let runs = lab.runs();
        assert_eq!(runs.len(), 2, "round {round}: {runs:?}");
        let again = second(&lab).expect("a retry");
        assert_eq!(before.last().map(|end| &end["data"]["retry"]["run_id"]), Some(&Value::from(again.as_str())));
        lab.wait_end(&again);
        let events = lab.events(&again);
        assert_eq!(events.last().map(kind), Some("run.failed"), "round {round}");
        assert_eq!(events[0]["data"]["retry_of"], first.as_str());
        assert_eq!(lab.events(&first), before, "round {round}: the Log was over");
        lab.wait_quiet();
    }
}

#[test]
fn run_follows_the_new_run_and_says_so() {
    let lab = Lab::with_skill("probe", &no_quota("50ms"));
    let output = lab.output(&words(&["--retry-quota-max", "1", "--json"]));
    let again = second(&lab).expect("a retry");
    let (told, result) = (String::from_utf8_lossy(&output.stderr), serde_json::from_slice::<Value>(&output.stdout));
    assert!(told.contains(&format!("retrying as run {again}, not before ")), "{told}");
    assert_eq!(result.expect("a result")["run_id"], again.as_str(), "the last one's");
    assert_eq!(output.status.code(), Some(1));
    lab.wait_quiet();
}

#[test]
fn a_run_that_waits_is_shown_and_canceled_from_elsewhere() {
    let lab = Lab::with_skill("probe", &no_quota("1h"));
    let mut follower = lab.start(&words(&["--json"]));
    let again = eventually("retry", || second(&lab));
    let text = |words: &[&str]| String::from_utf8_lossy(&lab.output(words).stdout).into_owned();
    let listed = text(&["ls"]);
    assert!(listed.contains("queued") && listed.contains("not before "), "{listed}");
    assert!(text(&["show", &again]).contains("not before"), "{}", text(&["show", &again]));
    assert!(text(&["diagnose", &again]).contains("not before"));
    let first = lab.events(&again)[0]["data"]["retry_of"].as_str().expect("an id").to_owned();
    let shown = text(&["show", &first]);
    assert!(shown.contains("resets ") && shown.contains(&format!("skillrun show {again}")), "{shown}");
    assert!(text(&["diagnose", &first]).contains("resets at"));
    lab.printed(&["cancel", &again]);
    assert_eq!(wait_exit(&mut follower).code(), Some(8));
    assert_eq!(lab.runs().len(), 2);
    lab.wait_quiet();
}

/// Regression: `recover` stayed until the last run that waited had begun, for hours or weeks.
#[test]
fn recover_leaves_waiting_runs_to_one_background_owner() {
    let lab = Lab::with_skill("probe", &no_quota("1h"));
    let mut owners = [lab.start(&words(&["--json"])), lab.start(&words(&["--json"]))];
    let is_retry = |run: &String| lab.events(run).first().is_some_and(|event| event["data"]["retry_of"].is_string());
    let waiting = || lab.runs().into_iter().filter(is_retry).collect::<Vec<_>>();
    let is_queued = |run: &String| lab.events(run).iter().any(|event| kind(event) == "run.status");
    wait_until("retries", || waiting().len() == 2 && waiting().iter().all(is_queued));
    for owner in &mut owners {
        lab::kill(owner);
    }
    let recovered = lab.json(&["recover", "--json"]);
    for run in waiting() {
        let not_before = &lab.events(&run)[0]["data"]["not_before"];
        assert_eq!((&recovered["taken_up"][&run], &recovered["later"][&run]), (&Value::from("queued"), not_before));
    }
    assert_eq!(recovered["later"].as_object().map(serde_json::Map::len), Some(2));
    let sockets = || {
        let entries = std::fs::read_dir(lab.data().join("owners")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "sock")).count()
    };
    wait_until("one owner", || sockets() == 1 && lab.processes().len() == 1);
    for run in waiting() {
        lab.printed(&["cancel", &run]);
    }
    lab.wait_quiet();
}

/// A command that does not stay leaves it to an owner in the background, which waits for the moment.
#[test]
fn with_no_wait_a_background_owner_continues() {
    let lab = Lab::with_skill("probe", &no_quota("1s"));
    assert!(lab.output(&words(&["--retry-quota-max", "1", "--no-wait"])).status.success());
    let again = eventually("retry", || second(&lab));
    lab.wait_end(&again);
    assert_eq!(lab.runs().len(), 2);
    lab.wait_quiet();
}

/// Several owners have it in their queues; the lock lets one of them run it.
#[test]
fn a_run_that_waits_with_two_owners_runs_once() {
    let lab = Lab::with_skill("probe", &no_quota("2s"));
    let mut owner = lab.start(&words(&["--retry-quota-max", "1", "--json"]));
    let again = eventually("retry", || second(&lab).filter(|run| lab.events(run).len() > 1));
    lab::kill(&mut owner);
    let mut owners = [lab.start(&["own", "--all"]), lab.start(&["own", "--all"]), lab.start(&["own", "--all"])];
    lab.wait_end(&again);
    for owner in &mut owners {
        assert!(wait_exit(owner).success());
    }
    let events = lab.events(&again);
    let count = |word: &str| events.iter().filter(|event| kind(event) == word).count();
    assert_eq!((count("attempt.started"), count("attempt.ended"), lab.runs().len()), (1, 1, 2));
    lab.wait_quiet();
}
