//! For the tests of the profiles: reads streams, checks what must hold for every reader, and shows records as short
//! lines.

use skillrun_model::verdict::EngineLimit;
use skillrun_model::{ProfileId, Stream};

use crate::record::{
    AnswerFrom, Asks, CallQuestion, End, EndKind, EndPolicy, EngineError, MessageKey, Record, RecordKind,
};
use crate::{Parser, Span, parser};

/// The records of some streams.
#[derive(Debug, PartialEq)]
pub(crate) struct Story {
    pub(crate) records: Vec<Record>,
    pub(crate) profile: ProfileId,
    pub(crate) answer_from: AnswerFrom,
    pub(crate) end_policy: EndPolicy,
}

/// Reads the streams one after the other. The result must be the same byte by byte and with the streams in the other
/// order, and leave no byte without an event.
pub(crate) fn read<T: AsRef<[u8]>>(profile: ProfileId, streams: &[(Stream, T)]) -> Story {
    let story = read_whole(profile, streams);
    assert_eq!(read_in(1, profile, streams.iter()), story, "byte by byte");
    let other = read_in(3, profile, streams.iter().rev());
    let ending = |story: &Story| (story.profile, story.answer_from, story.end_policy);
    assert_eq!(ending(&other), ending(&story));
    for (stream, _) in streams {
        let of_stream = |story: &Story| -> Vec<Record> {
            story.records.iter().filter(|record| record.span.stream == *stream).cloned().collect()
        };
        assert_eq!(of_stream(&other), of_stream(&story), "another order of streams");
    }
    story
}

/// The same in one go, for streams that are too long to be read byte by byte.
pub(crate) fn read_whole<T: AsRef<[u8]>>(profile: ProfileId, streams: &[(Stream, T)]) -> Story {
    let story = read_in(usize::MAX, profile, streams.iter());
    for (stream, text) in streams {
        assert_covered(*stream, text.as_ref().len() as u64, &story.records);
    }
    story
}

fn read_in<'a, T: AsRef<[u8]> + 'a>(
    step: usize,
    profile: ProfileId,
    streams: impl Iterator<Item = &'a (Stream, T)>,
) -> Story {
    let mut parser = Parser::new(profile);
    let mut records = Vec::new();
    for (stream, text) in streams {
        for chunk in text.as_ref().chunks(step) {
            parser.push(*stream, chunk, |record| records.push(record));
        }
        parser.eof(*stream, |record| records.push(record));
    }
    parser.finish(|record| records.push(record));
    let (profile, answer_from, end_policy) = (parser.profile(), parser.answer_from(), parser.end_policy());
    Story { records, profile, answer_from, end_policy }
}

/// The ranges that a record was made of.
fn pieces(record: &Record) -> Vec<Span> {
    if record.pieces.is_empty() { vec![record.span] } else { record.pieces.clone() }
}

fn assert_covered(stream: Stream, len: u64, records: &[Record]) {
    let mut spans: Vec<Span> = records.iter().filter(|r| r.kind.is_event()).flat_map(pieces).collect();
    spans.retain(|span| span.stream == stream);
    spans.sort_by_key(|span| span.from);
    let end = spans.iter().try_fold(0, |end, span| (span.from <= end).then_some(end.max(span.to)));
    assert_eq!(end, Some(len), "bytes without an event on {stream:?}: {spans:?}");
    assert!(records.iter().all(|record| record.confidence >= parser::RAW_CONFIDENCE));
}

/// A message that was finished.
#[derive(Debug)]
pub(crate) struct FinishedMessage<'a> {
    pub(crate) text: &'a str,
    pub(crate) confidence: f64,
    pub(crate) spans: Vec<Span>,
}

impl Story {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.records.iter().map(|record| line(&record.kind)).collect()
    }

    /// Without records that only report progress.
    pub(crate) fn facts(&self) -> Vec<String> {
        let is_fact = |record: &&Record| !matches!(record.kind, RecordKind::Status { .. } | RecordKind::Delta { .. });
        self.records.iter().filter(is_fact).map(|record| line(&record.kind)).collect()
    }

    /// The parts of some records.
    pub(crate) fn pick<'a, T>(&'a self, part: impl Fn(&'a Record) -> Option<T>) -> Vec<T> {
        self.records.iter().filter_map(part).collect()
    }

    pub(crate) fn messages(&self) -> Vec<FinishedMessage<'_>> {
        self.pick(|record| {
            let RecordKind::Message { text, partial: false, .. } = &record.kind else { return None };
            Some(FinishedMessage { text: text.head(), confidence: record.confidence, spans: pieces(record) })
        })
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.messages().into_iter().map(|message| message.text).collect()
    }

    /// Ids with their confidence.
    pub(crate) fn sessions(&self) -> Vec<(&str, f64)> {
        self.pick(|record| {
            let RecordKind::Session { id } = &record.kind else { return None };
            Some((id.as_str(), record.confidence))
        })
    }

    pub(crate) fn errors(&self) -> Vec<&EngineError> {
        self.pick(|record| if let RecordKind::EngineError(error) = &record.kind { Some(error) } else { None })
    }

    /// The texts of raw lines.
    pub(crate) fn raws(&self) -> Vec<Option<&str>> {
        self.pick(|record| if let RecordKind::Raw(raw) = &record.kind { Some(raw.text.as_deref()) } else { None })
    }
}

