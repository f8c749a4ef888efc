//! What people say to a run, at good moments and at bad ones.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient, reply, sticky, with};
use skillrun_lifecycle::run::Refusal;
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::status::Phase;
use skillrun_model::{Code, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};
use skillrun_runtime::{Clock, Reply, Runtime, RuntimeError, SlotLimits, SystemClock};

const ASKS: &str = "- - ask: {prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
const ASKS_TWICE: &str = "- - ask: {prompt: One?}\n- - ask: {prompt: Two?}\n- - say: I work.\n  - hang\n";
const HANGS: &str = "- - say: I begin.\n  - hang\n";

fn refusal(said: Result<(), RuntimeError>) -> Refusal {
    let error = said.expect_err("refused");
    let RuntimeError::Refused { refusal, .. } = error else { panic!("{error}") };
    refusal
}

/// Who answered, in the order of the Log.
fn answers(lab: &RuntimeLab, run: RunId) -> Vec<(u32, ResolutionMode)> {
    let events = lab.events(run);
    let answer = |data: &Data| {
        let Data::Control(ControlData::InteractionReplied(reply)) = data else { return None };
        Some((reply.interaction_id.0, reply.resolution_mode))
    };
    events.iter().filter_map(|event| answer(&event.data)).collect()
}

fn stale(asked: u32, open: Option<u32>) -> Refusal {
    Refusal::Stale { asked: InteractionId(asked), open: open.map(InteractionId) }
}

#[test]
fn only_the_question_that_is_open_can_be_answered() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Interactive, ASKS_TWICE);
    for new in [new.clone(), sticky(new)] {
        let run = runtime.submit(new).expect("accepted");
        lab.wait_asked(run, 1);
        assert_eq!(refusal(runtime.reply(run, reply(2, "too early"))), stale(2, Some(1)));
        runtime.reply(run, reply(1, "one")).expect("answered");
        lab.wait_asked(run, 2);
        assert_eq!(refusal(runtime.reply(run, reply(1, "too late"))), stale(1, Some(2)));
        runtime.reply(run, reply(2, "two")).expect("answered");
        lab.wait_said(run, "I work.");
        assert_eq!(refusal(runtime.reply(run, reply(2, "again"))), stale(2, None));
        runtime.cancel(run, "the test").expect("canceled");
        lab.finish(&runtime, run);
        assert_eq!(refusal(runtime.reply(run, reply(2, "over"))), Refusal::Over);
        assert_eq!(answers(&lab, run), [(1, ResolutionMode::UserReply), (2, ResolutionMode::UserReply)]);
    }
}

#[test]
fn the_same_request_is_carried_out_once() {
    let (lab, runtime) = RuntimeLab::running();
    let new =
        lab.new_run(ExecutionMode::Interactive, &ASKS.replace("- - output", "- - ask: {prompt: More?}\n- - output"));
    for new in [new.clone(), sticky(new)] {
        let run = runtime.submit(new).expect("accepted");
        let said = |number: u32, key: &str| Reply { request_id: Some(key.to_owned()), ..reply(number, "blue") };
        let again = |number: u32| Refusal::Repeated { interaction_id: InteractionId(number) };
        lab.wait_asked(run, 1);
        runtime.reply(run, said(1, "key-1")).expect("answered");
        assert_eq!(refusal(runtime.reply(run, said(1, "key-1"))), again(1));
        lab.wait_asked(run, 2);
        assert_eq!(refusal(runtime.reply(run, said(2, "key-1"))), again(1), "a key names what it named first");
        runtime.reply(run, said(2, "key-2")).expect("answered");
        lab.finish(&runtime, run);
        assert_eq!(refusal(runtime.reply(run, said(1, "key-1"))), again(1));
        assert_eq!(refusal(runtime.reply(run, said(2, "key-2"))), again(2));
        assert_eq!(refusal(runtime.reply(run, said(2, "key-3"))), Refusal::Over);
        assert_eq!(answers(&lab, run).len(), 2);
    }
}

/// Sleeps until shortly before or after a moment.
fn sleep_until(moment: Timestamp, off_by_ms: i64) {
    let left = i64::try_from(moment.millis_since(SystemClock.now()).unwrap_or_default()).unwrap_or_default();
    let wait = u64::try_from(left + off_by_ms).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(wait));
}

