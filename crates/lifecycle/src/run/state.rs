//! The state of a run: a fold over its Log, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checks::CheckProgress;
use super::children::{ChildProgress, ChildRun};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::{
    AttemptEnded, AttemptStarted, InteractionReplied, MessageOrigin, PlannedRetry, RunStatusChange, UserMessage,
};
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::status::{Continuation, Phase};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{AttemptNumber, InteractionId, RunStatus, Timestamp, TurnState};

use crate::workflow::WorkflowState;

/// The state of a run, according to its Log. As JSON it is for views that resume the fold where they stopped; no file
/// of a run contains it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// None before the run was accepted.
    pub status: Option<RunStatus>,
    /// Whether its process waits between turns; none when the Log does not record it.
    pub continuation: Option<Continuation>,
    /// The last attempt that began.
    pub attempt: AttemptNumber,
    /// How it began; a process that continues begins its next attempt the same way.
    pub started: Option<AttemptStarted>,
    /// It has not been settled.
    pub attempt_is_open: bool,
    pub session_id: Option<Arc<str>>,
    /// The question that is waiting.
    pub question: Option<Pending>,
    /// The Log has the message that begins the open attempt.
    #[serde(default)]
    pub has_user_message: bool,
    /// Questions so far.
    pub interactions: u32,
    /// Of these, inside the turn that is open.
    pub calls: u32,
    /// The last answer; the engine may not have received it yet.
    pub reply: Option<GivenReply>,
    /// Callers' own keys for their answers, and the question each answered.
    pub requests: BTreeMap<String, InteractionId>,
    pub auto_decisions: u32,
    pub last_auto_decision_at: Option<Timestamp>,
    /// Who has canceled it.
    pub canceling: Option<String>,
    /// Who has interrupted the open turn.
    #[serde(default)]
    pub interrupting: Option<String>,
    /// The prompt that came with the interrupt of the last attempt.
    #[serde(default)]
    pub say: Option<String>,
    /// The last attempt that was interrupted.
    #[serde(default)]
    pub interrupted: Option<AttemptNumber>,
    /// Who has closed it.
    #[serde(default)]
    pub closing: Option<String>,
    /// The session that the last turn could not continue, until the next turn begins: the events after the turn record
    /// of the same batch still name it.
    #[serde(default)]
    pub lost_session: Option<Arc<str>>,
    /// Turns in a row whose session was lost.
    #[serde(default)]
    pub lost_sessions: u32,
    /// The run fails with this as soon as its attempt is over.
    pub failing: Option<Code>,
    /// The deadline that the question had for which the run fails.
    #[serde(default)]
    pub missed_deadline: Option<Timestamp>,
    /// How the last settled attempt ended.
    pub verdict: Option<Verdict>,
    /// The run does not begin before this.
    #[serde(default)]
    pub not_before: Option<Timestamp>,
    /// The run that replaces this one, which failed.
    #[serde(default)]
    pub retry: Option<PlannedRetry>,
    /// The process that waited for an answer is over, and another process can load its session.
    #[serde(default)]
    pub process_ended: bool,
    /// The runs that it has asked for, in that order.
    #[serde(default)]
    pub children: Vec<ChildRun>,
    /// Of a run that is a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Box<WorkflowState>>,
    #[serde(default)]
    pub checks: CheckProgress,
    /// The events that must follow the last turn record have not been written.
    pub is_unfinished: bool,
    pub last_seq: u64,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenReply {
    pub interaction_id: InteractionId,
    pub scope: Scope,
    pub text: String,
    /// Of the user, or of a policy.
    #[serde(default = "of_user")]
    pub origin: MessageOrigin,
    pub files: Vec<String>,
    /// The context of the question, as it was asked.
    #[serde(default)]
    pub context: Option<Value>,
}

fn of_user() -> MessageOrigin {
    MessageOrigin::User
}

impl GivenReply {
    /// The message to the agent, if the answer begins a turn. The runtime adds where the files are.
    pub fn message(&self) -> UserMessage {
        UserMessage { files: self.files.clone(), ..UserMessage::new(self.origin, &self.text) }
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            status: None,
            continuation: None,
            attempt: AttemptNumber::BEFORE_FIRST,
            started: None,
            attempt_is_open: false,
            session_id: None,
            question: None,
            has_user_message: false,
            interactions: 0,
            calls: 0,
            reply: None,
            requests: BTreeMap::new(),
            auto_decisions: 0,
            last_auto_decision_at: None,
            canceling: None,
            interrupting: None,
            say: None,
            interrupted: None,
            closing: None,
            lost_session: None,
            lost_sessions: 0,
            failing: None,
            missed_deadline: None,
            verdict: None,
            not_before: None,
            retry: None,
            process_ended: false,
            children: Vec::new(),
            workflow: None,
            checks: CheckProgress::default(),
            is_unfinished: false,
            last_seq: 0,
        }
    }
}

