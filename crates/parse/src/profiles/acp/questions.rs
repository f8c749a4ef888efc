//! What the agent asks inside its turn: `session/request_permission` and `elicitation/create`.

use agent_client_protocol_schema::v1::PermissionOptionKind;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::Calls;
use super::said::Wants;
use super::updates::{ELICITATION, PERMISSION};
use super::wire::{self, Id, QuestionOption, QuestionParams, Update};
use super::{cut, failure};
use crate::json;
use crate::record::{Asks, CallOption, CallOptionKind, CallQuestion, QUESTION_INPUT_MAX, RecordKind};

/// A longer one is refused and not truncated: an answer with a truncated id would not match any request.
const CALL_ID_MAX: usize = 1024;
const OPTION_ID_MAX: usize = 1024;
const OPTIONS_MAX: usize = 32;
const NAME_MAX: usize = 256;

/// Who has to answer a request.
pub(super) fn wants(method: &str, id: &Id<'_>, params: Option<&RawValue>) -> Wants {
    let is_whole = match method {
        PERMISSION => asked(id, params).is_some(),
        ELICITATION => elicitation(id, params).is_some(),
        _ => return Wants::Service,
    };
    if is_whole { Wants::User } else { Wants::Refusal }
}

/// What a permission is requested for; none when it cannot be answered.
fn asked<'a>(id: &Id<'_>, params: Option<&'a RawValue>) -> Option<(String, Update<'a>, Option<&'a RawValue>)> {
    let params = wire::object::<QuestionParams<'_>>(params?)?;
    Some((call_id(id)?, wire::object(params.tool_call?)?, params.options))
}

/// The question, and the parts of its call that were not reported before.
pub(super) fn permission(
    id: &Id<'_>,
    params: Option<&RawValue>,
    calls: &mut Calls,
) -> Option<(Vec<RecordKind>, CallQuestion)> {
    let (call_id, call, options) = asked(id, params)?;
    let (tool, begun) = calls.asked(&call);
    let options = wire::elements(options, OPTIONS_MAX).into_iter().filter_map(option).collect();
    // Without the input itself there is its title, and some agents put the command there.
    let input = bounded(call.raw_input).or_else(|| {
        let title = call.title.and_then(wire::word)?;
        Some(json!({ "title": failure::shortened(&title) }))
    });
    Some((begun, CallQuestion { call_id, tool, input, options, asks: Asks::Permission }))
}

pub(super) fn elicitation(id: &Id<'_>, params: Option<&RawValue>) -> Option<CallQuestion> {
    let call_id = call_id(id)?;
    let params = wire::object::<QuestionParams<'_>>(params?)?;
    let message = failure::shortened(&params.message.and_then(wire::word)?);
    let mode = params.mode.and_then(wire::word);
    let url = params.url.and_then(wire::word);
    let input = url.map(|url| json!({ "mode": mode, "url": failure::shortened(&url) }));
    let asks = Asks::Elicitation { message, schema: bounded(params.requested_schema) };
    Some(CallQuestion { call_id, tool: "elicitation".to_owned(), input, options: Vec::new(), asks })
}

pub(super) fn call_id(id: &Id<'_>) -> Option<String> {
    id.json().filter(|json| json.len() <= CALL_ID_MAX).map(str::to_owned)
}

fn bounded(raw: Option<&RawValue>) -> Option<Value> {
    raw.filter(|raw| raw.get().len() <= QUESTION_INPUT_MAX).and_then(json::decode)
}

fn option(raw: &RawValue) -> Option<CallOption> {
    let option = wire::object::<QuestionOption<'_>>(raw)?;
    let id = option.option_id.and_then(wire::word).filter(|id| (1..=OPTION_ID_MAX).contains(&id.len()))?;
    let name = option.name.and_then(wire::word).map_or_else(|| cut(&id, NAME_MAX), |name| cut(&name, NAME_MAX));
    let kind = match option.kind.and_then(json::decode::<PermissionOptionKind>) {
        Some(PermissionOptionKind::AllowOnce) => CallOptionKind::AllowOnce,
        Some(PermissionOptionKind::AllowAlways) => CallOptionKind::AllowAlways,
        Some(PermissionOptionKind::RejectOnce) => CallOptionKind::RejectOnce,
        Some(PermissionOptionKind::RejectAlways) => CallOptionKind::RejectAlways,
        Some(_) | None => CallOptionKind::Other,
    };
    Some(CallOption { id, name, kind })
}
