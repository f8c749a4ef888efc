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

/// Reads fronts. Consecutive events mostly have the same source and type, and often the same time, so these parts are
/// compared with those of the line before.
#[derive(Debug, Default)]
pub(super) struct FrontReader {
    /// The time as it is written.
    ts: Option<(Box<str>, Timestamp)>,
    /// Everything from the attempt to the data.
    middle: Option<(Box<[u8]>, EventType)>,
}

impl FrontReader {
    /// None for a line in any other form than the one in which events are written: such a line has to be parsed.
    pub(super) fn read(&mut self, json: &[u8]) -> Option<LineFront> {
        let mut rest = Rest(json);
        rest.skip("{\"protocol_version\":\"rasp/1.0\",\"run_id\":\"")?;
        rest.text()?;
        rest.skip(",\"seq\":")?;
        rest.number()?;
        rest.skip(",\"ts\":\"")?;
        let ts = self.moment(rest.text()?)?;
        let event_type = match &self.middle {
            Some((middle, event_type)) if rest.0.starts_with(middle) => *event_type,
            Some(_) | None => {
                let begin = rest.0;
                let event_type = rest.middle()?;
                self.middle = Some((begin[..begin.len() - rest.0.len()].into(), event_type));
                event_type
            }
        };
        Some(LineFront { ts, event_type })
    }

    fn moment(&mut self, text: &str) -> Option<Timestamp> {
        match &self.ts {
            Some((known, ts)) if **known == *text => Some(*ts),
            Some(_) | None => {
                let ts = text.parse().ok()?;
                self.ts = Some((text.into(), ts));
                Some(ts)
            }
        }
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

    /// From the attempt to the data.
    fn middle(&mut self) -> Option<EventType> {
        self.skip(",\"attempt_number\":")?;
        self.number()?;
        self.skip(",\"source\":{\"engine\":\"")?;
        self.text()?;
        self.skip(",\"stream\":\"")?;
        self.text()?;
        self.skip(",\"parser\":")?;
        if self.skip("null").is_none() {
            self.skip("\"")?;
            self.text()?;
        }
        self.skip(",\"confidence\":")?;
        self.number()?;
        self.skip("},\"event\":{\"category\":\"")?;
        self.text()?;
        self.skip(",\"type\":\"")?;
        let event_type = self.text()?;
        self.skip(",\"level\":\"")?;
        self.text()?;
        self.skip("},\"data\":")?;
        event_type.parse().ok()
    }

    /// A text without escapes, whose opening quote was skipped.
    fn text(&mut self) -> Option<&'a str> {
        let end = memchr::memchr2(b'"', b'\\', &self.0[..self.0.len().min(TEXT_MAX)])?;
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