impl State {
    pub fn is_over(&self) -> bool {
        self.status.is_some_and(RunStatus::is_terminal)
    }

    /// The reason of the end is in the Log, and the end is not.
    pub fn lacks_end(&self) -> bool {
        !self.is_over() && !self.attempt_is_open && self.is_ending()
    }

    /// The Log has the reason for which the run ends.
    pub fn is_ending(&self) -> bool {
        self.canceling.is_some() || self.failing.is_some() || self.closing.is_some()
    }

    /// The run waits for the next prompt, and no question is open.
    pub fn is_at_rest(&self) -> bool {
        self.status == Some(RunStatus::WaitingUser)
            && !self.attempt_is_open
            && self.question.as_ref().is_some_and(|question| question.scope == Scope::Prompt)
    }

    /// The attempt has its turn record.
    pub fn is_settled(&self, attempt: AttemptNumber) -> bool {
        self.attempt > attempt || !self.attempt_is_open
    }

    /// The prompt that came with an interrupt, while it is not in the Log as a reply.
    pub fn unsent_prompt(&self) -> Option<&str> {
        let is_interrupted = self.verdict.as_ref().is_some_and(|verdict| verdict.rule == Rule::Interrupted);
        self.say.as_deref().filter(|_| is_interrupted && self.is_at_rest() && !self.is_ending())
    }

    /// No process waits, and nothing is left to be written: only an answer, a cancel or its deadline can continue the
    /// run.
    pub fn rests(&self) -> bool {
        if let Some(workflow) = &self.workflow {
            // The end of a child wakes the conductor, and so does the answer.
            let is_asked = self.question.as_ref().is_some_and(|question| question.scope == Scope::Step);
            return self.status == Some(RunStatus::WaitingUser) && is_asked && workflow.open.is_empty();
        }
        let has_process = match self.continuation {
            Some(Continuation::Resumable | Continuation::None) => false,
            Some(Continuation::Sticky) | None => !self.process_ended,
        };
        self.status == Some(RunStatus::WaitingUser)
            && !self.attempt_is_open
            && !has_process
            && !self.is_unfinished
            && self.question.is_some()
            && !self.lacks_end()
            && self.unsent_prompt().is_none()
    }

    /// When the time of a workflow is over, unless the Log says that it is.
    pub fn workflow_deadline(&self) -> Option<Timestamp> {
        let workflow = self.workflow.as_deref().filter(|workflow| !workflow.is_time_up)?;
        workflow.started.as_ref()?.deadline_at
    }

