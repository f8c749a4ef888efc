//! What the structured formats do with stderr: it is noise, except where the engine says that it refused a session.

use crate::classify;
use crate::profile::{Emit, Line, Outcome};
use crate::profiles::text_errors;

/// Reads a line of stderr of an engine whose format is on stdout.
pub(crate) fn line(line: Line<'_>, emit: &mut Emit<'_>) -> Outcome {
    let text = crate::ansi::strip(line.text);
    if classify::refuses_session(&text) {
        emit.push_inferred(0.8, text_errors::error(text.trim()));
        return Outcome::Known;
    }
    Outcome::Raw
}
