//! `--output-format stream-json`: one event per line.
//!
//! Assistant text comes in deltas without a name or an end: a message is over when another event arrives. An error in
//! place of an answer is recognised by its first words.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::Code;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;
use skillrun_model::verdict::EngineLimit;

use crate::json::{self, Str};
use crate::profile::{Emit, LineOutcome};
use crate::profiles::gemini::failure::Failure;
use crate::profiles::open_message::OpenMessage;
use crate::profiles::text_errors;
use crate::record::{End, MessageKey, RecordKind};

/// How the text begins that gemini writes in place of an answer when the model's API failed.
const API_ERROR: &str = "[API Error";

/// How gemini's messages about its own limits begin.
const LIMITS: &[&str] = &["Loop detected", "Maximum session turns exceeded", "Reached max session turns"];

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    kind: Str<'a>,
    session_id: Option<Str<'a>>,
    role: Option<Str<'a>>,
    content: Option<Str<'a>>,
    delta: Option<bool>,
    tool_name: Option<Str<'a>>,
    tool_id: Option<Str<'a>>,
    parameters: Option<&'a RawValue>,
    status: Option<Str<'a>>,
    output: Option<Str<'a>>,
    severity: Option<Str<'a>>,
    message: Option<Str<'a>>,
    error: Option<&'a RawValue>,
    stats: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Stats {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached: Option<u64>,
}

pub(super) fn parse(text: &str) -> Option<Event<'_>> {
    serde_json::from_str(text).ok()
}

/// Whether a cut line is a `result` that already shows success.
pub(super) fn is_cut_success_end(text: &str) -> bool {
    let members = json::members_before_cut(text);
    let has = |name: &str, value: &str| members.iter().any(|(key, shown)| key == name && *shown == value);
    has("type", "\"result\"") && has("status", "\"success\"")
}

/// A message that came as a whole, or the error that stands in its place.
pub(super) fn whole_message(text: Str<'_>) -> RecordKind {
    if text.as_str().starts_with(API_ERROR) {
        return text_errors::error(text.as_str());
    }
    RecordKind::Message { id: MessageKey::Unnamed, text: text.into_string().into(), partial: false }
}

/// Whether the end of a message was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    Cut,
}

/// A turn as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Turn {
    draft: Option<Draft>,
    has_ended: bool,
    /// The last `error` event; a `result` may give no reason of its own.
    last_error: Option<String>,
    /// It stops at a limit, and reports that with an event before a `result` that may be a success.
    limit: Option<String>,
}

/// A message that is being written.
#[derive(Debug)]
struct Draft {
    message: OpenMessage,
    kind: DraftKind,
}

#[derive(Debug)]
enum DraftKind {
    /// So far it could be the beginning of an error; not shown yet.
    Unsure(String),
    Answer,
    Error,
}

impl Turn {
    pub(super) fn event(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let known = match event.kind.as_str() {
            "init" => self.init(event, emit),
            "message" => self.message(event, emit),
            "tool_use" => self.tool_use(event, emit),
            "tool_result" => self.tool_result(event, emit),
            "error" => self.error(event, emit),
            "result" => self.result(event, emit),
            other => return LineOutcome::Unknown(other.to_owned()),
        };
        known.map_or_else(|WrongShape(name)| LineOutcome::Unknown(name.to_owned()), |()| LineOutcome::Known)
    }

    /// The open message is over.
    pub(super) fn close(&mut self, ending: Ending, emit: &mut Emit<'_>) {
        let Some(draft) = self.draft.take() else { return };
        match draft.kind {
            DraftKind::Error => draft.message.close_as(emit, |_, text| text_errors::error(text.head())),
            DraftKind::Unsure(_) | DraftKind::Answer => draft.message.close(ending == Ending::Cut, emit),
        }
    }

    fn init(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        let id = event.session_id.ok_or(WrongShape("init"))?;
        self.close(Ending::Whole, emit);
        (self.last_error, self.limit) = (None, None);
        emit.push(RecordKind::Session { id: id.into_string() });
        if std::mem::take(&mut self.has_ended) {
            emit.push(RecordKind::End(End::retracted()));
        }
        emit.status(Phase::SessionStarted);
        Ok(())
    }

    fn message(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        const WRONG: WrongShape = WrongShape("message");
        match event.role.as_ref().map(Str::as_str) {
            Some("user") => {
                self.close(Ending::Whole, emit);
                emit.status(Phase::InputReceived);
            }
            Some("assistant") => {
                let content = event.content.ok_or(WRONG)?;
                if event.delta == Some(true) {
                    self.delta(content.as_str(), emit);
                } else {
                    self.close(Ending::Whole, emit);
                    emit.push(whole_message(content));
                }
            }
            Some(_) | None => return Err(WRONG),
        }
        Ok(())
    }

