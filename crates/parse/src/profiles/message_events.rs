//! What claude and qwen share: a stream of `system`, `assistant`, `user`, `stream_event` and `result`, one JSON object
//! per line, or all of them in one array; or the `result` alone.
//!
//! - [`wire`]: the shapes of the events.
//! - [`result`]: the end of a turn.
//! - [`control`]: what engine and host exchange in addition to the turn.
//! - [`Dialect`]: where the two differ; [`super::claude`] and [`super::qwen`] fill it in.
//!
//! Each stream has its own state, so that nothing depends on the order across streams. The work of a subagent is
//! reported as status only.

mod control;
mod result;
#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::fmt::Debug;
use std::marker::PhantomData;

use serde_json::value::RawValue;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::status::Phase;
use skillrun_model::{Code, ProfileId, Stream};

use crate::buffer::cut;
use crate::classify;
use crate::json::{self, Str};
use crate::parser::{RAW_CONFIDENCE, mentions_marker};
use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::profiles::open_message::OpenMessage;
use crate::profiles::subagents::{self, Subagents};
use crate::profiles::{stderr, text_errors};
use crate::record::{End, MessageKey, RecordKind, ServerFailure, Voided};
use crate::reset::Reset;
use crate::text::json::repair_surrogates;
use wire::{Block, Head};

/// Where claude and qwen differ.
pub(crate) trait Dialect: Debug + Default + Send {
    const ID: ProfileId;

    /// Whether an assistant's text is the engine's own report of an error.
    fn is_error_text(sender: &Sender<'_>, text: &str) -> bool;

    /// Reads a `system` event that reports a retry; none when it is not of that shape.
    fn retry(line: &str) -> Option<ModelRetry>;
}

/// The sender of an assistant's text, as far as the line identifies it.
#[derive(Debug, Default)]
pub(crate) struct Sender<'a> {
    pub(crate) model: Option<&'a str>,
    /// The line itself states that it reports an error.
    pub(crate) reports_error: bool,
    error: Option<String>,
    status: Option<u64>,
}

/// The engine repeats its request to the model.
#[derive(Debug)]
pub(crate) struct ModelRetry {
    pub(crate) message: String,
    pub(crate) category: ErrorCategory,
    /// What it retracts of the text before.
    pub(crate) voids: Option<Voided>,
}

/// Reads the events of one attempt.
#[derive(Debug, Default)]
pub(crate) struct MessageEvents<D> {
    streams: [Turn; 3],
    dialect: PhantomData<D>,
}

/// What is known of one stream so far.
#[derive(Debug, Default)]
struct Turn {
    session_is_known: bool,
    /// A `result` was seen.
    has_ended: bool,
    /// A finished text of the assistant was seen; it, and not the `result`, is the message.
    has_text: bool,
    /// The response that is being streamed.
    streaming: Option<String>,
    open: Option<OpenMessage>,
    /// Those of the engine, each by the id of the call that has started it.
    subagents: Subagents,
}

/// The tools that start subagents: `Task` and `Agent` in claude, `task` and `agent` in qwen.
const SUBAGENT_TOOLS: [&str; 4] = ["Task", "Agent", "task", "agent"];

/// Longest detail of a status, and longest name of something unknown.
const DETAIL_MAX: usize = 1024;
const NAME_MAX: usize = 100;

impl<D: Dialect> Profile for MessageEvents<D> {
    fn id(&self) -> ProfileId {
        D::ID
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let turn = &mut self.streams[line.span.stream.index()];
        // On a terminal a line that is not JSON may come from stderr.
        if line.span.stream == Stream::Stderr || !line.text.starts_with(['{', '[']) {
            // The first event reports the same servers.
            if !stderr::failed_servers(line.text).is_empty() {
                return LineOutcome::Noise;
            }
            return stderr::line(line, emit);
        }
        let repaired = repair_surrogates(line.text);
        let text = repaired.as_deref().unwrap_or(line.text);
        if text.starts_with('{') {
            return json::read_event(text, |text| Some(turn.event::<D>(&Head::read(text)?, text, emit)));
        }
        if turn.array::<D>(text, emit) { LineOutcome::Known } else { stderr::line(line, emit) }
    }

