//! What carries out the requests of the tools, and who asks.

use std::fmt;
use std::sync::Arc;

use skillrun_model::delegation::{DelegationRefusal, DelegationRequest, DelegationResponse, RefusalReason};

/// Carries out requests.
pub trait RunDesk: Send + Sync + 'static {
    /// Blocking: a wait takes at most as long as it says.
    fn ask(&self, request: DelegationRequest) -> DelegationResponse;
}

/// Which runs a desk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeskKind {
    /// The children of the run that an attempt belongs to.
    Children,
    /// The runs of a user.
    TopLevel,
}

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// List runs, wait for them and read their results.
    Read,
    /// Everything.
    Run,
}

/// The client of a connection or of a request.
#[derive(Clone)]
pub struct Caller {
    pub desk: Arc<dyn RunDesk>,
    pub access: Access,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("access", &self.access).finish_non_exhaustive()
    }
}

pub(crate) fn refusal(reason: RefusalReason, message: impl Into<String>) -> DelegationRefusal {
    DelegationRefusal { reason, message: message.into() }
}
