//! Stub, being written.
use crate::profile::{Emit, Line, Outcome, Profile};
use skillrun_model::ProfileId;

#[derive(Debug, Default)]
pub(crate) struct Gemini;

impl Gemini {
    pub(crate) fn stream() -> Self {
        Self
    }
    pub(crate) fn document() -> Self {
        Self
    }
}

impl Profile for Gemini {
    fn id(&self) -> ProfileId {
        ProfileId::GeminiStreamJson
    }

    fn line(&mut self, _line: Line<'_>, _emit: &mut Emit<'_>) -> Outcome {
        Outcome::Raw
    }
}