    /// A value that is complete on one line ends with its closing bracket. The last line of a stream has nothing after
    /// it.
    fn opens_document(&self, line: ProfileLine<'_>) -> bool {
        let last = line.text.trim_ascii_end().bytes().next_back();
        let is_open = match line.text.bytes().next() {
            Some(b'{') => last != Some(b'}'),
            Some(b'[') => last != Some(b']'),
            Some(_) | None => false,
        };
        is_open && line.terminated && line.span.stream != Stream::Stderr
    }

    fn document(&mut self, text: &str, emit: &mut Emit<'_>) -> bool {
        let turn = &mut self.streams[emit.span().stream.index()];
        let repaired = repair_surrogates(text);
        let text = repaired.as_deref().unwrap_or(text);
        if text.starts_with('[') {
            return turn.array::<D>(text, emit);
        }
        // Any other object may be formatted for a reader, over several lines.
        let Some(head) = Head::read(text).filter(Head::is_known) else { return false };
        if let LineOutcome::Unknown(name) = turn.event::<D>(&head, text, emit) {
            push_unknown(name, mentions_marker(text), emit);
        }
        true
    }

    fn is_cut_success_end(&self, line: ProfileLine<'_>) -> bool {
        line.span.stream != Stream::Stderr && result::is_cut_success(line.text)
    }

    fn eof(&mut self, stream: Stream, emit: &mut Emit<'_>) {
        self.streams[stream.index()].close_open(emit);
    }
}

/// Most servers of a list that are looked at.
const SERVERS_MAX: usize = 100;

/// The states of a server that has not started and will not: claude writes `failed` and `needs-auth`, qwen
/// `disconnected`.
const FAILED_STATES: [&str; 3] = ["failed", "needs-auth", "disconnected"];

/// Reports the MCP servers of a list that did not start.
fn failed_servers(servers: &RawValue, emit: &mut Emit<'_>) {
    let mut seen = 0;
    wire::each_element(servers.get(), |element| {
        seen += 1;
        let state = json::decode::<wire::ServerState>(element).filter(|_| seen <= SERVERS_MAX);
        if let Some(state) = state.filter(|state| FAILED_STATES.contains(&state.status.as_str())) {
            emit.push(RecordKind::ServerFailed(ServerFailure::of(&state.name, &state.status)));
        }
    });
}

impl Turn {
    /// Reads the events of an array; false when it is not of this format. Every element that is read gives at least one
    /// record that shows the array's bytes.
    fn array<D: Dialect>(&mut self, text: &str, emit: &mut Emit<'_>) -> bool {
        // Nothing may be emitted for an array that turns out to be broken at its end.
        if serde_json::from_str::<&RawValue>(text).is_err() {
            return false;
        }
        let mut is_ours = None;
        let mut unknown: Option<(String, bool)> = None;
        wire::each_element(text, |element| {
            let element = element.get();
            let head = if element.starts_with('{') { Head::read(element) } else { None };
            if !*is_ours.get_or_insert_with(|| head.as_ref().is_some_and(Head::is_known)) {
                return;
            }
            let outcome = match head {
                Some(head) => self.event::<D>(&head, element, emit),
                None => LineOutcome::Unknown("element without type".to_owned()),
            };
            if let LineOutcome::Unknown(name) = outcome {
                let (_, has_marker) = unknown.get_or_insert((name, false));
                *has_marker = *has_marker || mentions_marker(element);
            }
        });
        if let Some((name, has_marker)) = unknown {
            push_unknown(name, has_marker, emit);
        }
        is_ours == Some(true)
    }

