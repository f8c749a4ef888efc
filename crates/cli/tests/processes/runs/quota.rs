//! An engine without quota: what is reported, and a run that waits until the quota resets.

use std::fs;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, reply, with};
use serde_json::{Value, json};
use skillrun_log::{EventLog, FileLog};
use skillrun_model::codes::{ErrorCategory, NextActionKind};
use skillrun_model::rasp::data::{PlannedRetry, RunFailed, RunStarted};
use skillrun_model::rasp::{ControlData, Data, EventType};
use skillrun_model::status::OnQuota;
use skillrun_model::verdict::RunError;
use skillrun_model::{ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runs::RunRecord;
use skillrun_runs::record::{QuotaRetry, Sharing};
use skillrun_runtime::runtime::{Recovered, TakenUp};
use skillrun_runtime::{NewRun, SlotLimits};

use super::recover;
use crate::SKILLRUN;

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

/// The engine fails, and says when to ask again.
fn no_quota(when: &str) -> String {
    format!("- - fail: 'Rate limit reached for the model. Please try again in {when}.'\n")
}

fn waiting(new: NewRun) -> NewRun {
    with(new, |options| options.retry_quota = Some(OnQuota::Wait))
}

fn failed(lab: &RuntimeLab, run: RunId) -> RunFailed {
    lab.failed(run).unwrap_or_else(|| panic!("no failure: {:?}", lab.types(run)))
}

fn planned(lab: &RuntimeLab, run: RunId) -> PlannedRetry {
    failed(lab, run).retry.expect("a retry")
}

fn record(lab: &RuntimeLab, run: RunId) -> RunRecord {
    RunRecord::read(&lab.data().run(run).record()).expect("a record")
}

/// Waits until a run that was planned is accepted.
fn wait_made(lab: &RuntimeLab, run: RunId) {
    let events = lab.data().run(run).events();
    let is_accepted = || lab.state(run).status.is_some();
    lab.wait_until("a new run", || events.exists() && is_accepted());
}

fn is_queued(lab: &RuntimeLab, run: RunId) -> bool {
    lab.state(run).status == Some(RunStatus::Queued)
}

/// An engine that has no quota the first time, and then does as its script says. The retry has a copy of the script, so
/// the script itself cannot distinguish the two.
fn without_quota_once(lab: &mut RuntimeLab, when: &str) {
    let fails = lab.script(&no_quota(when));
    let (fails, first) = (fails.display(), lab.path("first"));
    let fail = format!("shift 3; exec '{SKILLRUN}' simulate-scripted --script '{fails}' \"$@\"");
    lab.wrap_engine(&format!("if mkdir '{}' 2>/dev/null; then {fail}; fi", first.display()));
}

#[test]
fn the_end_event_says_when_the_quota_resets() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, &no_quota("1h"));
    lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let RunFailed { error, retry, next_actions, .. } = failed(&lab, run);
    assert_eq!((error.category, retry), (ErrorCategory::Quota, None), "no retry was requested");
    let ended = lab.events(run).last().map(|event| event.ts).expect("an end");
    let left = error.reset_at.expect("a moment").millis_since(ended).expect("later");
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    let in_result = lab.result(run).error.and_then(|error| error.reset_at);
    assert_eq!(in_result.map(|at| at.to_string()), error.reset_at.map(|at| at.to_string()));
    let later = next_actions.iter().find(|next| next.action == NextActionKind::RetryLater).expect("an action");
    assert_eq!(later.command, format!("skillrun retry {run}"));
    assert_eq!(lab.run_folders().len(), 1);
}

#[test]
fn the_same_is_tried_again_as_a_new_run_when_the_quota_is_there() {
    let mut lab = RuntimeLab::new();
    without_quota_once(&mut lab, "1s");
    let (runtime, run) = lab.begin(waiting(lab.new_run(ExecutionMode::Auto, DONE)));
    lab.finish(&runtime, run);
    let PlannedRetry { run_id: again, not_before } = planned(&lab, run);
    wait_made(&lab, again);
    assert_eq!(lab.wait_over(again).status, Some(RunStatus::Succeeded));
    assert_eq!(lab.output(again), json!({ "answer": "blue" }));
    let events = lab.events(again);
    let Some(Data::Control(ControlData::RunStarted(RunStarted { retry_of, not_before: told, .. }))) =
        events.first().map(|event| &event.data)
    else {
        panic!("{:?}", lab.types(again))
    };
    assert_eq!((*retry_of, *told), (Some(run), Some(not_before)));
    let begun = events.iter().find(|event| event.event_type() == EventType::AttemptStarted).expect("an attempt");
    assert!(begun.ts >= not_before, "{} is before {not_before}", begun.ts);
    let reset = failed(&lab, run).error.reset_at.expect("a moment");
    assert!(not_before >= reset);
    assert_eq!(record(&lab, again).quota_retry, Some(QuotaRetry { number: 1, not_before }));
    assert!(lab.result(run).next_actions.iter().any(|next| next.command == format!("skillrun show {again}")));
    lab.check_whole(again);
    assert_eq!(lab.run_folders().len(), 2);
}

