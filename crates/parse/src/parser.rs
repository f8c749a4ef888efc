//! The driver: splits streams into lines, passes each to the profile, and ensures that no byte is left without a
//! record.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use skillrun_model::codes::Code;
use skillrun_model::status::Phase;
use skillrun_model::{ProfileId, Stream};

use crate::document::{DocumentState, OpenDocument};
use crate::lines::{LINE_BUDGET, RawLine, Splitter};
use crate::merged::Merged;
use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::profiles;
use crate::raw::{RawLines, UnparsedKind, UnparsedLine};
use crate::record::{AnswerFrom, End, EndPolicy, Record, RecordKind, Span};
use crate::text::marker::DONE_KEY;

/// Confidence of a line that no rule understands.
pub const RAW_CONFIDENCE: f64 = 0.3;
/// Of a raw line that is known to have no meaning.
pub const NOISE_CONFIDENCE: f64 = 1.0;

/// Reads one attempt.
#[derive(Debug)]
pub struct Parser {
    splitters: [Splitter; 3],
    reader: Reader,
    merged: Merged,
}

/// Everything behind the line splitters.
#[derive(Debug)]
struct Reader {
    profile: Box<dyn Profile>,
    lanes: [Lane; 3],
    /// Records of the current line.
    scratch: Vec<Record>,
}

/// What is open on one stream.
#[derive(Debug, Default)]
struct Lane {
    /// Where the blank lines before the next event begin.
    blank_from: Option<u64>,
    raw: RawLines,
    document: Option<OpenDocument>,
    /// Behind the last line.
    end: u64,
}

impl Parser {
    pub fn new(profile: ProfileId) -> Self {
        let reader = Reader { profile: profiles::make(profile), lanes: Default::default(), scratch: Vec::new() };
        Self { splitters: Default::default(), reader, merged: Merged::default() }
    }

    /// The format that is being read, as far as it is known.
    pub fn profile(&self) -> ProfileId {
        self.reader.profile.id()
    }

    /// The format of one stream, whatever the others hold.
    pub fn profile_on(&self, stream: Stream) -> ProfileId {
        self.reader.profile.id_on(stream)
    }

    pub fn end_policy(&self) -> EndPolicy {
        self.reader.profile.end_policy()
    }

    pub fn answer_from(&self) -> AnswerFrom {
        self.reader.profile.answer_from()
    }

    /// Records of the merged recording ([`Stream::Pty`]) are facts alone until [`Self::finish`] says which of them count.
    pub fn push(&mut self, stream: Stream, bytes: &[u8], mut sink: impl FnMut(Record)) {
        let Self { splitters, reader, merged } = self;
        let mut sink = |record| merged.pass(record, &mut sink);
        splitters[stream.index()].push(bytes, |line| reader.line(stream, line, DocumentStart::Allowed, &mut sink));
    }

    /// A stream is over.
    pub fn eof(&mut self, stream: Stream, mut sink: impl FnMut(Record)) {
        let Self { splitters, reader, merged } = self;
        let mut sink = |record| merged.pass(record, &mut sink);
        splitters[stream.index()].finish(|line| reader.line(stream, line, DocumentStart::Allowed, &mut sink));
        reader.eof(stream, &mut sink);
    }

    /// All streams are over: gives out what only the merged recording has.
    pub fn finish(&mut self, mut sink: impl FnMut(Record)) {
        let merged = self.reader.profile.merged();
        self.merged.finish(merged, &mut sink);
    }
}

/// Whether a line may begin a document. Lines of an abandoned document may not: each would be read again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentStart {
    Allowed,
    Denied,
}