pub(crate) fn line(kind: &RecordKind) -> String {
    let tool = |word: &str, id: &str, name: &str, input: &Option<String>| {
        format!("{word} {id} {name} {}", input.as_deref().unwrap_or("-"))
    };
    match kind {
        RecordKind::Session { id } => format!("session {id}"),
        RecordKind::Status { phase, detail: None } => format!("status {phase}"),
        RecordKind::Status { phase, detail: Some(detail) } => format!("status {phase}: {detail}"),
        RecordKind::Delta { id, text } => format!("delta{}: {text}", name(id)),
        RecordKind::Message { id, text, partial } => {
            format!("{}{}: {}", if *partial { "partial" } else { "message" }, name(id), text.head())
        }
        RecordKind::Join => "join".to_owned(),
        RecordKind::Void(voided) => format!("void {voided:?}"),
        RecordKind::Reasoning { text } => format!("reasoning: {text}"),
        RecordKind::ToolStarted { id, name, input } => tool("tool", id, name, input),
        RecordKind::ToolSeen { id, name, input } => tool("seen", id, name, input),
        RecordKind::ToolCompleted { id, output } => format!("completed {id}: {}", output.as_deref().unwrap_or("-")),
        RecordKind::ToolFailed { id, reason, output } => {
            format!("failed {id} ({reason}): {}", output.as_deref().unwrap_or("-"))
        }
        RecordKind::Question(CallQuestion { call_id, tool, input, options, asks }) => {
            let json = |value: &Option<serde_json::Value>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
            let options: Vec<String> = options.iter().map(|o| format!(" [{} {} {:?}]", o.id, o.name, o.kind)).collect();
            let asked = match asks {
                Asks::Permission => String::new(),
                Asks::Elicitation { message, schema } => format!(" {message:?} {}", json(schema)),
            };
            format!("question {call_id} {tool} {}{}{asked}", json(input), options.concat())
        }
        RecordKind::Withdrawn { call_id } => format!("withdrawn {call_id}"),
        RecordKind::EngineError(EngineError { level, code, message, category, .. }) => {
            format!("{level:?} {} {category}: {message}", code.as_str())
        }
        RecordKind::ServerFailed(failure) => format!("server failed: {}", failure.message),
        RecordKind::Subagent(subagent) => {
            let texts = [&subagent.name, &subagent.task, &subagent.state, &subagent.text];
            let texts: Vec<&str> = texts.into_iter().map(|text| text.as_deref().unwrap_or("-")).collect();
            format!("subagent {} {}", subagent.id, texts.join(" | "))
        }
        RecordKind::Usage(usage) => {
            let count = |tokens: Option<u64>| tokens.map_or("-".to_owned(), |tokens| tokens.to_string());
            let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
            format!("usage {input} {output} {} {}", count(usage.cached_input_tokens), count(usage.reasoning_tokens))
        }
        RecordKind::End(End { kind, message, category, limit }) => match kind {
            EndKind::Success => "end success".to_owned(),
            EndKind::Retracted => "end taken back".to_owned(),
            EndKind::Failure => format!("end failure {category}: {}", message.as_deref().unwrap_or("-")),
            EndKind::ProvisionalLimit => {
                format!("end provisional limit {category}: {}", message.as_deref().unwrap_or("-"))
            }
            EndKind::Limit => {
                let what = match limit {
                    Some(EngineLimit::Refusal) => "refusal",
                    Some(EngineLimit::Requests) => "limit of requests",
                    Some(EngineLimit::Tokens) | None => "limit",
                };
                format!("end {what} {category}: {}", message.as_deref().unwrap_or("-"))
            }
        },
        RecordKind::Unknown { name, .. } => format!("unknown {name}"),
        RecordKind::Raw(raw) => format!("raw: {}", raw.text.as_deref().unwrap_or("-")),
        RecordKind::Flood(flood) => format!("flood of {}", flood.lines),
        RecordKind::Notice { code, .. } => format!("notice {}", code.as_str()),
    }
}

fn name(key: &MessageKey) -> String {
    match key {
        MessageKey::Engine(id) => format!(" {id}"),
        MessageKey::PerTurn(id) => format!(" turn.{id}"),
        MessageKey::Unnamed => String::new(),
    }
}