#[test]
fn others_pass_a_run_that_waits_and_it_is_canceled_at_once() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, ..SlotLimits::default() };
    let (runtime, run) = lab.begin(waiting(lab.new_run(ExecutionMode::Auto, &no_quota("1h"))));
    lab.wait_over(run);
    let again = planned(&lab, run).run_id;
    wait_made(&lab, again);
    assert!(is_queued(&lab, again));
    let other = runtime.submit(lab.new_run(ExecutionMode::Auto, DONE)).expect("accepted");
    assert_eq!(lab.wait_over(other).status, Some(RunStatus::Succeeded));
    assert!(is_queued(&lab, again) && runtime.has(again));
    runtime.cancel(again, "the test").expect("canceled");
    assert_eq!(lab.state(again).status, Some(RunStatus::Canceled));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    lab.check_whole(again);
    assert_eq!(lab.run_folders().len(), 3, "nothing comes after it");
}

#[test]
fn a_chain_has_an_end() {
    let (lab, runtime) = RuntimeLab::running();
    let new = with(waiting(lab.new_run(ExecutionMode::Auto, &no_quota("20ms"))), |options| {
        options.retry_quota_max = Some(2);
    });
    let first = runtime.submit(new).expect("accepted");
    let mut chain = vec![first];
    for number in 1..=2 {
        let last = *chain.last().expect("a run");
        lab.wait_over(last);
        let next = planned(&lab, last).run_id;
        wait_made(&lab, next);
        assert_eq!(record(&lab, next).quota_retry.map(|retry| retry.number), Some(number));
        chain.push(next);
    }
    let last = *chain.last().expect("a run");
    lab.wait_over(last);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(failed(&lab, last).retry, None);
    assert_eq!(lab.run_folders().len(), 3);
    chain.iter().for_each(|run| lab.check_whole(*run));
}

/// The skill may ask for it as well, and an unknown word is refused.
#[test]
fn a_skill_may_wait_for_quota() {
    let (lab, runtime) = RuntimeLab::running();
    let of = |retry: Value| NewRun {
        task: lab.skill("waits", json!({ "runtime_options": { "retry": retry } })).into(),
        ..lab.new_run(ExecutionMode::Auto, DONE)
    };
    let run = runtime.accept(of(json!({ "quota": "wait", "quota_max": 3 }))).expect("accepted");
    let retry = record(&lab, run).request.retry;
    assert_eq!((retry.quota, retry.quota_max), (OnQuota::Wait, 3));
    let run = runtime.accept(of(json!({ "quota": "wait" }))).expect("accepted");
    assert_eq!(record(&lab, run).request.retry.quota_max, 29, "a day if no time is given");
    let many = with(waiting(lab.new_run(ExecutionMode::Auto, DONE)), |options| options.retry_quota_max = Some(101));
    let error = runtime.accept(many).expect_err("refused").to_string();
    assert!(error.contains("retry.quota_max is 101, and must be at most 100"), "{error}");
    for wrong in [json!("wait"), json!({ "quota": 1 }), json!({ "quota_max": -1 }), json!({ "quota_max": 101 })] {
        let error = runtime.accept(of(wrong.clone())).expect_err("refused").to_string();
        assert!(error.contains("retry"), "{wrong}: {error}");
    }
}

