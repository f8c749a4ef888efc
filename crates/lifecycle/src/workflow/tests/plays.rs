//! Whole workflows, one test per rule.

use skillrun_model::RunStatus;
use skillrun_model::codes::Code;
use skillrun_model::rasp::{ControlData, Data, EventType};
use skillrun_model::workflow::{
    AskMoment, OnStepFailure, RetryCause, StepRetries, StepState as S, StepWorkspace, WorkflowOutcome as O,
    WorkflowStep,
};

use super::stage::{Fate, Stage, asking, needing, plan, repeated, step};
use crate::run::{Input, Refusal};

fn ready(_: &str) -> Fate {
    Fate::Ready
}

/// The steps whose names begin with one of these end so; all others become ready.
fn only(names: &'static [(&'static str, Fate)]) -> impl Fn(&str) -> Fate {
    move |key| names.iter().find(|(name, _)| key.starts_with(name)).map_or(Fate::Ready, |(_, fate)| *fate)
}

fn diamond() -> Vec<WorkflowStep> {
    vec![step("a"), needing("b", &["a"]), needing("c", &["a"]), needing("d", &["b", "c"])]
}

#[test]
fn steps_begin_when_what_they_need_is_ready() {
    let mut stage = Stage::new(plan(diamond()));
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Completed);
    assert!(stage.end().ok);
    assert_eq!(stage.states(), [S::Ready; 4]);
    let scheduled: Vec<String> =
        stage.told().into_iter().filter(|word| word.starts_with("workflow.step_scheduled")).collect();
    let names: Vec<&str> = scheduled.iter().filter_map(|word| word.split(' ').nth(1)).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(stage.state.status, Some(RunStatus::Succeeded));
}

#[test]
fn a_failed_step_stops_the_workflow_and_what_is_ready_can_be_used() {
    let mut stage = Stage::new(plan(diamond()));
    stage.play(&only(&[("b", Fate::Failed)]));
    assert_eq!((stage.outcome(), stage.end().ok), (O::Partial, false));
    assert_eq!(stage.states(), [S::Ready, S::Failed, S::Ready, S::Skipped]);
    assert_eq!(stage.state.status, Some(RunStatus::Failed));
    let usable: Vec<bool> = stage.end().steps.iter().map(|step| step.usable).collect();
    assert_eq!(usable, [true, false, true, false]);
}

#[test]
fn all_failed_is_failed() {
    let mut stage = Stage::new(plan(vec![step("a"), step("b")]));
    stage.play(&|_| Fate::Failed);
    assert_eq!(stage.outcome(), O::Failed);
}

#[test]
fn a_partial_step_unlocks_no_other() {
    for fate in [Fate::Partial, Fate::Missing] {
        let mut stage = Stage::new(plan(vec![
            WorkflowStep { on_failure: OnStepFailure::Continue, ..step("a") },
            needing("b", &["a"]),
        ]));
        stage.play(&move |key| if key.starts_with('a') { fate } else { Fate::Ready });
        assert_eq!(stage.states(), [S::Partial, S::Skipped]);
        assert_eq!(stage.end().steps[1].reason, Code::StepNotReady);
        // Only a validated output makes a partial step usable.
        let expected = if fate == Fate::Partial { O::Partial } else { O::Failed };
        assert_eq!(stage.outcome(), expected, "{fate:?}");
    }
}

#[test]
fn an_output_that_does_not_fit_is_a_failure() {
    let mut stage = Stage::new(plan(vec![step("a")]));
    stage.play(&|_| Fate::Unfit);
    assert_eq!((stage.outcome(), stage.end().steps[0].reason), (O::Failed, Code::StepOutputInvalid));
}

#[test]
fn an_optional_step_may_fail() {
    let optional = WorkflowStep { required: false, on_failure: OnStepFailure::Continue, ..step("a") };
    let mut stage = Stage::new(plan(vec![optional, step("b")]));
    stage.play(&only(&[("a", Fate::Failed)]));
    assert_eq!((stage.outcome(), stage.states()), (O::Completed, vec![S::Failed, S::Ready]));
}

#[test]
fn on_failure_continue_leaves_other_branches_alone() {
    let mut steps = diamond();
    steps[1].on_failure = OnStepFailure::Continue;
    steps.push(needing("e", &["c"]));
    let mut stage = Stage::new(plan(steps));
    stage.play(&only(&[("b", Fate::Failed)]));
    assert_eq!(stage.states(), [S::Ready, S::Failed, S::Ready, S::Skipped, S::Ready]);
}

#[test]
fn a_timeout_and_an_unanswered_question_have_outcomes_of_their_own() {
    let outcome = |fate| {
        let mut stage = Stage::new(plan(vec![step("a")]));
        stage.play(&move |_| fate);
        stage.outcome()
    };
    assert_eq!(outcome(Fate::TimedOut), O::TimedOut);
    assert_eq!(outcome(Fate::Unanswered), O::Held);
}

