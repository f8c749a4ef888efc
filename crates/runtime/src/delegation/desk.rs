//! Carries out the requests of one parent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_lifecycle::run::{ChildRun, Refusal};
use skillrun_model::RunId;
use skillrun_model::delegation::{
    ChildRequest, DelegatedRun, DelegationRefusal, DelegationRequest, DelegationResponse, RefusalReason,
    SubagentRequested, WaitOutcome,
};
use skillrun_runs::children::{self as ending, ChildLog};
use skillrun_runs::prompt;
use skillrun_runs::record::RunRecord;

use super::WAIT_MAX_SEC;
use super::board::{ChildBoard, Posted};
use super::make::{self, ChildFault, Parent};
use crate::error::RuntimeError;
use crate::mailbox::{Reply, RunCommand};
use crate::runtime::Inner;

/// How often a wait looks whether a child asks something inside its turn.
const QUESTION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The desk of one parent, while a worker works on it.
#[derive(Debug, Clone)]
pub(crate) struct ChildDesk {
    pub(crate) inner: Arc<Inner>,
    pub(crate) parent: RunId,
    pub(crate) board: Arc<ChildBoard>,
}

pub(crate) type Answer = Result<DelegationResponse, DelegationRefusal>;

pub(crate) fn refuse(reason: RefusalReason, message: impl Into<String>) -> DelegationRefusal {
    DelegationRefusal { reason, message: message.into() }
}

pub(crate) fn turn_over() -> DelegationRefusal {
    let sentence = "the turn of this run is over, so that it cannot delegate any more; end your work";
    refuse(RefusalReason::TurnOver, sentence)
}

impl From<ChildFault> for DelegationRefusal {
    fn from(fault: ChildFault) -> Self {
        refuse(fault.reason(), fault.to_string())
    }
}

impl ChildDesk {
    pub(crate) fn answer(&self, request: DelegationRequest) -> DelegationResponse {
        self.carry_out(request).unwrap_or_else(|refusal| DelegationResponse::Refused { refusal })
    }

    fn carry_out(&self, request: DelegationRequest) -> Answer {
        let (posted, _) = self.board.read();
        if !posted.turn_is_open {
            return Err(turn_over());
        }
        match request {
            DelegationRequest::Spawn { request } => spawn(&self.inner, self.parent, &posted, *request),
            DelegationRequest::Wait { runs, timeout_sec } => self.wait(&runs, timeout_sec),
            DelegationRequest::Send { run, text, interaction_id } => {
                self.send(child_of(&posted, run)?, text, interaction_id)
            }
            DelegationRequest::Cancel { run } => {
                let child = child_of(&posted, run)?;
                let by = format!("parent {}", self.parent);
                match self.inner.cancel_anywhere(child.run_id, &by) {
                    Ok(_) => Ok(DelegationResponse::Done),
                    // What was asked for is so already.
                    Err(RuntimeError::Refused { refusal: Refusal::Over, .. }) => Ok(DelegationResponse::Done),
                    Err(error) => Err(refuse(RefusalReason::Unavailable, error.to_string())),
                }
            }
            DelegationRequest::List => {
                Ok(DelegationResponse::Listed { runs: posted.children.iter().map(|child| self.view(child)).collect() })
            }
            DelegationRequest::Result { run } => {
                let child = child_of(&posted, run)?;
                let result = ending::result(child, self.log_of(child).as_ref(), self.inner.config.tools.clock.now());
                let result = result
                    .map_err(|reason| refuse(reason, format!("run {run} has not ended; wait for it with wait_runs")))?;
                Ok(DelegationResponse::Result { result: Box::new(result) })
            }
        }
    }

