//! What the gate asks about: one fold over parse records. Texts are as the engine sent them, not as events show them.

use std::collections::VecDeque;

use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::{EndedBy, Stream};
use skillrun_parse::buffer::Text;
use skillrun_parse::parser::RAW_CONFIDENCE;
use skillrun_parse::record::{
    AnswerFrom, EndKind, EndPolicy, EngineError, MessageKey, Record, RecordKind, Span, Voided,
};

/// A finished assistant message, in the gate's view: texts the engine continued are one.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalMessage {
    pub message_id: String,
    /// The last 4 MiB of it.
    pub text: String,
    /// There was more before it.
    pub truncated: bool,
    /// A tool call lies between this message and the one before it.
    pub after_tool: bool,
    pub confidence: f64,
    pub spans: Vec<Span>,
}

/// The last word of the engine about its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct EndFact {
    pub kind: EndKind,
    pub message: Option<String>,
    pub category: ErrorCategory,
    pub confidence: f64,
    pub span: Span,
}

/// An act of the host between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAct {
    pub act: EndedBy,
    /// The success end had been seen by then.
    pub after_success: bool,
}

/// How lines were read, for `meta.N.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ParseCounts {
    pub matched: u64,
    pub inferred: u64,
    pub raw: u64,
    pub unknown: u64,
    /// Mean of the confidences, weighted by bytes.
    pub confidence: f64,
}

/// Everything the gate may ask about one attempt's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub end_policy: EndPolicy,
    pub session_id: Option<String>,
    /// The last finished messages, oldest first; the answer is the last that is not blank.
    pub messages: Vec<FinalMessage>,
    /// The last end event, if any stands.
    pub end: Option<EndFact>,
    /// At least one assistant message or delta that is not blank; error texts do not count.
    pub has_text: bool,
    /// The last error the engine reported.
    pub error: Option<EngineError>,
    /// The engine said that it does not know the session it should go on with.
    pub session_refused: bool,
    pub usage: Option<TurnUsage>,
    pub acts: Vec<HostAct>,
    pub parse: ParseCounts,
}

/// Finished messages that are kept: the answer, the one before it, and some more in case they are taken back.
const KEPT_MESSAGES: usize = 64;
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Acts of the host that are kept; a host has a handful of ways to end a process.
const KEPT_ACTS: usize = 64;

#[derive(Debug)]
struct Kept {
    message: FinalMessage,
    text: Text,
    engine_id: Option<String>,
    /// Number of the model's response it belongs to.
    response: u64,
}

#[derive(Debug, Default)]
struct StreamFold {
    messages: VecDeque<Kept>,
    end: Option<EndFact>,
    session_id: Option<String>,
    usage: Option<TurnUsage>,
    error: Option<EngineError>,
    has_text: bool,
    tool_since_message: bool,
    joins: bool,
    response: u64,
}

/// The fold. Keeps each stream apart, so that nothing depends on the order across streams.
#[derive(Debug, Default)]
pub struct FactsFold {
    streams: [StreamFold; 3],
    session_refused: bool,
    acts: Vec<HostAct>,
    counts: ParseCounts,
    weighted_confidence: f64,
    bytes: u64,
    /// The merged recording has what stdout lacks.
    trust_merged: bool,
}

impl FactsFold {
    pub fn act(&mut self, act: EndedBy) {
        let is_success = |s: &StreamFold| s.end.as_ref().is_some_and(|e| e.kind == EndKind::Success);
        let after_success = self.streams.iter().any(is_success);
        if self.acts.len() < KEPT_ACTS {
            self.acts.push(HostAct { act, after_success });
        }
    }

    /// The merged recording was found to have what stdout and stderr lack.
    pub fn trust_merged(&mut self) {
        self.trust_merged = true;
    }

    /// Takes a record in; `message_id` is the name its message got.
    pub fn record(&mut self, record: Record, message_id: Option<String>) {
        if record.span.stream != Stream::Pty {
            self.count(&record);
        }
        let stream = &mut self.streams[record.span.stream.index()];
        match record.kind {
            RecordKind::Session { id } => {
                stream.session_id.get_or_insert(id);
            }
            RecordKind::Delta { text, .. } => stream.has_text |= !text.trim().is_empty(),
            RecordKind::Message { id, text, partial } => {
                stream.has_text |= !text.is_blank();
                if !partial && !text.is_blank() {
                    let spans = if record.pieces.is_empty() { vec![record.span] } else { record.pieces };
                    stream.message(message_id.unwrap_or_default(), &id, text, record.confidence, spans);
                }
            }
            RecordKind::Join => stream.joins = true,
            RecordKind::Void(voided) => stream.void(&voided),
            RecordKind::ToolStarted { .. } | RecordKind::ToolSeen { .. } => stream.tool_since_message = true,
            RecordKind::ToolCompleted { .. } | RecordKind::ToolFailed { .. } => {
                stream.tool_since_message = true;
                stream.response += 1;
            }
            RecordKind::EngineError(error) => {
                self.session_refused |= error.category == ErrorCategory::Session;
                if error.level == Level::Error {
                    stream.error = Some(error);
                }
            }
            RecordKind::Usage(usage) => stream.usage = Some(usage),
            RecordKind::End(end) => {
                let (confidence, span) = (record.confidence, record.span);
                stream.end = match end.kind {
                    EndKind::Retracted => None,
                    kind @ (EndKind::Success | EndKind::Failure | EndKind::Limit) => {
                        Some(EndFact { kind, message: end.message, category: end.category, confidence, span })
                    }
                };
            }
            RecordKind::Status { .. }
            | RecordKind::Reasoning { .. }
            | RecordKind::Unknown { .. }
            | RecordKind::Raw(_)
            | RecordKind::Notice { .. } => {}
        }
    }

