//! The facts that the gate needs: one fold over parse records. Texts are as the engine sent them, not as events show
//! them.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet, VecDeque};

use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::verdict::EngineLimit;
use skillrun_model::{EndedBy, ProfileId, Stream, Timestamp};
use skillrun_parse::buffer::Text;
use skillrun_parse::last_lines::{LastLines, LastWords};
use skillrun_parse::parser::RAW_CONFIDENCE;
use skillrun_parse::record::{
    AnswerFrom, EndKind, EndPolicy, EngineError, MessageKey, Record, RecordKind, Span, Voided,
};
use skillrun_parse::reset::{self, Reset};
use skillrun_parse::text::marker::{self, DONE_KEY};
use skillrun_parse::types::TypeCounts;

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

/// The engine's last statement about the end of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct EndFact {
    pub kind: EndKind,
    pub message: Option<String>,
    pub category: ErrorCategory,
    /// Of a limit: which one.
    pub limit: Option<EngineLimit>,
    pub confidence: f64,
    pub span: Span,
}

/// An act of the host between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAct {
    pub act: EndedBy,
    /// The end that had been seen by then; none when the turn was not over, or continued after all.
    pub after: Option<EndKind>,
}

/// How lines were read, for `meta.N.json`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParseCounts {
    pub matched: u64,
    pub inferred: u64,
    pub raw: u64,
    pub unknown: u64,
    /// The unknown ones, by type.
    pub unknown_types: TypeCounts,
    /// Mean of the confidences, weighted by bytes.
    pub confidence: f64,
}

/// All facts about one attempt's output that the gate may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub end_policy: EndPolicy,
    pub session_id: Option<String>,
    /// The last finished messages, oldest first; the answer is the last that is not blank.
    pub messages: Vec<FinalMessage>,
    /// A tool call was begun after the last of them.
    pub tool_follows: bool,
    /// The last end event, if one is in effect.
    pub end: Option<EndFact>,
    /// At least one assistant message or delta that is not blank; error texts do not count.
    pub has_text: bool,
    /// The last error the engine reported.
    pub error: Option<EngineError>,
    /// MCP servers that the engine reported as not started; none for one that it did not name.
    pub failed_servers: BTreeSet<Option<String>>,
    /// What the last lines of stderr say, of those that no rule understood.
    pub last_words: Option<LastWords>,
    /// When the quota is available again, as the engine last reported it.
    pub reset_at: Option<Timestamp>,
    /// The format that was read; none where nothing was.
    pub profile: Option<ProfileId>,
    /// The engine reported that it does not know the session that it was asked to resume.
    pub session_refused: bool,
    pub usage: Option<TurnUsage>,
    pub acts: Vec<HostAct>,
    pub parse: ParseCounts,
}

/// Finished messages that are kept, in case the last ones are retracted.
const KEPT_MESSAGES: usize = 64;
/// Kept whatever their size: the answer, one before it with the marker, and one before that with the output.
const KEPT_AT_LEAST: usize = 3;
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Tool calls that are remembered as open; engines have a handful at a time.
const OPEN_CALLS: usize = 1_000;
/// Longer ids are not remembered: each mention of one is a call.
const CALL_ID_BYTES: usize = 256;
/// Failed servers that are kept; a run has fewer.
const KEPT_SERVERS: usize = 100;
/// Acts of the host that are kept; a host has a handful of ways to end a process.
const KEPT_ACTS: usize = 64;

#[derive(Debug)]
struct Kept {
    message: FinalMessage,
    text: Text,
    /// More than one when the engine continued it under another name.
    engine_ids: Vec<String>,
    /// Number of the model's response it belongs to.
    response: u64,
}

#[derive(Debug, Default)]
struct StreamFold {
    messages: VecDeque<Kept>,
    /// A dropped message, kept because of its marker or its denial: a marker or a denial is judged wherever it is.
    marked: Option<(DoneWord, Kept)>,
    end: Option<EndFact>,
    /// With the confidence it was read with.
    session_id: Option<(String, f64)>,
    usage: Option<TurnUsage>,
    error: Option<EngineError>,
    reset_at: Option<Timestamp>,
    profile: Option<ProfileId>,
    has_text: bool,
    tool_since_message: bool,
    /// A call was started since; the end of a call that started earlier does not count.
    call_since_message: bool,
    open_calls: HashSet<String>,
    joins: bool,
    response: u64,
}

/// An act of the host, and which end each stream had shown by then.
#[derive(Debug)]
struct SeenAct {
    act: EndedBy,
    after: [Option<EndKind>; 3],
}

