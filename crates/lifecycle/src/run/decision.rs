//! What can happen to a run, what is decided, and which effects follow.

use skillrun_model::checks::CheckEnded;
use skillrun_model::delegation::{SubagentEnded, SubagentRequested};
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::ControlData;
use skillrun_model::rasp::data::{AttemptStarted, RunStarted, UserMessage};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, InteractionId, RunId, RunStatus, Timestamp};
use skillrun_translate::Facts;

use super::options::RunOptions;
use super::state::{GivenReply, State};
use super::{cancel, checks, children, close, interrupt, reply, settled, start, timeout};
use crate::closing::{ControlEvent, ProcessEnding};
use crate::settle::Settled;

/// Something that happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// A request was accepted.
    Accepted(RunStarted),
    /// The run has a slot, and a host has claimed the attempt, which begins with this message.
    HostReady {
        started: AttemptStarted,
        message: UserMessage,
    },
    /// The attempt cannot be started at all.
    CannotStart(RunError),
    /// The evidence of the attempt is complete, and the gate has decided.
    Settled(SettledAttempt<'a>),
    /// The engine asks inside its turn; number and deadline are assigned later.
    CallAsked(Box<Pending>),
    /// The same in auto mode: it is answered at once, according to the engine's permission.
    CallDecided {
        question: Box<Pending>,
        text: String,
    },
    Reply {
        interaction_id: InteractionId,
        text: String,
        files: Vec<String>,
        request_id: Option<String>,
    },
    /// The deadline of a question has passed.
    Expired {
        interaction_id: InteractionId,
    },
    Cancel {
        by: String,
    },
    /// The user stops the open turn; `say` is the prompt that follows it.
    Interrupt {
        by: String,
        say: Option<String>,
    },
    /// The user ends the conversation.
    Close {
        by: String,
    },
    /// The process that waited for an answer is gone.
    ProcessGone {
        session: SessionLeft,
    },
    /// The open turn asks for a child.
    ChildRequested(Box<SubagentRequested>),
    /// The child exists.
    ChildStarted {
        child: RunId,
    },
    /// The child has ended, or is no longer controlled.
    ChildEnded(Box<SubagentEnded>),
    /// The open check has ended.
    CheckEnded(Box<CheckEnded>),
}

/// Whether another process can resume the session of one that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLeft {
    Lost,
    Loadable,
}

/// An attempt with its verdict.
#[derive(Debug)]
pub struct SettledAttempt<'a> {
    pub facts: &'a Facts,
    pub settled: &'a Settled,
    pub ending: ProcessEnding,
    pub artifacts: Vec<ControlEvent>,
    pub process: ProcessLeft,
}

/// Whether the engine's process is still running after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessLeft {
    Gone,
    Living,
}

/// Something to do after the events are on disk that does not follow from the state; for what does, see
/// [`next_step`](super::next_step). Each effect may be carried out twice without harm.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start the attempt. A run that no worker has waits for a slot first.
    Start {
        attempt: AttemptNumber,
    },
    /// Write the answer to the running process.
    WriteInput(GivenReply),
    /// End the process and everything it started.
    EndProcess,
    /// Stop the turn. A process that can stop its turn and stay does so; any other is ended.
    InterruptTurn,
    /// Report `Expired` at this moment, unless the question is answered before.
    ArmTimer {
        interaction_id: InteractionId,
        at: Timestamp,
    },
    DisarmTimer {
        interaction_id: InteractionId,
    },
    /// Make the child, or find the process that works on it.
    MakeChild {
        child: RunId,
    },
}

/// Events to append as one batch, then effects to carry out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    pub events: Vec<ControlEvent>,
    /// Another attempt begins after them.
    pub opening: Option<Opening>,
    pub effects: Vec<Effect>,
}

impl Decision {
    /// The run is over with these events; its result is written before them.
    pub fn ends_run(&self) -> bool {
        self.events.iter().any(|event| {
            matches!(event.data, ControlData::RunCompleted(_) | ControlData::RunFailed(_) | ControlData::RunCanceled(_))
        })
    }

    /// Where the run ends and its process with it: takes the end out of the decision. The reason, which is left, is in
    /// the Log before the process is ended, so that no later owner gives that process an answer. The end is in the Log
    /// after that, because no owner looks for the process of a run that is over.
    pub fn take_end(&mut self) -> Option<Self> {
        if !self.ends_run() || !self.effects.contains(&Effect::EndProcess) {
            return None;
        }
        let events = self.events.pop().into_iter().collect();
        let effects = std::mem::take(&mut self.effects);
        let effects = effects.into_iter().filter(|effect| *effect != Effect::EndProcess).collect();
        Some(Self { events, opening: None, effects })
    }
}