    /// Waits until the Log of the parent has the ends of these children, or one of them asks something.
    fn wait(&self, runs: &[RunId], timeout_sec: f64) -> Answer {
        let seconds = if timeout_sec.is_finite() { timeout_sec.clamp(0.0, WAIT_MAX_SEC) } else { WAIT_MAX_SEC };
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let mut slot = None;
        loop {
            let (posted, version) = self.board.read();
            let awaited = if runs.is_empty() {
                posted.children.iter().filter(|child| child.attempt == posted.attempt).collect::<Vec<_>>()
            } else {
                runs.iter().map(|run| child_of(&posted, *run)).collect::<Result<_, _>>()?
            };
            let views: Vec<DelegatedRun> = awaited.iter().map(|child| self.view(child)).collect();
            let outcome = WaitOutcome::of(views.iter().map(|view| view.state));
            let asks = views.iter().any(|view| view.question.is_some());
            let left = until.saturating_duration_since(Instant::now());
            let is_over = outcome != WaitOutcome::Incomplete || asks || left.is_zero() || !posted.turn_is_open;
            if is_over {
                drop(slot);
                return Ok(DelegationResponse::Waited { outcome, runs: views });
            }
            // The children need it more.
            slot.get_or_insert_with(|| self.inner.lend_slot(self.parent));
            self.board.wait(version, left.min(QUESTION_CHECK_INTERVAL));
        }
    }

    fn send(&self, child: &ChildRun, text: String, interaction_id: Option<skillrun_model::InteractionId>) -> Answer {
        prompt::check(&text).map_err(|fault| refuse(RefusalReason::Invalid, fault.to_string()))?;
        let open = self.log_of(child).and_then(|log| log.question()).map(|question| question.interaction_id);
        let Some(interaction_id) = interaction_id.or(open) else {
            let sentence = format!("run {} asks nothing at the moment; list_runs shows its state", child.run_id);
            return Err(refuse(RefusalReason::WrongState, sentence));
        };
        // A call that the engine has repeated is the same request.
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let request_id = Some(format!("{}/{}/{}", self.parent, interaction_id.0, &hash[..16]));
        let reply = Reply { interaction_id, text, files: Vec::new(), request_id };
        match self.inner.reply_anywhere(child.run_id, reply) {
            Ok(_) => Ok(DelegationResponse::Done),
            Err(error @ RuntimeError::Refused { .. }) => Err(refuse(RefusalReason::WrongState, error.to_string())),
            Err(error) => Err(refuse(RefusalReason::Unavailable, error.to_string())),
        }
    }

    fn log_of(&self, child: &ChildRun) -> Option<ChildLog> {
        let tools = &self.inner.config.tools;
        ChildLog::read(&tools.log, &tools.data, child).ok().flatten()
    }

    fn view(&self, child: &ChildRun) -> DelegatedRun {
        ending::view(child, self.log_of(child).as_ref(), self.inner.config.tools.clock.now())
    }
}

