//! `opencode run --format json`: one JSON object per line on stdout.
//!
//! There is no final event: a turn is over when a step finishes for the reason `stop` and no other step starts. Such an
//! end is provisional. An error is an end as well, unless a step starts after it.
//!
//! A step that finishes for the reason `length` is a limit. opencode continues by itself after one with a tool call in
//! it, and is silent until its model answers, so that limit is provisional; any later output retracts it.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;
use skillrun_model::{ProfileId, Stream};

use crate::classify;
use crate::json::{self, Str};
use crate::profile::{Emit, LineOutcome, Profile, ProfileLine};
use crate::profiles::subagents::{self, Subagents};
use crate::profiles::{stderr, text_errors};
use crate::record::{End, EndKind, MessageKey, RecordKind};
use crate::reset::Reset;

/// The reason of a step that the service declined to answer.
const REFUSAL: &str = "content-filter";

#[derive(Debug, Default)]
pub(crate) struct Opencode {
    turns: [Turn; 3],
}

/// What was read of one stream.
#[derive(Debug, Default)]
struct Turn {
    /// The first session that is named.
    session: Option<String>,
    subagents: Subagents,
    /// The last step ended at a limit, and nothing has been written since.
    limit: Option<EndKind>,
    /// The reason of the last step is a refusal.
    is_refused: bool,
    /// There was a tool call in the step.
    has_tool: bool,
    /// Of all steps.
    usage: TurnUsage,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: Str<'a>,
    #[serde(rename = "sessionID")]
    session_id: Option<Str<'a>>,
    part: Option<Part<'a>>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Part<'a> {
    id: Option<Str<'a>>,
    #[serde(rename = "sessionID")]
    session_id: Option<&'a RawValue>,
    #[serde(rename = "messageID")]
    message_id: Option<Str<'a>>,
    #[serde(rename = "callID")]
    call_id: Option<Str<'a>>,
    text: Option<Str<'a>>,
    tool: Option<Str<'a>>,
    state: Option<State<'a>>,
    reason: Option<Str<'a>>,
    tokens: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct State<'a> {
    status: Option<Str<'a>>,
    input: Option<&'a RawValue>,
    output: Option<Str<'a>>,
    error: Option<Str<'a>>,
    metadata: Option<&'a RawValue>,
}

/// What the tool that starts subagents adds to its call.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct TaskMetadata<'a> {
    #[serde(rename = "sessionId", alias = "sessionID")]
    session_id: Option<&'a RawValue>,
}

/// The tool that starts subagents.
const TASK: &str = "task";

#[derive(Default, Deserialize)]
struct Tokens {
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    cache: Option<Cache>,
}