    fn count(&mut self, record: &Record) {
        if !record.kind.is_event() {
            return;
        }
        let counts = &mut self.counts;
        match &record.kind {
            RecordKind::Raw(raw) => counts.raw += raw.lines,
            RecordKind::Unknown { .. } => counts.unknown += 1,
            _ if record.confidence < 1.0 => counts.inferred += 1,
            _ => counts.matched += 1,
        }
        let bytes = record.span.to - record.span.from;
        self.bytes += bytes;
        self.weighted_confidence += bytes as f64 * record.confidence;
    }

    /// The facts, once all streams are over.
    pub fn finish(self, end_policy: EndPolicy, answer_from: AnswerFrom) -> Facts {
        let [stdout, stderr, pty] = &self.streams;
        let by_stream = |s: Stream| match s {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
            Stream::Pty => pty,
        };
        let chosen = match answer_from {
            AnswerFrom::Only(stream) => stream,
            AnswerFrom::FirstOf(streams) => streams
                .iter()
                .copied()
                .find(|s| !by_stream(*s).messages.is_empty() || by_stream(*s).end.is_some())
                .unwrap_or(Stream::Stdout),
        };
        let told_session = [chosen, Stream::Stdout, Stream::Stderr, Stream::Pty]
            .into_iter()
            .find_map(|s| by_stream(s).session_id.clone());
        let counts = |s: Stream| s != Stream::Pty || self.trust_merged || chosen == Stream::Pty;
        let has_text = Stream::ALL.into_iter().any(|s| counts(s) && by_stream(s).has_text);
        let error = [chosen, Stream::Stdout, Stream::Stderr].into_iter().find_map(|s| by_stream(s).error.clone());
        let usage = by_stream(chosen).usage.clone().or_else(|| stdout.usage.clone()).or_else(|| stderr.usage.clone());
        let end = by_stream(chosen).end.clone().or_else(|| pty.end.clone().filter(|_| self.trust_merged));
        let answer_stream = if self.trust_merged { Stream::Pty } else { chosen };
        let [stdout, stderr, pty] = self.streams;
        let stream = match answer_stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
            Stream::Pty => pty,
        };
        let confidence = if self.bytes == 0 { RAW_CONFIDENCE } else { self.weighted_confidence / self.bytes as f64 };
        Facts {
            end_policy,
            session_id: told_session,
            messages: stream.messages.into_iter().map(Kept::into_message).collect(),
            end,
            has_text,
            error,
            session_refused: self.session_refused,
            usage,
            acts: self.acts,
            parse: ParseCounts { confidence, ..self.counts },
        }
    }
}

impl Kept {
    fn into_message(self) -> FinalMessage {
        let (text, truncated) = self.text.into_tail();
        FinalMessage { text, truncated, ..self.message }
    }
}

impl StreamFold {
    fn message(&mut self, message_id: String, key: &MessageKey, text: Text, confidence: f64, spans: Vec<Span>) {
        let joins = std::mem::take(&mut self.joins);
        let after_tool = std::mem::take(&mut self.tool_since_message);
        if joins
            && !after_tool
            && let Some(last) = self.messages.back_mut()
        {
            last.text.append(&text);
            last.message.spans.extend(spans);
            last.message.message_id = message_id;
            return;
        }
        let engine_id = match key {
            MessageKey::Engine(id) | MessageKey::PerTurn(id) => Some(id.clone()),
            MessageKey::Unnamed => None,
        };
        let message = FinalMessage { message_id, text: String::new(), truncated: false, after_tool, confidence, spans };
        self.messages.push_back(Kept { message, text, engine_id, response: self.response });
        let bytes: usize = self.messages.iter().map(|kept| kept.text.head().len()).sum();
        if self.messages.len() > KEPT_MESSAGES || (self.messages.len() > 2 && bytes > KEPT_BYTES) {
            self.messages.pop_front();
        }
    }

    fn void(&mut self, voided: &Voided) {
        let response = self.response;
        let is_voided = |kept: &Kept| match voided {
            Voided::Response => kept.response == response,
            Voided::Message(id) => kept.engine_id.as_ref() == Some(id),
        };
        let mut tool_before = false;
        self.messages.retain_mut(|kept| {
            kept.message.after_tool |= std::mem::take(&mut tool_before);
            let stays = !is_voided(kept);
            if !stays {
                tool_before = kept.message.after_tool;
            }
            stays
        });
        self.tool_since_message |= tool_before;
    }
}