#[test]
fn the_next_engine_is_tried_without_counting_as_a_retry() {
    let two = WorkflowStep { engines: vec!["a".to_owned(), "b".to_owned()], ..step("a") };
    for fate in [Fate::Quota, Fate::EngineMissing] {
        let mut stage = Stage::new(plan(vec![two.clone()]));
        stage.play(&move |key| if key.ends_with("#1") { fate } else { Fate::Ready });
        assert_eq!((stage.outcome(), stage.count(EventType::StepScheduled)), (O::Completed, 2), "{fate:?}");
    }
    // A failure of the agent is not one of the engine: it may have had effects.
    let mut stage = Stage::new(plan(vec![two]));
    stage.play(&|_| Fate::Failed);
    assert_eq!((stage.outcome(), stage.count(EventType::StepScheduled)), (O::Failed, 1));
}

#[test]
fn retries_are_for_the_listed_causes_and_bounded() {
    let retries = StepRetries { max: 2, on: vec![RetryCause::Quota] };
    let mut stage = Stage::new(plan(vec![WorkflowStep { retries: retries.clone(), ..step("a") }]));
    stage.play(&|_| Fate::Quota);
    assert_eq!((stage.outcome(), stage.count(EventType::StepScheduled)), (O::Failed, 3));
    let waits: Vec<bool> = stage
        .log
        .iter()
        .filter_map(|event| {
            let Data::Control(ControlData::StepScheduled(step)) = &event.data else { return None };
            Some(step.not_before.is_some())
        })
        .collect();
    assert_eq!(waits, [false, true, true], "it waits for quota");
    let network = StepRetries { max: 2, on: vec![RetryCause::Network] };
    let mut stage = Stage::new(plan(vec![WorkflowStep { retries: network, ..step("a") }]));
    stage.play(&|_| Fate::Quota);
    assert_eq!(stage.count(EventType::StepScheduled), 1, "quota is not in its list");
    let mut stage = Stage::new(plan(vec![WorkflowStep { retries, ..step("a") }]));
    stage.play(&|_| Fate::Failed);
    assert_eq!(stage.count(EventType::StepScheduled), 1, "a retry must not repeat a side effect");
}

#[test]
fn writers_in_the_shared_folder_work_alone_and_readers_together() {
    use skillrun_model::status::Permission;
    let shared = |id: &str, permission| WorkflowStep {
        workspace: StepWorkspace::Shared,
        permission: Some(permission),
        ..step(id)
    };
    let steps = vec![
        shared("r1", Permission::ReadOnly),
        shared("r2", Permission::ReadOnly),
        shared("w1", Permission::Workspace),
        shared("w2", Permission::Full),
        step("own"),
    ];
    let mut stage = Stage::new(plan(steps));
    let mut together: Vec<Vec<String>> = Vec::new();
    loop {
        stage.conduct(&ready);
        let working = stage.working();
        let mut names: Vec<String> = working.iter().map(|child| stage.made[child].clone()).collect();
        names.sort();
        together.push(names);
        let Some(child) = working.first().copied() else { break };
        stage.child_ends(child, &ready);
    }
    assert_eq!(together[0], ["own#1", "r1#1", "r2#1"]);
    for names in &together {
        let writers = names.iter().filter(|name| name.starts_with('w')).count();
        let readers = names.iter().filter(|name| name.starts_with('r')).count();
        assert!(writers <= 1 && (writers == 0 || readers == 0), "{names:?}");
    }
    assert_eq!(stage.outcome(), O::Completed);
}

#[test]
fn no_more_children_work_at_once_than_the_file_allows() {
    let mut two = plan((0..6).map(|number| step(&format!("s{number}"))).collect());
    two.concurrency = 2;
    let mut stage = Stage::new(two);
    stage.conduct(&ready);
    assert_eq!(stage.working().len(), 2);
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Completed);
}

#[test]
fn a_step_that_repeats_is_ready_when_all_items_are() {
    let mut stage = Stage::new(plan(vec![repeated("a", &[]), needing("b", &["a"])]));
    stage.items = 3;
    stage.play(&ready);
    assert_eq!((stage.outcome(), stage.end().steps[0].items), (O::Completed, Some((3, 3))));
    assert_eq!(stage.count(EventType::StepScheduled), 4);
    // One that fails makes it partial, which unlocks nothing.
    let mut stage = Stage::new(plan(vec![repeated("a", &[]), needing("b", &["a"])]));
    stage.items = 3;
    stage.play(&only(&[("a[1]", Fate::Failed)]));
    assert_eq!((stage.outcome(), stage.states()), (O::Partial, vec![S::Partial, S::Skipped]));
    // An empty list is nothing to do.
    let mut stage = Stage::new(plan(vec![repeated("a", &[]), needing("b", &["a"])]));
    stage.items = 0;
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Completed);
}