    fn delta(&mut self, piece: &str, emit: &mut Emit<'_>) {
        if piece.is_empty() {
            return emit.status(Phase::Streaming);
        }
        let draft = self.draft.get_or_insert_with(|| Draft {
            message: OpenMessage::new(MessageKey::Unnamed, emit.span()),
            kind: DraftKind::Unsure(String::new()),
        });
        draft.message.push(piece, emit.span());
        match draft.shown(piece) {
            Some(text) => emit.push(RecordKind::Delta { id: MessageKey::Unnamed, text }),
            None => emit.status(Phase::Streaming),
        }
    }

    fn tool_use(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        let (Some(id), Some(name)) = (event.tool_id, event.tool_name) else { return Err(WrongShape("tool_use")) };
        self.close(Ending::Whole, emit);
        // It continued after all.
        self.limit = None;
        let input = event.parameters.map(|raw| raw.get().to_owned());
        emit.push(RecordKind::ToolStarted { id: id.into_string(), name: name.into_string(), input });
        Ok(())
    }

    fn tool_result(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        const WRONG: WrongShape = WrongShape("tool_result");
        let id = event.tool_id.ok_or(WRONG)?.into_string();
        let output = event.output.map(Str::into_string);
        let kind = match event.status.as_ref().map(Str::as_str) {
            Some("success") => RecordKind::ToolCompleted { id, output },
            Some("error") => {
                let reason = event.error.and_then(|error| Failure::read(error).message);
                RecordKind::ToolFailed { id, reason: reason.unwrap_or_else(|| "error".to_owned()), output }
            }
            Some(_) | None => return Err(WRONG),
        };
        self.close(Ending::Whole, emit);
        emit.push(kind);
        Ok(())
    }

    /// Never the end of a turn, whatever its severity.
    fn error(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        let message = event.message.ok_or(WrongShape("error"))?;
        self.close(Ending::Whole, emit);
        if LIMITS.iter().any(|limit| message.as_str().starts_with(limit)) {
            self.limit = Some(message.as_str().to_owned());
        }
        let is_warning = event.severity.is_some_and(|severity| severity.as_str() == "warning");
        let kind = if is_warning {
            text_errors::warning(Code::EngineWarning, message.as_str())
        } else {
            text_errors::error(message.as_str())
        };
        if let RecordKind::EngineError(error) = &kind
            && !is_warning
        {
            self.last_error = Some(error.message.clone());
        }
        emit.push(kind);
        Ok(())
    }

    fn result(&mut self, event: Event<'_>, emit: &mut Emit<'_>) -> Result<(), WrongShape> {
        let ending = match event.status.as_ref().map(Str::as_str) {
            Some("success") => Ending::Whole,
            Some("error") => Ending::Cut,
            Some(_) | None => return Err(WrongShape("result")),
        };
        self.close(ending, emit);
        self.has_ended = true;
        if let Some(stats) = event.stats.and_then(json::decode::<Stats>) {
            emit.push(RecordKind::Usage(TurnUsage {
                input_tokens: stats.input_tokens,
                output_tokens: stats.output_tokens,
                cached_input_tokens: stats.cached,
                ..TurnUsage::default()
            }));
        }
        let failure = match ending {
            Ending::Whole => None,
            Ending::Cut => {
                let mut failure = event.error.map(Failure::read).unwrap_or_default();
                failure.message = failure.message.or_else(|| self.last_error.take());
                Some(failure)
            }
        };
        let told = failure.as_ref().and_then(|failure| failure.message.as_deref());
        let in_end = told.filter(|told| LIMITS.iter().any(|limit| told.starts_with(limit))).map(str::to_owned);
        match (self.limit.take().or(in_end), failure) {
            // An end that is both counts as limit.
            (Some(limit), _) => {
                emit.push(text_errors::limit(Some(&limit), EngineLimit::Requests));
                emit.status(Phase::TurnFailed);
            }
            (None, Some(failure)) => failure.emit(emit),
            (None, None) => {
                emit.push(RecordKind::End(End::success()));
                emit.status(Phase::TurnCompleted);
            }
        }
        Ok(())
    }
}

impl Draft {
    /// The part of the message that can be shown with this piece.
    fn shown(&mut self, piece: &str) -> Option<String> {
        match &mut self.kind {
            DraftKind::Answer => Some(piece.to_owned()),
            DraftKind::Error => None,
            DraftKind::Unsure(held) => {
                held.push_str(piece);
                if held.starts_with(API_ERROR) {
                    self.kind = DraftKind::Error;
                    None
                } else if API_ERROR.starts_with(held.as_str()) {
                    None
                } else {
                    let text = std::mem::take(held);
                    self.kind = DraftKind::Answer;
                    Some(text)
                }
            }
        }
    }
}

/// An event of this type, but not of the expected shape.
struct WrongShape(&'static str);
