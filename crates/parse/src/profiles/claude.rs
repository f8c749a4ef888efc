//! Stub, being written.
use crate::profile::{Emit, Line, Outcome, Profile};
use skillrun_model::ProfileId;

#[derive(Debug, Default)]
pub(crate) struct Claude;

impl Profile for Claude {
    fn id(&self) -> ProfileId {
        ProfileId::ClaudeStreamJson
    }

    fn line(&mut self, _line: Line<'_>, _emit: &mut Emit<'_>) -> Outcome {
        Outcome::Raw
    }
}
