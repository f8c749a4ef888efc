//! Lines that the parser does not know: one record each, and only counts and ranges when there are many in a row.
//!
//! A row is made of the unparsed lines of one stream that follow each other, whatever they look like. If a change of
//! the type word ended a row, two alternating words would keep every line at full cost. Where a row is split depends on
//! its bytes alone.

use crate::last_lines::LastLines;
use crate::record::{Flood, Raw, RecordKind, Span};
use crate::types::TypeCounts;
use skillrun_model::{Code, Stream};

/// Longest raw line whose text is kept.
pub(crate) const RAW_TEXT_BUDGET: usize = 8 * 1024;
/// After this many unparsed lines in a row, only counts and ranges are kept.
pub(crate) const FLOOD_AFTER: u64 = 100;
/// One record per this many bytes of a flood.
const FLOOD_STEP: u64 = 64 * 1024;

/// A line that the parser does not know.
#[derive(Debug)]
pub(crate) struct UnparsedLine<'a> {
    pub(crate) span: Span,
    /// Absent when the line is over the budget of lines.
    pub(crate) text: Option<&'a str>,
    pub(crate) has_marker: bool,
    pub(crate) kind: UnparsedKind,
}

#[derive(Debug)]
pub(crate) enum UnparsedKind {
    /// Of the profile's format, but of this unknown type.
    Typed(String),
    /// Not of the profile's format.
    Other,
}

/// The unparsed lines of one stream.
#[derive(Debug, Default)]
pub(crate) struct RawLines {
    in_a_row: u64,
    flood: Option<OpenFlood>,
}

#[derive(Debug)]
struct OpenFlood {
    from: u64,
    to: u64,
    lines: u64,
    has_marker: bool,
    unknown_types: TypeCounts,
    /// The last lines of stderr are facts: an engine may write there why it exits.
    last: LastLines,
}

impl RawLines {
    /// Takes an unparsed line and emits the records that result now.
    pub(crate) fn push(&mut self, line: UnparsedLine<'_>, mut emit: impl FnMut(Span, RecordKind)) {
        let UnparsedLine { span, text, has_marker, kind } = line;
        self.in_a_row += 1;
        if self.in_a_row <= FLOOD_AFTER {
            let text = text.filter(|t| t.len() <= RAW_TEXT_BUDGET).map(str::to_owned);
            emit(
                span,
                match kind {
                    UnparsedKind::Typed(name) => RecordKind::Unknown { name, text, has_marker },
                    UnparsedKind::Other => RecordKind::Raw(Raw { text, lines: 1, has_marker }),
                },
            );
            return;
        }
        if self.in_a_row == FLOOD_AFTER + 1 {
            let message = format!(
                "more than {FLOOD_AFTER} lines in a row could not be parsed; of the rest only the number and the byte \
                 ranges are kept"
            );
            emit(span, RecordKind::Notice { code: Code::RawFlood, message });
        }
        let flood = self.flood.get_or_insert_with(|| OpenFlood::new(span.from));
        flood.add(span, text, has_marker, &kind);
        if flood.to - flood.from >= FLOOD_STEP {
            self.flush(span.stream, emit);
        }
    }

    /// A line that was parsed arrived, or the stream ended.
    pub(crate) fn interrupt(&mut self, stream: Stream, emit: impl FnMut(Span, RecordKind)) {
        self.flush(stream, emit);
        self.in_a_row = 0;
    }

    fn flush(&mut self, stream: Stream, mut emit: impl FnMut(Span, RecordKind)) {
        if let Some(OpenFlood { from, to, lines, has_marker, unknown_types, last }) = self.flood.take() {
            let flood = Flood { lines, has_marker, unknown_types, last };
            emit(Span { stream, from, to }, RecordKind::Flood(flood));
        }
    }
}

impl OpenFlood {
    fn new(from: u64) -> Self {
        let (unknown_types, last) = (TypeCounts::default(), LastLines::default());
        Self { from, to: from, lines: 0, has_marker: false, unknown_types, last }
    }

    fn add(&mut self, span: Span, text: Option<&str>, has_marker: bool, kind: &UnparsedKind) {
        self.to = span.to;
        self.lines += 1;
        self.has_marker |= has_marker;
        match (kind, text) {
            (UnparsedKind::Typed(name), _) => self.unknown_types.add(name, 1),
            (UnparsedKind::Other, Some(text)) if span.stream == Stream::Stderr => self.last.push(text),
            (UnparsedKind::Other, Some(_) | None) => {}
        }
    }
}