/// Asks the worker of a parent, which works in this process, for a child. `posted` is checked again by the worker.
pub(crate) fn spawn(inner: &Arc<Inner>, parent_id: RunId, posted: &Posted, request: ChildRequest) -> Answer {
    let config = &inner.config;
    let key = key_of(&request)?;
    if let Some(child) = same_child(posted, &key) {
        return Ok(DelegationResponse::Spawned { run_id: child.run_id, was_new: false });
    }
    let folder = config.tools.data.run(parent_id);
    let unavailable = |message: String| refuse(RefusalReason::Unavailable, message);
    let record = RunRecord::read(&folder.record()).map_err(|error| unavailable(error.to_string()))?;
    if record.workflow().is_some() {
        let sentence = "a workflow starts the runs of its steps alone, so that it cannot have another child";
        return Err(refuse(RefusalReason::NotAllowed, sentence));
    }
    let child = config.new_id(config.tools.clock.now()).map_err(|error| unavailable(error.to_string()))?;
    let parent = Parent { record: &record, folder: &folder, attempt: posted.attempt };
    let checked = make::check(config, parent, &request, child)?;
    inner.room_for_child().map_err(|error| unavailable(error.to_string()))?;
    let limit = record.request.delegation.as_ref().map_or(0, |delegation| delegation.max_total);
    let Some(place) = inner.family_place(parent.root(), limit) else {
        let sentence =
            format!("the limit of {limit} runs below one run is reached (max_total); do the rest of the work yourself");
        return Err(refuse(RefusalReason::LimitReached, sentence));
    };
    let title = checked.record.title();
    let blob = make::store(&folder, child, &request).map_err(|error| unavailable(error.to_string()))?;
    let seconds = checked.record.request.timeouts.hard_sec;
    let policy = record.request.delegation.as_ref().map(|delegation| delegation.on_parent_end);
    let asked = SubagentRequested {
        child_run_id: child,
        key,
        engine: checked.record.engine.name.clone(),
        title,
        on_parent_end: request.on_parent_end.or(policy).unwrap_or(skillrun_model::delegation::OnParentEnd::Cancel),
        timeout_ms: Duration::try_from_secs_f64(seconds).ok().and_then(|time| u64::try_from(time.as_millis()).ok()),
        request: blob,
    };
    match inner.deliver(parent_id, &RunCommand::Spawn(Box::new(asked))) {
        Ok(()) => {
            place.keep();
            Ok(DelegationResponse::Spawned { run_id: child, was_new: true })
        }
        Err(RuntimeError::Refused { refusal: Refusal::RepeatedChild { child }, .. }) => {
            Ok(DelegationResponse::Spawned { run_id: child, was_new: false })
        }
        Err(RuntimeError::Refused { refusal, .. }) => {
            let reason = reason_of(&refusal);
            let is_over = reason == RefusalReason::TurnOver;
            Err(if is_over { turn_over() } else { refuse(reason, refusal.to_string()) })
        }
        Err(error) => Err(unavailable(error.to_string())),
    }
}

/// The key of a request: its own, or the hash of what it asks for.
pub(crate) fn key_of(request: &ChildRequest) -> Result<String, DelegationRefusal> {
    match &request.key {
        Some(key) if (1..=255).contains(&key.chars().count()) => Ok(key.clone()),
        Some(_) => Err(ChildFault::Key.into()),
        None => Ok(hash_of(request)),
    }
}

/// The child that the same request has made before.
pub(crate) fn same_child<'a>(posted: &'a Posted, key: &str) -> Option<&'a ChildRun> {
    posted.children.iter().find(|child| child.attempt == posted.attempt && child.key == key)
}

fn child_of(posted: &Posted, run: RunId) -> Result<&ChildRun, DelegationRefusal> {
    posted.children.iter().find(|child| child.run_id == run).ok_or_else(|| {
        let sentence = format!("run {run} is not a child of this run; list_runs shows its children");
        refuse(RefusalReason::NotFound, sentence)
    })
}

/// The key of a request that has none: the same request has the same key.
fn hash_of(request: &ChildRequest) -> String {
    let same = ChildRequest { key: None, call_id: None, ..request.clone() };
    let text = serde_json::to_vec(&same).unwrap_or_default();
    blake3::hash(&text).to_hex()[..32].to_owned()
}

fn reason_of(refusal: &Refusal) -> RefusalReason {
    match refusal {
        Refusal::NoDelegation => RefusalReason::NotAllowed,
        Refusal::TooManyChildren { .. } => RefusalReason::LimitReached,
        Refusal::NoTurnForChild { .. } | Refusal::Over => RefusalReason::TurnOver,
        Refusal::OutOfPlace
        | Refusal::NoOpenTurn { .. }
        | Refusal::NotInterruptible
        | Refusal::OtherPrompt
        | Refusal::NotAtRest { .. }
        | Refusal::NothingHeld { .. }
        | Refusal::Stale { .. }
        | Refusal::Repeated { .. }
        | Refusal::RepeatedChild { .. } => RefusalReason::WrongState,
    }
}