    /// All events of a Log.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut state = Self::default();
        events.into_iter().for_each(|event| state.evolve(event));
        state
    }

    /// Applies one more event.
    pub fn evolve(&mut self, event: &Event) {
        self.last_seq = event.seq;
        if self.session_id.is_none() && event.correlation.session_id != self.lost_session {
            self.session_id.clone_from(&event.correlation.session_id);
        }
        let Data::Control(data) = &event.data else { return };
        if let Some(workflow) = &mut self.workflow {
            workflow.evolve(event, data);
        }
        match data {
            ControlData::RunStatus(change) => self.status_changed(change),
            ControlData::AttemptStarted(started) => {
                self.started = Some(started.clone());
                self.attempt = event.attempt_number;
                self.attempt_is_open = true;
                self.process_ended = false;
                self.calls = 0;
                self.say = None;
                self.lost_session = None;
                self.has_user_message = false;
            }
            ControlData::MessageUser(_) => self.has_user_message = true,
            ControlData::AttemptEnded(ended) => self.attempt_ended(ended),
            ControlData::InteractionRequested(question) => {
                self.interactions = question.interaction_id.0;
                self.calls += match question.scope {
                    Scope::Turn | Scope::Prompt | Scope::Step => 0,
                    Scope::Call => 1,
                };
                self.question = Some(question.clone());
                self.reply = None;
            }
            ControlData::InteractionReplied(reply) => self.replied(event, reply),
            ControlData::InteractionTimeout(timeout) => {
                if timeout.fails_with.is_some() {
                    // Closed without an answer.
                    self.failing = timeout.fails_with;
                    self.missed_deadline = timeout.deadline;
                    self.question = None;
                } else if self.workflow.is_some() {
                    // Closed without an answer; the workflow has other steps.
                    self.question = None;
                }
            }
            ControlData::AutoDecision(_) => {
                self.auto_decisions += 1;
                self.last_auto_decision_at = Some(event.ts);
            }
            ControlData::RunStarted(started) => {
                self.continuation = started.continuation;
                self.not_before = started.not_before;
                self.workflow = started.workflow.is_some().then(Box::default);
            }
            ControlData::RunCompleted(completed) => self.end(completed.status()),
            ControlData::RunFailed(failed) => {
                self.end(RunStatus::Failed);
                self.retry = failed.retry;
            }
            ControlData::RunCanceled(_) => self.end(RunStatus::Canceled),
            ControlData::SubagentRequested(asked) => self.child_requested(event, asked),
            ControlData::SubagentStarted(started) => {
                self.child_progressed(started.child_run_id, ChildProgress::Started);
            }
            ControlData::SubagentEnded(end) => {
                self.child_progressed(end.child_run_id, ChildProgress::Ended(end.status));
                if end.reason == Code::ChildNotMade
                    && let Some(child) = self.children.iter_mut().find(|child| child.run_id == end.child_run_id)
                {
                    child.fault.clone_from(&end.details);
                }
            }
            ControlData::CheckEnded(end) => self.check_ended(end),
            ControlData::RunHeartbeat(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::TurnUsage(_)
            | ControlData::WorkflowStarted(_)
            | ControlData::StepScheduled(_)
            | ControlData::StepHeld(_)
            | ControlData::StepEnded(_)
            | ControlData::WorkflowEnded(_) => {}
        }
    }

    fn status_changed(&mut self, change: &RunStatusChange) {
        if change.phase == Some(Phase::Canceling) {
            self.canceling = Some(change.detail.clone().unwrap_or_default());
        }
        if change.phase == Some(Phase::Interrupting) {
            self.interrupting = Some(change.detail.clone().unwrap_or_default());
            self.say.clone_from(&change.say);
        }
        if self.workflow.is_some() && matches!(change.phase, Some(Phase::Closing | Phase::TimeUp)) {
            // Only the question is closed; the workflow has other steps.
            self.question = None;
        } else if change.phase == Some(Phase::Closing) {
            self.closing = Some(change.detail.clone().unwrap_or_default());
        }
        if change.phase == Some(Phase::Checking) {
            self.checks.is_open = true;
        }
        if change.phase == Some(Phase::ProcessEnded) {
            self.process_ended = true;
        }
        if let Some(status) = change.status {
            self.status = Some(status);
            // The end of the run follows from the turn record after the checks too.
            self.is_unfinished &= change.phase == Some(Phase::Checking);
        }
    }

    fn attempt_ended(&mut self, ended: &AttemptEnded) {
        self.attempt_is_open = false;
        self.reply = None;
        self.question = None;
        self.interrupting = None;
        if ended.verdict.rule == Rule::Interrupted {
            self.interrupted = Some(self.attempt);
        }
        let lost = ended.verdict.error.as_ref().is_some_and(|error| error.category == ErrorCategory::Session);
        if lost {
            // The next turn begins another session.
            self.lost_session = self.session_id.take();
            self.lost_sessions += 1;
        } else if ended.verdict.turn == TurnState::Completed {
            self.lost_sessions = 0;
        }
        self.verdict = Some(ended.verdict.clone());
        self.is_unfinished = true;
    }

    fn replied(&mut self, event: &Event, reply: &InteractionReplied) {
        let (scope, context) =
            self.question.take().map_or((Scope::Turn, None), |question| (question.scope, question.context));
        self.reply = Some(GivenReply {
            interaction_id: reply.interaction_id,
            scope,
            text: reply.text.clone(),
            origin: reply.resolution_mode.origin(),
            files: reply.files.clone(),
            context,
        });
        if let Some(request_id) = &event.correlation.request_id {
            self.requests.insert(request_id.clone(), reply.interaction_id);
        }
    }

    fn end(&mut self, status: RunStatus) {
        self.status = Some(status);
        self.question = None;
        self.attempt_is_open = false;
        self.is_unfinished = false;
    }
}
