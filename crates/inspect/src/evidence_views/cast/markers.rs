//! The events of a run as markers, page by page.

use std::vec;

use serde::Deserialize;
use skillrun_log::{Cursor, EventLog, Limits, LogLine, LogRead, Seq};
use skillrun_model::rasp::EventType;
use skillrun_model::{AttemptNumber, RunId, Timestamp};

use super::CastError;
use super::clock::Micros;
use crate::evidence_views::line::{self, Envelope};

/// One event.
#[derive(Debug)]
pub(super) struct Marker {
    /// Never before the previous event.
    pub(super) at: Micros,
    pub(super) seq: u64,
    pub(super) event_type: String,
    pub(super) attempt: AttemptNumber,
    pub(super) what: What,
}

/// What an event means for a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    AttemptStarted,
    AttemptEnded,
    RunOver,
    Other,
}

#[derive(Debug)]
pub(super) struct Markers<'a, L: ?Sized> {
    log: &'a L,
    run: RunId,
    cursor: Cursor,
    /// Later events are not waited for.
    end: Seq,
    page: vec::IntoIter<Marker>,
    next: Option<Marker>,
    last: Micros,
    is_over: bool,
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct Ended {
    data: EndedData,
}

#[derive(Deserialize)]
struct EndedData {
    exit: EndedExit,
}

#[derive(Deserialize)]
struct EndedExit {
    code: Option<i32>,
}

impl<'a, L: EventLog + ?Sized> Markers<'a, L> {
    pub(super) fn open(log: &'a L, run: RunId) -> Result<Self, CastError> {
        let end = log.next_seq(run)?;
        let cursor = Cursor::BEGINNING;
        let (page, next) = (Vec::new().into_iter(), None);
        Ok(Self { log, run, cursor, end, page, next, last: Micros(0), is_over: false, exit_code: None })
    }

    pub(super) fn peek(&mut self) -> Result<Option<&Marker>, CastError> {
        while self.next.is_none() {
            self.next = self.page.next();
            if self.next.is_none() {
                let Some(page) = self.read()? else { break };
                self.page = page.into_iter();
            }
        }
        Ok(self.next.as_ref())
    }

    pub(super) fn take(&mut self) -> Option<Marker> {
        self.next.take()
    }

    /// How the process of the last attempt ended, once the run is over.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.exit_code.filter(|_| self.is_over)
    }

    /// The next page; none at the end.
    fn read(&mut self) -> Result<Option<Vec<Marker>>, CastError> {
        if self.cursor.after.plus(1) >= self.end {
            return Ok(None);
        }
        let page = match self.log.read(self.run, self.cursor, Limits::default())? {
            LogRead::Page(page) => page,
            // The end was read before, so this event must exist.
            LogRead::Reset(_) => return Err(CastError::LogCut),
        };
        if page.is_empty() {
            return Err(CastError::LogCut);
        }
        self.cursor = page.cursor();
        let end = self.end;
        Ok(Some(page.lines().filter(|line| line.seq < end).filter_map(|line| self.marker(&line)).collect()))
    }

    /// None for a line that only a later version may understand.
    fn marker(&mut self, line: &LogLine<'_>) -> Option<Marker> {
        let envelope: Envelope<'_> = line::envelope(line)?;
        let what = what(&envelope.event.event_type);
        match what {
            What::AttemptEnded => {
                let ended = serde_json::from_slice::<Ended>(line.json());
                self.exit_code = ended.ok().and_then(|ended| ended.data.exit.code);
            }
            What::RunOver => self.is_over = true,
            What::AttemptStarted | What::Other => {}
        }
        let moment = envelope.ts.parse::<Timestamp>().ok().map(Micros::of);
        self.last = self.last.max(moment.unwrap_or_default());
        let event_type = envelope.event.event_type.into_owned();
        Some(Marker { at: self.last, seq: line.seq.0, event_type, attempt: envelope.attempt_number, what })
    }
}

fn what(event_type: &str) -> What {
    const OVER: [EventType; 3] = [EventType::RunCompleted, EventType::RunFailed, EventType::RunCanceled];
    if event_type == EventType::AttemptStarted.as_str() {
        What::AttemptStarted
    } else if event_type == EventType::AttemptEnded.as_str() {
        What::AttemptEnded
    } else if OVER.iter().any(|over| over.as_str() == event_type) {
        What::RunOver
    } else {
        What::Other
    }
}
