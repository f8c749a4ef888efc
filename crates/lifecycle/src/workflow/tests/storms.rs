//! Random workflows with random ends of children, answers, cancels and deaths of the owner in the middle of a batch:
//! whatever happens, the workflow ends, each child is made once, and the outcome follows from the ends of the children.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use skillrun_model::rasp::{ControlData, Data, EventType};
use skillrun_model::workflow::{
    AskMoment, OnStepFailure, RetryCause, StepId, StepRetries, StepState, StepWorkspace, WorkflowOutcome, WorkflowPlan,
    WorkflowStep,
};
use skillrun_model::{InteractionId, RunStatus};

use super::stage::{Fate, Stage, needing, plan, repeated};
use crate::run::Input;
use crate::workflow::HeldAnswer;

const FATES: [Fate; 9] = [
    Fate::Ready,
    Fate::Ready,
    Fate::Ready,
    Fate::Partial,
    Fate::Missing,
    Fate::Failed,
    Fate::TimedOut,
    Fate::Quota,
    Fate::Unanswered,
];

/// A source of choices that is the same for the same bytes.
struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Choices<'_> {
    fn pick(&mut self, of: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte as usize % of
    }
}

fn a_step(choices: &mut Choices<'_>, number: usize) -> WorkflowStep {
    let id = format!("s{number}");
    let needs: Vec<String> =
        (0..number).filter(|_| choices.pick(3) == 0).map(|earlier| format!("s{earlier}")).collect();
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    let mut step = if choices.pick(5) == 0 { repeated(&id, &needs) } else { needing(&id, &needs) };
    step.required = number == 0 || choices.pick(4) > 0;
    step.on_failure = [OnStepFailure::Stop, OnStepFailure::Continue, OnStepFailure::Hold][choices.pick(3)];
    step.ask = [None, None, None, Some(AskMoment::Before), Some(AskMoment::After)][choices.pick(5)];
    step.workspace = [StepWorkspace::Own, StepWorkspace::Shared][choices.pick(2)];
    if choices.pick(3) == 0 {
        step.retries = StepRetries { max: 1, on: vec![RetryCause::Quota] };
    }
    if choices.pick(3) == 0 {
        step.engines.push("other".to_owned());
    }
    step
}

fn a_plan(choices: &mut Choices<'_>) -> WorkflowPlan {
    let count = 1 + choices.pick(5);
    let mut made = plan((0..count).map(|number| a_step(choices, number)).collect());
    made.concurrency = 1 + u32::try_from(choices.pick(3)).unwrap_or(0);
    made.timeout_sec = (choices.pick(6) == 0).then_some(60.0);
    made
}

/// One story. `cut`: the owner dies after this many events, once more at each of the next ones.
fn play(bytes: &[u8], cuts: bool) -> Stage {
    let mut choices = Choices { bytes, at: 0 };
    let made = a_plan(&mut choices);
    let salt = choices.pick(256);
    // The fate of a child follows from its name, so that a story is the same whenever its owner dies.
    let fates = move |key: &str| {
        let sum: usize = key.bytes().map(usize::from).sum();
        FATES[(sum * 7 + salt) % FATES.len()]
    };
    let mut stage = Stage::new(made);
    stage.options.require_user_reply = choices.pick(3) > 0;
    for _ in 0..2_000 {
        if cuts && choices.at < bytes.len() {
            stage.cut_after = (choices.pick(2) == 0).then(|| choices.pick(5));
        }
        stage.conduct(&fates);
        if stage.is_cut {
            continue;
        }
        stage.cut_after = None;
        let is_held = stage.workflow().held.as_ref().is_some_and(|held| held.answer == HeldAnswer::Open);
        assert!(stage.state.question.is_none() || is_held, "a question without a held step: {:?}", stage.told());
        if stage.state.is_over() {
            return stage;
        }
        stage.now += 1;
        let working = stage.working();
        match choices.pick(12) {
            0 => drop(stage.happens(Input::Cancel { by: "the user".to_owned() })),
            1 => stage.now += 30,
            2 => drop(stage.happens(Input::Close { by: "the user".to_owned() })),
            3 if !stage.options.require_user_reply => {
                let interaction_id = InteractionId(stage.state.interactions);
                drop(stage.happens(Input::Expired { interaction_id }));
            }
            _ if !working.is_empty() => {
                let child = working[choices.pick(working.len())];
                stage.child_ends(child, &fates);
            }
            _ => {
                let words = ["start", "skip", "stop", "accept", "reject", "retry", "continue", "perhaps"];
                drop(stage.answer(words[choices.pick(words.len())]));
            }
        }
        if choices.at > bytes.len() && stage.working().is_empty() && !stage.state.is_over() {
            // No choice is left: nothing but a close ends a question.
            stage.conduct(&fates);
            drop(stage.happens(Input::Close { by: "the user".to_owned() }));
        }
    }
    panic!("the workflow does not end: {:?}", stage.told());
}

