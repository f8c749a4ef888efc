//! Events of an attempt that are already in the Log, because an earlier owner appended them. The evidence is read from
//! the first byte again; events that are the same are dropped.

use std::sync::Arc;

use skillrun_log::{Seq, chain};
use skillrun_model::rasp::{Event, SourceStream};
use skillrun_model::{AttemptNumber, RunId, Stream};
use skillrun_runs::events::is_evidence;
use skillrun_translate::coverage::Coverage;

use crate::error::RuntimeError;
use crate::store::{LoggedEvidence, RunStore};

#[derive(Debug)]
pub(crate) struct LoggedEvents {
    store: Arc<dyn RunStore>,
    run: RunId,
    attempt: AttemptNumber,
    state: Progress,
}

#[derive(Debug)]
enum Progress {
    /// Nothing more is in the Log.
    New,
    /// New events are compared with the rest of these.
    Comparing(Box<dyn LoggedEvidence>),
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
    pub(crate) fn nothing(store: &Arc<dyn RunStore>, run: RunId, attempt: AttemptNumber) -> Self {
        Self { store: store.clone(), run, attempt, state: Progress::New }
    }

    /// The events up to `last`.
    pub(crate) fn until(store: &Arc<dyn RunStore>, run: RunId, attempt: AttemptNumber, last: u64) -> Self {
        let state = Progress::Comparing(store.logged_evidence(run, attempt, Seq(last)));
        Self { store: store.clone(), run, attempt, state }
    }

    /// Whether the Log has an event that was made from evidence.
    pub(crate) fn compare(&mut self, event: &Event) -> Result<EventMatch, RuntimeError> {
        let next = match &mut self.state {
            Progress::New => return Ok(EventMatch::IsNew),
            Progress::Changed { covered } => {
                let is_covered = end(event).is_some_and(|(stream, to)| to <= covered[stream.index()]);
                return Ok(if is_covered { EventMatch::IsKnown } else { EventMatch::IsNew });
            }
            Progress::Comparing(logged) => logged.next()?,
        };
        let Some((json, known)) = next else {
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
        self.store.read_all(self.run, &mut |event, _| {
            if is_evidence(event) && event.attempt_number == attempt {
                add(event);
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
