//! The evidence of one attempt, read through the pipeline from the first byte to the facts. A worker does this while
//! the process runs; `verify`, `normalize` and the recorded fixtures do it with old files. The steps are the same.

use skillrun_evidence::{EvidenceError, Feed, FeedStep};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, ProfileId, Stream, Timestamp};

use crate::builder::EventBuilder;
use crate::facts::Facts;
use crate::pipeline::AttemptPipeline;

/// Reads one attempt: `F` is [`Feed`], or what a worker reads while the process runs.
#[derive(Debug)]
pub struct Replay<F> {
    feed: F,
    pipeline: AttemptPipeline,
}

/// What is known when an attempt was read to its end.
#[derive(Debug)]
pub struct ReplayEnd {
    pub facts: Facts,
    /// The format that was read.
    pub profile: ProfileId,
    /// The moment of the last record.
    pub at: Timestamp,
    /// From the start of the attempt to its last record.
    pub elapsed_ms: Option<u64>,
    /// Parts of the evidence that could not be used.
    pub problems: Vec<String>,
    /// Why bytes were withheld: the mask is not complete.
    pub withheld: Option<String>,
    /// Bytes read, by [`Stream::index`].
    pub bytes: [u64; 3],
}

impl<F> Replay<F> {
    pub fn new(feed: F, attempt: AttemptNumber, profile: ProfileId, started_at: Timestamp) -> Self {
        Self { feed, pipeline: AttemptPipeline::new(attempt, profile, started_at) }
    }

    /// What was read so far.
    pub fn pipeline(&self) -> &AttemptPipeline {
        &self.pipeline
    }

    pub fn pipeline_mut(&mut self) -> &mut AttemptPipeline {
        &mut self.pipeline
    }

    pub fn feed(&self) -> &F {
        &self.feed
    }

    pub fn feed_mut(&mut self) -> &mut F {
        &mut self.feed
    }

    pub fn into_parts(self) -> (F, AttemptPipeline) {
        (self.feed, self.pipeline)
    }

    /// Reads the step that `next` returns, if there is one; events go to `out` in order.
    pub fn step_with<'a>(
        &'a mut self,
        next: impl FnOnce(&'a mut F) -> Result<Option<FeedStep<'a>>, EvidenceError>,
        builder: &mut EventBuilder,
        out: impl FnMut(Event),
    ) -> Result<Option<FeedStep<'a>>, EvidenceError> {
        let Some(step) = next(&mut self.feed)? else { return Ok(None) };
        self.pipeline.step(&step, builder, out);
        Ok(Some(step))
    }
}

impl Replay<Feed> {
    /// Reads the next step, or returns none at the end of the evidence; events go to `out` in order.
    pub fn step(
        &mut self,
        builder: &mut EventBuilder,
        out: impl FnMut(Event),
    ) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        self.step_with(Feed::next_step, builder, out)
    }

    /// There is no further step; the last events go to `out`.
    pub fn finish(self, builder: &mut EventBuilder, out: impl FnMut(Event)) -> ReplayEnd {
        let Self { feed, pipeline } = self;
        let (profile, at, elapsed_ms) = (pipeline.profile(), pipeline.now(), pipeline.elapsed_ms());
        ReplayEnd {
            facts: pipeline.finish(builder, out),
            profile,
            at,
            elapsed_ms,
            problems: feed.problems(),
            withheld: feed.withheld(),
            bytes: Stream::ALL.map(|stream| feed.position(stream)),
        }
    }

    /// Reads everything that is left.
    pub fn read(mut self, builder: &mut EventBuilder, mut out: impl FnMut(Event)) -> Result<ReplayEnd, EvidenceError> {
        while self.step(builder, &mut out)?.is_some() {}
        Ok(self.finish(builder, out))
    }
}
