//! Who runs when: limits, order, a full queue, and slots that always come back.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, on, sticky, with};
use skillrun_lifecycle::run::State;
use skillrun_model::rasp::EventType;
use skillrun_model::{ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runtime::{AcceptError, NewRun, SlotLimits};

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";
const HANGS: &str = "- - say: I begin.\n  - hang\n";
const ASKS: &str = "- - ask: {prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

fn is_running(state: &State) -> bool {
    state.status == Some(RunStatus::Running)
}

/// From the first attempt of each run to its end, or of each attempt alone.
fn intervals(lab: &RuntimeLab, run: RunId) -> Vec<(Timestamp, Timestamp)> {
    let mut begun = None;
    let mut intervals = Vec::new();
    for event in lab.events(run) {
        if event.event_type() == EventType::AttemptStarted {
            begun = Some(event.ts);
        } else if event.event_type() == EventType::AttemptEnded {
            intervals.extend(begun.take().map(|begun| (begun, event.ts)));
        }
    }
    intervals
}

/// The most runs that were active at any moment.
fn at_once(intervals: &[(Timestamp, Timestamp)]) -> usize {
    let holds = |moment: Timestamp| intervals.iter().filter(|(from, to)| *from <= moment && moment < *to).count();
    intervals.iter().map(|(from, _)| holds(*from)).max().unwrap_or_default()
}

#[test]
fn limits_of_all_of_each_engine_and_of_sticky_processes_hold() {
    let mut lab = RuntimeLab::new();
    lab.add_engine("second", "");
    lab.slots = SlotLimits {
        total: 3,
        per_engine: 2,
        by_engine: BTreeMap::from([("second".to_owned(), 1), ("impatient".to_owned(), 9)]),
        sticky: 2,
        queued: 100,
    };
    let runtime = lab.runtime();
    let slow = lab.new_run(ExecutionMode::Auto, &DONE.replace("- - ", "- - sleep_ms: 40\n  - "));
    let sticks = sticky(on(lab.new_run(ExecutionMode::Interactive, "- - sleep_ms: 40\n"), "impatient"));
    let mut runs = BTreeMap::<&str, Vec<RunId>>::new();
    for _ in 0..5 {
        runs.entry("scripted").or_default().push(runtime.submit(slow.clone()).expect("accepted"));
        runs.entry("second").or_default().push(runtime.submit(on(slow.clone(), "second")).expect("accepted"));
        runs.entry("sticky").or_default().push(runtime.submit(sticks.clone()).expect("accepted"));
    }
    for run in runs.values().flatten() {
        lab.wait_over(*run);
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let of = |names: &[&str]| -> Vec<_> {
        names.iter().flat_map(|name| &runs[name]).flat_map(|run| intervals(&lab, *run)).collect()
    };
    assert_eq!(of(&["scripted", "second", "sticky"]).len(), 15, "each had its attempt");
    assert!(at_once(&of(&["scripted", "second"])) <= 3);
    assert!(at_once(&of(&["scripted"])) <= 2);
    assert_eq!(at_once(&of(&["second"])), 1);
    assert!(at_once(&of(&["sticky"])) <= 2);
}

#[test]
fn slots_are_used_to_the_last_and_not_beyond() {
    let mut lab = RuntimeLab::new();
    lab.add_engine("second", "");
    lab.slots = SlotLimits { total: 3, per_engine: 2, sticky: 1, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let hangs = lab.new_run(ExecutionMode::Auto, HANGS);
    let waits = sticky(on(lab.new_run(ExecutionMode::Interactive, ASKS), "impatient"));
    let submit = |new: &NewRun| runtime.submit(new.clone()).expect("accepted");
    let first: Vec<RunId> = (0..3).map(|_| submit(&hangs)).collect();
    let second: Vec<RunId> = (0..2).map(|_| submit(&on(hangs.clone(), "second"))).collect();
    let sticks: Vec<RunId> = (0..2).map(|_| submit(&waits)).collect();
    for run in [first[0], first[1], second[0]] {
        lab.wait(run, "slot", is_running);
    }
    lab.wait_asked(sticks[0], 1);
    for run in [first[2], second[1], sticks[1]] {
        assert_eq!(lab.state(run).status, Some(RunStatus::Queued));
    }
    // A released slot goes to the first run that may have it: the first engine is still full, the second is not.
    runtime.cancel(second[0], "the test").expect("canceled");
    lab.wait(second[1], "slot", is_running);
    assert_eq!(lab.state(first[2]).status, Some(RunStatus::Queued));
    runtime.cancel(first[0], "the test").expect("canceled");
    lab.wait(first[2], "slot", is_running);
    // A process that waits keeps its slot.
    assert_eq!(lab.state(sticks[1]).status, Some(RunStatus::Queued));
    runtime.cancel(sticks[0], "the test").expect("canceled");
    lab.wait_asked(sticks[1], 1);
    for run in [first[1], first[2], second[1], sticks[1]] {
        runtime.cancel(run, "the test").expect("canceled");
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    first.iter().chain(&second).chain(&sticks).for_each(|run| lab.check_whole(*run));
}

#[test]
fn the_order_is_priority_and_then_arrival() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let holds = runtime.submit(lab.new_run(ExecutionMode::Auto, HANGS)).expect("accepted");
    lab.wait(holds, "slot", is_running);
    let new = lab.new_run(ExecutionMode::Auto, DONE);
    let with_priority = |priority| with(new.clone(), |options| options.priority = Some(priority));
    let runs = [0, 5, 0, 5, -1].map(|priority| runtime.submit(with_priority(priority)).expect("accepted"));
    runtime.cancel(holds, "the test").expect("canceled");
    runs.iter().for_each(|run| drop(lab.wait_over(*run)));
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|at| intervals(&lab, runs[*at])[0].0);
    assert_eq!(order, [1, 3, 0, 2, 4]);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

#[test]
fn a_full_queue_refuses_and_leaves_nothing_behind() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, queued: 2, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let folder = lab.path("project");
    fs::create_dir(&folder).expect("a folder");
    let holds = runtime.submit(lab.new_run(ExecutionMode::Auto, HANGS)).expect("accepted");
    lab.wait(holds, "slot", is_running);
    let new = lab.new_run(ExecutionMode::Auto, DONE);
    let queued = [(); 2].map(|()| runtime.submit(new.clone()).expect("accepted"));
    let in_folder = NewRun { workspace: Some((folder.clone(), skillrun_runs::record::Sharing::Alone)), ..new.clone() };
    for new in [new.clone(), in_folder.clone()] {
        let refused = runtime.submit(new).expect_err("full");
        assert!(matches!(refused, AcceptError::QueueFull { queued: 2 }), "{refused:?}");
        let words = "2 runs wait for their turn, and no more are allowed; try again later, or raise slots.queued";
        assert_eq!(refused.to_string(), words);
    }
    assert_eq!(lab.run_folders().len(), 3, "nothing is left of those");
    assert!(!lab.data().workspaces().exists(), "nor of their folder");
    runtime.cancel(queued[0], "the test").expect("canceled");
    let late = runtime.submit(in_folder).expect("there is room again");
    runtime.cancel(holds, "the test").expect("canceled");
    for run in [queued[1], late] {
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

#[test]
fn two_hundred_runs_of_all_kinds_leave_no_slot_taken() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 2, per_engine: 4, sticky: 2, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let auto = |script: &str| lab.new_run(ExecutionMode::Auto, script);
    let asks = lab.new_run(ExecutionMode::Interactive, ASKS);
    let decides = with(asks.clone(), |options| {
        options.require_user_reply = Some(false);
        options.session_timeout_sec = Some(0.01);
    });
    let removed = lab.path("removed");
    fs::create_dir(&removed).expect("a folder");
    let kinds = [
        auto(DONE),
        auto("- - exit: 3\n"),
        auto(HANGS),
        asks.clone(),
        decides.clone(),
        auto("- - crash: SIGKILL\n"),
        sticky(asks.clone()),
        sticky(decides),
        // It cannot even start: its folder is gone by then.
        NewRun { workspace: Some((removed.clone(), skillrun_runs::record::Sharing::Allowed)), ..auto(DONE) },
        with(auto(HANGS), |options| options.hard_timeout_sec = Some(0.02)),
    ];
    let runs: Vec<RunId> = (0..200)
        .map(|number| runtime.submit(kinds[number % kinds.len()].clone()).expect("accepted"))
        .inspect(|run| {
            // Early and late ones, queued and running ones.
            if run.to_string().ends_with(['0', '1', '2']) {
                runtime.cancel(*run, "the test").ok();
            }
        })
        .collect();
    fs::remove_dir_all(&removed).expect("removed");
    // What never ends by itself is ended once it has got somewhere; the others come to their end.
    let endless = |number: usize| [2, 3, 6].contains(&(number % kinds.len()));
    let numbered = runs.iter().copied().enumerate();
    let mut left: Vec<RunId> = numbered.filter(|(number, _)| endless(*number)).map(|(_, run)| run).collect();
    let begin = Instant::now();
    while !left.is_empty() {
        assert!(begin.elapsed() < TEST_TIMEOUT, "{} are left, the first of them {:?}", left.len(), lab.state(left[0]));
        std::thread::sleep(Duration::from_millis(20));
        left.retain(|run| {
            let state = lab.state(*run);
            let is_there = matches!(state.status, Some(RunStatus::WaitingUser | RunStatus::Running));
            if is_there && state.canceling.is_none() {
                runtime.cancel(*run, "the test").ok();
            }
            !state.is_over()
        });
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    for run in &runs {
        let state = lab.state(*run);
        assert!(state.is_over(), "{:?}", lab.types(*run));
        assert_eq!(lab.result(*run).status, state.status.expect("a status"));
    }
    // All slots are there: as many as there are can be taken at the same time.
    let turns = [(); 2].map(|()| runtime.submit(auto(HANGS)).expect("accepted"));
    let sticks = [(); 2].map(|()| runtime.submit(sticky(asks.clone())).expect("accepted"));
    turns.iter().for_each(|run| drop(lab.wait(*run, "slot", is_running)));
    sticks.iter().for_each(|run| drop(lab.wait_asked(*run, 1)));
    for run in turns.iter().chain(&sticks) {
        runtime.cancel(*run, "the test").expect("canceled");
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let left = lab::runtime::processes_of(&lab.data().runs().display().to_string());
    assert_eq!(left, Vec::<String>::new(), "no process is left");
}