#[test]
fn a_step_asks_before_it_begins() {
    for (answer, expected) in [("start", O::Completed), ("Skip", O::Partial), ("stop", O::Partial)] {
        let steps = vec![step("a"), asking("b", &["a"], AskMoment::Before), needing("c", &["a"])];
        let mut stage = Stage::new(plan(steps));
        stage.play(&ready);
        assert_eq!(stage.state.status, Some(RunStatus::WaitingUser), "{:?}", stage.told());
        assert_eq!(stage.working().len(), 0);
        stage.answer(answer).expect("an answer");
        stage.play(&ready);
        assert_eq!(stage.outcome(), expected, "{answer}: {:?}", stage.told());
    }
}

#[test]
fn an_answer_that_is_no_option_is_asked_again() {
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before)]));
    stage.play(&ready);
    stage.answer("perhaps").expect("an answer");
    stage.play(&ready);
    assert_eq!((stage.state.status, stage.state.interactions), (Some(RunStatus::WaitingUser), 2));
    stage.answer("start").expect("an answer");
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Completed);
}

#[test]
fn a_step_asks_before_its_result_counts() {
    for (answer, expected) in [("accept", S::Ready), ("reject", S::Failed)] {
        let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::After)]));
        stage.play(&ready);
        assert_eq!(stage.state.status, Some(RunStatus::WaitingUser));
        stage.answer(answer).expect("an answer");
        stage.play(&ready);
        assert_eq!(stage.states(), [expected], "{answer}");
    }
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::After)]));
    stage.play(&ready);
    stage.answer("retry").expect("an answer");
    stage.play(&ready);
    stage.answer("accept").expect("an answer");
    stage.play(&ready);
    assert_eq!((stage.outcome(), stage.count(EventType::StepScheduled)), (O::Completed, 2));
}

/// Only the first item was run again.
#[test]
fn a_retry_of_a_repeated_step_runs_all_items_again() {
    let after = WorkflowStep { ask: Some(AskMoment::After), ..repeated("a", &[]) };
    let mut stage = Stage::new(plan(vec![after]));
    stage.items = 3;
    stage.play(&ready);
    stage.answer("retry").expect("an answer");
    stage.play(&only(&[("a[1]#2", Fate::Partial)]));
    assert_eq!(stage.count(EventType::StepScheduled), 6, "{:?}", stage.told());
    assert_eq!((stage.outcome(), stage.end().steps[0].items), (O::Partial, Some((2, 3))));
}

/// The question stayed open, and an answer to it had no effect.
#[test]
fn a_stop_closes_the_question_of_a_step_that_does_not_begin() {
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before), step("b"), step("c")]));
    stage.conduct(&ready);
    assert_eq!((stage.state.status, stage.working().len()), (Some(RunStatus::WaitingUser), 2));
    let fates = only(&[("b", Fate::Failed)]);
    let failing = stage.working()[0];
    stage.child_ends(failing, &fates);
    stage.conduct(&fates);
    assert_eq!(stage.working().len(), 1, "{:?}", stage.told());
    assert_eq!((stage.state.status, &stage.state.question), (Some(RunStatus::Running), &None));
    assert!(matches!(stage.answer("start"), Err(Refusal::Stale { .. })));
    stage.play(&fates);
    assert_eq!(stage.states(), [S::Skipped, S::Failed, S::Ready]);
}

#[test]
fn the_user_decides_what_follows_a_failure() {
    for (answer, expected) in [("continue", [S::Failed, S::Ready]), ("stop", [S::Failed, S::Skipped])] {
        let held = WorkflowStep { on_failure: OnStepFailure::Hold, ..step("a") };
        let mut limited = plan(vec![held, step("b")]);
        limited.concurrency = 1;
        let mut stage = Stage::new(limited);
        let fates = only(&[("a", Fate::Failed)]);
        stage.conduct(&fates);
        let child = stage.working()[0];
        stage.child_ends(child, &fates);
        stage.conduct(&fates);
        assert_eq!(stage.state.status, Some(RunStatus::WaitingUser), "{:?}", stage.told());
        stage.answer(answer).expect("an answer");
        stage.play(&fates);
        // While the question was open, the other step began.
        let states = stage.states();
        assert_eq!(states[0], expected[0], "{answer}");
    }
    let held = WorkflowStep { on_failure: OnStepFailure::Hold, ..step("a") };
    let mut stage = Stage::new(plan(vec![held]));
    let fates = only(&[("a#1", Fate::Failed)]);
    stage.play(&fates);
    stage.answer("retry").expect("an answer");
    stage.play(&fates);
    assert_eq!((stage.outcome(), stage.count(EventType::StepScheduled)), (O::Completed, 2));
}

