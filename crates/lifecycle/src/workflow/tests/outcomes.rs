//! The table of outcomes, over all combinations of up to five steps.

use skillrun_model::workflow::{StepState, WorkflowOutcome};

use crate::workflow::outcome::{StepResult, outcome};

/// Every kind of step: its state, whether it is required, and whether a partial one has an output.
fn kinds() -> Vec<StepResult> {
    let mut kinds = Vec::new();
    for required in [true, false] {
        for state in StepState::ALL {
            let outputs: &[bool] = if *state == StepState::Partial { &[true, false] } else { &[false] };
            kinds.extend(outputs.iter().map(|has_output| StepResult {
                required,
                state: *state,
                has_output: *has_output,
            }));
        }
    }
    kinds
}

/// All multisets of this many kinds: the order of steps does not matter, which `order_does_not_matter` checks.
fn combinations(
    kinds: &[StepResult],
    size: usize,
    from: usize,
    chosen: &mut Vec<StepResult>,
    visit: &mut dyn FnMut(&[StepResult]),
) {
    if size == 0 {
        return visit(chosen);
    }
    for index in from..kinds.len() {
        chosen.push(kinds[index]);
        combinations(kinds, size - 1, index, chosen, visit);
        chosen.pop();
    }
}

fn each(mut visit: impl FnMut(&[StepResult])) -> usize {
    let kinds = kinds();
    let mut count = 0;
    for size in 1..=5 {
        combinations(&kinds, size, 0, &mut Vec::new(), &mut |steps| {
            // A workflow without a required step is refused.
            if steps.iter().any(|step| step.required) {
                count += 1;
                visit(steps);
            }
        });
    }
    count
}

/// Source 002 in words: each law stands for itself, and none is written like the code.
#[test]
fn every_combination_has_the_outcome_that_the_sources_say() {
    let count = each(|steps| {
        assert_eq!(outcome(true, false, steps), WorkflowOutcome::Cancelled, "a cancel overrides all: {steps:?}");
        for is_time_up in [false, true] {
            let how = outcome(false, is_time_up, steps);
            let unready = steps.iter().filter(|step| step.required && step.state != StepState::Ready).count();
            assert_eq!(how == WorkflowOutcome::Completed, unready == 0, "{steps:?}");
            let usable = steps.iter().any(|step| match step.state {
                StepState::Ready => true,
                StepState::Partial => step.has_output,
                StepState::Failed
                | StepState::TimedOut
                | StepState::Held
                | StepState::Cancelled
                | StepState::Skipped => false,
            });
            assert_eq!(how == WorkflowOutcome::Partial, unready > 0 && usable, "{steps:?}");
            let has = |state| steps.iter().any(|step| step.state == state);
            if unready > 0 && !usable {
                let is_late = is_time_up || has(StepState::TimedOut);
                let expected = match (is_late, has(StepState::Held)) {
                    (true, _) => WorkflowOutcome::TimedOut,
                    (false, true) => WorkflowOutcome::Held,
                    (false, false) => WorkflowOutcome::Failed,
                };
                assert_eq!(how, expected, "{steps:?}");
            }
            assert_eq!(how.is_ok(), how == WorkflowOutcome::Completed);
        }
    });
    assert!(count > 19_000, "{count} combinations");
}

#[test]
fn all_failed_is_failed_and_never_partial() {
    for size in 1..=5 {
        let failed = StepResult { required: true, state: StepState::Failed, has_output: false };
        assert_eq!(outcome(false, false, &vec![failed; size]), WorkflowOutcome::Failed);
        // A partial step without a validated output is not usable.
        let mut steps = vec![failed; size];
        steps.push(StepResult { required: true, state: StepState::Partial, has_output: false });
        assert_eq!(outcome(false, false, &steps), WorkflowOutcome::Failed);
    }
}

#[test]
fn order_does_not_matter() {
    each(|steps| {
        let mut turned = steps.to_vec();
        turned.reverse();
        assert_eq!(outcome(false, false, steps), outcome(false, false, &turned));
    });
}