/// Every law of a workflow, from its Log.
fn check(stage: &Stage) {
    let told = || stage.told();
    let mut ends: BTreeMap<StepId, StepState> = BTreeMap::new();
    let mut requested = BTreeSet::new();
    let mut keys = BTreeSet::new();
    let mut working: BTreeSet<String> = BTreeSet::new();
    let mut is_stopped = false;
    for event in &stage.log {
        let Data::Control(data) = &event.data else { continue };
        if let ControlData::StepScheduled(step) = data {
            let planned = stage.plan.step(&step.step_id).expect("a step");
            assert!(!is_stopped || step.trial > 1, "{} begins after the stop: {:?}", step.step_id, told());
            assert!(!ends.contains_key(&step.step_id), "{} begins after its end: {:?}", step.step_id, told());
            for need in &planned.needs {
                assert_eq!(ends.get(need), Some(&StepState::Ready), "{} begins: {:?}", step.step_id, told());
            }
        } else if let ControlData::SubagentRequested(asked) = data {
            assert!(requested.insert(asked.child_run_id), "a child is requested twice: {:?}", told());
            assert!(keys.insert(asked.key.clone()), "{} is requested twice: {:?}", asked.key, told());
            working.insert(asked.child_run_id.to_string());
            let limit = stage.plan.concurrency as usize;
            assert!(working.len() <= limit, "{} children of {limit}: {:?}", working.len(), told());
        } else if let ControlData::SubagentEnded(end) = data {
            working.remove(&end.child_run_id.to_string());
        } else if let ControlData::StepEnded(end) = data {
            is_stopped |= end.stops;
            if end.item.is_none() {
                let before = ends.insert(end.step_id.clone(), end.state);
                assert_eq!(before, None, "{} ends twice: {:?}", end.step_id, told());
            }
        } else if let ControlData::RunStatus(change) = data {
            is_stopped |= change.phase == Some(skillrun_model::status::Phase::TimeUp);
        } else if let ControlData::WorkflowEnded(_) = data {
            assert!(working.is_empty(), "it ends while children work: {:?}", told());
        }
    }
    assert_eq!(ends.len(), stage.plan.steps.len(), "each step ends: {:?}", told());
    assert_eq!(requested, stage.made.keys().copied().collect(), "each child is made: {:?}", told());
    assert_eq!(stage.count(EventType::WorkflowEnded), 1);
    let last = stage.log.last().expect("an event").event_type();
    let is_end = matches!(last, EventType::RunCompleted | EventType::RunFailed | EventType::RunCanceled);
    assert!(is_end, "{:?}", told());
    // The outcome, written in another way than the code.
    let end = stage.end();
    let of = |state: StepState| stage.end().steps.iter().filter(|step| step.state == state).count();
    let unready = end.steps.iter().filter(|step| step.required && step.state != StepState::Ready).count();
    let expected = if stage.state.canceling.is_some() {
        WorkflowOutcome::Cancelled
    } else if unready == 0 {
        WorkflowOutcome::Completed
    } else if end.steps.iter().any(|step| step.usable) {
        WorkflowOutcome::Partial
    } else if stage.workflow().is_time_up || of(StepState::TimedOut) > 0 {
        WorkflowOutcome::TimedOut
    } else if of(StepState::Held) > 0 {
        WorkflowOutcome::Held
    } else {
        WorkflowOutcome::Failed
    };
    assert_eq!((end.outcome, end.ok), (expected, expected == WorkflowOutcome::Completed), "{:?}", told());
    let status = match expected {
        WorkflowOutcome::Completed => RunStatus::Succeeded,
        WorkflowOutcome::Cancelled => RunStatus::Canceled,
        WorkflowOutcome::Partial | WorkflowOutcome::Failed | WorkflowOutcome::TimedOut | WorkflowOutcome::Held => {
            RunStatus::Failed
        }
    };
    assert_eq!(stage.state.status, Some(status));
}

/// `SKILLRUN_INTERLEAVINGS` in the environment: how many stories instead of those for every push.
fn stories() -> u32 {
    let given = std::env::var("SKILLRUN_INTERLEAVINGS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(3_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: stories(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_workflows_hold(bytes in proptest::collection::vec(any::<u8>(), 0..160), cuts in any::<bool>()) {
        check(&play(&bytes, cuts));
    }
}

/// The owner of a ten-step workflow dies at every event of it, and the end is the same as undisturbed.
#[test]
fn a_workflow_that_is_cut_at_any_event_ends_the_same() {
    let ten = || {
        let mut steps: Vec<WorkflowStep> = vec![needing("s0", &[])];
        for number in 1..10 {
            let before = format!("s{}", number - 1);
            let needs: &[&str] = if number % 3 == 0 { &["s0"] } else { &[&before] };
            steps.push(if number == 4 { repeated("s4", &["s3"]) } else { needing(&format!("s{number}"), needs) });
        }
        steps[7].on_failure = OnStepFailure::Continue;
        steps[5].retries = StepRetries { max: 1, on: vec![RetryCause::Quota] };
        steps[2].ask = Some(AskMoment::After);
        plan(steps)
    };
    let fates = |key: &str| match key {
        "s5#1" => Fate::Quota,
        "s7#1" => Fate::Partial,
        _ => Fate::Ready,
    };
    let to_the_end = |mut stage: Stage| {
        for _ in 0..1_000 {
            stage.conduct(&fates);
            if stage.is_cut {
                continue;
            }
            if stage.state.is_over() {
                return stage;
            }
            match stage.working().first().copied() {
                Some(child) => stage.child_ends(child, &fates),
                None => stage.answer("accept").expect("an answer"),
            }
        }
        panic!("the workflow does not end: {:?}", stage.told());
    };
    let whole = to_the_end(Stage::new(ten()));
    check(&whole);
    let expected = (whole.outcome(), whole.states(), whole.made.values().cloned().collect::<Vec<_>>());
    assert_eq!(expected.0, WorkflowOutcome::Partial);
    for cut in 0..whole.log.len() {
        let mut stage = Stage::new(ten());
        stage.cut_after = Some(cut);
        let ended = to_the_end(stage);
        check(&ended);
        let same = (ended.outcome(), ended.states(), ended.made.values().cloned().collect::<Vec<_>>());
        assert_eq!(same, expected, "cut after {cut} events: {:?}", ended.told());
    }
}
