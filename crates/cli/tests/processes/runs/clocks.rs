//! The wall clock is set while a question waits for its answer: the question is neither decided at once nor kept waiting for
//! hours more.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, reply, sticky, with};
use skillrun_model::{ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runtime::{Clock, NewRun, SystemClock};

use super::recover;

const ASKS: &str = "- - ask: {prompt: Which?}\n- - output: {answer: blue}\n    done: true\n";
const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

const HOUR: i64 = 3600;

/// A wall clock that can be set; time runs as it does.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl SetClock {
    fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let (now, off_by) = (SystemClock.now(), self.0.load(Ordering::SeqCst));
        let millis = now.millis_since(Timestamp::EPOCH).expect("after the epoch");
        let millis = millis.checked_add_signed(off_by * 1000).expect("a moment");
        Timestamp::EPOCH.plus_nanos(millis * 1_000_000)
    }

    fn running(&self) -> Duration {
        SystemClock.running()
    }
}

/// A question that is decided automatically after this many seconds.
fn decided_after(lab: &RuntimeLab, seconds: f64) -> NewRun {
    with(lab.new_run(ExecutionMode::Interactive, ASKS), |options| {
        options.require_user_reply = Some(false);
        options.session_timeout_sec = Some(seconds);
    })
}

fn lab() -> (RuntimeLab, Arc<SetClock>) {
    let mut lab = RuntimeLab::new();
    let clock = Arc::new(SetClock::default());
    lab.clock = clock.clone();
    (lab, clock)
}

fn is_decided(lab: &RuntimeLab, run: RunId) -> bool {
    lab.types(run).contains(&"interaction.timeout")
}

#[test]
fn a_clock_set_forward_decides_nothing() {
    let (lab, clock) = lab();
    let runtime = lab.runtime();
    let new = decided_after(&lab, 600.0);
    let runs = [new.clone(), sticky(new)].map(|new| runtime.submit(new).expect("accepted"));
    runs.iter().for_each(|run| drop(lab.wait_asked(*run, 1)));
    lab.wait_until("rest of the one without a process", || lab.state(runs[0]).rests());
    clock.set(3 * HOUR);
    // Both who wait are woken: the one by another run, the other by an answer to no question.
    let other = runtime.submit(lab.new_run(ExecutionMode::Auto, DONE)).expect("accepted");
    lab.wait_over(other);
    runtime.reply(runs[1], reply(9, "red")).expect_err("no such question");
    std::thread::sleep(Duration::from_millis(300));
    for run in runs {
        assert!(!is_decided(&lab, run), "{:?}", lab.types(run));
        runtime.reply(run, reply(1, "blue")).expect("it waits");
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

#[test]
fn a_clock_set_back_keeps_no_question_waiting() {
    let (lab, clock) = lab();
    let runtime = lab.runtime();
    let new = decided_after(&lab, 0.5);
    let runs = [new.clone(), sticky(new)].map(|new| runtime.submit(new).expect("accepted"));
    runs.iter().for_each(|run| drop(lab.wait(*run, "question", |state| state.interactions > 0)));
    clock.set(-3 * HOUR);
    for run in runs {
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
        assert!(is_decided(&lab, run));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

/// Only the wall clock shows the next owner how much time has passed. A question waits no longer than its whole time
/// once more, and one whose time is up by that clock is decided at once.
#[test]
fn the_next_owner_trusts_the_wall_clock_within_limits() {
    let (lab, clock) = lab();
    for (seconds, set) in [(1.0, -3 * HOUR), (600.0, 3 * HOUR)] {
        clock.set(0);
        let (runtime, run) = lab.begin(decided_after(&lab, seconds));
        lab.wait(run, "rest", |state| state.rests() || state.is_over());
        drop(runtime);
        clock.set(set);
        let runtime = lab.runtime();
        recover(&lab, &runtime);
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded), "set by {set} s");
        assert!(is_decided(&lab, run));
        assert!(runtime.wait_idle(TEST_TIMEOUT));
    }
}
