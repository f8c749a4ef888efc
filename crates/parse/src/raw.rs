//! Lines that no rule understands: one record each, and only ranges when there are many.

use crate::record::{Raw, RecordKind, Span};
use skillrun_model::{Code, Stream};

/// Longest raw line whose text is kept.
pub(crate) const RAW_TEXT_BUDGET: usize = 8 * 1024;
/// After this many raw lines in a row, only the ranges of lines are kept.
pub(crate) const FLOOD_AFTER: u64 = 10_000;
/// One record per this many bytes of a flood.
const FLOOD_STEP: u64 = 1024 * 1024;

/// Raw lines of one stream.
#[derive(Debug, Default)]
pub(crate) struct RawLines {
    in_a_row: u64,
    flood: Option<Flood>,
}

#[derive(Debug)]
struct Flood {
    from: u64,
    to: u64,
    lines: u64,
    has_marker: bool,
}

impl RawLines {
    /// Takes a raw line and emits the records that result now.
    pub(crate) fn push(
        &mut self,
        span: Span,
        text: Option<&str>,
        has_marker: bool,
        mut emit: impl FnMut(Span, RecordKind),
    ) {
        self.in_a_row += 1;
        if self.in_a_row <= FLOOD_AFTER {
            let text = text.filter(|t| t.len() <= RAW_TEXT_BUDGET).map(str::to_owned);
            emit(span, RecordKind::Raw(Raw { text, lines: 1, has_marker }));
            return;
        }
        if self.in_a_row == FLOOD_AFTER + 1 {
            let message = format!(
                "more than {FLOOD_AFTER} lines in a row could not be parsed; only the byte range of the rest is kept"
            );
            emit(span, RecordKind::Notice { code: Code::RawFlood, message });
        }
        let flood = self.flood.get_or_insert(Flood { from: span.from, to: span.to, lines: 0, has_marker: false });
        flood.to = span.to;
        flood.lines += 1;
        flood.has_marker |= has_marker;
        if flood.to - flood.from >= FLOOD_STEP {
            self.flush(span.stream, emit);
        }
    }

    /// A line that is not raw arrived, or the stream ended.
    pub(crate) fn interrupt(&mut self, stream: Stream, emit: impl FnMut(Span, RecordKind)) {
        self.flush(stream, emit);
        self.in_a_row = 0;
    }

    fn flush(&mut self, stream: Stream, mut emit: impl FnMut(Span, RecordKind)) {
        if let Some(flood) = self.flood.take() {
            let span = Span { stream, from: flood.from, to: flood.to };
            emit(span, RecordKind::Raw(Raw { text: None, lines: flood.lines, has_marker: flood.has_marker }));
        }
    }
}
