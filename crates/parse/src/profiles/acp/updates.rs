//! `session/update` and everything else that an agent sends without a request of ours.

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES};
use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::status::Phase;

use super::codex::Turned;
use super::draft::{Draft, Ending};
use super::usage::Usage;
use super::wire::{self, Content, Id, Meta, NamedPlan, Update, UpdateParams};
use super::{SessionName, Stage, Turn, answers, calls, questions, status, unknown};
use crate::buffer::cut;
use crate::profile::{Emit, LineOutcome};
use crate::profiles::open_message::OpenMessage;
use crate::profiles::plan_items;
use crate::record::{MessageKey, RecordKind};

const UPDATE: &str = CLIENT_METHOD_NAMES.session_update;
pub(super) const PERMISSION: &str = CLIENT_METHOD_NAMES.session_request_permission;
pub(super) const ELICITATION: &str = CLIENT_METHOD_NAMES.elicitation_create;
const ELICITATION_OVER: &str = CLIENT_METHOD_NAMES.elicitation_complete;
const TAKEN_BACK: &str = PROTOCOL_LEVEL_METHOD_NAMES.cancel_request;

/// Updates that a session's history consists of.
const HISTORY_UPDATES: [&str; 6] =
    ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan"];

/// Most of the text of a plan that is not a list of items.
const PLAN_TEXT_MAX: usize = 16 * 1024;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenBack<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

/// What the claude adapter reports about a piece of a message.
#[derive(Default, Deserialize)]
struct ClaudeMeta<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
}

