//! The front of a line of a Log, up to its data, in the form in which events are written. Most lines of a long Log are
//! evidence that no row shows; their front is enough, and reading it costs a small part of parsing the event.

use skillrun_model::Timestamp;
use skillrun_model::rasp::EventType;

/// No text of the front is longer, apart from the name of an engine.
const TEXT_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineFront {
    pub(super) ts: Timestamp,
    pub(super) event_type: EventType,
}

impl LineFront {
    /// None for a line in any other form: such a line has to be parsed.
    pub(super) fn of(json: &[u8]) -> Option<Self> {
        let mut rest = Rest(json);
        rest.skip("{\"protocol_version\":\"rasp/1.0\",\"run_id\":\"")?;
        rest.text()?;
        rest.skip(",\"seq\":")?;
        rest.number()?;
        rest.skip(",\"ts\":\"")?;
        let ts = rest.text()?;
        rest.skip(",\"attempt_number\":")?;
        rest.number()?;
        rest.skip(",\"source\":{\"engine\":\"")?;
        rest.text()?;
        rest.skip(",\"stream\":\"")?;
        rest.text()?;
        rest.skip(",\"parser\":")?;
        if rest.skip("null").is_none() {
            rest.skip("\"")?;
            rest.text()?;
        }
        rest.skip(",\"confidence\":")?;
        rest.number()?;
        rest.skip("},\"event\":{\"category\":\"")?;
        rest.text()?;
        rest.skip(",\"type\":\"")?;
        let event_type = rest.text()?;
        rest.skip(",\"level\":\"")?;
        rest.text()?;
        rest.skip("},\"data\":")?;
        Some(Self { ts: ts.parse().ok()?, event_type: event_type.parse().ok()? })
    }
}

/// Whether a line says that its event belongs to no session. False also for a line in another form.
///
/// A quote inside a text is written with a backslash, so what is found after the last of these keys cannot be part of a
/// text; and the key is not part of the data, which comes before it.
pub(super) fn has_no_session(json: &[u8]) -> bool {
    let Ok(json) = std::str::from_utf8(json) else { return false };
    let correlation = json.rfind(",\"correlation\":{\"interaction_id\":").and_then(|at| json.get(at..));
    correlation.is_some_and(|correlation| correlation.contains(",\"session_id\":null,\"request_id\":"))
}

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// A text without escapes, whose opening quote was skipped.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().take(TEXT_MAX).position(|byte| matches!(byte, b'"' | b'\\'))?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    fn number(&mut self) -> Option<()> {
        let end = self.0.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.'))?;
        self.0 = &self.0[end..];
        (end > 0).then_some(())
    }
}