impl Reader {
    fn line(&mut self, stream: Stream, raw: RawLine<'_>, start: DocumentStart, sink: &mut impl FnMut(Record)) {
        let lane = &mut self.lanes[stream.index()];
        lane.end = raw.end;
        let Some(bytes) = raw.bytes else {
            self.give_up_document(stream, sink);
            return self.overlong(stream, raw, sink);
        };
        if lane.document.is_some() {
            return self.document_line(stream, raw, bytes, sink);
        }
        // The check alone is much faster than the lossy decoder, and nearly every line passes it.
        let decoded = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        let text = clean_ends(&decoded, raw.start);
        if text.trim_ascii().is_empty() && !self.profile.wants_blank_lines() {
            lane.blank_from.get_or_insert(raw.start);
            return;
        }
        let from = lane.blank_from.take().unwrap_or(raw.start);
        let span = Span { stream, from, to: raw.end };
        let line = ProfileLine { span, text, terminated: raw.terminated };
        if start == DocumentStart::Allowed && self.profile.opens_document(line) {
            // A byte-order mark is covered, like a blank line before the document, but is not part of it.
            let mark = if raw.start == 0 && bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            let mut document = OpenDocument::new(stream, from, raw.start + mark as u64);
            match document.line(&bytes[mark..], raw.terminated) {
                DocumentState::Open => {
                    self.lanes[stream.index()].document = Some(document);
                    return;
                }
                // Complete on one line, so the line is passed to the profile; or not JSON at all.
                DocumentState::Complete | DocumentState::Failed => {}
            }
        }
        self.ask(line, sink);
    }

    /// Passes a line to the profile and keeps it as raw if the profile does not understand it.
    fn ask(&mut self, line: ProfileLine<'_>, sink: &mut impl FnMut(Record)) {
        let mut is_covered = false;
        let mut outcome = self.collect_many(line.span, &mut is_covered, sink, |profile, emit| profile.line(line, emit));
        if outcome == LineOutcome::Raw
            && line.text.contains('\u{1b}')
            && let Cow::Owned(stripped) = crate::ansi::strip(line.text)
        {
            // A terminal may put escape sequences around a line of JSON.
            let line = ProfileLine { text: &stripped, ..line };
            outcome = self.collect_many(line.span, &mut is_covered, sink, |profile, emit| profile.line(line, emit));
        }
        match outcome {
            LineOutcome::Known => {
                if !is_covered && !covers(&self.scratch, line.span) {
                    self.collect(line.span, |_, emit| emit.status(Phase::Working));
                }
                self.interrupt_raw(line.span.stream, sink);
                self.forward(sink);
            }
            LineOutcome::Unknown(name) => {
                // A line of which a part was parsed has records of its own, and ends the row.
                if !self.scratch.is_empty() {
                    self.interrupt_raw(line.span.stream, sink);
                    self.forward(sink);
                }
                self.unparsed(line, UnparsedKind::Typed(name), RAW_CONFIDENCE, sink);
            }
            LineOutcome::Held => {
                self.interrupt_raw(line.span.stream, sink);
                self.forward(sink);
            }
            LineOutcome::Noise => {
                self.forward(sink);
                self.unparsed(line, UnparsedKind::Other, NOISE_CONFIDENCE, sink);
            }
            LineOutcome::Raw => {
                self.forward(sink);
                self.unparsed(line, UnparsedKind::Other, RAW_CONFIDENCE, sink);
                if !line.terminated && line.span.stream != Stream::Stderr && self.profile.is_cut_success_end(line) {
                    self.collect(line.span, |_, emit| {
                        emit.push(RecordKind::Notice {
                            code: Code::EndEventCut,
                            message: "the last line was cut, but it already shows the success end".to_owned(),
                        });
                        emit.push(RecordKind::End(End::success()));
                    });
                    self.forward(sink);
                }
            }
        }
    }

    fn overlong(&mut self, stream: Stream, raw: RawLine<'_>, sink: &mut impl FnMut(Record)) {
        let from = self.lanes[stream.index()].blank_from.take().unwrap_or(raw.start);
        let span = Span { stream, from, to: raw.end };
        let message = format!(
            "a line of {} bytes is longer than {LINE_BUDGET}; only its byte range is kept",
            raw.end - raw.start
        );
        self.interrupt_raw(stream, sink);
        self.collect(span, |_, emit| emit.push(RecordKind::Notice { code: Code::LineTooLong, message }));
        self.forward(sink);
        self.raw(UnparsedLine { span, text: None, has_marker: false, kind: UnparsedKind::Other }, RAW_CONFIDENCE, sink);
    }