/// The fold. Keeps each stream apart, so that nothing depends on the order across streams.
#[derive(Debug, Default)]
pub struct FactsFold {
    streams: [StreamFold; 3],
    session_refused: bool,
    failed_servers: BTreeSet<Option<String>>,
    acts: Vec<SeenAct>,
    counts: ParseCounts,
    /// Per stream: when there are too many types, which of them are named depends on their order.
    unknown_types: [TypeCounts; 3],
    /// Of stderr.
    last_lines: LastLines,
    /// Per stream: a floating-point sum depends on the order of its terms.
    weighted_confidence: [f64; 3],
    bytes: u64,
    /// The merged recording has what stdout lacks.
    trust_merged: bool,
}

impl FactsFold {
    pub fn act(&mut self, act: EndedBy) {
        if self.acts.len() < KEPT_ACTS {
            let after = self.streams.each_ref().map(|stream| stream.end.as_ref().map(|end| end.kind));
            self.acts.push(SeenAct { act, after });
        }
    }

    /// The merged recording was found to contain what stdout and stderr lack.
    pub fn trust_merged(&mut self) {
        self.trust_merged = true;
    }

    /// A message of the merged recording alone got a name.
    pub fn name_merged(&mut self, span: Span, name: String) {
        let messages = &mut self.streams[Stream::Pty.index()].messages;
        if let Some(kept) = messages.iter_mut().find(|kept| kept.message.spans.contains(&span)) {
            kept.message.message_id = name;
        }
    }

