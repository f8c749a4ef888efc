//! gemini, in both of its formats.
//!
//! - [`stream`]: `--output-format stream-json`, one JSON object per line on stdout.
//! - [`document`]: `--output-format json`, one object, on stderr or stdout, over several lines or on one.
//! - [`noise`]: everything else it writes; stack traces and API errors in it become engine errors.
//! - [`failure`]: the `error` member, which both formats have.
//!
//! The first event or document on a stream determines its format.

mod document;
mod failure;
mod noise;
mod stream;
#[cfg(test)]
mod tests;

use skillrun_model::{ProfileId, Stream};

use crate::json;
use crate::profile::{Emit, LineOutcome, MergedUse, Profile, ProfileLine};
use crate::record::AnswerFrom;

#[derive(Debug)]
pub(crate) struct Gemini {
    reads: Reads,
    lanes: [Lane; 3],
}

/// The format that the caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Events or a document, whichever arrives.
    Both,
    DocumentAlone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Stream,
    Document,
}

impl Format {
    fn profile(self) -> ProfileId {
        match self {
            Self::Stream => ProfileId::GeminiStreamJson,
            Self::Document => ProfileId::GeminiJson,
        }
    }
}

/// What is open on one stream.
#[derive(Debug, Default)]
struct Lane {
    format: Option<Format>,
    turn: stream::Turn,
    trace: Option<noise::Trace>,
}

impl Gemini {
    pub(crate) fn stream() -> Self {
        Self { reads: Reads::Both, lanes: Default::default() }
    }

    pub(crate) fn document() -> Self {
        Self { reads: Reads::DocumentAlone, lanes: Default::default() }
    }

    fn format_of(&self, stream: Stream) -> Option<Format> {
        match self.reads {
            Reads::DocumentAlone => Some(Format::Document),
            Reads::Both => self.lanes[stream.index()].format,
        }
    }

    /// The format as a whole; events prevail, wherever they were.
    fn format(&self) -> Format {
        let is = |format| Stream::ALL.into_iter().any(|stream| self.format_of(stream) == Some(format));
        if is(Format::Document) && !is(Format::Stream) { Format::Document } else { Format::Stream }
    }

    fn may_have_events(&self, stream: Stream) -> bool {
        stream != Stream::Stderr && self.format_of(stream) != Some(Format::Document)
    }

    fn json_line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let stream = line.span.stream;
        let (may_have_events, format) = (self.may_have_events(stream), self.format_of(stream));
        let lane = &mut self.lanes[stream.index()];
        let outcome = json::read_event(line.text, |text| {
            if may_have_events && let Some(event) = stream::parse(text) {
                let outcome = lane.turn.event(event, emit);
                if outcome == LineOutcome::Known {
                    lane.format = Some(Format::Stream);
                }
                return Some(outcome);
            }
            if format == Some(Format::Stream) {
                return None;
            }
            document::parse(text)?.emit(emit);
            lane.format = Some(Format::Document);
            Some(LineOutcome::Known)
        });
        // On stderr an object is a line like any other.
        if stream == Stream::Stderr && matches!(outcome, LineOutcome::Unknown(_)) { LineOutcome::Raw } else { outcome }
    }
}

impl Profile for Gemini {
    fn id(&self) -> ProfileId {
        self.format().profile()
    }

    fn has_fixed_id(&self) -> bool {
        false
    }

    fn id_on(&self, stream: Stream) -> ProfileId {
        self.format_of(stream).unwrap_or(Format::Stream).profile()
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let ends_turn = !line.terminated && self.is_cut_success_end(line);
        let lane = &mut self.lanes[line.span.stream.index()];
        if !line.text.starts_with('{') {
            return noise::line(&mut lane.trace, line, emit);
        }
        noise::close(&mut lane.trace, emit);
        let outcome = self.json_line(line, emit);
        if ends_turn && outcome == LineOutcome::Raw {
            self.lanes[line.span.stream.index()].turn.close(stream::Ending::Whole, emit);
        }
        outcome
    }

    fn opens_document(&self, line: ProfileLine<'_>) -> bool {
        let Some(rest) = line.text.strip_prefix('{') else { return false };
        let rest = rest.trim_ascii_start();
        // Otherwise an event that was cut off would be taken for a document without an end.
        let may_open = rest.is_empty() || (rest.starts_with('"') && !rest.starts_with("\"type\""));
        may_open && self.format_of(line.span.stream) != Some(Format::Stream)
    }

    fn document(&mut self, text: &str, emit: &mut Emit<'_>) -> bool {
        let lane = &mut self.lanes[emit.span().stream.index()];
        let outcome = json::read_event(text, |text| {
            let document = document::parse(text)?;
            noise::close(&mut lane.trace, emit);
            document.emit(emit);
            lane.format = Some(Format::Document);
            Some(LineOutcome::Known)
        });
        outcome == LineOutcome::Known
    }

    fn is_cut_success_end(&self, line: ProfileLine<'_>) -> bool {
        self.may_have_events(line.span.stream) && stream::is_cut_success_end(line.text)
    }

    fn eof(&mut self, stream: Stream, emit: &mut Emit<'_>) {
        let lane = &mut self.lanes[stream.index()];
        noise::close(&mut lane.trace, emit);
        lane.turn.close(stream::Ending::Cut, emit);
    }

    fn merged(&self) -> MergedUse {
        match self.format() {
            Format::Document => MergedUse::WhenAlone,
            Format::Stream => MergedUse::Nothing,
        }
    }

    fn answer_from(&self) -> AnswerFrom {
        match self.format() {
            Format::Document => AnswerFrom::FirstOf(&[Stream::Stderr, Stream::Stdout, Stream::Pty]),
            Format::Stream => AnswerFrom::Only(Stream::Stdout),
        }
    }
}
