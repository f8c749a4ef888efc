//! Stub, being written.
use crate::profile::{Emit, Line, Outcome, Profile};
use skillrun_model::ProfileId;

#[derive(Debug, Default)]
pub(crate) struct Plain;

impl Profile for Plain {
    fn id(&self) -> ProfileId {
        ProfileId::PlainText
    }

    fn line(&mut self, _line: Line<'_>, _emit: &mut Emit<'_>) -> Outcome {
        Outcome::Raw
    }
}