    fn document_line(&mut self, stream: Stream, raw: RawLine<'_>, bytes: &[u8], sink: &mut impl FnMut(Record)) {
        let lane = &mut self.lanes[stream.index()];
        let Some(mut document) = lane.document.take() else { return };
        match document.line(bytes, raw.terminated) {
            DocumentState::Open => lane.document = Some(document),
            DocumentState::Complete => {
                let text = document.text();
                let read = |profile: &mut dyn Profile, emit: &mut Emit<'_>| profile.document(&text, emit);
                let known = self.collect_many(document.span(), &mut false, sink, read);
                drop(text);
                if known {
                    self.interrupt_raw(stream, sink);
                    self.forward(sink);
                } else {
                    self.lines_of(document, sink);
                }
            }
            DocumentState::Failed => {
                self.lines_of(document, sink);
                self.line(stream, raw, DocumentStart::Allowed, sink);
            }
        }
    }

    fn give_up_document(&mut self, stream: Stream, sink: &mut impl FnMut(Record)) {
        if let Some(document) = self.lanes[stream.index()].document.take() {
            let span = document.span();
            self.lines_of(document, sink);
            self.collect(span, |_, emit| {
                let message = "a JSON document begins here and does not end".to_owned();
                emit.push(RecordKind::Notice { code: Code::DocumentUnclosed, message });
            });
            self.forward(sink);
        }
    }

    /// Reads the lines of an abandoned document as single lines.
    fn lines_of(&mut self, document: OpenDocument, sink: &mut impl FnMut(Record)) {
        let stream = document.stream;
        let from = document.from;
        let (mut start, bytes) = document.into_lines();
        self.lanes[stream.index()].blank_from = (from < start).then_some(from);
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let end = start + line.len() as u64;
            let content = line.strip_suffix(b"\n");
            let raw = RawLine { start, end, bytes: Some(content.unwrap_or(line)), terminated: content.is_some() };
            self.line(stream, raw, DocumentStart::Denied, sink);
            start = end;
        }
    }

    fn eof(&mut self, stream: Stream, sink: &mut impl FnMut(Record)) {
        self.give_up_document(stream, sink);
        self.interrupt_raw(stream, sink);
        let lane = &mut self.lanes[stream.index()];
        let end = lane.end;
        if let Some(from) = lane.blank_from.take() {
            let span = Span { stream, from, to: end };
            let blank = UnparsedLine { span, text: Some(""), has_marker: false, kind: UnparsedKind::Other };
            self.raw(blank, RAW_CONFIDENCE, sink);
            self.interrupt_raw(stream, sink);
        }
        self.collect(Span { stream, from: end, to: end }, |profile, emit| profile.eof(stream, emit));
        self.forward(sink);
    }

    fn collect<T>(&mut self, span: Span, act: impl FnOnce(&mut dyn Profile, &mut Emit<'_>) -> T) -> T {
        let before = self.scratch.len();
        let id = self.profile.id_on(span.stream);
        let made = act(&mut *self.profile, &mut Emit::new(span, id, &mut self.scratch));
        // The format may have become known with these bytes.
        let id = self.profile.id_on(span.stream);
        self.scratch[before..].iter_mut().for_each(|record| record.profile = id);
        made
    }

    /// The same for what may give very many records: they are passed on meanwhile. Sets `is_covered` when one of those
    /// shows all of the bytes.
    fn collect_many<T>(
        &mut self,
        span: Span,
        is_covered: &mut bool,
        sink: &mut impl FnMut(Record),
        act: impl FnOnce(&mut dyn Profile, &mut Emit<'_>) -> T,
    ) -> T {
        if !self.profile.has_fixed_id() {
            return self.collect(span, act);
        }
        let Self { profile, lanes, scratch } = self;
        let id = profile.id_on(span.stream);
        let raw = &mut lanes[span.stream.index()].raw;
        let mut pass_on = |records: &mut Vec<Record>| {
            raw.interrupt(span.stream, |span, kind| sink(raw_record(span, id, kind)));
            *is_covered = *is_covered || covers(records, span);
            records.drain(..).for_each(&mut *sink);
        };
        act(&mut **profile, &mut Emit::new(span, id, scratch).passing_on(&mut pass_on))
    }

    fn forward(&mut self, sink: &mut impl FnMut(Record)) {
        self.scratch.drain(..).for_each(sink);
    }

    fn unparsed(&mut self, line: ProfileLine<'_>, kind: UnparsedKind, confidence: f64, sink: &mut impl FnMut(Record)) {
        let has_marker = mentions_marker(line.text);
        self.raw(UnparsedLine { span: line.span, text: Some(line.text), has_marker, kind }, confidence, sink);
    }

    fn raw(&mut self, line: UnparsedLine<'_>, confidence: f64, sink: &mut impl FnMut(Record)) {
        let stream = line.span.stream;
        let profile = self.profile.id_on(stream);
        self.lanes[stream.index()].raw.push(line, |at, kind| {
            // Lines of a flood are not known one by one.
            let confidence = if matches!(kind, RecordKind::Raw(_)) { confidence } else { RAW_CONFIDENCE };
            sink(Record { confidence, ..raw_record(at, profile, kind) });
        });
    }

    fn interrupt_raw(&mut self, stream: Stream, sink: &mut impl FnMut(Record)) {
        let profile = self.profile.id_on(stream);
        self.lanes[stream.index()].raw.interrupt(stream, |span, kind| sink(raw_record(span, profile, kind)));
    }
}

fn raw_record(span: Span, profile: ProfileId, kind: RecordKind) -> Record {
    Record { span, pieces: Vec::new(), profile, confidence: RAW_CONFIDENCE, kind }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Without carriage return at the end, and without a byte-order mark at the beginning of the stream.
fn clean_ends(text: &str, start: u64) -> &str {
    let text = text.strip_suffix('\r').unwrap_or(text);
    if start == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text }
}

/// Built once: every line that no rule understands is searched.
static MARKER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(DONE_KEY));

