//! Asks a run for a child on behalf of a user, wherever the owner of the run is: here, or in another process. The run takes
//! the request as it takes one of its own process: it is in its Log first, and the child is made by its owner.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::wait::wait_until;
use skillrun_collect::plan::delegation::REQUEST_MAX;
use skillrun_lifecycle::run::{ChildProgress, State};
use skillrun_log::LogError;
use skillrun_model::delegation::{ChildRequest, DelegationRefusal, DelegationResponse, RefusalReason};
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::events::read_all;
use skillrun_runs::request_entries::was_made;

use super::{Inner, Runtime};
use crate::delegation::board::Posted;
use crate::delegation::desk::{key_of, refuse, same_child, spawn};
use crate::owners::{OwnerErrorKind, OwnerReply, OwnerRequest, ask};

/// An owner may be about to release the run, or to take it up.
const OWNER_SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
const OWNER_SEARCH_INTERVAL: Duration = Duration::from_millis(100);

/// The owner makes a child right after its request is in the Log.
const CHILD_MADE_TIMEOUT: Duration = Duration::from_secs(30);
const CHILD_MADE_INTERVAL: Duration = Duration::from_millis(5);

/// A child that a user has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegatedChild {
    pub run_id: RunId,
    /// False: the same request had made it before.
    pub was_new: bool,
}

impl Runtime {
    /// Asks the open turn of any run for a child. When this returns, the child exists.
    pub fn delegate_anywhere(
        &self,
        parent: RunId,
        request: &ChildRequest,
    ) -> Result<DelegatedChild, DelegationRefusal> {
        let child = self.inner.delegate_anywhere(parent, request)?;
        self.inner.wait_until_made(parent, child)
    }

    /// The same for a run of this process; none if it is not.
    pub(crate) fn delegate_here(&self, parent: RunId, request: ChildRequest) -> Option<DelegationResponse> {
        self.inner.table().mailbox(parent)?;
        let response = self.inner.posted(parent).and_then(|posted| spawn(&self.inner, parent, &posted, request));
        Some(response.unwrap_or_else(|refusal| DelegationResponse::Refused { refusal }))
    }
}

impl Inner {
    fn delegate_anywhere(
        self: &Arc<Self>,
        parent: RunId,
        request: &ChildRequest,
    ) -> Result<DelegatedChild, DelegationRefusal> {
        let begin = Instant::now();
        let key = key_of(request)?;
        let bytes = serde_json::to_vec(request).map_or(u64::MAX, |json| json.len() as u64);
        if bytes > REQUEST_MAX {
            let sentence = format!("the request has {bytes} bytes; at most {REQUEST_MAX} are possible");
            return Err(refuse(RefusalReason::Invalid, sentence));
        }
        loop {
            let posted = self.posted(parent)?;
            // Also where the turn is over: the caller may not have seen the response.
            if let Some(child) = same_child(&posted, &key) {
                return Ok(DelegatedChild { run_id: child.run_id, was_new: false });
            }
            if !posted.turn_is_open {
                let sentence = format!("run {parent} has no open turn, so that it cannot have another child");
                return Err(refuse(RefusalReason::TurnOver, sentence));
            }
            let is_here = self.table().mailbox(parent).is_some();
            let answer = if is_here {
                Some(spawn(self, parent, &posted, request.clone()).map_err(|refusal| of_parent(parent, refusal))?)
            } else {
                self.ask_owner(parent, request)?
            };
            match answer {
                Some(DelegationResponse::Spawned { run_id, was_new }) => return Ok(DelegatedChild { run_id, was_new }),
                Some(DelegationResponse::Refused { refusal }) => return Err(of_parent(parent, refusal)),
                Some(
                    DelegationResponse::Waited { .. }
                    | DelegationResponse::Done
                    | DelegationResponse::Listed { .. }
                    | DelegationResponse::Result { .. },
                )
                | None => {}
            }
            if begin.elapsed() >= OWNER_SEARCH_TIMEOUT {
                let sentence = format!("no process works on run {parent} at the moment; send the request again");
                return Err(refuse(RefusalReason::Unavailable, sentence));
            }
            thread::sleep(OWNER_SEARCH_INTERVAL);
        }
    }

    /// What the Log of a parent says.
    fn posted(&self, parent: RunId) -> Result<Posted, DelegationRefusal> {
        let mut state = State::default();
        let read = read_all(&self.config.tools.log, parent, |event| {
            state.evolve(&event);
            Ok::<(), LogError>(())
        });
        read.map_err(|error| {
            let reason = match error.class() {
                ErrorClass::NotFound | ErrorClass::Gone => RefusalReason::NotFound,
                ErrorClass::Usage
                | ErrorClass::Conflict
                | ErrorClass::Busy
                | ErrorClass::StorageFull
                | ErrorClass::Internal => RefusalReason::Unavailable,
            };
            refuse(reason, error.to_string())
        })?;
        Ok(Posted::of(&state))
    }

    /// None where no process answers, or its owner has just released the run.
    fn ask_owner(
        &self,
        parent: RunId,
        request: &ChildRequest,
    ) -> Result<Option<DelegationResponse>, DelegationRefusal> {
        let tools = &self.config.tools;
        let Some(pid) = tools.log.last_writer(parent).filter(|pid| *pid != std::process::id()) else { return Ok(None) };
        let request = OwnerRequest::Delegate { run: parent, request: Box::new(request.clone()) };
        match ask(&tools.data, pid, request) {
            Ok(OwnerReply::Delegated { response }) => Ok(Some(*response)),
            Ok(OwnerReply::Failed { error }) if error.kind != OwnerErrorKind::Held => {
                Err(refuse(RefusalReason::Unavailable, error.message))
            }
            Ok(OwnerReply::Failed { .. } | OwnerReply::Done { .. }) | Err(_) => Ok(None),
        }
    }

    fn wait_until_made(&self, parent: RunId, child: DelegatedChild) -> Result<DelegatedChild, DelegationRefusal> {
        let log = &self.config.tools.log;
        let is_made = || was_made(log, child.run_id).unwrap_or(true);
        let mut never = false;
        let is_settled = || {
            if is_made() {
                return true;
            }
            let ended = |state: &Posted| {
                state.children.iter().any(|known| known.run_id == child.run_id && is_over(known.progress))
            };
            never = self.posted(parent).is_ok_and(|posted| ended(&posted));
            never
        };
        wait_until(CHILD_MADE_TIMEOUT, CHILD_MADE_INTERVAL, is_settled);
        if never && !is_made() {
            let sentence = format!("run {} could not be made; the Log of run {parent} says why", child.run_id);
            return Err(refuse(RefusalReason::Unavailable, sentence));
        }
        Ok(child)
    }
}

fn is_over(progress: ChildProgress) -> bool {
    match progress {
        ChildProgress::Requested | ChildProgress::Started => false,
        ChildProgress::Ended(_) => true,
    }
}

/// The sentence for a user, who reads it without the run that it is about.
fn of_parent(parent: RunId, refusal: DelegationRefusal) -> DelegationRefusal {
    DelegationRefusal { message: format!("run {parent}: {}", refusal.message), ..refusal }
}
