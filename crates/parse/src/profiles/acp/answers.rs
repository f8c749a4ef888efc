//! The agent's responses to our requests. The response to a prompt is the end of the turn.

use agent_client_protocol_schema::v1::StopReason;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use skillrun_model::status::Phase;
use skillrun_model::verdict::EngineLimit;

use super::failure::ErrorReport;
use super::ours::{Name, Wanted, Way};
use super::usage::Usage;
use super::wire::{self, Answer, Id};
use super::{Ending, Names, SessionName, Stage, Turn, status, updates};
use crate::json;
use crate::profile::{Emit, LineOutcome};
use crate::profiles::text_errors;
use crate::record::{End, RecordKind};

/// Longest name of a session; a longer one could not be sent back.
const SESSION_MAX: usize = 1024;
/// Longest `_meta` of a response that is searched for an error.
const META_MAX: usize = 64 * 1024;

/// Our requests, by the meaning of their responses.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Initialize,
    /// None where the name is a number, which does not identify the request.
    Session(Option<Wanted>),
    /// Whether the history is still being replayed, until the last one.
    Past,
    Now,
    Prompt,
    /// A request without effect here.
    Other,
}

#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct AgentInfo<'a> {
    name: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
}

impl Asked {
    fn by_name(name: &str) -> Self {
        match Name::read(name) {
            Some(Name::Initialize) => Self::Initialize,
            Some(Name::Session(wanted)) => Self::Session(Some(wanted)),
            Some(Name::Past(_)) => Self::Past,
            Some(Name::Now) => Self::Now,
            Some(Name::Prompt(_)) => Self::Prompt,
            None => Self::Other,
        }
    }

    fn by_shape(answer: &Answer<'_>, stage: Stage) -> Self {
        if answer.protocol_version.is_some() {
            Self::Initialize
        } else if answer.stop_reason.is_some() {
            Self::Prompt
        } else if answer.session_id.is_some() || stage == Stage::Opening {
            // The response to loading a session may be empty.
            Self::Session(None)
        } else {
            Self::Other
        }
    }
}

impl Turn {
    /// The request that a response belongs to. A number is a name only in recordings of other clients: once one of our
    /// names was seen, a number is not a name.
    fn asked(&mut self, id: &Id<'_>, by_number: impl FnOnce(Stage) -> Asked) -> Asked {
        match id {
            Id::Name(name, _) => {
                let asked = Asked::by_name(name);
                if asked != Asked::Other {
                    self.names = Names::Ours;
                }
                asked
            }
            Id::Number(_) => match self.names {
                Names::Unseen => by_number(self.stage),
                Names::Ours => Asked::Other,
            },
            Id::Odd => Asked::Other,
        }
    }

    pub(super) fn answered(&mut self, id: &Id<'_>, result: &RawValue, emit: &mut Emit<'_>) -> LineOutcome {
        let answer = wire::object::<Answer<'_>>(result).unwrap_or_default();
        match self.asked(id, |stage| Asked::by_shape(&answer, stage)) {
            Asked::Initialize => self.initialized(&answer, emit),
            Asked::Session(None) => self.session_opened(session_id(answer.session_id), Stage::Turn, emit),
            Asked::Session(Some(wanted)) => match wanted.opened(result) {
                Ok(id) => self.session_opened(Some(id), after(&wanted.way), emit),
                Err(unusable) => self.failed(&ErrorReport::engine(unusable.to_string()), emit),
            },
            Asked::Now => self.past_is_over(emit),
            Asked::Prompt => self.prompted(&answer, emit),
            Asked::Past | Asked::Other => status(Phase::Working, Some("an answer"), emit),
        }
        LineOutcome::Known
    }

    fn initialized(&mut self, answer: &Answer<'_>, emit: &mut Emit<'_>) {
        self.stage = Stage::Opening;
        let info = answer.agent_info.and_then(wire::object::<AgentInfo<'_>>).unwrap_or_default();
        let mut detail = "the agent is ready".to_owned();
        if let Some(name) = info.name.and_then(wire::word) {
            self.codex.name(&name);
            detail = format!("{name} {}", info.version.and_then(wire::word).unwrap_or_default());
        }
        status(Phase::Working, Some(detail.trim_end()), emit);
    }

    fn session_opened(&mut self, id: Option<String>, stage: Stage, emit: &mut Emit<'_>) {
        self.stage = stage;
        if let Some(id) = id {
            if matches!(self.session, SessionName::Unknown) {
                emit.push(RecordKind::Session { id: id.clone() });
            }
            self.session = SessionName::Given(id);
        }
        status(Phase::SessionStarted, None, emit);
    }

    fn past_is_over(&mut self, emit: &mut Emit<'_>) {
        self.stage = Stage::Turn;
        status(Phase::Working, Some("the history of the session is complete"), emit);
    }

    fn prompted(&mut self, answer: &Answer<'_>, emit: &mut Emit<'_>) {
        self.stage = Stage::Turn;
        self.start_announced(emit);
        let stop = answer.stop_reason.and_then(json::decode::<StopReason>);
        // codex and perhaps other agents report success for a turn that failed.
        let hidden = match stop {
            Some(StopReason::EndTurn) => answer.meta.and_then(error_in_meta),
            _ => None,
        };
        let ending = match stop {
            Some(StopReason::EndTurn) if hidden.is_none() => Ending::Whole,
            Some(StopReason::EndTurn | StopReason::MaxTokens | StopReason::MaxTurnRequests | StopReason::Refusal) => {
                if self.draft_is_error() {
                    Ending::Failed
                } else {
                    Ending::Whole
                }
            }
            Some(_) | None => Ending::Cut,
        };
        self.close(ending, emit);
        if let Some(usage) = Usage::of_answer(answer).or(self.spent.take()) {
            emit.push(RecordKind::Usage(usage.told()));
        }
        let word = answer.stop_reason.and_then(wire::word);
        let limited = |limit, emit: &mut Emit<'_>| {
            emit.push(text_errors::limit(word.as_deref(), limit));
            status(Phase::TurnFailed, word.as_deref(), emit);
        };
        match stop {
            Some(StopReason::EndTurn) => match self.codex.failure(self.said.as_deref()).or(hidden) {
                Some(told) => self.failed(&told, emit),
                None => {
                    emit.push(RecordKind::End(End::success()));
                    status(Phase::TurnCompleted, None, emit);
                }
            },
            Some(StopReason::MaxTokens) => limited(EngineLimit::Tokens, emit),
            Some(StopReason::MaxTurnRequests) => limited(EngineLimit::Requests, emit),
            Some(StopReason::Refusal) => limited(EngineLimit::Refusal, emit),
            Some(StopReason::Cancelled) => {
                emit.push(text_errors::failure(Some("cancelled by the client"), None));
                status(Phase::Canceling, None, emit);
            }
            Some(_) | None => {
                let word = word.as_deref().unwrap_or("none");
                let message = format!("the turn ended for an unknown reason: {}", super::cut(word, 100));
                emit.push(text_errors::error(&message));
                emit.push(text_errors::failure(Some(&message), None));
                status(Phase::TurnFailed, None, emit);
            }
        }
    }