#[derive(Deserialize)]
struct Cache {
    read: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Failure {
    name: Option<Box<RawValue>>,
    data: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct FailureData {
    message: Option<String>,
    #[serde(rename = "statusCode")]
    status: Option<u64>,
    #[serde(rename = "responseHeaders")]
    headers: Option<Box<RawValue>>,
    #[serde(rename = "responseBody")]
    body: Option<Box<RawValue>>,
}

/// The headers of the service's response.
#[derive(Default, Deserialize)]
struct Headers {
    #[serde(rename = "retry-after")]
    retry_after: Option<String>,
}

impl Profile for Opencode {
    fn id(&self) -> ProfileId {
        ProfileId::OpencodeNdjson
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        // On a terminal a line that is not JSON may come from stderr.
        if line.span.stream == Stream::Stderr || !line.text.starts_with('{') {
            return stderr::line(line, emit);
        }
        let turn = &mut self.turns[line.span.stream.index()];
        json::read_event(line.text, |text| Some(turn.event(serde_json::from_str(text).ok()?, emit)))
    }

    fn is_cut_success_end(&self, line: ProfileLine<'_>) -> bool {
        line.span.stream != Stream::Stderr && cut_reason_is_stop(line.text)
    }
}

/// Whether a cut `step_finish` already shows its reason. The reason is inside `part`, which is cut itself or the last
/// complete member.
fn cut_reason_is_stop(text: &str) -> bool {
    const PART: &str = "\"part\":";
    // A quote inside a string is escaped, so this is a key; and a key of the root, if the text before it is complete.
    let Some((before, part)) = text.split_once(PART) else { return false };
    let Some(before) = before.trim_ascii_end().strip_suffix(',') else { return false };
    let shown = format!("{before}}}");
    let is_step_finish = serde_json::from_str::<Event<'_>>(&shown).is_ok_and(|e| e.kind.as_str() == "step_finish");
    is_step_finish && json::members_before_cut(part).iter().any(|(key, value)| key == "reason" && *value == "\"stop\"")
}

impl Turn {
    fn event(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let Event { kind, session_id, part, error } = event;
        let of_part = part.as_ref().and_then(|part| part.session_id).and_then(json::decode::<String>);
        let named = of_part.or_else(|| session_id.as_ref().map(|id| id.as_str().to_owned()));
        if let (None, Some(id)) = (&self.session, session_id) {
            emit.push(RecordKind::Session { id: id.as_str().to_owned() });
            self.session = Some(id.into_string());
        }
        // What a session that ours has started says is neither a message nor an end of this turn.
        if let Some(child) = named.filter(|id| self.session.as_ref().is_some_and(|ours| ours != id)) {
            self.subagents.works(&child, emit);
            emit.status(Phase::Subagent);
            return LineOutcome::Known;
        }
        let goes_on = matches!(kind.as_str(), "text" | "reasoning" | "tool_use");
        if goes_on && self.limit.take().is_some() {
            emit.push(RecordKind::End(End::retracted()));
        }
        self.has_tool |= kind.as_str() == "tool_use";
        // None when the event is of an unknown type or shape.
        let known = match (kind.as_str(), part) {
            ("step_start", _) => self.step_start(emit),
            ("text", Some(part)) => text(part, emit),
            ("reasoning", Some(part)) => reasoning(part, emit),
            ("tool_use", Some(part)) => self.tool_use(part, emit),
            ("step_finish", Some(part)) => self.step_finish(part, emit),
            ("error", _) => self.error(error, emit),
            (_, _) => None,
        };
        known.map_or_else(|| LineOutcome::Unknown(kind.into_string()), |()| LineOutcome::Known)
    }

    fn tool_use(&mut self, part: Part<'_>, emit: &mut Emit<'_>) -> Option<()> {
        let is_task = part.tool.as_ref().is_some_and(|tool| tool.as_str() == TASK);
        let id = part.call_id.as_ref().or(part.id.as_ref()).map(|id| id.as_str().to_owned());
        let state = part.state.as_ref().filter(|_| is_task);
        let task =
            state.map(|state| (state.input, state.metadata, state.status.as_ref().map(|s| s.as_str().to_owned())));
        tool_use(part, emit)?;
        if let (Some((input, metadata, status)), Some(call)) = (task, id) {
            let metadata = metadata.and_then(|raw| serde_json::from_str::<TaskMetadata<'_>>(raw.get()).ok());
            // Before the session of the subagent exists, its call names it.
            let session = subagents::word(metadata.unwrap_or_default().session_id);
            let id = session.unwrap_or(call);
            self.subagents.announce_call(&id, input);
            self.subagents.report(&id, status, None, emit);
        }
        Some(())
    }

    fn step_start(&mut self, emit: &mut Emit<'_>) -> Option<()> {
        (self.limit, self.has_tool) = (None, false);
        emit.push(RecordKind::End(End::retracted()));
        emit.status(Phase::StepStarted);
        Some(())
    }

    fn step_finish(&mut self, part: Part<'_>, emit: &mut Emit<'_>) -> Option<()> {
        let reason = part.reason.map(Str::into_string);
        if let Some(tokens) = part.tokens.and_then(json::decode::<Tokens>) {
            self.add(tokens);
            emit.push(RecordKind::Usage(self.usage.clone()));
        }
        let had_tool = std::mem::take(&mut self.has_tool);
        self.is_refused = reason.as_deref() == Some(REFUSAL);
        self.limit = match reason.as_deref() {
            Some("length") if had_tool => Some(EndKind::ProvisionalLimit),
            Some("length" | REFUSAL) => Some(EndKind::Limit),
            Some(_) | None => None,
        };
        emit.push(match (reason.as_deref(), self.limit) {
            (Some("stop"), _) => RecordKind::End(End::success()),
            (reason @ Some(REFUSAL), Some(_)) => text_errors::limit_or_refusal(reason, true),
            (reason, Some(limit)) => text_errors::end(limit, reason, None),
            (_, None) => RecordKind::End(End::retracted()),
        });
        emit.push(RecordKind::Status { phase: Phase::StepFinished, detail: reason });
        Some(())
    }

    /// A limit is reported a second time as an error; it stays a limit.
    fn error(&mut self, error: Option<&RawValue>, emit: &mut Emit<'_>) -> Option<()> {
        let told = error.map(ErrorReport::read).unwrap_or_default();
        let message = told.message.as_deref();
        let shown = message.unwrap_or("the turn failed");
        let by_message = classify::by_all(told.status, told.name.as_deref(), shown);
        // The message is the engine's; the body is the response of the service or of a portal before it.
        let by_body = told.body.as_deref().filter(|_| by_message == ErrorCategory::Engine).map(classify::by_words);
        let category = by_body.unwrap_or(by_message);
        emit.push(text_errors::with_reset(shown, category, told.reset));
        emit.push(match self.limit {
            Some(_) => text_errors::limit_or_refusal(message, self.is_refused),
            None => text_errors::failure(message, Some(category)),
        });
        Some(())
    }

    fn add(&mut self, tokens: Tokens) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        };
        add(&mut self.usage.input_tokens, tokens.input);
        add(&mut self.usage.output_tokens, tokens.output);
        add(&mut self.usage.reasoning_tokens, tokens.reasoning);
        add(&mut self.usage.cached_input_tokens, tokens.cache.and_then(|cache| cache.read));
    }
}

fn text(part: Part<'_>, emit: &mut Emit<'_>) -> Option<()> {
    let text = part.text?.into_string();
    let id = part.message_id.or(part.id).map_or(MessageKey::Unnamed, |id| MessageKey::Engine(id.into_string()));
    emit.push(RecordKind::Message { id, text: text.into(), partial: false });
    Some(())
}

fn reasoning(part: Part<'_>, emit: &mut Emit<'_>) -> Option<()> {
    emit.push(RecordKind::Reasoning { text: part.text?.into_string() });
    Some(())
}

fn tool_use(part: Part<'_>, emit: &mut Emit<'_>) -> Option<()> {
    let (id, name, state) = (part.call_id.or(part.id)?.into_string(), part.tool?.into_string(), part.state?);
    let input = state.input.map(|raw| raw.get().to_owned());
    let output = state.output.map(Str::into_string);
    let ended = match state.status?.as_str() {
        "pending" => {
            emit.push(RecordKind::ToolStarted { id, name, input });
            return Some(());
        }
        // May follow `pending`; the call starts only once.
        "running" => {
            emit.push(RecordKind::ToolSeen { id, name, input });
            return Some(());
        }
        "completed" => RecordKind::ToolCompleted { id: id.clone(), output },
        "error" => {
            let reason = state.error.map_or_else(|| "error".to_owned(), Str::into_string);
            RecordKind::ToolFailed { id: id.clone(), reason, output }
        }
        _ => return None,
    };
    emit.push(RecordKind::ToolSeen { id, name, input });
    emit.push(ended);
    Some(())
}

/// What an error reports about itself.
#[derive(Debug, Default)]
struct ErrorReport {
    message: Option<String>,
    /// The class of the error.
    name: Option<String>,
    /// The HTTP status of the model's API.
    status: Option<u64>,
    reset: Option<Reset>,
    /// The response of the service.
    body: Option<String>,
}

impl ErrorReport {
    fn read(error: &RawValue) -> Self {
        if let Some(message) = json::decode::<String>(error) {
            return Self { message: Some(message), ..Self::default() };
        }
        let failure = json::decode::<Failure>(error).unwrap_or_default();
        let data = failure.data.and_then(|raw| json::decode::<FailureData>(&raw)).unwrap_or_default();
        let name = failure.name.and_then(|raw| json::decode::<String>(&raw));
        let headers = data.headers.and_then(|raw| json::decode::<Headers>(&raw)).unwrap_or_default();
        Self {
            message: data.message.or_else(|| name.clone()),
            name,
            status: data.status,
            reset: headers.retry_after.as_deref().and_then(Reset::of_header),
            body: data.body.and_then(|raw| json::decode::<String>(&raw)),
        }
    }
}