impl Turn {
    pub(super) fn notification(&mut self, method: &str, params: Option<&RawValue>, emit: &mut Emit<'_>) -> LineOutcome {
        match method {
            UPDATE => self.update(params, emit),
            TAKEN_BACK => {
                let params = params.and_then(wire::object::<TakenBack<'_>>).unwrap_or_default();
                let id = params.request_id.map(Id::read);
                match id.as_ref().and_then(questions::call_id) {
                    Some(call_id) => {
                        emit.push(RecordKind::Withdrawn { call_id });
                        LineOutcome::Known
                    }
                    None => unknown(method),
                }
            }
            ELICITATION_OVER | "auth/status_update" => quiet(method, emit),
            // Extensions, which a client need not know.
            other if other.starts_with('_') => quiet(other, emit),
            other => unknown(other),
        }
    }

    pub(super) fn request(
        &mut self,
        method: &str,
        id: &Id<'_>,
        params: Option<&RawValue>,
        emit: &mut Emit<'_>,
    ) -> LineOutcome {
        let asked = match method {
            PERMISSION => questions::permission(id, params, &mut self.calls),
            ELICITATION => questions::elicitation(id, params).map(|question| (Vec::new(), question)),
            other if is_service(other) => return quiet(other, emit),
            other => return unknown(other),
        };
        let Some((begun, question)) = asked else { return unknown(method) };
        self.close(Ending::Whole, emit);
        begun.into_iter().for_each(|kind| emit.push(kind));
        emit.push(RecordKind::Question(question));
        LineOutcome::Known
    }

    fn update(&mut self, params: Option<&RawValue>, emit: &mut Emit<'_>) -> LineOutcome {
        let Some((session, update, kind)) = read(params) else { return unknown(UPDATE) };
        if let Some(child) = self.of_another(session, emit) {
            self.subagents.works(&child, emit);
            status(Phase::Subagent, Some(&kind), emit);
            return LineOutcome::Known;
        }
        let known = match kind.as_str() {
            kind if self.stage == Stage::Opening && HISTORY_UPDATES.contains(&kind) => {
                status(Phase::Working, Some("the history of the session is replayed"), emit);
                Some(())
            }
            "agent_message_chunk" => self.chunk(&update, emit),
            "agent_thought_chunk" => self.thought(&update, emit),
            "user_message_chunk" => {
                self.interrupt(emit);
                status(Phase::InputReceived, None, emit);
                Some(())
            }
            "tool_call" | "tool_call_update" => self.call(&kind, &update, emit),
            "plan" | "plan_update" | "plan_removed" => {
                self.interrupt(emit);
                emit.push(RecordKind::Status { phase: Phase::Planning, detail: plan(&update) });
                Some(())
            }
            "notice" => {
                let text = [update.title, update.description].into_iter().flatten().filter_map(wire::word);
                emit.push(Draft::notice(&text.collect::<Vec<_>>().join(": ")));
                Some(())
            }
            "session_info_update" => {
                self.session_info(&update, emit);
                Some(())
            }
            "subagent_update" | "session_message" | "session_message_chunk" => {
                status(Phase::Subagent, None, emit);
                Some(())
            }
            "usage_update"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "compaction_update"
            | "compaction_summary_chunk" => {
                status(Phase::Working, Some(&kind), emit);
                Some(())
            }
            _ => None,
        };
        known.map_or_else(|| unknown(&format!("{UPDATE}:{kind}")), |()| LineOutcome::Known)
    }

    /// Learns the session's name, and returns the name of the session that the update belongs to if ours has started
    /// it. That is known only where the name of ours was given to us.
    fn of_another(&mut self, session: Option<&RawValue>, emit: &mut Emit<'_>) -> Option<String> {
        let id = answers::session_id(session)?;
        match &self.session {
            SessionName::Unknown => {
                emit.push(RecordKind::Session { id });
                self.session = SessionName::Seen;
                None
            }
            SessionName::Seen => None,
            SessionName::Given(ours) => Some(id).filter(|id| ours != id),
        }
    }

    fn chunk(&mut self, update: &Update<'_>, emit: &mut Emit<'_>) -> Option<()> {
        let content = wire::object::<Content<'_>>(update.content?)?;
        if let Some(piece) = Usage::of_piece(update.meta) {
            self.spent = Some(self.spent.map_or(piece, |spent| spent.and(piece)));
        }
        if wire::word(content.kind?)? != "text" {
            status(Phase::Streaming, None, emit);
            return Some(());
        }
        let text = wire::word(content.text?)?;
        self.close_thought(emit);
        self.start_announced(emit);
        let id = update.message_id.and_then(wire::word).filter(|id| !id.is_empty());
        if id.is_none() && is_notice(update.meta) {
            self.interrupt(emit);
            emit.push(Draft::notice(&text));
            return Some(());
        }
        let key = id.map_or(MessageKey::Unnamed, MessageKey::Engine);
        if self.draft.as_ref().is_some_and(|draft| *draft.key() != key) {
            self.close_draft(Ending::Whole, emit);
        }
        if text.is_empty() {
            status(Phase::Streaming, None, emit);
            return Some(());
        }
        let span = emit.span();
        let draft = self.draft.get_or_insert_with(|| Draft::new(key.clone(), span));
        match draft.push(&text, &self.codex, span) {
            Some(text) => emit.push(RecordKind::Delta { id: key, text }),
            None => status(Phase::Streaming, None, emit),
        }
        Some(())
    }

    fn thought(&mut self, update: &Update<'_>, emit: &mut Emit<'_>) -> Option<()> {
        let content = wire::object::<Content<'_>>(update.content?)?;
        let text = content.text.and_then(wire::word).unwrap_or_default();
        self.end_unnamed(emit);
        self.start_announced(emit);
        let id = update.message_id.and_then(wire::word);
        let key = id.map_or(MessageKey::Unnamed, MessageKey::Engine);
        if self.thought.as_ref().is_some_and(|thought| *thought.key() != key) {
            self.close_thought(emit);
        }
        if !text.is_empty() {
            let span = emit.span();
            self.thought.get_or_insert_with(|| OpenMessage::new(key, span)).push(&text, span);
        }
        status(Phase::Working, None, emit);
        Some(())
    }

    fn call(&mut self, kind: &str, update: &Update<'_>, emit: &mut Emit<'_>) -> Option<()> {
        if let Some(failure) = calls::failed_server(update) {
            emit.push(RecordKind::ServerFailed(failure));
            return Some(());
        }
        let step = self.calls.update(kind == "tool_call", update, emit.span())?;
        if step.is_news() {
            self.close(Ending::Whole, emit);
        } else {
            self.interrupt(emit);
        }
        if step.records.is_empty() {
            status(Phase::Working, None, emit);
        }
        step.records.into_iter().for_each(|kind| emit.push(kind));
        Some(())
    }

    fn session_info(&mut self, update: &Update<'_>, emit: &mut Emit<'_>) {
        let meta = update.meta.and_then(wire::object::<Meta<'_>>).unwrap_or_default();
        let turned = meta.codex.map_or(Turned::Quiet, |codex| self.codex.info(codex));
        match turned {
            Turned::Quiet => status(Phase::Working, Some("session_info_update"), emit),
            Turned::Moved => {
                self.interrupt(emit);
                status(Phase::Working, Some("session_info_update"), emit);
            }
            Turned::Active => {
                self.interrupt(emit);
                self.codex.goes_on();
                self.said = None;
                status(Phase::Working, Some("session_info_update"), emit);
            }
            Turned::Broken(told) => {
                self.close(Ending::Cut, emit);
                match told {
                    Some(error) => emit.push(RecordKind::EngineError(error)),
                    None => status(Phase::TurnFailed, None, emit),
                }
            }
        }
    }

    /// Something else is reported: a thought is over, and so is a message without a name under which it could continue.
    fn interrupt(&mut self, emit: &mut Emit<'_>) {
        self.close_thought(emit);
        self.end_unnamed(emit);
    }

    fn end_unnamed(&mut self, emit: &mut Emit<'_>) {
        if self.draft.as_ref().is_some_and(|draft| !draft.has_name()) {
            self.close_draft(Ending::Whole, emit);
        }
    }
}

/// The content of a plan, as text.
fn plan(update: &Update<'_>) -> Option<String> {
    if update.entries.is_some() {
        return plan_items::text(update.entries);
    }
    let named = wire::object::<NamedPlan<'_>>(update.plan?)?;
    let text = || named.content.or(named.uri).and_then(wire::word);
    plan_items::text(named.entries).or_else(|| text().map(|text| cut(&text, PLAN_TEXT_MAX)))
}

/// The session, the update and its kind.
fn read<'a>(params: Option<&'a RawValue>) -> Option<(Option<&'a RawValue>, Update<'a>, String)> {
    let params = wire::object::<UpdateParams<'_>>(params?)?;
    let update = wire::object::<Update<'_>>(params.update?)?;
    let kind = wire::word(update.session_update?)?;
    Some((params.session_id, update, kind))
}

/// Whether it is part of the conversation, present or past.
pub(super) fn is_conversation(method: &str, params: Option<&RawValue>) -> bool {
    method == UPDATE && read(params).is_some_and(|(_, _, kind)| HISTORY_UPDATES.contains(&kind.as_str()))
}

pub(super) fn quiet(detail: &str, emit: &mut Emit<'_>) -> LineOutcome {
    status(Phase::Working, Some(detail), emit);
    LineOutcome::Known
}

/// What an agent may request of a client that offers it. Ours does not, and refuses.
fn is_service(method: &str) -> bool {
    let names = CLIENT_METHOD_NAMES;
    [
        names.fs_read_text_file,
        names.fs_write_text_file,
        names.terminal_create,
        names.terminal_output,
        names.terminal_release,
        names.terminal_wait_for_exit,
        names.terminal_kill,
    ]
    .contains(&method)
}

fn is_notice(meta: Option<&RawValue>) -> bool {
    let claude = || wire::object::<ClaudeMeta<'_>>(wire::object::<Meta<'_>>(meta?)?.claude?);
    claude().and_then(|claude| wire::word(claude.kind?)).is_some_and(|kind| kind == "informational")
}
