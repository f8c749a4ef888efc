//! Stub, being written.
use crate::profile::{Emit, Line, Outcome, Profile};
use skillrun_model::ProfileId;

#[derive(Debug, Default)]
pub(crate) struct Iflow;

impl Profile for Iflow {
    fn id(&self) -> ProfileId {
        ProfileId::IflowText
    }

    fn line(&mut self, _line: Line<'_>, _emit: &mut Emit<'_>) -> Outcome {
        Outcome::Raw
    }
}