/// An owner that dies between the end of a run and its retry: the next owner creates the retry, with the same id and the
/// same moment, and it is not created twice.
#[test]
fn a_retry_that_was_not_made_is_made_once() {
    let lab = RuntimeLab::new();
    let (run, plan) = left_waiting(&lab, lab.new_run(ExecutionMode::Auto, &no_quota("1h")));
    let folder = lab.data().run(plan.run_id);
    let made = |what: &str| {
        let runtime = lab.runtime();
        let recovered = recover(&lab, &runtime);
        assert_eq!((recovered.broken, recovered.working), (Vec::new(), vec![plan.run_id]), "{what}");
        assert!(is_queued(&lab, plan.run_id) && runtime.has(plan.run_id), "{what}");
        assert_eq!(record(&lab, plan.run_id).not_before(), Some(plan.not_before), "{what}");
        assert_eq!(lab.run_folders().len(), 2, "{what}");
        let first = lab.events(plan.run_id).first().map(|event| event.ts);
        drop(runtime);
        first
    };
    let first = made("it is there");
    fs::remove_dir_all(folder.root()).expect("removed");
    let second = made("it was never begun");
    assert_ne!(first, second, "made again");
    fs::remove_dir_all(folder.root()).expect("removed");
    fs::create_dir_all(folder.root().join("skill")).expect("a folder");
    fs::write(folder.events(), "").expect("written");
    let third = made("it was begun");
    assert_ne!(second, third);
    assert_eq!(made("nothing is left to do"), third);
    assert_eq!(failed(&lab, run).retry, Some(plan), "nothing was added to the Log that was over");
}

/// A run that was removed is not made again.
#[test]
fn a_retry_that_was_removed_stays_so() {
    let lab = RuntimeLab::new();
    let (runtime, run) = lab.begin(waiting(lab.new_run(ExecutionMode::Auto, &no_quota("1h"))));
    lab.wait_over(run);
    let again = planned(&lab, run).run_id;
    wait_made(&lab, again);
    assert!(is_queued(&lab, again));
    runtime.cancel(again, "the test").expect("canceled");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    drop(runtime);
    let log = FileLog::new(lab.data().runs());
    log.remove(again, Timestamp::EPOCH).expect("removed");
    let runtime = lab.runtime();
    assert_eq!(recover(&lab, &runtime), Recovered::default());
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert!(!lab.data().run(again).events().exists());
}

/// A run that failed, and its waiting retry, which no process owns now.
fn left_waiting(lab: &RuntimeLab, new: NewRun) -> (RunId, PlannedRetry) {
    let (_runtime, run) = lab.begin(waiting(new));
    lab.wait_over(run);
    let plan = planned(lab, run);
    wait_made(lab, plan.run_id);
    (run, plan)
}

fn remove(lab: &RuntimeLab, run: RunId) {
    fs::remove_dir_all(lab.data().run(run).root()).expect("removed");
}

/// Regression: a retry that could not be made was made at any later start, weeks later too.
#[test]
fn an_obsolete_retry_is_not_created() {
    let lab = RuntimeLab::new();
    let (run, plan) = left_waiting(&lab, lab.new_run(ExecutionMode::Auto, &no_quota("1h")));
    remove(&lab, plan.run_id);
    let events = lab.data().run(run).events();
    let text = fs::read_to_string(&events).expect("a Log");
    let told = plan.not_before.to_string();
    assert!(text.contains(&told));
    fs::write(&events, text.replace(&told, "2020-01-01T00:00:00.000000Z")).expect("written");
    let runtime = lab.runtime();
    assert_eq!(recover(&lab, &runtime), Recovered::default());
    assert_eq!(runtime.take_up(run).expect("taken up"), TakenUp::Over, "for every process");
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(lab.run_folders().len(), 1);
}

/// Regression: where the retry could not be made, each start gave up at once, and each run started one more owner.
#[test]
fn a_failed_retry_is_repeated_and_blocks_nothing() {
    let lab = RuntimeLab::new();
    let (folder, away) = (lab.path("folder"), lab.path("away"));
    fs::create_dir(&folder).expect("a folder");
    let new = NewRun {
        workspace: Some((folder.clone(), Sharing::Alone)),
        ..lab.new_run(ExecutionMode::Auto, &no_quota("1h"))
    };
    let (run, plan) = left_waiting(&lab, new);
    remove(&lab, plan.run_id);
    fs::rename(&folder, &away).expect("moved");
    let runtime = lab.runtime();
    let recovered = recover(&lab, &runtime);
    let stuck: Vec<RunId> = recovered.stuck.iter().map(|(run, _)| *run).collect();
    assert_eq!((&recovered.broken, stuck.as_slice()), (&Vec::new(), [run].as_slice()));
    assert!(recovered.stuck[0].1.contains("tried again"), "{recovered:?}");
    assert!(runtime.has(run) && runtime.wait_only_later(&stuck, TEST_TIMEOUT), "nothing waits for it");
    fs::rename(&away, &folder).expect("moved");
    wait_made(&lab, plan.run_id);
    lab.wait_until("peace", || runtime.trouble(run).is_none() && !runtime.has(run));
    assert_eq!(runtime.later(), [(plan.run_id, plan.not_before)]);
}