#[test]
fn of_an_answer_and_an_expiry_exactly_one_wins() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 8, per_engine: 16, sticky: 8, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let new = with(lab.new_run(ExecutionMode::Interactive, ASKS), |options| {
        options.require_user_reply = Some(false);
        options.session_timeout_sec = Some(0.1);
    });
    let strict = with(sticky(new.clone()), |options| options.require_user_reply = Some(true));
    let kinds = [new.clone(), sticky(new), strict];
    let race = |runtime: &Runtime, number: usize| {
        let run = runtime.submit(kinds[number % 3].clone()).expect("accepted");
        // The question may be decided before a client has seen it.
        let state = lab.wait(run, "question", |state| state.interactions > 0);
        let deadline = state.question.and_then(|question| question.deadline);
        if let Some(deadline) = deadline {
            sleep_until(deadline, number as i64 % 5 - 2);
        }
        (run, runtime.reply(run, reply(1, "blue")))
    };
    let outcomes: Vec<(usize, RunId, Result<(), RuntimeError>)> = std::thread::scope(|scope| {
        let (runtime, race) = (&runtime, &race);
        let racers: Vec<_> = (0..30).map(|number| scope.spawn(move || (number, race(runtime, number)))).collect();
        racers.into_iter().map(|racer| racer.join().expect("a race")).map(|(n, (run, said))| (n, run, said)).collect()
    });
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    for (number, run, said) in outcomes {
        let fails = number % 3 == 2;
        let state = lab.wait_over(run);
        let by = answers(&lab, run);
        match said {
            Ok(()) => {
                assert_eq!(by, [(1, ResolutionMode::UserReply)]);
                assert_eq!(lab.output(run)["answer"], "blue");
            }
            Err(RuntimeError::Refused { .. }) if fails => {
                assert_eq!((by, lab.failure(run)), (Vec::new(), Some(Code::InteractionWaitTimeout)));
            }
            Err(RuntimeError::Refused { .. }) => {
                assert_eq!(by, [(1, ResolutionMode::AutoDecideTimeout)]);
                assert_eq!((state.status, state.auto_decisions), (Some(RunStatus::Succeeded), 1));
            }
            Err(other) => panic!("{other}"),
        }
        lab.check_whole(run);
    }
}

#[test]
fn of_two_answers_exactly_one_wins() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Interactive, ASKS);
    for new in [new.clone(), sticky(new)] {
        for _ in 0..5 {
            let run = runtime.submit(new.clone()).expect("accepted");
            lab.wait_asked(run, 1);
            let won: Vec<usize> = std::thread::scope(|scope| {
                let runtime = &runtime;
                let say = |n: usize| scope.spawn(move || (n, runtime.reply(run, reply(1, &n.to_string())).is_ok()));
                let said: Vec<_> = (0..4).map(say).collect();
                let said = said.into_iter().map(|said| said.join().expect("said"));
                said.filter(|(_, won)| *won).map(|(n, _)| n).collect()
            });
            lab.finish(&runtime, run);
            assert_eq!(lab.output(run)["answer"], won[0].to_string());
            assert_eq!((won.len(), answers(&lab, run).len()), (1, 1));
        }
    }
}

#[test]
fn files_come_with_an_answer() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Interactive, ASKS);
    for new in [new.clone(), sticky(new)] {
        let run = runtime.submit(new).expect("accepted");
        lab.wait_asked(run, 1);
        let inputs = lab.data().run(run).inputs();
        fs::create_dir_all(&inputs).expect("a folder");
        for name in ["a.txt", "b c.png"] {
            fs::write(inputs.join(name), name).expect("written");
        }
        let files = vec!["a.txt".to_owned(), "b c.png".to_owned()];
        runtime.reply(run, Reply { files: files.clone(), ..reply(1, "these") }).expect("answered");
        lab.finish(&runtime, run);
        let answer = lab.output(run)["answer"].as_str().expect("text").to_owned();
        let (words, listed) = answer.split_once("\n\n").expect("words and files");
        assert_eq!(words, "these");
        let listed: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        let read: Vec<String> = listed.iter().map(|path| fs::read_to_string(path).expect("readable")).collect();
        assert_eq!(read, files, "as sent to the engine");
        let events = lab.events(run);
        let given =
            |data: &Data| matches!(data, Data::Control(ControlData::InteractionReplied(reply)) if reply.files == files);
        assert!(events.iter().any(|event| given(&event.data)));
    }
}