    /// Reads one event. A known one gives at least one record that shows its bytes.
    fn event<D: Dialect>(&mut self, head: &Head<'_>, text: &str, emit: &mut Emit<'_>) -> LineOutcome {
        if head.is_known() {
            self.session(head, emit);
        }
        // A subagent's question is a question too: the engine waits for its answer.
        if let Some(call) = head.parent_tool_use_id.filter(|_| head.is_known() && !head.is_control()) {
            self.subagents.works(&subagents::word(Some(call)).unwrap_or_default(), emit);
            status(Phase::Subagent, None, emit);
            return LineOutcome::Known;
        }
        let read = match head.kind.as_str() {
            "system" => self.system::<D>(text, emit),
            "assistant" => wire::read(text).map(|line| self.assistant::<D>(line, emit)),
            "user" => wire::read(text).map(|line| self.user(line, emit)),
            "stream_event" => wire::read(text).map(|line| self.stream_event(line, emit)),
            "result" => wire::read(text).map(|line| self.result::<D>(line, emit)),
            "rate_limit_event" => wire::read(text).map(|line| rate_limit(&line, emit)),
            "control_request" => control::request(text, emit),
            "control_cancel_request" => control::cancel(text, emit),
            // The engine's answer to something the host asked for.
            "control_response" => {
                status(Phase::Working, Some("control_response"), emit);
                Some(LineOutcome::Known)
            }
            other => return LineOutcome::Unknown(cut(other, NAME_MAX)),
        };
        read.unwrap_or_else(|| LineOutcome::Unknown(cut(head.kind.as_str(), NAME_MAX)))
    }

    fn session(&mut self, head: &Head<'_>, emit: &mut Emit<'_>) {
        if let Some(id) = head.session_id.as_ref().map(Str::as_str).filter(|id| !id.is_empty())
            && !self.session_is_known
        {
            self.session_is_known = true;
            emit.push(RecordKind::Session { id: id.to_owned() });
        }
    }

    fn system<D: Dialect>(&mut self, text: &str, emit: &mut Emit<'_>) -> Option<LineOutcome> {
        let line: wire::System<'_> = wire::read(text)?;
        let subtype = line.subtype.as_str();
        match subtype {
            "init" => {
                if std::mem::take(&mut self.has_ended) {
                    emit.push(RecordKind::End(End::retracted()));
                }
                status(Phase::SessionStarted, None, emit);
                if let Some(servers) = line.mcp_servers {
                    failed_servers(servers, emit);
                }
            }
            "api_retry" | "retry" => {
                let retry = D::retry(text)?;
                if let Some(voided) = retry.voids {
                    self.void(voided, emit);
                }
                emit.push(text_errors::warning_of(Code::EngineRetry, &retry.message, retry.category, None));
            }
            _ => {
                self.task(&line, emit);
                let words = line.content.or(line.status).and_then(json::decode::<String>);
                let detail = words.filter(|words| !words.trim().is_empty());
                status(Phase::Working, Some(detail.as_deref().unwrap_or(subtype)), emit);
            }
        }
        Some(LineOutcome::Known)
    }

