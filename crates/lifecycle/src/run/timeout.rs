//! No answer came in time, or the process that waited is gone.

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::rasp::data::{
    AutoDecideReason, AutoDecision, AutoDecisionSource, InteractionTimeout, ResolutionMode, RunStatusChange,
};
use skillrun_model::rasp::{Correlation, Data, Level};
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
    match question.on_deadline {
        // A question that waits for ever has no deadline that could pass.
        OnDeadline::Wait => Err(Refusal::OutOfPlace),
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
    let decision = about(question, Level::Info, Data::AutoDecision(decision));
    let answer = Answer { interaction_id, text: chosen.reply(question.scope), files: Vec::new(), request_id: None };
    let then = reply::answered(state, options, now, question, ResolutionMode::AutoDecideTimeout, answer);
    before(vec![timed_out, decision], then)
}

/// What is decided about a question that got no answer.
enum Chosen<'a> {
    Judgement(&'static str),
    /// The option that the question marks as its default.
    Default(&'a AskOption),
}

impl<'a> Chosen<'a> {
    /// None when the run is to be aborted, which only the request or the skill can ask for: a model's word is advice.
    fn of(question: &'a Pending) -> Option<Self> {
        const JUDGE: &str = "No answer came in time. Decide by your own judgement and go on.";
        const NO_DEFAULT: &str = "No answer came in time, and no option is marked as the default. \
                                  Decide by your own judgement and go on.";
        const NOT_ACKNOWLEDGED: &str = "No answer came in time. The risk is not acknowledged; do not do what needs it. \
                                        Decide by your own judgement how to go on without it.";
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

    /// The words of the decision. An agent must never take them for the words of a person.
    fn instruction(&self) -> String {
        match self {
            Self::Judgement(words) => (*words).to_owned(),
            Self::Default(option) => format!("No answer came in time. The default was taken: {}", option.value),
        }
    }

    /// The text of the reply. A question inside a turn is answered by choosing one of its options, by its value; the
    /// agent gets no words there.
    fn reply(&self, scope: Scope) -> String {
        match (self, scope) {
            (Self::Default(option), Scope::Call) => option.value.clone(),
            (Self::Default(_), Scope::Turn) | (Self::Judgement(_), _) => self.instruction(),
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
        // Its evidence tells how it ended, and what that means.
        return Ok(Decision::default());
    }
    // An owner that ends the process because the time is up may be killed before the Log has it.
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

/// What becomes of a question whose process is gone. `is_known`: the Log tells that already.
pub(super) fn without_process(
    options: RunOptions,
    run_id: RunId,
    question: &Pending,
    session: SessionLeft,
    is_known: bool,
) -> Decision {
    match (options.continuation, session) {
        // There was no process to wait for.
        (Continuation::Resumable, _) => Decision::default(),
        (Continuation::Sticky, SessionLeft::Loadable) => Decision {
            events: if is_known { Vec::new() } else { vec![process_ended()] },
            opening: None,
            effects: timer(question).into_iter().chain([Effect::ReleaseSlot]).collect(),
        },
        (Continuation::Sticky, SessionLeft::Lost) | (Continuation::None, _) => {
            let disarm = Effect::DisarmTimer { interaction_id: question.interaction_id };
            let mut decision = failed(run_id, session_lost());
            decision.effects.insert(0, disarm);
            decision
        }
    }
}

/// The run goes on waiting; its answer will start another process.
fn process_ended() -> ControlEvent {
    let detail = "the process that waited has ended; the answer will start another and load its session".to_owned();
    let status = Some(RunStatus::WaitingUser);
    let change = RunStatusChange { status, phase: Some(Phase::ProcessEnded), detail: Some(detail) };
    closing::control(Level::Warning, Data::RunStatus(change))
}

/// Events about a question.
fn about(question: &Pending, level: Level, data: Data) -> ControlEvent {
    let correlation = Correlation { interaction_id: Some(question.interaction_id), ..Correlation::default() };
    ControlEvent { correlation, ..closing::control(level, data) }
}

/// That nobody answered in time.
fn timed_out(question: &Pending, fails_with: Option<Code>) -> ControlEvent {
    let Pending { interaction_id, deadline, .. } = *question;
    let timeout = InteractionTimeout { interaction_id, deadline, fails_with };
    about(question, Level::Warning, Data::InteractionTimeout(timeout))
}

/// The run fails, and its process, if there is one, is ended. A turn that is open gets its record first.
fn ending(state: &State, run_id: RunId, question: &Pending, code: Code) -> Decision {
    let timed_out = timed_out(question, Some(code));
    if state.attempt_is_open {
        return Decision { events: vec![timed_out], opening: None, effects: vec![Effect::EndProcess] };
    }
    let mut decision = before(vec![timed_out], failed(run_id, unanswered(code)));
    decision.effects.insert(0, Effect::EndProcess);
    decision
}

/// The error of a run that failed because nobody answered.
pub(super) fn unanswered(code: Code) -> RunError {
    advice::plain(ErrorCategory::Interaction, code)
}

/// The error of a run whose process was to go on and is gone.
pub(super) fn session_lost() -> RunError {
    advice::plain(ErrorCategory::Session, Code::SessionLost)
}