    fn draft_is_error(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| draft.looks_like_error(&self.codex))
    }

    /// An error in place of a response.
    pub(super) fn refused(&mut self, id: &Id<'_>, error: &RawValue, emit: &mut Emit<'_>) -> LineOutcome {
        let by_number = |stage: Stage| match stage {
            Stage::Opening => Asked::Session(None),
            // Of a later turn, or of the first request: the end in either case.
            Stage::Turn => Asked::Prompt,
        };
        match self.asked(id, by_number) {
            Asked::Initialize | Asked::Prompt => {
                self.start_announced(emit);
                self.close(Ending::Failed, emit);
                self.failed(&ErrorReport::of_error(error), emit);
            }
            Asked::Session(_) => {
                self.stage = Stage::Turn;
                self.failed(&ErrorReport::of_session(error), emit);
            }
            // An agent need not know a request that asks for nothing; any response is enough.
            Asked::Past => return updates::quiet("an answer", emit),
            Asked::Now => self.past_is_over(emit),
            Asked::Other => {
                let told = ErrorReport::of_error(error);
                emit.push(text_errors::warning(skillrun_model::Code::EngineWarning, &told.message));
            }
        }
        LineOutcome::Known
    }

    fn failed(&mut self, told: &ErrorReport, emit: &mut Emit<'_>) {
        // Its text may have arrived as a message before.
        if !self.said.take().is_some_and(|said| told.message.contains(&said)) {
            emit.push(text_errors::with_category(&told.message, told.category));
        }
        emit.push(match told.limit {
            Some(limit) => text_errors::limit_or_refusal(Some(&told.message), limit == text_errors::REFUSAL),
            None => text_errors::failure(Some(&told.message), Some(told.category)),
        });
        status(Phase::TurnFailed, None, emit);
    }
}

/// The stage of an agent that has opened a session.
fn after(way: &Way) -> Stage {
    match way {
        Way::New | Way::Resume(_) => Stage::Turn,
        // gemini responds first and replays the history afterwards.
        Way::Load(_) => Stage::Opening,
    }
}

pub(super) fn session_id(raw: Option<&RawValue>) -> Option<String> {
    raw.filter(|raw| raw.get().len() <= SESSION_MAX).and_then(wire::word).filter(|id| !id.is_empty())
}

/// `_meta` of a response that has an error, or a member that has one.
fn error_in_meta(meta: &RawValue) -> Option<ErrorReport> {
    let meta: Value = Some(meta).filter(|meta| meta.get().len() <= META_MAX).and_then(json::decode)?;
    let has_error = |value: &&Value| value.get("error").is_some_and(|error| !error.is_null());
    let holder = Some(&meta).filter(has_error).or_else(|| meta.as_object()?.values().find(has_error))?;
    let error = serde_json::value::to_raw_value(holder.get("error")?).ok()?;
    Some(ErrorReport::of_error(&error))
}

/// Whether a cut line is the response to a prompt and already shows its reason. The reason is inside `result`, which is
/// cut itself or the last complete member. `_meta` may still have hidden an error; the visible part has none.
pub(super) fn cut_shows_end_turn(text: &str) -> bool {
    const RESULT: &str = "\"result\":";
    // A quote inside a string is escaped, so this is a key; and a key of the root, if the text before it is complete.
    let Some((before, result)) = text.split_once(RESULT) else { return false };
    let Some(before) = before.trim_ascii_end().strip_suffix(',') else { return false };
    let shown = format!("{before}}}");
    let is_answer = wire::message(&shown)
        .is_some_and(|message| message.id.is_some() && message.method.is_none() && message.error.is_none());
    let members = json::members_before_cut(result);
    is_answer && members.iter().any(|(key, value)| key == "stopReason" && *value == "\"end_turn\"")
}
