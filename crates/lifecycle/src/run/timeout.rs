//! No answer came in time, or the process that waited is gone.

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::rasp::data::{
    AutoDecideReason, AutoDecision, AutoDecisionSource, InteractionTimeout, ResolutionMode, RunStatusChange,
};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::{Continuation, Phase};
use skillrun_model::verdict::RunError;
use skillrun_model::{InteractionId, RunId, RunStatus, Timestamp};

use super::decision::{Decision, Effect, Refusal, SessionLeft};
use super::options::RunOptions;
use super::reply::{self, Answer};
use super::settled::timer;
use super::start::{before, failed};
use super::state::State;
use crate::advice;
use crate::closing::{self, ControlEvent};

pub(super) fn expired(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    interaction_id: InteractionId,
) -> Result<Decision, Refusal> {
    let question = reply::open(state, interaction_id)?;
    if question.scope == Scope::Step {
        // The step has no decision; what that means for the workflow, its conductor derives.
        let events = vec![timed_out(question, None), closing::status(RunStatus::Running)];
        let effects = vec![Effect::DisarmTimer { interaction_id }];
        return Ok(Decision { events, opening: None, effects });
    }
    match question.on_deadline {
        // A question that waits indefinitely has no deadline.
        OnDeadline::Wait | OnDeadline::HoldStep => Err(Refusal::OutOfPlace),
        OnDeadline::FailRun => Ok(ending(state, run_id, question, Code::InteractionWaitTimeout)),
        OnDeadline::AutoReply => Ok(decided(state, options, run_id, now, question)),
    }
}

fn decided(state: &State, options: RunOptions, run_id: RunId, now: Timestamp, question: &Pending) -> Decision {
    if state.auto_decisions >= options.auto_decision_limit {
        return ending(state, run_id, question, Code::AutoDecisionLimit);
    }
    let Some(chosen) = Chosen::of(question) else {
        return ending(state, run_id, question, Code::InteractionAbortedByPolicy);
    };
    let timed_out = timed_out(question, None);
    let interaction_id = question.interaction_id;
    let decision = AutoDecision {
        interaction_id,
        source: Some(AutoDecisionSource::AutoDecideTimeout),
        reason: Some(AutoDecideReason::UserNoReply),
        policy: chosen.policy(),
        instruction: chosen.instruction(),
    };
    let decision = about(question, Level::Info, ControlData::AutoDecision(decision));
    let answer = Answer { interaction_id, text: chosen.reply(question.scope), files: Vec::new(), request_id: None };
    let then = reply::answered(state, options, now, question, ResolutionMode::AutoDecideTimeout, answer);
    before(vec![timed_out, decision], then)
}

