//! `control_request` and related events: what engine and host exchange in addition to the turn, on the same two
//! streams.
//!
//! Of the engine's requests, only `can_use_tool` is for a user. The others are for programs that registered hooks, and
//! skillrun registers none, so they are reported as status.

use skillrun_model::status::Phase;

use super::wire::{self, ControlCancel, ControlRequest, Requested};
use super::{cut, status};
use crate::json::{self, Str};
use crate::profile::{Emit, LineOutcome};
use crate::record::{Asks, CallQuestion, QUESTION_INPUT_MAX, RecordKind};

const TOOL_MAX: usize = 256;
/// A longer one is refused and not truncated: an answer with a truncated id would not match any request.
const CALL_ID_MAX: usize = 1024;

/// A request of the engine to the host; none when it is a question that cannot be answered.
pub(super) fn request(text: &str, emit: &mut Emit<'_>) -> Option<LineOutcome> {
    let ControlRequest { request_id, request } = wire::read(text)?;
    let Requested { subtype, tool_name, input } = request;
    match subtype.as_str() {
        "can_use_tool" => emit.push(RecordKind::Question(CallQuestion {
            call_id: call_id(request_id?)?,
            tool: cut(tool_name?.as_str(), TOOL_MAX),
            input: input.filter(|raw| raw.get().len() <= QUESTION_INPUT_MAX).and_then(json::decode),
            options: Vec::new(),
            asks: Asks::Permission,
        })),
        other => status(Phase::Working, Some(&format!("control_request {other}")), emit),
    }
    Some(LineOutcome::Known)
}

/// The engine withdraws a request: its turn was interrupted, or the request was answered elsewhere.
pub(super) fn cancel(text: &str, emit: &mut Emit<'_>) -> Option<LineOutcome> {
    let line: ControlCancel<'_> = wire::read(text)?;
    emit.push(RecordKind::Withdrawn { call_id: call_id(line.request_id)? });
    Some(LineOutcome::Known)
}

fn call_id(id: Str<'_>) -> Option<String> {
    (1..=CALL_ID_MAX).contains(&id.as_str().len()).then(|| id.into_string())
}
