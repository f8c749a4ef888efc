//! A stream that is one message: how the text formats treat lines without any other meaning.

use crate::parser::RAW_CONFIDENCE;
use crate::profile::Emit;
use crate::profiles::open_message::OpenMessage;
use crate::record::{MessageKey, Raw, RecordKind, Span};

/// Lines of one stream, until it ends.
#[derive(Debug, Default)]
pub(crate) struct StreamText {
    open: Option<OpenMessage>,
    lines: u64,
    has_words: bool,
}

impl StreamText {
    pub(crate) fn line(&mut self, text: &str, span: Span) {
        self.lines += 1;
        self.has_words = self.has_words || !crate::ansi::strip(text).trim().is_empty();
        match &mut self.open {
            Some(open) => {
                open.push("\n", span);
                open.push(text, span);
            }
            None => self.open.insert(OpenMessage::new(MessageKey::Unnamed, span)).push(text, span),
        }
    }

    /// Emits the message; if all lines are blank there is no message, but they are covered.
    pub(crate) fn close(self, confidence: f64, emit: &mut Emit<'_>) {
        let Some(open) = self.open else { return };
        if self.has_words {
            open.close_inferred(confidence, emit, |id, text| RecordKind::Message { id, text, partial: false });
        } else {
            let raw = Raw { text: Some(String::new()), lines: self.lines, has_marker: false };
            open.close_inferred(RAW_CONFIDENCE, emit, |_, _| RecordKind::Raw(raw));
        }
    }
}

/// For tests of the text formats: reads an attempt and checks what must hold for every attempt.
#[cfg(test)]
pub(crate) mod testing {
    use skillrun_model::{ProfileId, Stream};

    use crate::record::{AnswerFrom, EndPolicy, EngineError, Record, RecordKind, Span};
    use crate::{Parser, parser};

    /// The result of reading an attempt.
    #[derive(Debug, PartialEq)]
    pub(crate) struct TurnReport {
        pub(crate) records: Vec<Record>,
        pub(crate) end_policy: EndPolicy,
        pub(crate) answer_from: AnswerFrom,
        messages: Vec<Message>,
    }

    #[derive(Debug, Clone, PartialEq)]
    pub(crate) struct Message {
        pub(crate) text: String,
        pub(crate) confidence: f64,
        pub(crate) spans: Vec<Span>,
    }

    impl TurnReport {
        pub(crate) fn messages(&self) -> &[Message] {
            &self.messages
        }

        pub(crate) fn texts(&self) -> Vec<&str> {
            self.messages.iter().map(|message| message.text.as_str()).collect()
        }

        /// Ids with their confidence.
        pub(crate) fn sessions(&self) -> Vec<(&str, f64)> {
            let mut sessions = Vec::new();
            for record in &self.records {
                if let RecordKind::Session { id } = &record.kind {
                    sessions.push((id.as_str(), record.confidence));
                }
            }
            sessions
        }

        pub(crate) fn errors(&self) -> Vec<&EngineError> {
            let mut errors = Vec::new();
            for record in &self.records {
                if let RecordKind::EngineError(error) = &record.kind {
                    errors.push(error);
                }
            }
            errors
        }
    }

    /// Reads both streams whole, byte by byte, and in the other order; the records of a stream must be the same.
    pub(crate) fn read(profile: ProfileId, stdout: &[u8], stderr: &[u8]) -> TurnReport {
        let whole = read_whole(profile, stdout, stderr);
        let bytewise = feed(profile, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)], 1);
        assert_eq!(whole, bytewise);
        let swapped = feed(profile, &[(Stream::Stderr, stderr), (Stream::Stdout, stdout)], 3);
        for stream in [Stream::Stdout, Stream::Stderr] {
            let of_stream = |told: &TurnReport| -> Vec<Record> {
                told.records.iter().filter(|record| record.span.stream == stream).cloned().collect()
            };
            assert_eq!(of_stream(&whole), of_stream(&swapped));
        }
        assert_eq!((whole.end_policy, whole.answer_from), (swapped.end_policy, swapped.answer_from));
        whole
    }

    pub(crate) fn read_whole(profile: ProfileId, stdout: &[u8], stderr: &[u8]) -> TurnReport {
        let told = feed(profile, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)], usize::MAX);
        assert_covered(&told.records, Stream::Stdout, stdout.len() as u64);
        assert_covered(&told.records, Stream::Stderr, stderr.len() as u64);
        told
    }

    fn feed(profile: ProfileId, streams: &[(Stream, &[u8])], chunk: usize) -> TurnReport {
        let mut parser = Parser::new(profile);
        let mut records = Vec::new();
        for (stream, bytes) in streams {
            bytes.chunks(chunk).for_each(|bytes| parser.push(*stream, bytes, |record| records.push(record)));
        }
        for (stream, _) in streams {
            parser.eof(*stream, |record| records.push(record));
        }
        parser.finish(|record| records.push(record));
        let messages = records.iter().filter_map(message).collect();
        let (end_policy, answer_from) = (parser.end_policy(), parser.answer_from());
        TurnReport { records, end_policy, answer_from, messages }
    }

    fn message(record: &Record) -> Option<Message> {
        let Record { kind: RecordKind::Message { text, partial: false, .. }, confidence, .. } = record else {
            return None;
        };
        Some(Message { text: text.head().to_owned(), confidence: *confidence, spans: spans(record) })
    }

    fn spans(record: &Record) -> Vec<Span> {
        if record.pieces.is_empty() { vec![record.span] } else { record.pieces.clone() }
    }

    fn assert_covered(records: &[Record], stream: Stream, len: u64) {
        let mut spans: Vec<Span> = records.iter().filter(|record| record.kind.is_event()).flat_map(spans).collect();
        spans.retain(|span| span.stream == stream);
        spans.sort_by_key(|span| span.from);
        let mut end = 0;
        for span in spans {
            assert!(span.from <= end, "{stream:?}: nothing covers {end}..{}", span.from);
            end = end.max(span.to);
        }
        assert_eq!(end, len, "{stream:?}: the end is not covered");
        assert!(records.iter().all(|record| record.confidence >= parser::RAW_CONFIDENCE));
    }
}
