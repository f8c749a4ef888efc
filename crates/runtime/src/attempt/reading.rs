//! Reads the evidence of an attempt into events: while it is written, or after its earlier reader is gone.

use skillrun_engine::acp::{AgentInput, Driver};
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::live_feed::Extent;
use skillrun_evidence::{Meta, Stream};
use skillrun_lifecycle::closing;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, Code, Timestamp};
use skillrun_parse::record::{CallQuestion, EndKind};
use skillrun_translate::{Facts, Replay};

use super::evidence::{AttemptEvidence, EvidenceTotals};
use super::known::{Covered, EventMatch, LoggedEvents};
use super::opening;
use crate::error::RuntimeError;
use crate::run::Run;

/// Events that are appended in one batch.
const BATCH: usize = 256;

#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) attempt: AttemptNumber,
    replay: Replay<Box<dyn AttemptEvidence>>,
    /// The start time of the attempt is known; nothing is read before.
    is_started: bool,
    known: LoggedEvents,
    /// Derives the messages that an agent must receive from its output.
    driver: Option<Driver>,
    /// The disk is full: events are made, for the verdict, but not appended.
    is_full: bool,
}

/// An attempt that was read to its end.
#[derive(Debug)]
pub(crate) struct AttemptRead {
    pub(crate) facts: Facts,
    pub(crate) meta: Meta,
    pub(crate) totals: EvidenceTotals,
    /// The disk was full, so that events are missing in the Log.
    pub(crate) is_full: bool,
    pub(crate) elapsed_ms: Option<u64>,
}

impl Reading {
    /// Begins with the first byte. Events that are already in the Log are not appended again.
    pub(crate) fn open(
        run: &Run,
        attempt: AttemptNumber,
        evidence: Box<dyn AttemptEvidence>,
    ) -> Result<Self, RuntimeError> {
        let known = LoggedEvents::until(run.store(), run.id, attempt, run.state.last_seq);
        Self::with(run, attempt, evidence, known)
    }

    /// For an attempt that has just begun.
    pub(crate) fn begin(
        run: &Run,
        attempt: AttemptNumber,
        evidence: Box<dyn AttemptEvidence>,
    ) -> Result<Self, RuntimeError> {
        Self::with(run, attempt, evidence, LoggedEvents::nothing(run.store(), run.id, attempt))
    }

    fn with(
        run: &Run,
        attempt: AttemptNumber,
        evidence: Box<dyn AttemptEvidence>,
        known: LoggedEvents,
    ) -> Result<Self, RuntimeError> {
        let driver = opening::driver(run, attempt)?;
        let replay = Replay::new(evidence, attempt, run.record.engine.profile, Timestamp::EPOCH);
        Ok(Self { attempt, replay, is_started: false, known, driver, is_full: false })
    }

    /// The end event that is valid so far.
    pub(crate) fn end_so_far(&self) -> Option<EndKind> {
        self.replay.pipeline().end_so_far()
    }

    /// Questions inside the turn that were read since the last call.
    pub(crate) fn take_questions(&mut self) -> Vec<CallQuestion> {
        self.replay.pipeline_mut().take_questions()
    }

    /// Messages for an agent since the last call.
    pub(crate) fn take_sends(&mut self) -> Vec<AgentInput> {
        self.driver.as_mut().map(Driver::take).unwrap_or_default()
    }

    /// Reads what is available now.
    pub(crate) fn advance(&mut self, run: &mut Run, extent: Extent) -> Result<(), RuntimeError> {
        if !self.is_started {
            let Some(started_at) = self.replay.feed().started_at() else { return Ok(()) };
            self.replay.pipeline_mut().set_started_at(started_at);
            self.is_started = true;
        }
        let mut batch = Vec::new();
        while let Some(step) =
            self.replay.step_with(|feed| feed.next_step(extent), &mut run.builder, |event| batch.push(event))?
        {
            if let (Some(driver), StepKind::Bytes { stream: Stream::Stdout, bytes }) = (&mut self.driver, &step.kind) {
                driver.push(bytes);
            }
            if batch.len() >= BATCH {
                append(run, &mut self.known, &mut self.is_full, std::mem::take(&mut batch))?;
            }
        }
        append(run, &mut self.known, &mut self.is_full, batch)
    }

    /// The attempt is over: reads the rest.
    pub(crate) fn finish(self, run: &mut Run) -> Result<AttemptRead, RuntimeError> {
        let Self { attempt: _, mut replay, is_started, mut known, driver: _, mut is_full } = self;
        let meta = replay.feed_mut().end()?;
        if !is_started {
            replay.pipeline_mut().set_started_at(meta.started_at.unwrap_or(Timestamp::EPOCH));
        }
        let mut batch = Vec::new();
        while replay.step_with(|feed| feed.next_left(), &mut run.builder, |event| batch.push(event))?.is_some() {
            if batch.len() >= BATCH {
                append(run, &mut known, &mut is_full, std::mem::take(&mut batch))?;
            }
        }
        let (evidence, pipeline) = replay.into_parts();
        let elapsed_ms = pipeline.elapsed_ms();
        let facts = pipeline.finish(&mut run.builder, |event| batch.push(event));
        append(run, &mut known, &mut is_full, batch)?;
        Ok(AttemptRead { facts, meta, totals: evidence.totals(), is_full, elapsed_ms })
    }
}

fn append(run: &mut Run, known: &mut LoggedEvents, is_full: &mut bool, batch: Vec<Event>) -> Result<(), RuntimeError> {
    let mut new = Vec::with_capacity(batch.len());
    for event in batch {
        match known.compare(&event)? {
            EventMatch::IsKnown => {}
            EventMatch::IsNew => new.push(event),
            EventMatch::Differs { covered } => {
                let message =
                    "events of this attempt were made by another parser version; new events are appended after them";
                run.note(closing::warning(Code::ParserChanged, message.to_owned()))?;
                new.extend(Some(event).filter(|_| covered == Covered::No));
            }
        }
    }
    if *is_full {
        return run.append_evidence(Vec::new());
    }
    match run.append_evidence(new) {
        Err(RuntimeError::Log(LogError { kind: LogErrorKind::NoSpace { .. }, .. })) => {
            // The verdict does not depend on it; room is reserved for the verdict's own events.
            *is_full = true;
            Ok(())
        }
        other => other,
    }
}