#[test]
fn one_question_at_a_time() {
    let steps = ["a", "b", "c"].map(|id| asking(id, &[], AskMoment::Before)).to_vec();
    let mut stage = Stage::new(plan(steps));
    for number in 1..=3 {
        stage.play(&ready);
        assert_eq!((stage.state.interactions, stage.state.status), (number, Some(RunStatus::WaitingUser)));
        stage.answer("start").expect("an answer");
    }
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Completed);
}

#[test]
fn a_question_that_is_closed_is_held() {
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before), step("b")]));
    stage.play(&ready);
    stage.happens(Input::Close { by: "the user".to_owned() }).expect("a close");
    stage.play(&ready);
    assert_eq!((stage.outcome(), stage.states()), (O::Partial, vec![S::Held, S::Ready]));
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before)]));
    stage.play(&ready);
    stage.happens(Input::Close { by: "the user".to_owned() }).expect("a close");
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Held);
    let closed_again = stage.happens(Input::Close { by: "the user".to_owned() });
    assert_eq!(closed_again, Err(Refusal::Over));
}

#[test]
fn a_close_without_a_question_is_refused() {
    let mut stage = Stage::new(plan(vec![step("a")]));
    stage.conduct(&ready);
    let refused = stage.happens(Input::Close { by: "the user".to_owned() });
    assert_eq!(refused, Err(Refusal::NothingHeld { status: Some(RunStatus::Running) }));
}

#[test]
fn a_deadline_that_passed_fires_once() {
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before)]));
    stage.options.require_user_reply = false;
    stage.play(&ready);
    let interaction_id = skillrun_model::InteractionId(1);
    stage.now += 1_000_000;
    stage.happens(Input::Expired { interaction_id }).expect("the first");
    let again = stage.happens(Input::Expired { interaction_id });
    assert!(matches!(again, Err(Refusal::Stale { .. })), "{again:?}");
    stage.play(&ready);
    assert_eq!((stage.outcome(), stage.count(EventType::InteractionTimeout)), (O::Held, 1));
}

#[test]
fn a_cancel_ends_the_children_first() {
    let mut stage = Stage::new(plan(diamond()));
    stage.conduct(&ready);
    stage.happens(Input::Cancel { by: "the user".to_owned() }).expect("a cancel");
    assert!(!stage.state.is_over(), "its child works");
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::Cancelled);
    assert_eq!(stage.states(), [S::Cancelled, S::Skipped, S::Skipped, S::Skipped]);
    assert_eq!(stage.state.status, Some(RunStatus::Canceled));
    let last = stage.told();
    assert_eq!(&last[last.len() - 2..], ["workflow.ended", "run.canceled"]);
}

#[test]
fn a_canceled_question_is_closed() {
    let mut stage = Stage::new(plan(vec![asking("a", &[], AskMoment::Before)]));
    stage.play(&ready);
    stage.happens(Input::Cancel { by: "the user".to_owned() }).expect("a cancel");
    assert!(stage.answer("start").is_err(), "the cancel closed it");
    stage.play(&ready);
    assert_eq!((stage.outcome(), stage.state.status), (O::Cancelled, Some(RunStatus::Canceled)));
}

#[test]
fn the_time_of_the_workflow_leaves_no_child() {
    let mut limited = plan(vec![step("a"), needing("b", &["a"]), asking("c", &[], AskMoment::Before)]);
    limited.timeout_sec = Some(60.0);
    let mut stage = Stage::new(limited);
    stage.conduct(&ready);
    assert_eq!(stage.working().len(), 1);
    stage.now += 61;
    stage.play(&ready);
    assert_eq!(stage.outcome(), O::TimedOut, "{:?}", stage.told());
    assert_eq!(stage.states(), [S::TimedOut, S::Skipped, S::TimedOut]);
    assert_eq!(stage.working().len(), 0);
}

/// A quota wait is a wait, not a failure, and the deadline of a question that nothing waits for is not lost.
#[test]
fn a_workflow_at_rest_looks_again_at_its_deadline() {
    use crate::workflow::{ConductorStep, next};
    let mut limited = plan(vec![asking("a", &[], AskMoment::Before)]);
    limited.timeout_sec = Some(60.0);
    let mut stage = Stage::new(limited);
    stage.play(&ready);
    let rest = next(&stage.context_for_tests());
    let ConductorStep::Rest { until: Some(until) } = rest else { panic!("{rest:?}") };
    assert_eq!(until.millis_since(stage.moment()).map(|millis| millis / 1000), Some(60));
}
