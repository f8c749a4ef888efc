//! One stream of iFlow.

use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;

use crate::parser;
use crate::profile::{Emit, LineOutcome, ProfileLine};
use crate::profiles::stream_text::StreamText;
use crate::raw::RAW_TEXT_BUDGET;
use crate::record::{Raw, RecordKind, Span};

use super::TEXT;
use super::block::{AtEnd, OpenBlock, Step};
use super::expressions::{OpenError, hint_inside, is_start_up, resume_hint};
use super::fence::OpenFence;

/// Of a session id: in a block that is JSON, in one that is not quite JSON, and in a resume hint.
const EXACT: f64 = 1.0;
const INEXACT: f64 = 0.8;
const HINT: f64 = 0.6;
/// In a hint inside a line, which may be the agent's.
const HINT_INSIDE: f64 = 0.5;

/// Most lines at the beginning of a stream that count as startup noise.
const START_UP_MAX: usize = 32;

/// How much of an `<Execution Info>` block a stream has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// Its end was cut off, so it does not report that the turn is over.
    Cut,
    Whole,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    text: StreamText,
    /// There was a message, so what follows is not startup noise.
    has_begun: bool,
    start_up: usize,
    fence: Option<OpenFence>,
    error: Option<OpenError>,
    block: Option<OpenBlock>,
    seen: Option<Seen>,
    /// The engine writes its block last, so a later one counts and an earlier one was part of the agent's text.
    session: Option<Session>,
    usage: Option<(TurnUsage, Span)>,
}

#[derive(Debug)]
struct Session {
    id: String,
    confidence: f64,
    span: Span,
}

/// Whether a line may begin a block. Lines of a block that turned out to be text may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockStart {
    Allowed,
    Denied,
}

/// A line of uncertain origin that is not part of the message.
fn uncertain(line: &str, span: Span, emit: &mut Emit<'_>) {
    let text = (line.len() <= RAW_TEXT_BUDGET).then(|| line.to_owned());
    let raw = Raw { text, lines: 1, has_marker: parser::mentions_marker(line) };
    emit.push_at(span, Vec::new(), parser::RAW_CONFIDENCE, RecordKind::Raw(raw));
}

impl Lane {
    pub(super) fn seen(&self) -> Option<Seen> {
        self.seen
    }

    pub(super) fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let plain = crate::ansi::strip(line.text);
        if let Some(mut block) = self.block.take() {
            let step = match &self.fence {
                Some(fence) if fence.is_closed_by(&plain) => Step::Broken,
                Some(_) | None => block.line(line.text, &plain, line.span),
            };
            match step {
                Step::Open | Step::Closed => return self.go_on(block, emit),
                Step::Broken => self.give_back(block, emit),
            }
        }
        self.ordinary(line.text, &plain, line.span, BlockStart::Allowed, emit)
    }

    /// A closed block is the engine's. In a fence it is part of the agent's text, unless the fence never ends and the
    /// block is the last content of the stream.
    fn go_on(&mut self, block: OpenBlock, emit: &mut Emit<'_>) -> LineOutcome {
        if block.is_closed() && self.fence.is_none() {
            self.accept(&block, Seen::Whole, emit);
        } else {
            self.block = Some(block);
        }
        LineOutcome::Held
    }

    fn ordinary(&mut self, line: &str, plain: &str, span: Span, start: BlockStart, emit: &mut Emit<'_>) -> LineOutcome {
        let block = match start {
            BlockStart::Allowed => OpenBlock::begun_by(line, plain, span),
            BlockStart::Denied => None,
        };
        if let Some(mut error) = self.error.take() {
            if block.is_none() && error.take(plain, span) {
                self.error = Some(error);
                return LineOutcome::Held;
            }
            error.close(emit);
        }
        if let Some(block) = block {
            return self.go_on(block, emit);
        }
        match &self.fence {
            Some(fence) => {
                if fence.is_closed_by(plain) {
                    self.fence = None;
                }
            }
            None => {
                self.error = OpenError::begun_by(plain, span);
                if self.error.is_some() {
                    return LineOutcome::Held;
                }
                if !self.has_begun && self.start_up < START_UP_MAX && is_start_up(plain) {
                    self.start_up += 1;
                    uncertain(plain, span, emit);
                    return LineOutcome::Held;
                }
                if let Some(id) = resume_hint(plain) {
                    self.hint(id, HINT, span);
                    emit.push_at(span, Vec::new(), HINT, RecordKind::Status { phase: Phase::Working, detail: None });
                    return LineOutcome::Held;
                }
                if let Some(id) = hint_inside(plain) {
                    self.hint(id, HINT_INSIDE, span);
                    uncertain(plain, span, emit);
                    return LineOutcome::Held;
                }
                self.fence = OpenFence::opened_by(plain);
            }
        }
        self.has_begun |= !plain.trim().is_empty();
        self.text.line(line, span);
        LineOutcome::Held
    }

    fn hint(&mut self, id: &str, confidence: f64, span: Span) {
        if self.session.as_ref().is_none_or(|session| session.confidence <= confidence) {
            self.session = Some(Session { id: id.to_owned(), confidence, span });
        }
    }

    fn accept(&mut self, block: &OpenBlock, seen: Seen, emit: &mut Emit<'_>) {
        let info = block.info();
        let confidence = if info.is_exact { EXACT } else { INEXACT };
        let phase = match seen {
            Seen::Whole => Phase::TurnCompleted,
            Seen::Cut => Phase::Working,
        };
        emit.push_at(block.span, Vec::new(), confidence, RecordKind::Status { phase, detail: None });
        if let Some(id) = info.session_id {
            self.session = Some(Session { id, confidence, span: block.span });
        }
        if let Some(usage) = info.usage {
            self.usage = Some((usage, block.span));
        }
        if let Some((text, span)) = block.behind() {
            self.text.line(text, span);
        }
        self.seen = self.seen.max(Some(seen));
    }

    /// The supposed block is text.
    fn give_back(&mut self, block: OpenBlock, emit: &mut Emit<'_>) {
        for (line, span) in block.lines {
            let plain = crate::ansi::strip(&line);
            self.ordinary(&line, &plain, span, BlockStart::Denied, emit);
        }
    }

    pub(super) fn eof(&mut self, emit: &mut Emit<'_>) {
        if let Some(block) = self.block.take() {
            let is_fenced = self.fence.is_some();
            match (block.is_closed(), is_fenced, block.at_end()) {
                (true, _, _) => self.accept(&block, Seen::Whole, emit),
                (false, false, AtEnd::Cut) => self.accept(&block, Seen::Cut, emit),
                (false, false, AtEnd::Broken) | (false, true, _) => self.give_back(block, emit),
            }
        }
        if let Some(error) = self.error.take() {
            error.close(emit);
        }
        if let Some(Session { id, confidence, span }) = self.session.take() {
            emit.push_at(span, Vec::new(), confidence, RecordKind::Session { id });
        }
        if let Some((usage, span)) = self.usage.take() {
            emit.push_at(span, Vec::new(), EXACT, RecordKind::Usage(usage));
        }
        std::mem::take(&mut self.text).close(TEXT, emit);
    }
}
