//! The only builder of RASP events: assigns sequence numbers and fills the envelope.

use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SpanRef};
use skillrun_model::{AttemptNumber, EngineName, ProfileId, RunId, Stream, Timestamp};
use skillrun_parse::Span;

use crate::names::UsedNames;

/// Creates the events of one run: `seq` without gaps, and no message name twice.
#[derive(Debug)]
pub struct EventBuilder {
    run_id: RunId,
    engine: EngineName,
    attempt: AttemptNumber,
    next_seq: u64,
    pub(crate) names: UsedNames,
}

/// Where an evidence event comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventOrigin {
    pub(crate) span: Span,
    pub(crate) profile: ProfileId,
    pub(crate) confidence: f64,
    pub(crate) ts: Timestamp,
}

impl EventBuilder {
    pub fn new(run_id: RunId, engine: EngineName) -> Self {
        Self { run_id, engine, attempt: AttemptNumber::BEFORE_FIRST, next_seq: 1, names: UsedNames::default() }
    }

    pub fn set_attempt(&mut self, attempt: AttemptNumber, engine: EngineName) {
        self.attempt = attempt;
        self.engine = engine;
    }

    pub fn attempt(&self) -> AttemptNumber {
        self.attempt
    }

    /// The seq of the next event.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Renumbers events that are still to be appended, starting at `first`. Events created with them that were already
    /// in the Log have been dropped.
    pub fn renumber(&mut self, first: u64, events: &mut [Event]) {
        self.next_seq = first;
        for event in events {
            event.seq = self.next_seq;
            self.next_seq += 1;
        }
    }

    /// Resumes a run where its Log ends: registers the name of a message in the Log, so that no other message gets it.
    pub fn recall(&mut self, message_id: &str) {
        self.names.recall(message_id);
    }

    /// An event of the runtime that is not made from evidence.
    pub fn control(&mut self, ts: Timestamp, level: Level, data: ControlData, correlation: Correlation) -> Event {
        let event = Event::control(self.run_id, self.take_seq(), ts.to_micros(), self.engine.clone(), data);
        Event { attempt_number: self.attempt, level, correlation, ..event }
    }

    /// An event made from bytes.
    pub(crate) fn evidence(
        &mut self,
        origin: EventOrigin,
        level: Level,
        data: EvidenceData,
        correlation: Correlation,
    ) -> Event {
        let source = Source {
            engine: self.engine.clone(),
            stream: origin.span.stream.source(),
            parser: Some(origin.profile),
            confidence: origin.confidence,
        };
        Event {
            run_id: self.run_id,
            seq: self.take_seq(),
            ts: origin.ts.to_micros(),
            attempt_number: self.attempt,
            source,
            level,
            data: Data::Evidence(data),
            correlation,
            raw_ref: raw_ref(origin.span),
        }
    }

    fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }
}

fn raw_ref(span: Span) -> RawRef {
    match span.stream {
        Stream::Stdout => RawRef { stdout_from: span.from, stdout_to: span.to, ..RawRef::default() },
        Stream::Stderr => RawRef { stderr_from: span.from, stderr_to: span.to, ..RawRef::default() },
        // Ranges in other files stand in `data.spans` alone.
        Stream::Pty => RawRef::default(),
    }
}

/// A span as it stands in an event.
pub fn span_ref(span: &Span) -> SpanRef {
    SpanRef { stream: span.stream.source(), from: span.from, to: span.to }
}
