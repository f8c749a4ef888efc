//! Events of an attempt that are already in the Log, because an earlier owner appended them. The evidence is read from
//! the first byte again; events that are the same are dropped.

use std::sync::Arc;

use skillrun_log::{Cursor, EventLog, FileLog, Limits, LogRead, Page, Seq, chain};
use skillrun_model::rasp::{Event, SourceStream};
use skillrun_model::{AttemptNumber, RunId, Stream};
use skillrun_runs::events::{changed, is_evidence, read_all};
use skillrun_translate::coverage::Coverage;

use crate::error::RuntimeError;

#[derive(Debug)]
pub(crate) struct LoggedEvents {
    log: Arc<FileLog>,
    run: RunId,
    attempt: AttemptNumber,
    state: Progress,
}

#[derive(Debug)]
enum Progress {
    /// Nothing more is in the Log.
    New,
    /// New events are compared with the rest of these.
    Comparing { page: Option<Page>, at: usize, cursor: Cursor, until: Seq },
    /// They differ, so another version of a parser made them. Bytes that they cover are not reported again.
    Changed { covered: [u64; 3] },
}

/// How an event compares with the Log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventMatch {
    IsKnown,
    IsNew,
    /// The first that differs from the Log.
    Differs {
        covered: Covered,
    },
}

/// Whether the Log has events for the bytes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Covered {
    Yes,
    No,
}

impl LoggedEvents {
    /// No earlier owner.
    pub(crate) fn nothing(log: &Arc<FileLog>, run: RunId, attempt: AttemptNumber) -> Self {
        Self { log: log.clone(), run, attempt, state: Progress::New }
    }

    /// The events up to `last`.
    pub(crate) fn until(log: &Arc<FileLog>, run: RunId, attempt: AttemptNumber, last: u64) -> Self {
        let state = Progress::Comparing { page: None, at: 0, cursor: Cursor::BEGINNING, until: Seq(last) };
        Self { log: log.clone(), run, attempt, state }
    }

    /// Whether the Log has an event that was made from evidence.
    pub(crate) fn compare(&mut self, event: &Event) -> Result<EventMatch, RuntimeError> {
        match &self.state {
            Progress::New => return Ok(EventMatch::IsNew),
            Progress::Changed { covered } => {
                let is_covered = end(event).is_some_and(|(stream, to)| to <= covered[stream.index()]);
                return Ok(if is_covered { EventMatch::IsKnown } else { EventMatch::IsNew });
            }
            Progress::Comparing { .. } => {}
        }
        let Some((json, known)) = self.next()? else {
            self.state = Progress::New;
            return Ok(EventMatch::IsNew);
        };
        let mut same = event.clone();
        same.seq = known.seq;
        if chain::is_event(&json, same.to_json().as_bytes()) {
            return Ok(EventMatch::IsKnown);
        }
        let covered = self.covered(&known)?;
        let is_covered = end(event).is_some_and(|(stream, to)| to <= covered[stream.index()]);
        self.state = Progress::Changed { covered };
        Ok(EventMatch::Differs { covered: if is_covered { Covered::Yes } else { Covered::No } })
    }

    /// The next evidence event of the attempt.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Event)>, RuntimeError> {
        let Progress::Comparing { page, at, cursor, until } = &mut self.state else { return Ok(None) };
        loop {
            if let Some(current) = page {
                for line in current.lines().skip(*at) {
                    *at += 1;
                    if line.seq > *until {
                        return Ok(None);
                    }
                    let event = line.event()?;
                    if is_evidence(&event) && event.attempt_number == self.attempt {
                        return Ok(Some((line.json().to_vec(), event)));
                    }
                }
            }
            match self.log.read(self.run, *cursor, Limits::default())? {
                LogRead::Page(next) if next.is_empty() => return Ok(None),
                LogRead::Page(next) => {
                    *cursor = next.cursor();
                    *at = 0;
                    *page = Some(next);
                }
                LogRead::Reset(_) => return Err(changed(self.run).into()),
            }
        }
    }

    /// How far the events of the Log reach, from `first` on and before it.
    fn covered(&mut self, first: &Event) -> Result<[u64; 3], RuntimeError> {
        let mut coverage = Coverage::default();
        let mut ends = [0; 3];
        let mut add = |event: &Event| {
            coverage.add(event);
            if let Some((stream, to)) = end(event) {
                ends[stream.index()] = ends[stream.index()].max(to);
            }
        };
        add(first);
        let attempt = self.attempt;
        read_all(&self.log, self.run, |event| {
            if is_evidence(&event) && event.attempt_number == attempt {
                add(&event);
            }
            Ok(())
        })?;
        Ok(ends)
    }
}

/// The stream an event was made from, and how far it reaches.
fn end(event: &Event) -> Option<(Stream, u64)> {
    match event.source.stream {
        SourceStream::Stdout => Some((Stream::Stdout, event.raw_ref.stdout_to)),
        SourceStream::Stderr => Some((Stream::Stderr, event.raw_ref.stderr_to)),
        SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => None,
    }
}
