//! Agent Client Protocol: JSON-RPC lines of an agent on stdout.

use skillrun_model::ProfileId;

use crate::profile::{Emit, Line, Outcome, Profile};

#[derive(Debug, Default)]
pub(crate) struct Acp;

impl Profile for Acp {
    fn id(&self) -> ProfileId {
        ProfileId::AcpJsonrpc
    }

    fn line(&mut self, _line: Line<'_>, _emit: &mut Emit<'_>) -> Outcome {
        Outcome::Raw
    }
}
