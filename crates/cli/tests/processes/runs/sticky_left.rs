//! A process that lives on between turns, and owners that leave it at the worst moment.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lab::runtime::{RuntimeLab, reply, sticky, with};
use skillrun_model::{ExecutionMode, RunStatus, Timestamp};
use skillrun_runtime::{Clock, RuntimeError, SystemClock};

const ASKS: &str = "- - ask: {prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

const HOUR: f64 = 3600.0;

/// A clock that can be put forward.
#[derive(Debug, Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_nanos(self.0.load(Ordering::SeqCst))
    }

    fn running(&self) -> Duration {
        SystemClock.running() + Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

/// Regression: the next owner asked once more for the attempt that the host was opening, was refused, took that for a
/// process about to leave, and closed its input. Found by the simulation.
#[test]
fn a_new_owner_waits_for_an_attempt_being_opened() {
    let mut lab = RuntimeLab::new();
    // A host waits a second for the end of a line that is begun, before it opens the next attempt.
    lab.wrap_engine("printf begun >&2");
    let (runtime, run) = lab.begin(sticky(lab.new_run(ExecutionMode::Interactive, ASKS)));
    let audit = lab.data().run(run).audit();
    lab.wait_until("claim of the next attempt", || audit.join("claim.2").exists());
    let runtime = lab.next_owner(runtime, run);
    lab.wait(run, "end of the turn", |state| !state.attempt_is_open && state.attempt.0 == 1);
    lab.answer(&runtime, run, 1, "blue");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.failure(run));
    let hosts = lab.hosts(run);
    assert_eq!(hosts, [hosts[0]; 2], "one process all along");
    assert_eq!(lab.output(run)["answer"], "blue");
}

/// The time of a question is up, and its run ends. Its process is ended after the Log has the reason and before it has the
/// end: an owner that died in between would otherwise leave a process that is never found, or one that ended for no
/// reason. Found by the simulation.
#[test]
fn an_expired_question_ends_its_process_before_the_run() {
    let mut lab = RuntimeLab::new();
    let clock = Arc::new(Ahead::default());
    lab.clock = clock.clone();
    let new = with(sticky(lab.new_run(ExecutionMode::Interactive, ASKS)), |options| {
        options.require_user_reply = Some(true);
        options.session_timeout_sec = Some(HOUR);
    });
    let (runtime, run) = lab.begin(new);
    lab.wait_asked(run, 1);
    let folder = lab.data().run(run);
    let has_process = || !lab.processes(run).is_empty();
    assert!(has_process());
    // Without its file the Log takes nothing, as if the owner had died before it could append.
    let log = fs::read(folder.events()).expect("a Log");
    fs::remove_file(folder.events()).expect("removed");
    clock.0.store(2 * 3600 * 1_000_000_000, Ordering::SeqCst);
    // Any request causes the deadline to be checked. A worker that only now begins to wait checks it before the request.
    let refused = runtime.reply(run, reply(9, "red"));
    assert!(matches!(refused, Err(RuntimeError::Refused { .. } | RuntimeError::Log(_))), "{refused:?}");
    assert!(has_process(), "its end has no reason in the Log");
    drop(runtime);
    fs::write(folder.events(), log).expect("written");
    let runtime = lab.runtime();
    runtime.take_up(run).expect("taken up");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Failed));
    assert!(!has_process(), "it is ended before the run");
}