/// The decision about a question without an answer.
enum Chosen<'a> {
    Judgement(&'static str),
    /// The option that the question marks as its default.
    Default(&'a AskOption),
}

impl<'a> Chosen<'a> {
    /// None when the run is to be aborted, which only the request or the skill can require: a model's policy is advice.
    fn of(question: &'a Pending) -> Option<Self> {
        const JUDGE: &str = "No answer came in time. Decide by your own judgement and continue.";
        const NO_DEFAULT: &str = "No answer came in time, and no option is marked as the default. \
                                  Decide by your own judgement and continue.";
        const NOT_ACKNOWLEDGED: &str = "No answer came in time. The risk is not acknowledged; do not do anything that \
                                        requires it. Decide by your own judgement how to continue without it.";
        let is_binding = match question.policy_source {
            PolicySource::Request | PolicySource::Skill => true,
            PolicySource::Model | PolicySource::Default => false,
        };
        match question.default_decision_policy {
            DecisionPolicy::Abort if is_binding => None,
            _ if question.kind == InteractionKind::RiskAck => Some(Self::Judgement(NOT_ACKNOWLEDGED)),
            DecisionPolicy::Abort | DecisionPolicy::EngineJudgement => Some(Self::Judgement(JUDGE)),
            DecisionPolicy::SafeDefault => {
                let default = question.options.iter().find(|option| option.default);
                Some(default.map_or(Self::Judgement(NO_DEFAULT), Self::Default))
            }
        }
    }

    fn policy(&self) -> DecisionPolicy {
        match self {
            Self::Judgement(_) => DecisionPolicy::EngineJudgement,
            Self::Default(_) => DecisionPolicy::SafeDefault,
        }
    }

    /// The text of the decision. It must be clear to the agent that it does not come from a user.
    fn instruction(&self) -> String {
        match self {
            Self::Judgement(words) => (*words).to_owned(),
            Self::Default(option) => format!("No answer came in time. The default was taken: {}", option.value),
        }
    }

    /// The text of the reply. A question inside a turn is answered by choosing one of its options, by its value; the
    /// agent receives no text there.
    fn reply(&self, scope: Scope) -> String {
        match (self, scope) {
            (Self::Default(option), Scope::Call) => option.value.clone(),
            (Self::Default(_), Scope::Turn | Scope::Prompt | Scope::Step) | (Self::Judgement(_), _) => {
                self.instruction()
            }
        }
    }
}

/// The process that waited for an answer has ended by itself.
pub(super) fn process_gone(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    session: SessionLeft,
) -> Result<Decision, Refusal> {
    let Some(question) = state.question.as_ref().filter(|_| state.status == Some(RunStatus::WaitingUser)) else {
        return Err(Refusal::OutOfPlace);
    };
    if state.attempt_is_open {
        // Its evidence shows how it ended, and what that means.
        return Ok(Decision::default());
    }
    // An owner that ends the process at the deadline may be killed before this is in the Log.
    let is_up = question.deadline.is_some_and(|deadline| now >= deadline);
    if question.on_deadline == OnDeadline::FailRun && is_up {
        let code = Code::InteractionWaitTimeout;
        let timed_out = timed_out(question, Some(code));
        let mut decision = before(vec![timed_out], failed(run_id, unanswered(code)));
        decision.effects.insert(0, Effect::DisarmTimer { interaction_id: question.interaction_id });
        return Ok(decision);
    }
    Ok(without_process(options, run_id, question, session, state.process_ended))
}

/// What happens to a question whose process is gone. `is_known`: the Log already records that.
pub(super) fn without_process(
    options: RunOptions,
    run_id: RunId,
    question: &Pending,
    session: SessionLeft,
    is_known: bool,
) -> Decision {
    let stays = |session: SessionLeft| Decision {
        events: if is_known { Vec::new() } else { vec![process_ended(session)] },
        opening: None,
        effects: timer(question).into_iter().collect(),
    };
    match (options.continuation, session, question.scope) {
        // There was no process to wait for.
        (Continuation::Resumable, _, _) => Decision::default(),
        (Continuation::Sticky, SessionLeft::Loadable, _) | (Continuation::Sticky, SessionLeft::Lost, Scope::Prompt) => {
            stays(session)
        }
        (Continuation::Sticky, SessionLeft::Lost, Scope::Turn | Scope::Call | Scope::Step)
        | (Continuation::None, _, _) => {
            let disarm = Effect::DisarmTimer { interaction_id: question.interaction_id };
            let mut decision = failed(run_id, session_lost());
            decision.effects.insert(0, disarm);
            decision
        }
    }
}

/// The run continues to wait; its answer will start another process.
fn process_ended(session: SessionLeft) -> ControlEvent {
    let detail = match session {
        SessionLeft::Loadable => {
            "the process that waited has ended; the answer will start a new process, which loads the session"
        }
        SessionLeft::Lost => "the process that waited has ended; the next prompt will start a new session",
    };
    let status = Some(RunStatus::WaitingUser);
    let change = RunStatusChange::new(status, Some(Phase::ProcessEnded), Some(detail.to_owned()));
    closing::control(Level::Warning, ControlData::RunStatus(change))
}

/// Events about a question.
fn about(question: &Pending, level: Level, data: ControlData) -> ControlEvent {
    let correlation = Correlation { interaction_id: Some(question.interaction_id), ..Correlation::default() };
    ControlEvent { correlation, ..closing::control(level, data) }
}

/// The event for a question that was not answered in time.
fn timed_out(question: &Pending, fails_with: Option<Code>) -> ControlEvent {
    let Pending { interaction_id, deadline, .. } = *question;
    let timeout = InteractionTimeout { interaction_id, deadline, fails_with };
    about(question, Level::Warning, ControlData::InteractionTimeout(timeout))
}

/// The run fails, and its process, if there is one, is ended. An open turn gets its record first.
fn ending(state: &State, run_id: RunId, question: &Pending, code: Code) -> Decision {
    let timed_out = timed_out(question, Some(code));
    if state.attempt_is_open {
        return Decision { events: vec![timed_out], opening: None, effects: vec![Effect::EndProcess] };
    }
    let mut decision = before(vec![timed_out], failed(run_id, unanswered(code)));
    decision.effects.insert(0, Effect::EndProcess);
    decision
}

/// The error of a run that failed because no answer came in time.
pub(super) fn unanswered(code: Code) -> RunError {
    advice::plain(ErrorCategory::Interaction, code)
}

/// The error of a run whose process was needed to continue and is gone.
pub(super) fn session_lost() -> RunError {
    advice::plain(ErrorCategory::Session, Code::SessionLost)
}
