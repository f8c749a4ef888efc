//! Parse records to RASP events.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use skillrun_model::delegation::SubagentObserved;
use skillrun_model::rasp::data::{
    Diagnostic, EnginePhase, Foreign, MessageDelta, MessageFinal, RawText, ReasoningSummary, ToolCallCompleted,
    ToolCallFailed, ToolCallStarted,
};
use skillrun_model::rasp::{Correlation, Event, EvidenceData, Level, SpanRef};
use skillrun_model::status::Phase;
use skillrun_model::{AttemptNumber, Code, ProfileId, Stream, Timestamp};
use skillrun_parse::ansi;
use skillrun_parse::record::{Asks, Flood, MessageKey, ObservedSubagent, Raw, Record, RecordKind, Span, Voided};
use skillrun_parse::text::json::repair_surrogates;

use crate::builder::{EventBuilder, EventOrigin, span_ref};
use crate::names::{MessageNames, UsedNames};
use crate::payload;

/// Longest tool input or output in an event; the range covers the rest.
const TOOL_TEXT_BUDGET: usize = 64 * 1024;
/// Longest reasoning text in an event.
const REASONING_BUDGET: usize = 1024 * 1024;
/// Most tool calls that can be open at once and still have their end reported.
const OPEN_TOOLS_MAX: usize = 10_000;
/// Most messages of one response that can be retracted by name.
const RESPONSE_MESSAGES_MAX: usize = 1000;
/// Below this an event is not reliable.
const LOW_CONFIDENCE: f64 = 0.7;

/// A tool call that has started.
#[derive(Debug)]
struct OpenTool {
    /// Calls that are still open at the end are closed in the order in which they began.
    order: u64,
    origin: EventOrigin,
}

/// Turns one attempt's records into events.
#[derive(Debug)]
pub(crate) struct ToRasp {
    names: MessageNames,
    sessions: [Option<Arc<str>>; 3],
    open_tools: HashMap<String, OpenTool>,
    tools_begun: u64,
    tools_cut: bool,
    /// Names of the messages since the last tool result, and the engine's names for them.
    response: VecDeque<(String, Option<String>)>,
    low_confidence: [u64; 3],
}

/// The name of a finished message; the facts need it too.
pub(crate) type MessageName = Option<String>;

impl ToRasp {
    pub(crate) fn new(attempt: AttemptNumber) -> Self {
        Self {
            names: MessageNames::new(attempt),
            sessions: Default::default(),
            open_tools: HashMap::new(),
            tools_begun: 0,
            tools_cut: false,
            response: VecDeque::new(),
            low_confidence: [0; 3],
        }
    }

    fn correlation(&self, stream: Stream) -> Correlation {
        Correlation { session_id: self.sessions[stream.index()].clone(), ..Correlation::default() }
    }

    fn tool_correlation(&self, stream: Stream, id: &str) -> Correlation {
        let tool_call_id = Some(id.to_owned()).filter(|id| !id.is_empty());
        Correlation { tool_call_id, ..self.correlation(stream) }
    }

    /// The name of the message that a record is, or is a part of; empty for other records.
    fn called(&mut self, record: &Record, used: &mut UsedNames) -> String {
        let stream = record.span.stream;
        if let RecordKind::Message { id, .. } = &record.kind {
            self.names.finish(id, stream, used)
        } else if let RecordKind::Delta { id, .. } = &record.kind {
            self.names.upcoming(id, stream, used)
        } else {
            String::new()
        }
    }