pub(crate) fn mentions_marker(text: &str) -> bool {
    MARKER.find(text.as_bytes()).is_some()
}

/// Whether an event among these records shows all of the bytes.
fn covers(records: &[Record], span: Span) -> bool {
    records.iter().any(|record| record.kind.is_event() && record.covers(span))
}

impl Record {
    fn covers(&self, span: Span) -> bool {
        let inside = |s: &Span| s.stream == span.stream && s.from <= span.from && s.to >= span.to;
        if self.pieces.is_empty() { inside(&self.span) } else { self.pieces.iter().any(inside) }
    }
}

impl RecordKind {
    /// Whether it becomes an event that shows its bytes. Other records are only facts for the gate.
    pub fn is_event(&self) -> bool {
        match self {
            Self::Session { .. } | Self::Join | Self::Usage(_) | Self::End(_) | Self::ToolSeen { .. } => false,
            Self::Status { .. }
            | Self::Delta { .. }
            | Self::Message { .. }
            | Self::Void(_)
            | Self::Reasoning { .. }
            | Self::ToolStarted { .. }
            | Self::ToolCompleted { .. }
            | Self::ToolFailed { .. }
            | Self::Question(_)
            | Self::Withdrawn { .. }
            | Self::EngineError(_)
            | Self::ServerFailed(_)
            | Self::Subagent(_)
            | Self::Unknown { .. }
            | Self::Raw(_)
            | Self::Flood(_)
            | Self::Notice { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::RECORDS_AT_ONCE;

    /// A line of 8 MiB made of tiny content blocks took 151 MB: its records were kept until the line was read.
    #[test]
    fn records_of_one_line_are_passed_on_while_it_is_read() {
        const BLOCKS: usize = 20_500;
        let blocks = vec![r#"{"type":"text","text":"a"}"#; BLOCKS].join(",");
        let message = format!(r#"{{"id":"m","role":"assistant","content":[{blocks}]}}"#);
        let line = format!("no JSON\n{{\"type\":\"assistant\",\"message\":{message},\"session_id\":\"s\"}}\n");
        for profile in [ProfileId::ClaudeStreamJson, ProfileId::QwenStreamJson] {
            let mut parser = Parser::new(profile);
            let mut kinds = Vec::new();
            parser.push(Stream::Stdout, line.as_bytes(), |record| kinds.push(record.kind));
            assert!(matches!(kinds[..2], [RecordKind::Raw(_), RecordKind::Session { .. }]), "{:?}", &kinds[..2]);
            assert!(kinds[2..].iter().all(|kind| matches!(kind, RecordKind::Message { .. })), "{profile:?}");
            assert_eq!(kinds.len(), BLOCKS + 2);
            let kept = parser.reader.scratch.capacity();
            assert!(kept < 2 * RECORDS_AT_ONCE, "room for {kept} records");
        }
    }
}