fn cancels(lab: &RuntimeLab, run: RunId) -> usize {
    let is_cancel = |data: &Data| matches!(data, Data::Control(ControlData::RunStatus(change)) if change.phase == Some(Phase::Canceling));
    lab.events(run).iter().filter(|event| is_cancel(&event.data)).count()
}

#[test]
fn a_cancel_counts_once_in_any_state() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let stubborn = "- - ignore: [SIGINT, SIGTERM]\n  - say: I stay.\n  - hang\n";
    let stays = runtime.submit(impatient(lab.new_run(ExecutionMode::Auto, stubborn))).expect("accepted");
    let queued = runtime.submit(lab.new_run(ExecutionMode::Auto, HANGS)).expect("accepted");
    lab.wait_said(stays, "I stay.");
    runtime.cancel(queued, "somebody").expect("canceled");
    assert_eq!(lab.state(queued).status, Some(RunStatus::Canceled), "nothing had to be waited for");
    assert_eq!(lab.result(queued).attempts, 0);
    assert!(!lab.types(queued).contains(&"attempt.started"));
    for _ in 0..3 {
        // The last of them may find it over.
        match runtime.cancel(stays, "somebody") {
            Ok(()) => {}
            Err(error) => assert_eq!(refusal(Err(error)), Refusal::Over),
        }
    }
    lab.wait_over(stays);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    for run in [stays, queued] {
        assert_eq!(refusal(runtime.cancel(run, "somebody")), Refusal::Over);
        assert_eq!(cancels(&lab, run), 1);
        lab.check_whole(run);
    }
    assert_eq!(lab.verdicts(stays)[0].reason_code, Code::Canceled);
    assert_eq!(lab.state(stays).canceling.as_deref(), Some("somebody"));
}

#[test]
fn a_cancel_and_an_answer_that_race_leave_a_run_that_is_over() {
    let (lab, runtime) = RuntimeLab::running();
    let new = lab.new_run(ExecutionMode::Interactive, ASKS);
    for new in [new.clone(), sticky(new)] {
        for _ in 0..6 {
            let run = runtime.submit(new.clone()).expect("accepted");
            lab.wait_asked(run, 1);
            std::thread::scope(|scope| {
                scope.spawn(|| runtime.reply(run, reply(1, "blue")).ok());
                scope.spawn(|| runtime.cancel(run, "somebody").ok());
            });
            let state = lab.finish(&runtime, run);
            assert!(matches!(state.status, Some(RunStatus::Canceled | RunStatus::Succeeded)), "{:?}", state.status);
        }
    }
}

/// A run was lost for good when a client read it just as it got its slot.
#[test]
fn unrequested_answers_delay_no_run() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 2, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let new = lab.new_run(ExecutionMode::Auto, "- - output: {answer: blue}\n");
    let runs: Vec<RunId> = (0..15).map(|_| runtime.submit(new.clone()).expect("accepted")).collect();
    let is_over = AtomicBool::new(false);
    let is_idle = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                runs.iter().for_each(|run| drop(runtime.reply(*run, reply(1, "never asked"))));
            }
        });
        let is_idle = runtime.wait_idle(TEST_TIMEOUT);
        is_over.store(true, Ordering::Relaxed);
        is_idle
    });
    assert!(is_idle);
    for run in &runs {
        assert_eq!(lab.state(*run).status, Some(RunStatus::Succeeded));
        lab.check_whole(*run);
    }
}

/// Regression: `skillrun reply --no-wait` sometimes stayed for the whole turn, because its run was handed over twice: by
/// the command, and by the process that ended while the worker of the run had not quite left it.
#[test]
fn run_that_was_released_is_not_handed_over_once_more() {
    let lab = RuntimeLab::new();
    let new = lab.new_run(ExecutionMode::Interactive, &format!("- - ask: {{prompt: Go?}}\n{HANGS}"));
    for _ in 0..5 {
        let runtime = lab.runtime();
        let run = runtime.submit(new.clone()).expect("accepted");
        lab.wait_asked(run, 1);
        assert!(runtime.wait_for(run, TEST_TIMEOUT));
        runtime.reply(run, reply(1, "go")).expect("answered");
        runtime.let_go(run);
        assert!(!runtime.has(run), "the worker has left it");
        assert_eq!(runtime.leave(), Vec::<RunId>::new());
        drop(runtime);
        let next = lab.runtime();
        next.cancel(run, "the test").expect("canceled");
        lab.finish(&next, run);
    }
}
