//! A step that waits for a decision: its question, and what the answers mean.

use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::rasp::data::RunStatusChange;
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::Phase;
use skillrun_model::workflow::{HoldReason, StepHeld, StepId, item_name};
use skillrun_model::{AttemptNumber, InteractionId, RunStatus};

use super::next::{WorkflowContext, about, nanos};
use crate::closing::{self, ControlEvent};
use crate::run::Decision;

/// What the user has decided about a held step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldDecision {
    Start,
    Skip,
    Accept,
    Reject,
    Retry,
    Continue,
    /// The step does not count, and no other begins.
    Stop,
}

impl HoldDecision {
    fn all(why: HoldReason) -> &'static [(Self, &'static str, &'static str)] {
        match why {
            HoldReason::Before => &[
                (Self::Start, "start", "Start the step"),
                (Self::Skip, "skip", "Leave it out, and all that needs it"),
                (Self::Stop, "stop", "End the workflow here"),
            ],
            HoldReason::After => &[
                (Self::Accept, "accept", "Accept the result"),
                (Self::Retry, "retry", "Run the step again"),
                (Self::Reject, "reject", "The result does not count"),
            ],
            HoldReason::Failure => &[
                (Self::Retry, "retry", "Run the step again"),
                (Self::Continue, "continue", "Continue without it, and without all that needs it"),
                (Self::Stop, "stop", "End the workflow here"),
            ],
        }
    }

    /// None: the answer is not one of the options.
    pub(super) fn of(why: HoldReason, answer: &str) -> Option<Self> {
        let word = answer.trim();
        let options = Self::all(why).iter();
        let is_meant = |value: &str, label: &str| word.eq_ignore_ascii_case(value) || word.eq_ignore_ascii_case(label);
        options.into_iter().find(|(_, value, label)| is_meant(value, label)).map(|(decision, _, _)| *decision)
    }
}

/// A step begins to wait for a decision.
pub(super) fn hold(
    context: &WorkflowContext<'_>,
    step: &StepId,
    item: Option<u32>,
    why: HoldReason,
    words: &str,
) -> Decision {
    let interaction_id = InteractionId(context.run.interactions + 1);
    let held = StepHeld { step_id: step.clone(), item, why, interaction_id };
    let mut events = vec![about(step, Level::Info, ControlData::StepHeld(held))];
    events.extend(asked(context, step, item, why, interaction_id, words));
    Decision { events, ..Decision::default() }
}

/// The question of a hold that the Log has already.
pub(super) fn asked(
    context: &WorkflowContext<'_>,
    step: &StepId,
    item: Option<u32>,
    why: HoldReason,
    interaction_id: InteractionId,
    words: &str,
) -> Vec<ControlEvent> {
    let name = item_name(step, item);
    let prompt = match why {
        HoldReason::Before => format!("May the step {name} begin?"),
        HoldReason::After => format!("The step {name} is ready. Does its result count?"),
        HoldReason::Failure => format!("The step {name} has not become ready. What follows?"),
    };
    let prompt = if words.is_empty() { prompt } else { format!("{prompt}\n\n{words}") };
    let option = |(_, value, label): &(HoldDecision, &str, &str)| AskOption {
        value: (*value).to_owned(),
        label: (*label).to_owned(),
        default: false,
    };
    let options = context.options;
    let deadline = (!options.require_user_reply).then(|| context.now.plus_nanos(nanos(options.session_timeout)));
    let question = Pending {
        scope: Scope::Step,
        kind: InteractionKind::ChooseOne,
        options: HoldDecision::all(why).iter().map(option).collect(),
        default_decision_policy: DecisionPolicy::Abort,
        policy_source: PolicySource::Default,
        deadline,
        // Without a decision the step does not become ready.
        on_deadline: if deadline.is_some() { OnDeadline::HoldStep } else { OnDeadline::Wait },
        ..Pending::open_text(interaction_id, AttemptNumber::BEFORE_FIRST, prompt)
    };
    let correlation = Correlation { interaction_id: Some(interaction_id), ..Correlation::default() };
    let asked = about(step, Level::Info, ControlData::InteractionRequested(question));
    let step_id = asked.correlation.step_id.clone();
    let asked = ControlEvent { correlation: Correlation { step_id, ..correlation }, ..asked };
    vec![asked, closing::status(RunStatus::WaitingUser)]
}

/// The user has closed the question of a workflow.
pub(crate) fn close(by: String) -> ControlEvent {
    let change = RunStatusChange::new(Some(RunStatus::Running), Some(Phase::Closing), Some(by));
    closing::control(Level::Info, ControlData::RunStatus(change))
}