    /// Reports a task of the engine, if it is a subagent; commands in the background are tasks too.
    fn task(&mut self, line: &wire::System<'_>, emit: &mut Emit<'_>) {
        if !line.subtype.as_str().starts_with("task_") {
            return;
        }
        let Some(task) = subagents::word(line.task_id) else { return };
        let id = subagents::word(line.tool_use_id).unwrap_or_else(|| task.clone());
        let is_agent = line.task_type.and_then(json::decode::<String>).is_some_and(|kind| kind.contains("agent"));
        if !is_agent && !self.subagents.is_known(&id) {
            return;
        }
        self.subagents.announce(&id, None, line.description.and_then(json::decode));
        let patch = line.patch.and_then(|patch| wire::read::<wire::TaskState<'_>>(patch.get())).unwrap_or_default();
        match line.status.or(patch.status) {
            state @ Some(_) => {
                self.subagents.report(&id, subagents::word(state), subagents::word(line.summary), emit);
            }
            None => self.subagents.works(&id, emit),
        }
    }

    fn assistant<D: Dialect>(&mut self, line: wire::Assistant<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let key = message_key(line.message.id);
        if self.open.as_ref().is_some_and(|open| *open.key() != key) {
            self.close_open(emit);
        }
        let sender = Sender {
            model: line.message.model.as_ref().map(Str::as_str),
            reports_error: line.is_api_error_message == Some(true),
            error: line.error.and_then(json::decode),
            status: line.api_error_status.and_then(json::decode),
        };
        let mut is_shown = false;
        let mut unknown = None;
        let is_content = wire::each_block(line.message.content, |block| {
            let name = match self.assistant_block::<D>(block, &key, &sender, emit) {
                Said::Shown => {
                    is_shown = true;
                    return;
                }
                Said::Nothing => return,
                Said::Unknown(name) => name,
            };
            unknown.get_or_insert_with(|| format!("assistant block {name}"));
        });
        if !is_content {
            return LineOutcome::Unknown("assistant".to_owned());
        }
        if !is_shown {
            status(Phase::Working, None, emit);
        }
        unknown.map_or(LineOutcome::Known, LineOutcome::Unknown)
    }

    /// One block of the assistant's message.
    fn assistant_block<D: Dialect>(
        &mut self,
        block: Option<Block<'_>>,
        key: &MessageKey,
        sender: &Sender<'_>,
        emit: &mut Emit<'_>,
    ) -> Said {
        let Some(mut block) = block else { return Said::Unknown("of unknown shape".to_owned()) };
        match (std::mem::take(&mut block.kind).as_str(), block) {
            ("text", Block { text: Some(text), .. }) if D::is_error_text(sender, text.as_str()) => {
                emit.push(text_errors::with_category(text.as_str(), sender.category(text.as_str())));
            }
            ("text", Block { text: Some(text), .. }) => {
                // Its pieces were reported as they arrived.
                self.open = None;
                let text = text.into_string();
                if text.is_empty() {
                    return Said::Nothing;
                }
                self.has_text = self.has_text || !text.trim().is_empty();
                emit.push(RecordKind::Message { id: key.clone(), text: text.into(), partial: false });
            }
            ("thinking", Block { thinking: Some(thinking), .. }) => {
                if thinking.as_str().is_empty() {
                    return Said::Nothing;
                }
                emit.push(RecordKind::Reasoning { text: thinking.into_string() });
            }
            ("redacted_thinking", _) => return Said::Nothing,
            ("tool_use", Block { id: Some(id), name: Some(name), input, .. }) => {
                if SUBAGENT_TOOLS.contains(&name.as_str()) {
                    self.subagents.announce_call(id.as_str(), input);
                }
                let input = input.map(|raw| raw.get().to_owned());
                emit.push(RecordKind::ToolStarted { id: id.into_string(), name: name.into_string(), input });
            }
            (other, _) => return Said::Unknown(cut(other, NAME_MAX)),
        }
        Said::Shown
    }

    fn user(&mut self, line: wire::User<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let is_synthetic = line.is_synthetic == Some(true);
        if let Some(id) = line.refused_message_id {
            self.void(Voided::Message(id.into_string()), emit);
        } else if is_synthetic {
            self.close_open(emit);
            emit.push(RecordKind::Join);
        }
        let mut words = None;
        let mut has_tool = false;
        let mut unknown = None;
        let is_content = wire::each_block(line.message.content, |block| {
            let Some(mut block) = block else {
                unknown.get_or_insert_with(|| "user block of unknown shape".to_owned());
                return;
            };
            match (std::mem::take(&mut block.kind).as_str(), block) {
                ("tool_result", Block { tool_use_id: Some(id), is_error, content, .. }) => {
                    has_tool = true;
                    // The engine adds this to the result of one call.
                    if let Some(returned) = line.tool_use_result.filter(|_| self.subagents.is_known(id.as_str())) {
                        let returned = wire::read::<wire::TaskState<'_>>(returned.get()).unwrap_or_default();
                        if let state @ Some(_) = subagents::word(returned.status) {
                            self.subagents.report(id.as_str(), state, None, emit);
                        }
                    }
                    emit.push(tool_result(id.into_string(), is_error == Some(true), content));
                }
                ("text", Block { text: Some(text), .. }) => {
                    words.get_or_insert_with(|| cut(text.as_str(), DETAIL_MAX));
                }
                ("image" | "document", _) => {}
                (other, _) => {
                    unknown.get_or_insert_with(|| format!("user block {}", cut(other, NAME_MAX)));
                }
            }
        });
        if !is_content {
            return LineOutcome::Unknown("user".to_owned());
        }
        if is_synthetic {
            status(Phase::Working, words.as_deref(), emit);
        } else if words.is_some() || !has_tool {
            status(Phase::InputReceived, None, emit);
        }
        unknown.map_or(LineOutcome::Known, LineOutcome::Unknown)
    }

    fn stream_event(&mut self, line: wire::StreamEvent<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        match line.event.kind.as_str() {
            "message_start" => {
                self.close_open(emit);
                self.streaming = line.event.message.and_then(|message| message.id).map(Str::into_string);
                status(Phase::Streaming, None, emit);
            }
            "content_block_delta" => {
                let text = line.event.delta.filter(|delta| delta.kind.as_str() == "text_delta").and_then(|d| d.text);
                match text.filter(|text| !text.as_str().is_empty()) {
                    Some(text) => self.delta(line.api_message_id, text, emit),
                    None => status(Phase::Streaming, None, emit),
                }
            }
            "content_block_start" | "content_block_stop" | "message_delta" | "message_stop" => {
                status(Phase::Streaming, None, emit);
            }
            other => status(Phase::Working, Some(other), emit),
        }
        LineOutcome::Known
    }

    fn delta(&mut self, id: Option<Str<'_>>, text: Str<'_>, emit: &mut Emit<'_>) {
        let key = match (id, &self.streaming) {
            (None, Some(id)) => MessageKey::Engine(id.clone()),
            (id, _) => message_key(id),
        };
        if self.open.as_ref().is_some_and(|open| *open.key() != key) {
            self.close_open(emit);
        }
        let span = emit.span();
        self.open.get_or_insert_with(|| OpenMessage::new(key.clone(), span)).push(text.as_str(), span);
        emit.push(RecordKind::Delta { id: key, text: text.into_string() });
    }

    fn void(&mut self, voided: Voided, emit: &mut Emit<'_>) {
        self.close_open(emit);
        emit.push(RecordKind::Void(voided));
    }

    /// Another message begins, or the stream is over: the end of the open message will not arrive.
    fn close_open(&mut self, emit: &mut Emit<'_>) {
        if let Some(open) = self.open.take() {
            open.close(true, emit);
        }
    }
}

/// The result of reading a block of the assistant.
enum Said {
    Shown,
    /// It has no content to show.
    Nothing,
    Unknown(String),
}

impl Sender<'_> {
    fn category(&self, text: &str) -> ErrorCategory {
        classify::by_all(self.status, self.error.as_deref(), text)
    }
}

