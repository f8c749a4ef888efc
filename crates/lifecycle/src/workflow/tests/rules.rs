//! Rules that the plays pass by: each of these tests fails where its rule is taken out of the code.

use skillrun_model::RunId;
use skillrun_model::codes::Code;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::rasp::{ControlData, EventType};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{
    OnStepFailure, RetryCause, StepRetries, StepState as S, StepWorkspace, WorkflowPlan, WorkflowStep,
};

use super::stage::{Fate, Stage, plan, step};
use crate::workflow::{Checkpoint, CheckpointOutput, ConductorStep, TrialCause, UnjudgedChild, judged};

/// One step has begun, and its child has failed for this reason.
fn decided(step: WorkflowStep, reason: Code, cause: Option<TrialCause>) -> ConductorStep {
    let id = step.id.clone();
    let mut stage = Stage::new(plan(vec![step]));
    stage.conduct(&|_| Fate::Failed);
    let child = UnjudgedChild { run_id: stage.working()[0], step_id: id, item: None, status: SubagentStatus::Failed };
    let left = Checkpoint {
        child_seq: Some(9),
        reason,
        details: None,
        output: CheckpointOutput::Valid,
        is_partial: false,
        missing: Vec::new(),
        cause,
        reset_at: None,
    };
    judged(&stage.context_for_tests(), &child, &left)
}

fn named(stage: &Stage, name: &str) -> RunId {
    *stage.made.iter().find(|(_, made)| made.starts_with(name)).expect("a child of that name").0
}

#[test]
fn a_partial_workflow_makes_its_step_partial() {
    let ConductorStep::Write(decision) = decided(step("a"), Code::WorkflowPartial, None) else {
        panic!("the step ends")
    };
    let ControlData::StepEnded(end) = &decision.events[0].data else { panic!("{:?}", decision.events) };
    assert_eq!((end.state, end.has_output, end.stops), (S::Partial, true, true));
}

#[test]
fn a_lost_host_is_tried_again_on_the_same_engine_alone() {
    let lost = Some(TrialCause::Retry(RetryCause::HostLost));
    let engines = vec!["one".to_owned(), "two".to_owned()];
    let never = WorkflowStep { engines: engines.clone(), ..step("a") };
    assert!(matches!(decided(never, Code::AttemptLost, lost), ConductorStep::Write(_)));
    let retries = StepRetries { max: 1, on: vec![RetryCause::HostLost] };
    let once = WorkflowStep { engines, retries, ..step("a") };
    let ConductorStep::Begin(again) = decided(once, Code::AttemptLost, lost) else { panic!("it is tried again") };
    assert_eq!((again.trial, again.engine_index), (2, 0));
}

#[test]
fn steps_that_wait_for_a_slot_do_not_begin_after_a_failed_one() {
    let on_failure = |on_failure| {
        let steps = vec![WorkflowStep { on_failure, ..step("a") }, step("b")];
        let mut stage = Stage::new(WorkflowPlan { concurrency: 1, ..plan(steps) });
        stage.play(&|key| if key.starts_with('a') { Fate::Failed } else { Fate::Ready });
        stage.states()
    };
    assert_eq!(on_failure(OnStepFailure::Stop), [S::Failed, S::Skipped]);
    assert_eq!(on_failure(OnStepFailure::Continue), [S::Failed, S::Ready]);
}

#[test]
fn a_step_is_not_tried_again_in_a_workflow_that_has_stopped() {
    let retries = StepRetries { max: 2, on: vec![RetryCause::Quota] };
    let mut stage = Stage::new(plan(vec![WorkflowStep { retries, ..step("a") }, step("b")]));
    let fates = |key: &str| if key.starts_with('a') { Fate::Quota } else { Fate::Failed };
    stage.conduct(&fates);
    stage.child_ends(named(&stage, "b"), &fates);
    stage.conduct(&fates);
    stage.play(&fates);
    assert_eq!((stage.states(), stage.count(EventType::StepScheduled)), (vec![S::Failed, S::Failed], 2));
}

#[test]
fn a_reader_does_not_begin_beside_a_writer() {
    let shared = |id: &str, permission| WorkflowStep {
        workspace: StepWorkspace::Shared,
        permission: Some(permission),
        ..step(id)
    };
    let steps = vec![shared("w", Permission::Workspace), shared("r", Permission::ReadOnly), step("own")];
    let mut stage = Stage::new(plan(steps));
    stage.conduct(&|_| Fate::Ready);
    let mut names: Vec<&String> = stage.working().iter().map(|child| &stage.made[child]).collect();
    names.sort();
    assert_eq!(names, ["own#1", "w#1"]);
}