/// Events that carry the number of the attempt they open.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    pub attempt: AttemptNumber,
    pub events: Vec<ControlEvent>,
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the run is over")]
    Over,
    #[error("the run is in a state that does not allow this")]
    OutOfPlace,
    #[error("no turn is open, so there is nothing to interrupt; its status is {}", status_word(*status))]
    NoOpenTurn { status: Option<RunStatus> },
    #[error("a run in auto mode cannot be interrupted; cancel it instead")]
    NotInterruptible,
    /// The prompt of the first interrupt was acknowledged, and is sent.
    #[error("the turn is being interrupted already, and another prompt follows it; send this one after that")]
    OtherPrompt,
    #[error("only a run that waits for the next prompt can be closed; its status is {}", status_word(*status))]
    NotAtRest { status: Option<RunStatus> },
    #[error("no step of the workflow waits for a decision, so there is nothing to close; its status is {}; to end it, cancel it", status_word(*status))]
    NothingHeld { status: Option<RunStatus> },
    /// The question is another one, or there is none.
    #[error("question {} is not open; {}", asked.0, open_words(*open))]
    Stale { asked: InteractionId, open: Option<InteractionId> },
    /// The same request was already carried out; its answer is the same.
    #[error("this request was already carried out")]
    Repeated { interaction_id: InteractionId },
    /// The same.
    #[error("this child was already requested; it is run {child}")]
    RepeatedChild { child: RunId },
    #[error("the run may not delegate; start it with `delegation` to allow that")]
    NoDelegation,
    #[error("only an open turn can ask for a child; the status of the run is {}", status_word(*status))]
    NoTurnForChild { status: Option<RunStatus> },
    #[error("the limit of {limit} children that work at the same time is reached; wait until one has ended")]
    TooManyChildren { limit: u32 },
}

fn status_word(status: Option<RunStatus>) -> &'static str {
    status.map_or("not accepted yet", RunStatus::as_str)
}

fn open_words(open: Option<InteractionId>) -> String {
    open.map_or_else(|| "the run waits for no answer".to_owned(), |open| format!("question {} is", open.0))
}

/// Decides what follows from something that happened. The caller supplies the time.
pub fn decide(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    input: Input<'_>,
) -> Result<Decision, Refusal> {
    if state.is_over() {
        return Err(after_the_end(state, &input));
    }
    let decided = match input {
        Input::Accepted(started) => start::accepted(state, started),
        Input::HostReady { started, message } => start::host_ready(state, started, message),
        Input::CannotStart(error) => start::cannot_start(state, run_id, error),
        Input::Settled(attempt) => settled::settled(state, options, run_id, now, attempt),
        Input::CallAsked(question) => settled::call_asked(state, options, now, *question),
        Input::CallDecided { question, text } => settled::call_decided(state, *question, text),
        Input::Reply { interaction_id, text, files, request_id } => {
            reply::reply(state, options, now, reply::Answer { interaction_id, text, files, request_id })
        }
        Input::Expired { interaction_id } => timeout::expired(state, options, run_id, now, interaction_id),
        Input::Cancel { by } => cancel::cancel(state, by),
        Input::Interrupt { by, say } => interrupt::interrupt(state, options, by, say),
        Input::Close { by } => close::close(state, by),
        Input::ProcessGone { session } => timeout::process_gone(state, options, run_id, now, session),
        Input::ChildRequested(asked) => children::requested(state, options, *asked),
        Input::ChildStarted { child } => Ok(children::started(state, child)),
        Input::ChildEnded(end) => Ok(children::ended(state, *end)),
        Input::CheckEnded(end) => Ok(checks::ended(state, *end)),
    };
    decided.map(|decision| checks::hold_end(state, options, run_id, children::hold_end(state, now, decision)))
}

/// A request that is repeated after the run has ended gets its first answer.
fn after_the_end(state: &State, input: &Input<'_>) -> Refusal {
    match input {
        Input::Interrupt { .. } => Refusal::NoOpenTurn { status: state.status },
        Input::Reply { request_id, .. } => reply::repeated(state, request_id.as_deref()).unwrap_or(Refusal::Over),
        Input::Accepted(_)
        | Input::HostReady { .. }
        | Input::CannotStart(_)
        | Input::Settled(_)
        | Input::CallAsked(_)
        | Input::CallDecided { .. }
        | Input::Expired { .. }
        | Input::Cancel { .. }
        | Input::Close { .. }
        | Input::ProcessGone { .. }
        | Input::ChildStarted { .. }
        | Input::ChildEnded(_)
        | Input::CheckEnded(_) => Refusal::Over,
        Input::ChildRequested(_) => Refusal::NoTurnForChild { status: state.status },
    }
}