/// claude's report about the subscription, when it changes.
fn rate_limit(line: &wire::RateLimit<'_>, emit: &mut Emit<'_>) -> LineOutcome {
    let info: wire::RateLimitInfo = line.rate_limit_info.and_then(json::decode).unwrap_or_default();
    if info.status.as_deref() != Some("rejected") {
        status(Phase::Working, Some("rate_limit_event"), emit);
        return LineOutcome::Known;
    }
    let limit = info.kind.as_deref().map(|kind| format!(" ({})", cut(kind, NAME_MAX))).unwrap_or_default();
    let message = format!("the limit of the subscription is reached{limit}");
    let reset = info.resets_at.and_then(Reset::since_epoch);
    emit.push(text_errors::warning_of(Code::EngineWarning, &message, ErrorCategory::Quota, reset));
    LineOutcome::Known
}

fn message_key(id: Option<Str<'_>>) -> MessageKey {
    id.map_or(MessageKey::Unnamed, |id| MessageKey::Engine(id.into_string()))
}

fn tool_result(id: String, is_error: bool, content: Option<&RawValue>) -> RecordKind {
    let output = content.and_then(wire::text_of);
    if is_error { text_errors::tool_failed(id, output, DETAIL_MAX) } else { RecordKind::ToolCompleted { id, output } }
}

fn status(phase: Phase, detail: Option<&str>, emit: &mut Emit<'_>) {
    emit.push(RecordKind::Status { phase, detail: detail.map(|detail| cut(detail, DETAIL_MAX)) });
}

fn push_unknown(name: String, has_marker: bool, emit: &mut Emit<'_>) {
    emit.push_inferred(RAW_CONFIDENCE, RecordKind::Unknown { name, text: None, has_marker });
}