/// Regression: a retry whose first batch was cut began at once.
#[test]
fn a_retry_with_only_its_first_event_waits_for_its_time() {
    let lab = RuntimeLab::new();
    let (_, plan) = left_waiting(&lab, lab.new_run(ExecutionMode::Auto, &no_quota("1h")));
    let events = lab.data().run(plan.run_id).events();
    let text = fs::read_to_string(&events).expect("a Log");
    fs::write(&events, text.lines().take(1).map(|line| format!("{line}\n")).collect::<String>()).expect("written");
    assert_eq!(lab.state(plan.run_id).status, None);
    let runtime = lab.runtime();
    assert_eq!(recover(&lab, &runtime).working, [plan.run_id]);
    assert_eq!(lab.types(plan.run_id), ["run.started", "run.status"]);
    assert!(is_queued(&lab, plan.run_id));
    assert_eq!(runtime.later(), [(plan.run_id, plan.not_before)]);
}

/// Regression: changes of a skill while a run waited were run, without a request to do so.
#[test]
fn a_retry_has_the_skill_that_was_asked_for() {
    let lab = RuntimeLab::new();
    let new = lab.new_run(ExecutionMode::Auto, &no_quota("1h"));
    let source = new.task.skill().expect("a skill").root.join("SKILL.md");
    let (run, plan) = left_waiting(&lab, new);
    remove(&lab, plan.run_id);
    let before = fs::read_to_string(&source).expect("a skill");
    fs::write(&source, format!("{before}\nDo something else.\n")).expect("written");
    let runtime = lab.runtime();
    recover(&lab, &runtime);
    let copy = fs::read_to_string(lab.data().run(plan.run_id).skill().join("SKILL.md")).expect("a copy");
    assert_eq!(copy, before);
    let (first, again) = (record(&lab, run).skill, record(&lab, plan.run_id).skill);
    assert_eq!(again, first, "and it records where it came from");
}

#[test]
fn the_folder_of_a_waiting_run_is_refused_with_its_time() {
    let lab = RuntimeLab::new();
    let folder = lab.path("folder");
    fs::create_dir(&folder).expect("a folder");
    let of = |script: &str| NewRun {
        workspace: Some((folder.clone(), Sharing::Alone)),
        ..lab.new_run(ExecutionMode::Auto, script)
    };
    let (_, PlannedRetry { run_id, not_before }) = left_waiting(&lab, of(&no_quota("1h")));
    let error = lab.runtime().submit(of(DONE)).expect_err("refused").to_string();
    let expected = format!(
        "run {run_id} works in this folder, not before {not_before}; wait for it, end it with `skillrun cancel {run_id}`, or give --share to both"
    );
    assert!(error.ends_with(&expected), "{error}");
}

/// Regression: with a clock that was set back, an answer to a retry waited for the moment of its beginning again.
#[test]
fn an_answer_does_not_wait_for_the_moment_of_the_beginning() {
    let script = "- - ask: {prompt: Which colour?}\n- - output: {answer: blue}\n    done: true\n";
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Interactive, script);
    lab.wait_asked(run, 1);
    drop(runtime);
    let not_before = Timestamp::EPOCH
        .plus_nanos(lab.events(run)[0].ts.millis_since(Timestamp::EPOCH).expect("now") * 1_000_000 + 3_600_000_000_000);
    let again = RunRecord { quota_retry: Some(QuotaRetry { number: 1, not_before }), ..record(&lab, run) };
    again.write(&lab.data().run(run).record()).expect("written");
    let runtime = lab.runtime();
    runtime.reply(run, reply(1, "blue")).expect("answered");
    assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

/// Words that a login needs are those of the engine.
#[test]
fn a_refused_login_names_the_engines_own_command() {
    let lab = RuntimeLab::new();
    lab.add_engine("locked", "[login]\ncommand = \"locked login\"\n");
    let runtime = lab.runtime();
    let refuses = "- - fail: 'unexpected status 401 Unauthorized: Incorrect API key provided: dummy'\n";
    for (engine, command) in [("locked", "locked login"), ("scripted", "skillrun engines list")] {
        let new = NewRun { engine: engine.to_owned(), ..waiting(lab.new_run(ExecutionMode::Auto, refuses)) };
        let run = runtime.submit(new).expect("accepted");
        lab.wait_over(run);
        let RunFailed { error: RunError { category, reset_at, .. }, next_actions, retry, .. } = failed(&lab, run);
        assert_eq!((category, reset_at, retry), (ErrorCategory::Auth, None, None));
        assert_eq!((next_actions[0].action, next_actions[0].command.as_str()), (NextActionKind::LoginEngine, command));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}