    /// Creates the events of a record.
    pub(crate) fn record(
        &mut self,
        ts: Timestamp,
        record: &Record,
        builder: &mut EventBuilder,
        out: &mut impl FnMut(Event),
    ) -> MessageName {
        let stream = record.span.stream;
        let origin = EventOrigin { span: record.span, profile: record.profile, confidence: record.confidence, ts };
        let correlation = self.correlation(stream);
        let mut name = None;
        let called = self.called(record, &mut builder.names);
        let mut emit = |level, data, correlation| out(builder.evidence(origin, level, data, correlation));
        match &record.kind {
            RecordKind::Session { id } => {
                self.sessions[stream.index()].get_or_insert_with(|| id.as_str().into());
            }
            RecordKind::Join | RecordKind::Usage(_) | RecordKind::End(_) => {}
            RecordKind::Status { phase, detail } => {
                let detail = detail.as_ref().map(|text| clean(text, TOOL_TEXT_BUDGET).text);
                let phase = EnginePhase { phase: Some(*phase), detail };
                emit(Level::Info, EvidenceData::RunStatus(phase), correlation);
            }
            RecordKind::Question(question) => {
                let detail = match question.asks {
                    Asks::Permission => format!("asks for permission to use {}", clean(&question.tool, 256).text),
                    Asks::Elicitation { .. } => "asks the user for information".to_owned(),
                };
                emit(Level::Info, working(detail), correlation);
            }
            RecordKind::Withdrawn { .. } => {
                emit(Level::Info, working("withdraws a question".to_owned()), correlation);
            }
            RecordKind::Delta { text, .. } => {
                let text = clean(text, usize::MAX);
                let delta = MessageDelta { message_id: called, text: text.text, sanitized: text.sanitized };
                emit(Level::Info, EvidenceData::MessageDelta(delta), correlation);
            }
            RecordKind::Message { id, text, partial } => {
                let message_id = called;
                let engine_name = match id {
                    MessageKey::Engine(id) => Some(id.clone()),
                    MessageKey::PerTurn(_) | MessageKey::Unnamed => None,
                };
                if self.response.len() == RESPONSE_MESSAGES_MAX {
                    self.response.pop_front();
                }
                self.response.push_back((message_id.clone(), engine_name));
                let shown = clean(text.head(), usize::MAX);
                let message = MessageFinal {
                    message_id: message_id.clone(),
                    text: shown.text,
                    partial: *partial,
                    structured_payload: if *partial || text.is_truncated() { None } else { payload::of(text.head()) },
                    sanitized: shown.sanitized,
                    truncated: text.is_truncated(),
                    spans: pieces(record),
                };
                emit(Level::Info, EvidenceData::MessageFinal(message), correlation);
                name = Some(message_id);
                if record.confidence < LOW_CONFIDENCE {
                    let warning =
                        Diagnostic::new(Code::LowConfidenceParse, "this message was inferred, not parsed exactly");
                    out(builder.evidence(
                        origin,
                        Level::Warning,
                        EvidenceData::ParserWarning(warning),
                        self.correlation(stream),
                    ));
                }
            }
            RecordKind::Void(voided) => {
                let names: Vec<String> = match voided {
                    Voided::Response => self.response.drain(..).map(|(name, _)| name).collect(),
                    Voided::Message(id) => {
                        self.response.iter().filter(|(_, e)| e.as_ref() == Some(id)).map(|(n, _)| n.clone()).collect()
                    }
                };
                for name in names {
                    let mut warning = Diagnostic::new(Code::MessageVoided, "the engine retracted this message");
                    warning.message_id = Some(name);
                    emit(Level::Warning, EvidenceData::ParserWarning(warning), correlation.clone());
                }
            }
            RecordKind::Reasoning { text } => {
                let text = clean(text, REASONING_BUDGET);
                let data = ReasoningSummary { text: text.text, sanitized: text.sanitized, truncated: text.truncated };
                emit(Level::Info, EvidenceData::ReasoningSummary(data), correlation);
            }
            RecordKind::ToolStarted { id, name, input } | RecordKind::ToolSeen { id, name, input } => {
                let known = self.open_tools.contains_key(id);
                let is_news = matches!(record.kind, RecordKind::ToolStarted { .. }) || !known;
                if is_news {
                    let (input, truncated) = tool_input(input.as_deref());
                    let data = ToolCallStarted { name: clean(name, 256).text, input, truncated };
                    emit(Level::Info, EvidenceData::ToolCallStarted(data), self.tool_correlation(stream, id));
                    if !known {
                        self.open_tool(id, origin, builder, out);
                    }
                }
            }
            RecordKind::ToolCompleted { id, output } => {
                self.open_tools.remove(id);
                let output = output.as_deref().map(|text| clean(text, TOOL_TEXT_BUDGET));
                let data = ToolCallCompleted {
                    sanitized: output.as_ref().is_some_and(|o| o.sanitized),
                    truncated: output.as_ref().is_some_and(|o| o.truncated),
                    output: output.map(|o| o.text),
                };
                emit(Level::Info, EvidenceData::ToolCallCompleted(data), self.tool_correlation(stream, id));
            }
            RecordKind::ToolFailed { id, reason, output } => {
                self.open_tools.remove(id);
                let output = output.as_deref().map(|text| clean(text, TOOL_TEXT_BUDGET));
                let data = ToolCallFailed {
                    reason: clean(reason, TOOL_TEXT_BUDGET).text,
                    sanitized: output.as_ref().is_some_and(|o| o.sanitized),
                    truncated: output.as_ref().is_some_and(|o| o.truncated),
                    output: output.map(|o| o.text),
                    synthetic: false,
                };
                emit(Level::Warning, EvidenceData::ToolCallFailed(data), self.tool_correlation(stream, id));
            }
            RecordKind::EngineError(error) => {
                let text = clean(&error.message, TOOL_TEXT_BUDGET);
                let mut data = Diagnostic::new(error.code, &text.text);
                data.sanitized = text.sanitized;
                emit(error.level, EvidenceData::EngineError(data), correlation);
            }
            RecordKind::ServerFailed(failure) => {
                let text = clean(&failure.message, TOOL_TEXT_BUDGET);
                let mut data = Diagnostic::new(Code::McpServerFailed, &text.text);
                data.sanitized = text.sanitized;
                emit(Level::Warning, EvidenceData::EngineError(data), correlation);
            }
            RecordKind::Subagent(subagent) => {
                emit(Level::Info, EvidenceData::SubagentObserved(observed(subagent)), correlation);
            }
            RecordKind::Notice { code, message } => {
                let mut data = Diagnostic::new(*code, message);
                if stream == Stream::Pty {
                    data.spans = vec![span_ref(&record.span)];
                }
                // None of these bytes was parsed. The bytes of the other notices were parsed, with some doubt.
                if *code == Code::RawFlood && !is_of_format(stream, record.profile) {
                    emit(Level::Info, EvidenceData::ParserWarning(data), correlation);
                } else if matches!(code, Code::LineTooLong | Code::DocumentUnclosed) {
                    emit(Level::Error, EvidenceData::ParserError(data), correlation);
                } else {
                    emit(Level::Warning, EvidenceData::ParserWarning(data), correlation);
                }
            }
            RecordKind::Unknown { name, text, has_marker } => {
                let message = format!("an event of unknown type \"{}\"", clean(name, 256).text);
                let warning = Diagnostic::new(Code::UnknownEvent, &message);
                emit(Level::Warning, EvidenceData::ParserWarning(warning), correlation.clone());
                emit(Level::Info, raw(stream, text.as_deref(), 1), correlation.clone());
                if *has_marker {
                    emit(Level::Warning, marker_in_raw(), correlation);
                }
                self.low_confidence[stream.index()] += 1;
            }
            RecordKind::Raw(Raw { text, lines, has_marker }) => {
                emit(Level::Info, raw(stream, text.as_deref(), *lines), correlation.clone());
                if *has_marker {
                    emit(Level::Warning, marker_in_raw(), correlation);
                }
                // Lines that engines write in every healthy run are not a guess.
                if record.confidence < LOW_CONFIDENCE {
                    self.low_confidence[stream.index()] += lines;
                }
            }
            RecordKind::Flood(flood) => {
                emit(Level::Info, flooded(stream, flood), correlation.clone());
                if flood.has_marker {
                    emit(Level::Warning, marker_in_raw(), correlation);
                }
                self.low_confidence[stream.index()] += flood.lines;
            }
        }
        if matches!(record.kind, RecordKind::ToolCompleted { .. } | RecordKind::ToolFailed { .. }) {
            self.response.clear();
        }
        name
    }