    /// Processes a record; `message_id` is the name of its message, `at` the moment when the record became certain.
    pub fn record(&mut self, at: Timestamp, record: Record, message_id: Option<String>) {
        if record.span.stream != Stream::Pty {
            self.count(&record);
        }
        let index = record.span.stream.index();
        let stream = &mut self.streams[index];
        stream.profile = Some(record.profile);
        match record.kind {
            RecordKind::Session { id } => {
                stream.session_id.get_or_insert((id, record.confidence));
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
            RecordKind::ToolStarted { id, .. } | RecordKind::ToolSeen { id, .. } => stream.call(id),
            RecordKind::ToolCompleted { id, .. } | RecordKind::ToolFailed { id, .. } => {
                stream.tool_since_message = true;
                stream.open_calls.remove(&id);
                stream.response += 1;
            }
            RecordKind::EngineError(error) => {
                self.session_refused |= error.category == ErrorCategory::Session;
                if error.category == ErrorCategory::Quota {
                    stream.quota_is_out(at, error.reset, &error.message);
                }
                if error.level == Level::Error {
                    stream.error = Some(error);
                }
            }
            RecordKind::ServerFailed(failure) => {
                if self.failed_servers.len() < KEPT_SERVERS {
                    self.failed_servers.insert(failure.server);
                }
            }
            RecordKind::Usage(usage) => stream.usage = Some(usage),
            RecordKind::End(end) => {
                let (confidence, span) = (record.confidence, record.span);
                if let (ErrorCategory::Quota, Some(message)) = (end.category, &end.message) {
                    stream.quota_is_out(at, None, message);
                }
                // The turn continued: earlier acts of the host affected a turn that was not over. A turn that reports
                // success twice had succeeded, and one that reports failure twice had failed.
                let mut had_failed = false;
                for seen in &mut self.acts {
                    seen.after[index] = seen.after[index].filter(|before| is_same(*before, end.kind));
                    had_failed |= seen.after[index].is_some_and(|before| before != EndKind::Success);
                }
                match end.kind {
                    EndKind::Retracted => stream.end = None,
                    // What the engine reports about a turn that the host interrupted is not the reason why it had
                    // failed before.
                    EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit if had_failed => {}
                    kind @ (EndKind::Success | EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit) => {
                        let (message, category, limit) = (end.message, end.category, end.limit);
                        stream.end = Some(EndFact { kind, message, category, limit, confidence, span });
                    }
                }
            }
            // Questions inside a turn are answered inside it.
            RecordKind::Question(_) | RecordKind::Withdrawn { .. } => {}
            // What an engine says of its subagents says nothing of the turn.
            RecordKind::Subagent(_) => {}
            RecordKind::Status { .. }
            | RecordKind::Reasoning { .. }
            | RecordKind::Unknown { .. }
            | RecordKind::Notice { .. } => {}
            RecordKind::Raw(raw) => {
                // Lines that engines write in every healthy run explain nothing.
                if let (Some(text), Stream::Stderr) = (raw.text, record.span.stream)
                    && record.confidence <= RAW_CONFIDENCE
                {
                    self.last_lines.push(&text);
                }
            }
            RecordKind::Flood(flood) => self.last_lines.append(&flood.last),
        }
    }

    fn count(&mut self, record: &Record) {
        if !record.kind.is_event() {
            return;
        }
        let counts = &mut self.counts;
        if let RecordKind::Raw(raw) = &record.kind
            && record.confidence <= RAW_CONFIDENCE
        {
            counts.raw += raw.lines;
        } else if let RecordKind::Unknown { name, .. } = &record.kind {
            counts.unknown += 1;
            self.unknown_types[record.span.stream.index()].add(name, 1);
        } else if let RecordKind::Flood(flood) = &record.kind {
            let typed = flood.unknown_types.total();
            counts.unknown += typed;
            counts.raw += flood.lines.saturating_sub(typed);
            self.unknown_types[record.span.stream.index()].add_all(&flood.unknown_types);
        } else if record.confidence < 1.0 {
            counts.inferred += 1;
        } else {
            counts.matched += 1;
        }
        let bytes = record.span.to - record.span.from;
        self.bytes += bytes;
        self.weighted_confidence[record.span.stream.index()] += bytes as f64 * record.confidence;
    }

    /// The end event that is currently in effect, if there is one. Later events may replace or retract it.
    pub fn end_so_far(&self, answer_from: AnswerFrom) -> Option<EndKind> {
        let end = |stream: Stream| self.streams[stream.index()].end.as_ref().map(|end| end.kind);
        match answer_from {
            AnswerFrom::Only(stream) => end(stream),
            AnswerFrom::FirstOf(streams) => streams.iter().find_map(|stream| end(*stream)),
        }
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
        // The most certain one; of equally certain ones, that of the stream that has the answer.
        let told_session = [Stream::Pty, Stream::Stderr, Stream::Stdout, chosen]
            .into_iter()
            .filter_map(|s| by_stream(s).session_id.clone())
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(id, _)| id);
        let counts = |s: Stream| s != Stream::Pty || self.trust_merged || chosen == Stream::Pty;
        let has_text = Stream::ALL.into_iter().any(|s| counts(s) && by_stream(s).has_text);
        let error = [chosen, Stream::Stdout, Stream::Stderr].into_iter().find_map(|s| by_stream(s).error.clone());
        let reset_at = [chosen, Stream::Stdout, Stream::Stderr].into_iter().find_map(|s| by_stream(s).reset_at);
        let profile = [chosen, Stream::Stdout, Stream::Stderr].into_iter().find_map(|s| by_stream(s).profile);
        let usage = by_stream(chosen).usage.clone().or_else(|| stdout.usage.clone()).or_else(|| stderr.usage.clone());
        let end = by_stream(chosen).end.clone().or_else(|| pty.end.clone().filter(|_| self.trust_merged));
        let end_stream = end.as_ref().map_or(chosen, |end| end.span.stream);
        let told_act = |seen: &SeenAct| HostAct { act: seen.act, after: seen.after[end_stream.index()] };
        let acts = self.acts.iter().map(told_act).collect();
        let answer_stream = if self.trust_merged { Stream::Pty } else { chosen };
        let [stdout, stderr, mut pty] = self.streams;
        pty.take_names_of(&stdout);
        pty.take_names_of(&stderr);
        let stream = match answer_stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
            Stream::Pty => pty,
        };
        let mut unknown_types = TypeCounts::default();
        self.unknown_types.iter().for_each(|types| unknown_types.add_all(types));
        let weighted: f64 = self.weighted_confidence.iter().sum();
        let confidence = if self.bytes == 0 { RAW_CONFIDENCE } else { weighted / self.bytes as f64 };
        Facts {
            end_policy,
            session_id: told_session,
            tool_follows: stream.call_since_message && !stream.messages.is_empty(),
            messages: stream
                .marked
                .map(|(_, kept)| kept)
                .into_iter()
                .chain(stream.messages)
                .map(Kept::into_message)
                .collect(),
            end,
            has_text,
            error,
            failed_servers: self.failed_servers,
            last_words: self.last_lines.words(),
            reset_at,
            profile,
            session_refused: self.session_refused,
            usage,
            acts,
            parse: ParseCounts { confidence, unknown_types, ..self.counts },
        }
    }
}

/// Whether a turn that ended in one way has ended in the same way when it then reports the other.
fn is_same(before: EndKind, now: EndKind) -> bool {
    match (before, now) {
        (EndKind::Success, EndKind::Success)
        | (
            EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit,
            EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit,
        ) => true,
        (EndKind::Success, EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit | EndKind::Retracted)
        | (EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit, EndKind::Success | EndKind::Retracted)
        | (EndKind::Retracted, _) => false,
    }
}

