//! One attempt's evidence in, events and facts out. The same code for a running attempt and for old files.

use skillrun_evidence::FeedStep;
use skillrun_evidence::feed::StepKind;
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, ProfileId, Stream, Timestamp};
use skillrun_parse::record::{CallQuestion, EndKind, RecordKind, Span};
use skillrun_parse::{Parser, Record};

use crate::builder::EventBuilder;
use crate::facts::{Facts, FactsFold};
use crate::questions::Questions;
use crate::to_rasp::ToRasp;

/// Reads one attempt.
#[derive(Debug)]
pub struct AttemptPipeline {
    parser: Parser,
    to_rasp: ToRasp,
    facts: FactsFold,
    questions: Questions,
    started_at: Timestamp,
    now: Timestamp,
    position: [u64; 3],
}

impl AttemptPipeline {
    pub fn new(attempt: AttemptNumber, profile: ProfileId, started_at: Timestamp) -> Self {
        Self {
            parser: Parser::new(profile),
            to_rasp: ToRasp::new(attempt),
            facts: FactsFold::default(),
            questions: Questions::default(),
            started_at,
            now: started_at,
            position: [0; 3],
        }
    }

    /// Sets the start of the attempt, for a reader that did not know it when it opened the evidence. No step was taken.
    pub fn set_started_at(&mut self, started_at: Timestamp) {
        (self.started_at, self.now) = (started_at, started_at);
    }

    /// From the start of the attempt to the last record.
    pub fn elapsed_ms(&self) -> Option<u64> {
        self.now.millis_since(self.started_at)
    }

    /// The moment of the last record.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The format that is being read, as far as it is known.
    pub fn profile(&self) -> ProfileId {
        self.parser.profile()
    }

    /// The end event that is currently in effect. Where the exit determines the end, there is none before it.
    pub fn end_so_far(&self) -> Option<EndKind> {
        self.facts.end_so_far(self.parser.answer_from())
    }

    /// The questions that the engine asked since the last call, in order. The last 1,000 are kept, fewer when they are
    /// large; a question that the engine withdrew in between is not returned.
    pub fn take_questions(&mut self) -> Vec<CallQuestion> {
        self.questions.take()
    }

    /// The `call_id`s of questions that the engine withdrew after they were returned here. Other ids may be among them:
    /// questions that were already answered, or that were not meant for a user.
    pub fn take_withdrawn(&mut self) -> Vec<String> {
        self.questions.take_withdrawn()
    }

    /// Takes one step of the evidence; events go to `out` in order.
    pub fn step(&mut self, step: &FeedStep<'_>, builder: &mut EventBuilder, mut out: impl FnMut(Event)) {
        self.now = self.started_at.plus_nanos(step.t_ns);
        let Self { parser, to_rasp, facts, questions, now, position, .. } = self;
        let mut take = |record: Record| match record.span.stream {
            Stream::Stdout | Stream::Stderr => {
                let name = to_rasp.record(*now, &record, builder, &mut out);
                questions.record(&record);
                facts.record(*now, record, name);
            }
            // Facts only, until it is known whether the other two streams lack something.
            Stream::Pty => facts.record(*now, record, None),
        };
        match step.kind {
            StepKind::Bytes { stream, bytes } => {
                parser.push(stream, bytes, &mut take);
                position[stream.index()] += bytes.len() as u64;
            }
            StepKind::Eof(stream) => {
                parser.eof(stream, &mut take);
                let at = position[stream.index()];
                let span = Span { stream, from: at, to: at };
                to_rasp.eof(*now, span, parser.profile_on(stream), builder, &mut out);
            }
            StepKind::Act(act) => facts.act(act),
        }
    }

    /// The evidence has been read completely.
    pub fn finish(mut self, builder: &mut EventBuilder, mut out: impl FnMut(Event)) -> Facts {
        let Self { parser, to_rasp, facts, now, .. } = &mut self;
        parser.finish(|record| {
            if matches!(record.kind, RecordKind::Notice { .. }) {
                facts.trust_merged();
            }
            if let Some(name) = to_rasp.record(*now, &record, builder, &mut out) {
                facts.name_merged(record.span, name);
            }
        });
        to_rasp.close_open_tools(*now, builder, &mut out);
        let (end_policy, answer_from) = (self.parser.end_policy(), self.parser.answer_from());
        self.facts.finish(end_policy, answer_from)
    }
}