    fn open_tool(&mut self, id: &str, origin: EventOrigin, builder: &mut EventBuilder, out: &mut impl FnMut(Event)) {
        if self.open_tools.len() < OPEN_TOOLS_MAX {
            self.tools_begun += 1;
            self.open_tools.insert(id.to_owned(), OpenTool { order: self.tools_begun, origin });
        } else if !self.tools_cut {
            self.tools_cut = true;
            let message =
                format!("more than {OPEN_TOOLS_MAX} tool calls are open; the ends of later calls are not reported");
            let warning = Diagnostic::new(Code::ToolCallsCut, &message);
            let correlation = self.correlation(origin.span.stream);
            out(builder.evidence(origin, Level::Warning, EvidenceData::ParserWarning(warning), correlation));
        }
    }

    /// The stream is over.
    pub(crate) fn eof(
        &mut self,
        ts: Timestamp,
        span: Span,
        profile: ProfileId,
        builder: &mut EventBuilder,
        out: &mut impl FnMut(Event),
    ) {
        let count = std::mem::take(&mut self.low_confidence[span.stream.index()]);
        if count > 0 && is_of_format(span.stream, profile) {
            let mut data =
                Diagnostic::new(Code::LowConfidenceParse, "lines that could not be read as the engine's format");
            data.count = Some(count);
            let origin = EventOrigin { span, profile, confidence: 1.0, ts };
            out(builder.evidence(
                origin,
                Level::Warning,
                EvidenceData::ParserWarning(data),
                self.correlation(span.stream),
            ));
        }
    }

