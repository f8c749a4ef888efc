//! The events that a byte of an attempt went into.
//!
//! Events of one attempt are contiguous in the Log, so its first one is found by bisection. Within the attempt every
//! line is checked: an event is written where it became certain, which may be long after its bytes.

use serde_json::value::RawValue;
use skillrun_log::{Cursor, EventLog, Limits, LogError, LogLine, LogRead, Seq};
use skillrun_model::rasp::{EventType, SourceStream, SpanRef};
use skillrun_model::{AttemptNumber, RunId, Stream};

use super::line::{self, Origin};

/// Larger than usual: all of it is read, and most of it is dropped.
const PAGE: Limits = Limits { events: 8192, bytes: 8 << 20 };

/// Maximum number of bytes of events that are returned; a single event is always returned.
const MOST_BYTES: usize = 16 << 20;

/// The events that a byte went into, as they are in the Log, in the order of seq.
#[derive(Debug, Clone)]
pub struct EventsAt {
    pub events: Vec<Box<RawValue>>,
    pub rest: EventsRest,
}

/// Whether there are more events than were returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventsRest {
    Nothing,
    /// The limit, or 16 MiB of events, was reached.
    CutOff,
}

/// The events of an attempt whose range of a stream contains the byte at `offset`: one of the pieces, where an event is
/// made of several. At most `limit`. The terminal's recording has no ranges of its own in events, only pieces.
pub fn events_at(
    log: &(impl EventLog + ?Sized),
    run: RunId,
    attempt: AttemptNumber,
    stream: Stream,
    offset: u64,
    limit: usize,
) -> Result<EventsAt, LogError> {
    let wanted = Wanted { attempt, stream, offset };
    let begin = Cursor { epoch: None, after: first_of(log, run, attempt)? };
    let mut found = EventsAt { events: Vec::new(), rest: EventsRest::Nothing };
    let (mut cursor, mut bytes) = (begin, 0);
    loop {
        let page = match log.read(run, cursor, PAGE)? {
            LogRead::Page(page) => page,
            // The Log has changed since it was read.
            LogRead::Reset(_) => {
                (cursor, bytes) = (Cursor::BEGINNING, 0);
                found.events.clear();
                continue;
            }
        };
        if page.is_empty() {
            return Ok(found);
        }
        for line in page.lines() {
            // A line that is not an event refers to no byte.
            let Some(origin) = line::origin(line.json()) else { continue };
            if origin.attempt_number > attempt || wanted.is_last(&line, &origin) {
                return Ok(found);
            }
            if !wanted.is_it(&line, &origin) {
                continue;
            }
            let Some(event) = raw(&line) else { continue };
            bytes += event.get().len();
            if found.events.len() >= limit || (bytes > MOST_BYTES && !found.events.is_empty()) {
                found.rest = EventsRest::CutOff;
                return Ok(found);
            }
            found.events.push(event);
        }
        cursor = page.cursor();
    }
}

struct Wanted {
    attempt: AttemptNumber,
    stream: Stream,
    offset: u64,
}

impl Wanted {
    fn is_it(&self, line: &LogLine<'_>, origin: &Origin) -> bool {
        let raw = origin.raw_ref;
        let hull = match self.stream {
            Stream::Stdout => raw.stdout_from..raw.stdout_to,
            Stream::Stderr => raw.stderr_from..raw.stderr_to,
            Stream::Pty => 0..u64::MAX,
        };
        // All pieces are inside the hull, so nothing else has to be read of most events.
        if origin.attempt_number != self.attempt || !hull.contains(&self.offset) {
            return false;
        }
        let (mut spans, source) = (line::spans(line.json()), self.stream.source());
        spans.retain(|span| span.stream == source);
        let has = |span: &SpanRef| (span.from..span.to).contains(&self.offset);
        (spans.is_empty() && source != SourceStream::Pty) || spans.iter().any(has)
    }

    /// Nothing of the attempt comes after its end. Control events have no ranges, so few lines are read for this.
    fn is_last(&self, line: &LogLine<'_>, origin: &Origin) -> bool {
        origin.attempt_number == self.attempt
            && origin.raw_ref == Default::default()
            && line::envelope(line)
                .is_some_and(|envelope| envelope.event.event_type == EventType::AttemptEnded.as_str())
    }
}

fn raw(line: &LogLine<'_>) -> Option<Box<RawValue>> {
    serde_json::from_slice(line.json()).ok()
}

/// The event before the first event of an attempt, or of a later one.
fn first_of(log: &(impl EventLog + ?Sized), run: RunId, attempt: AttemptNumber) -> Result<Seq, LogError> {
    const ONE: Limits = Limits { events: 1, bytes: 1 };
    // Everything up to `before` is of an earlier attempt, everything from `next` on is not.
    let (mut before, mut next) = (Seq::BEFORE_FIRST, log.next_seq(run)?);
    while next.0 - before.0 > 1 {
        let middle = Seq(before.0 + (next.0 - before.0) / 2);
        let page = match log.read(run, Cursor { epoch: None, after: Seq(middle.0 - 1) }, ONE)? {
            LogRead::Page(page) => page,
            // It was truncated meanwhile.
            LogRead::Reset(_) => return Ok(Seq::BEFORE_FIRST),
        };
        let number = page.lines().next().and_then(|line| line::origin(line.json())).map(|origin| origin.attempt_number);
        match number {
            Some(number) if number < attempt => before = middle,
            Some(_) => next = middle,
            None => return Ok(Seq::BEFORE_FIRST),
        }
    }
    Ok(before)
}

#[cfg(test)]
mod tests;