impl Kept {
    fn into_message(self) -> FinalMessage {
        let (text, truncated) = self.text.into_tail();
        FinalMessage { text, truncated, ..self.message }
    }
}

impl StreamFold {
    /// The engine reports a lack of quota. The last reset time that it reported counts as long as it is not in the
    /// past.
    fn quota_is_out(&mut self, at: Timestamp, told: Option<Reset>, words: &str) {
        let reset = told.and_then(|reset| reset.moment(at)).or_else(|| reset::in_text(words, at));
        self.reset_at = reset.or(self.reset_at.filter(|before| *before > at));
    }

    fn message(&mut self, message_id: String, key: &MessageKey, text: Text, confidence: f64, spans: Vec<Span>) {
        let joins = std::mem::take(&mut self.joins);
        let after_tool = std::mem::take(&mut self.tool_since_message);
        self.call_since_message = false;
        let engine_id = match key {
            MessageKey::Engine(id) | MessageKey::PerTurn(id) => Some(id.clone()),
            MessageKey::Unnamed => None,
        };
        if joins
            && !after_tool
            && let Some(last) = self.messages.back_mut()
        {
            last.text.append(&text);
            last.message.spans.extend(spans);
            last.message.message_id = message_id;
            last.engine_ids.extend(engine_id.filter(|id| last.engine_ids.last() != Some(id)));
            return;
        }
        let message = FinalMessage { message_id, text: String::new(), truncated: false, after_tool, confidence, spans };
        self.messages.push_back(Kept {
            message,
            text,
            engine_ids: engine_id.into_iter().collect(),
            response: self.response,
        });
        let mut bytes: usize = self.messages.iter().map(|kept| kept.text.head().len()).sum();
        while self.messages.len() > KEPT_MESSAGES || (self.messages.len() > KEPT_AT_LEAST && bytes > KEPT_BYTES) {
            let Some(dropped) = self.messages.pop_front() else { break };
            bytes -= dropped.text.head().len();
            self.dropped(dropped);
        }
    }

    /// Drops the oldest message, unless its marker is needed. The first marker between two tool calls is needed, since
    /// the first one counts; one that is followed by a tool call gives way to a later one.
    fn dropped(&mut self, dropped: Kept) {
        let is_needed = |word: &DoneWord| match &self.marked {
            Some((before, _)) => dropped.message.after_tool || word > before,
            None => true,
        };
        if let Some(word) = done_word(dropped.text.tail()).filter(is_needed) {
            self.marked = Some((word, dropped));
        } else if let Some(next) = self.messages.front_mut() {
            // A tool call before the dropped message is now before the next one.
            next.message.after_tool |= dropped.message.after_tool;
        }
    }

    /// A tool call was started, or is known to have been.
    fn call(&mut self, id: String) {
        self.tool_since_message = true;
        if self.open_calls.len() >= OPEN_CALLS {
            self.open_calls.clear();
        }
        self.call_since_message |= id.len() > CALL_ID_BYTES || self.open_calls.insert(id);
    }

    /// Messages that another stream has too get their names from there, matched from the last one backwards.
    fn take_names_of(&mut self, other: &Self) {
        let mut theirs = other.messages.iter().rev();
        for kept in self.messages.iter_mut().rev().filter(|kept| kept.message.message_id.is_empty()) {
            if let Some(same) = theirs.clone().find(|same| same.text == kept.text) {
                kept.message.message_id.clone_from(&same.message.message_id);
                theirs.by_ref().find(|passed| passed.message.message_id == same.message.message_id);
            }
        }
    }

    fn void(&mut self, voided: &Voided) {
        let response = self.response;
        let is_voided = |kept: &Kept| match voided {
            Voided::Response => kept.response == response,
            Voided::Message(id) => kept.engine_ids.contains(id),
        };
        if self.marked.as_ref().is_some_and(|(_, kept)| is_voided(kept)) {
            self.marked = None;
        }
        if self.messages.back().is_some_and(is_voided) {
            // The message that it would have continued is gone.
            self.joins = false;
        }
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
        self.call_since_message |= tool_before;
    }
}

/// What a message says about the completion of the work; a marker takes precedence over a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DoneWord {
    NotDone,
    Done,
}

fn done_word(text: &str) -> Option<DoneWord> {
    // The key may be spelled with an escape.
    if !text.contains(DONE_KEY) && !text.contains("\\u") {
        return None;
    }
    let scan = marker::scan(text);
    match (scan.first, scan.denied) {
        (Some(_), _) => Some(DoneWord::Done),
        (None, true) => Some(DoneWord::NotDone),
        (None, false) => None,
    }
}