    /// The attempt is over: calls that are still open end with it.
    pub(crate) fn close_open_tools(&mut self, ts: Timestamp, builder: &mut EventBuilder, out: &mut impl FnMut(Event)) {
        let mut open: Vec<(String, OpenTool)> = self.open_tools.drain().collect();
        open.sort_unstable_by_key(|(_, tool)| tool.order);
        for (id, tool) in open {
            let data = ToolCallFailed {
                reason: "turn_ended".to_owned(),
                output: None,
                sanitized: false,
                truncated: false,
                synthetic: true,
            };
            let origin = EventOrigin { ts, ..tool.origin };
            let correlation = self.tool_correlation(origin.span.stream, &id);
            out(builder.evidence(origin, Level::Warning, EvidenceData::ToolCallFailed(data), correlation));
        }
    }
}

/// Whether lines of a stream are expected to be in the engine's format. Lines for people on stderr are not a warning.
fn is_of_format(stream: Stream, profile: ProfileId) -> bool {
    match stream {
        Stream::Stdout => true,
        Stream::Stderr => profile.reads_stderr(),
        Stream::Pty => false,
    }
}

fn pieces(record: &Record) -> Vec<SpanRef> {
    match record.span.stream {
        Stream::Stdout | Stream::Stderr => record.pieces.iter().map(span_ref).collect(),
        Stream::Pty => vec![span_ref(&record.span)],
    }
}

struct Clean {
    text: String,
    sanitized: bool,
    truncated: bool,
}

fn clean(text: &str, budget: usize) -> Clean {
    let cut = &text[..text.floor_char_boundary(budget)];
    let shown = ansi::strip(cut);
    let sanitized = shown.len() != cut.len();
    Clean { sanitized, truncated: cut.len() < text.len(), text: shown.into_owned() }
}

fn working(detail: String) -> EvidenceData {
    EvidenceData::RunStatus(EnginePhase { phase: Some(Phase::Working), detail: Some(detail) })
}

/// What the engine reports of a subagent, without control characters. Its texts were bounded when they were read.
fn observed(subagent: &ObservedSubagent) -> SubagentObserved {
    let mut sanitized = false;
    let mut shown = |text: &str| {
        let clean = clean(text, usize::MAX);
        sanitized |= clean.sanitized;
        clean.text
    };
    SubagentObserved {
        subagent_id: shown(&subagent.id),
        name: subagent.name.as_deref().map(&mut shown),
        task: subagent.task.as_deref().map(&mut shown),
        state: subagent.state.as_deref().map(&mut shown),
        text: subagent.text.as_deref().map(&mut shown),
        sanitized,
        truncated: subagent.truncated,
    }
}

fn marker_in_raw() -> EvidenceData {
    EvidenceData::ParserWarning(Diagnostic::new(
        Code::DoneMarkerInRaw,
        "the done marker is in a line that could not be parsed; it does not count",
    ))
}

fn raw(stream: Stream, text: Option<&str>, lines: u64) -> EvidenceData {
    let shown = text.map(|text| clean(text, usize::MAX));
    let data = RawText {
        sanitized: shown.as_ref().is_some_and(|t| t.sanitized),
        truncated: shown.is_none(),
        lines: Some(lines).filter(|n| *n != 1),
        unknown_types: BTreeMap::new(),
        text: shown.map(|t| t.text),
    };
    raw_data(stream, data)
}

/// Lines of a long row: their number, and which types they have.
fn flooded(stream: Stream, flood: &Flood) -> EvidenceData {
    let unknown_types = flood.unknown_types.iter().map(|(name, count)| (name.to_owned(), count)).collect();
    let data = RawText { text: None, sanitized: false, truncated: true, lines: Some(flood.lines), unknown_types };
    raw_data(stream, data)
}

fn raw_data(stream: Stream, data: RawText) -> EvidenceData {
    match stream {
        Stream::Stdout | Stream::Pty => EvidenceData::RawStdout(data),
        Stream::Stderr => EvidenceData::RawStderr(data),
    }
}

/// Input of a tool call as JSON that is safe to show.
fn tool_input(input: Option<&str>) -> (Option<Foreign>, bool) {
    let Some(input) = input else { return (None, false) };
    if input.len() > TOOL_TEXT_BUDGET {
        return (None, true);
    }
    // Escapes can encode what must not reach a reader: control characters, and halves of surrogate pairs.
    let json = if input.contains("\\u") { without_controls(input) } else { input.to_owned() };
    (serde_json::value::RawValue::from_string(json).ok().map(Foreign), false)
}

/// JSON without escaped control characters in its strings.
fn without_controls(json: &str) -> String {
    let repaired = repair_surrogates(json);
    match serde_json::from_str(repaired.as_deref().unwrap_or(json)) {
        Ok(mut value) => {
            ansi::strip_value(&mut value);
            value.to_string()
        }
        Err(_) => "null".to_owned(),
    }
}
