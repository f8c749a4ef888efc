//! Anthropic Messages: messages go in, the blocks of one message come out.

use serde_json::{Value, json};

use crate::model::asked::{Asked, Conversation, Offered, Who, list, printed, said, text};
use crate::model::plan::{Block, Failure, Fate, Finish, Limit, Plan, Refusal};
use crate::model::tape::{Tape, pieces};
use crate::model::texts;

use super::{Tag, WireError};

pub(super) fn read(request: &Value) -> Asked {
    let mut conversation = Conversation::default();
    for message in list(request, "messages") {
        match text(message, "role") {
            "assistant" => conversation.add(Who::Model, &said(&message["content"])),
            "user" => read_user(&message["content"], &mut conversation),
            // Instructions: part of no conversation.
            _ => {}
        }
    }
    let tools = list(request, "tools").iter().filter(|tool| tool["name"].is_string());
    Asked {
        model: request["model"].as_str().map(str::to_owned),
        stream: request["stream"] == true,
        wants_json: request["output_config"]["format"].is_object() || request["output_format"].is_object(),
        tools: tools
            .map(|tool| Offered {
                name: text(tool, "name").to_owned(),
                namespace: None,
                parameters: tool["input_schema"].clone(),
            })
            .collect(),
        ..conversation.into_asked()
    }
}

/// Results are in the user's message, next to reminders that are not messages; so a message with results is one.
fn read_user(content: &Value, conversation: &mut Conversation) {
    let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let is_result = |part: &&Value| text(part, "type") == "tool_result";
    for part in parts.iter().filter(|part| !is_result(part)) {
        conversation.add(Who::User, &said(part));
    }
    for part in parts.iter().filter(is_result) {
        conversation.add(Who::Tool, &printed(&part["content"]));
    }
}

fn blocks(plan: &Plan, tag: &Tag) -> Vec<Value> {
    let thought = plan.thought.map(|thought| json!({"type": "thinking", "thinking": thought, "signature": "c2lnbmVk"}));
    let said = plan.blocks.iter().enumerate().map(|(at, block)| match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Tool(call) => {
            json!({"type": "tool_use", "id": tag.part("toolu_", at), "name": call.name, "input": call.arguments})
        }
    });
    let refusal = match plan.finish {
        Finish::Refused(Refusal::Said) => Some(json!({"type": "text", "text": texts::REFUSED})),
        Finish::Stop | Finish::Length | Finish::Refused(Refusal::Withheld | Refusal::Silent) => None,
    };
    thought.into_iter().chain(said).chain(refusal).collect()
}

/// Why it stopped, with the details that are sent.
fn stop(plan: &Plan) -> Value {
    let reason = match plan.finish {
        Finish::Stop if plan.calls_tools() => "tool_use",
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::Refused(_) => "refusal",
    };
    let mut stop = json!({"stop_reason": reason, "stop_sequence": null});
    if matches!(plan.finish, Finish::Refused(_)) {
        stop["stop_details"] = json!({"type": "refusal", "category": null, "explanation": null});
    }
    stop
}

fn message(tag: &Tag) -> Value {
    json!({
        "id": tag.id("msg_"), "type": "message", "role": "assistant", "model": tag.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20,
        },
    })
}

pub(super) fn whole(plan: &Plan, tag: &Tag) -> Value {
    let mut message = message(tag);
    message["content"] = json!(blocks(plan, tag));
    if let (Value::Object(message), Value::Object(stop)) = (&mut message, stop(plan)) {
        message.extend(stop);
    }
    message
}

pub(super) fn stream(plan: &Plan, tag: &Tag) -> Tape {
    let mut tape = Tape::new(plan);
    let event = |tape: &mut Tape, event: Value| {
        let name = text(&event, "type").to_owned();
        tape.event(Some(&name), &event);
    };
    event(&mut tape, json!({"type": "message_start", "message": message(tag)}));
    for (at, block) in blocks(plan, tag).iter().enumerate() {
        let begin = |block: Value| json!({"type": "content_block_start", "index": at, "content_block": block});
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
        match text(block, "type") {
            "tool_use" => {
                let mut begun = block.clone();
                begun["input"] = json!({});
                event(&mut tape, begin(begun));
                for piece in pieces(&block["input"].to_string(), 3) {
                    event(&mut tape, delta(json!({"type": "input_json_delta", "partial_json": piece})));
                }
            }
            "thinking" => {
                event(&mut tape, begin(json!({"type": "thinking", "thinking": "", "signature": ""})));
                for piece in pieces(text(block, "thinking"), 4) {
                    event(&mut tape, delta(json!({"type": "thinking_delta", "thinking": piece})));
                }
                event(&mut tape, delta(json!({"type": "signature_delta", "signature": block["signature"]})));
            }
            _ => {
                event(&mut tape, begin(json!({"type": "text", "text": ""})));
                let said = plan.said(text(block, "text"));
                for piece in said.pieces {
                    let delta = delta(json!({"type": "text_delta", "text": piece}));
                    tape.paced(Some("content_block_delta"), &delta, plan.pace);
                }
                if said.fate != Fate::Whole {
                    return tape.stop(said.fate);
                }
            }
        }
        event(&mut tape, json!({"type": "content_block_stop", "index": at}));
    }
    event(&mut tape, json!({"type": "message_delta", "delta": stop(plan), "usage": {"output_tokens": 20}}));
    event(&mut tape, json!({"type": "message_stop"}));
    tape
}

pub(super) fn error(failure: Failure, now: u64) -> WireError {
    let Failure { status, limit, wait_seconds } = failure;
    let (kind, message) = match status {
        400 => ("invalid_request_error", "The simulated model takes no request.".to_owned()),
        401 => ("authentication_error", "invalid x-api-key".to_owned()),
        402 => ("billing_error", "Your credit balance is too low to access the API.".to_owned()),
        404 => ("not_found_error", "model: simulated".to_owned()),
        429 => (
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.".to_owned(),
        ),
        529 => ("overloaded_error", "Overloaded".to_owned()),
        _ => ("api_error", "Internal server error".to_owned()),
    };
    let mut headers = Vec::new();
    if status == 429 {
        let reset = now.saturating_add(u64::from(wait_seconds));
        headers.push(("retry-after", wait_seconds.to_string()));
        headers.push(("anthropic-ratelimit-unified-status", "rejected".to_owned()));
        headers.push(("anthropic-ratelimit-unified-reset", reset.to_string()));
        match limit {
            Limit::Rate => {}
            Limit::Plan => {
                headers.push(("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()));
            }
        }
    }
    WireError { headers, body: json!({"type": "error", "error": {"type": kind, "message": message}}) }
}
