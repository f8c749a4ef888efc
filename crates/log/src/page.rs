//! A page for a reader: whole lines as they were written, in one buffer.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use skillrun_model::RunId;
use skillrun_model::rasp::Event;

use crate::chain::{self, LineHash};
use crate::cursor::{Cursor, Epoch, Head, Seq};
use crate::error::{LogError, LogErrorKind, NewerEvent};

/// The limits of a page. One event is always returned if there is one, whatever its size, so that a reader with small
/// limits makes progress too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub events: usize,
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { events: 1_000, bytes: 1024 * 1024 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRead {
    Page(Page),
    /// The cursor is of another epoch or beyond the end: the events of the reader do not match the Log. It must discard
    /// them and read from the beginning.
    Reset(Head),
}

/// Consecutive events. Empty when the reader has everything.
#[derive(Debug, Clone)]
pub struct Page {
    run: RunId,
    epoch: Epoch,
    first: Seq,
    /// Where the first line begins in its Log.
    offset: u64,
    bytes: Vec<u8>,
    /// Ends of the lines in `bytes`, terminators included.
    ends: Vec<usize>,
    /// The events of lines that need not be parsed.
    parsed: Vec<ParsedLines>,
}

/// Events of consecutive lines.
#[derive(Debug, Clone)]
struct ParsedLines {
    /// The first line.
    line: usize,
    events: Arc<[Event]>,
    /// Events before that of the first line.
    skipped: usize,
}

/// Pages with the same lines are equal, whether or not their events were parsed.
impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        let Self { run, epoch, first, offset, bytes, ends, parsed: _ } = self;
        let place = (*run, *epoch, *first, *offset) == (other.run, other.epoch, other.first, other.offset);
        place && (bytes, ends) == (&other.bytes, &other.ends)
    }
}

impl Eq for Page {}

impl Page {
    pub(crate) fn new(run: RunId, epoch: Epoch, first: Seq, offset: u64) -> Self {
        Self { run, epoch, first, offset, bytes: Vec::new(), ends: Vec::new(), parsed: Vec::new() }
    }

    /// Adds the line of the next seq, terminator included; returns whether the limits leave room for another.
    pub(crate) fn push(&mut self, line: &[u8], limits: Limits) -> bool {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        self.ends.len() < limits.events && self.bytes.len() < limits.bytes
    }

    /// The lines that are pushed next are those of these events, without the first `skipped`.
    pub(crate) fn add_parsed(&mut self, events: Arc<[Event]>, skipped: usize) {
        self.parsed.push(ParsedLines { line: self.ends.len(), events, skipped });
    }

    /// Whether there is room for this line; for the first there always is.
    pub(crate) fn has_room(&self, line: &[u8], limits: Limits) -> bool {
        self.ends.is_empty() || (self.ends.len() < limits.events && self.bytes.len() + line.len() <= limits.bytes)
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cursor of a reader that has read this page.
    pub fn cursor(&self) -> Cursor {
        // `first` is never 0: the first event has seq 1.
        Cursor::new(self.epoch, Seq(self.first.0 + self.ends.len() as u64 - 1))
    }

    pub fn lines(&self) -> impl DoubleEndedIterator<Item = LogLine<'_>> + ExactSizeIterator {
        (0..self.ends.len()).map(|i| {
            let range = self.range(i);
            let offset = self.offset + range.start as u64;
            let parsed = self.parsed(i);
            LogLine { run: self.run, seq: self.first.plus(i as u64), offset, line: &self.bytes[range], parsed }
        })
    }

    /// The parsed events; an error if one of them cannot be parsed.
    pub fn events(&self) -> Result<Vec<Event>, LogError> {
        self.lines().map(|line| line.event()).collect()
    }

    fn parsed(&self, i: usize) -> Option<&Event> {
        let at = self.parsed.partition_point(|parsed| parsed.line <= i).checked_sub(1)?;
        let ParsedLines { line, events, skipped } = &self.parsed[at];
        events.get(i - line + skipped)
    }

    fn range(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        start..self.ends[i]
    }
}

/// One event as stored in the Log.
#[derive(Debug, Clone, Copy)]
pub struct LogLine<'a> {
    run: RunId,
    pub seq: Seq,
    offset: u64,
    line: &'a [u8],
    parsed: Option<&'a Event>,
}

impl<'a> LogLine<'a> {
    /// The JSON, without the terminator of the line.
    pub fn json(&self) -> &'a [u8] {
        self.line.strip_suffix(b"\n").unwrap_or(self.line)
    }

    /// The hash of the line, which the next one carries.
    pub fn hash(&self) -> LineHash {
        LineHash::of(self.json())
    }

    /// The hash of the previous line, as stored in this one; none in a line of a version before the chain.
    pub fn prev(&self) -> Option<LineHash> {
        chain::split(self.json()).1
    }

    /// Where the next line begins in the Log.
    pub fn end(&self) -> u64 {
        self.offset + self.line.len() as u64
    }

    /// The event, if it is in memory.
    pub fn parsed(&self) -> Option<&'a Event> {
        self.parsed
    }

    pub fn event(&self) -> Result<Event, LogError> {
        self.event_ref().map(Cow::into_owned)
    }

    /// The same, without a copy where the event is in memory.
    pub fn event_ref(&self) -> Result<Cow<'a, Event>, LogError> {
        match self.parsed {
            Some(event) => Ok(Cow::Borrowed(event)),
            None => self.parse().map(Cow::Owned),
        }
    }

    /// The event, unless a newer version wrote it: for views, which skip such an event with a notice.
    pub fn known_event(&self) -> Option<Cow<'a, Event>> {
        self.event_ref().ok()
    }

    fn parse(&self) -> Result<Event, LogError> {
        let event = std::str::from_utf8(self.json()).ok().and_then(|json| Event::from_json(json).ok());
        event.ok_or_else(|| {
            // The line is JSON, with the run and the seq that belong here; that was checked when it was read.
            let event_type = named_type(self.json()).unwrap_or_else(|| "an event".to_owned());
            LogErrorKind::Newer(NewerEvent { seq: self.seq, event_type }).of(self.run)
        })
    }
}

/// Characters of the name of an unknown type that are shown.
const TYPE_MAX: usize = 60;

/// The type that a line names, without control characters.
fn named_type(json: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope {
        event: Kind,
    }
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    let envelope: Envelope = serde_json::from_slice(json).ok()?;
    Some(envelope.event.r#type.chars().filter(|letter| !letter.is_control()).take(TYPE_MAX).collect())
}
