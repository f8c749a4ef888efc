//! OpenAI Chat Completions: messages go in, the delta of one message comes out.

use serde_json::{Value, json};

use crate::model::asked::{Asked, Conversation, Offered, Who, list, printed, said, text};
use crate::model::plan::{Block, Fate, Finish, Pace, Plan, Refusal};
use crate::model::tape::{Tape, pieces};
use crate::model::texts;

use super::Tag;

pub(super) fn read(request: &Value) -> Asked {
    let mut conversation = Conversation::default();
    for message in list(request, "messages") {
        let content = &message["content"];
        match text(message, "role") {
            "user" => conversation.add(Who::User, &said(content)),
            "assistant" => conversation.add(Who::Model, &said(content)),
            "tool" => conversation.add(Who::Tool, &printed(content)),
            // Instructions: part of no conversation.
            _ => {}
        }
    }
    let functions = list(request, "tools").iter().filter(|tool| text(tool, "type") == "function");
    let offered = |tool: &Value| {
        let function = &tool["function"];
        let name = text(function, "name").to_owned();
        Offered { name, namespace: None, parameters: function["parameters"].clone() }
    };
    Asked {
        model: request["model"].as_str().map(str::to_owned),
        stream: request["stream"] == true,
        wants_json: text(&request["response_format"], "type").starts_with("json"),
        tools: functions.map(offered).collect(),
        ..conversation.into_asked()
    }
}

/// The answer as this API has it: texts, calls, and a refusal in a field of its own.
struct Message<'a> {
    texts: Vec<&'a str>,
    calls: Vec<Value>,
    refusal: Option<&'a str>,
    reason: &'static str,
}

fn message<'a>(plan: &'a Plan, tag: &Tag) -> Message<'a> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for block in &plan.blocks {
        match block {
            Block::Text(text) => texts.push(text.as_str()),
            Block::Tool(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                let function = json!({"name": call.name, "arguments": arguments});
                calls.push(json!({"id": tag.part("call_", calls.len()), "type": "function", "function": function}));
            }
        }
    }
    let (said, refusal, reason) = match plan.finish {
        Finish::Stop if plan.calls_tools() => (None, None, "tool_calls"),
        Finish::Stop => (None, None, "stop"),
        Finish::Length => (None, None, "length"),
        Finish::Refused(Refusal::Said) => (Some(texts::REFUSED), None, "content_filter"),
        Finish::Refused(Refusal::Withheld) => (None, Some(texts::REFUSED), "stop"),
        Finish::Refused(Refusal::Silent) => (None, None, "content_filter"),
    };
    texts.extend(said);
    Message { texts, calls, refusal, reason }
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
}

pub(super) fn whole(plan: &Plan, tag: &Tag) -> Value {
    let Message { texts, calls, refusal, reason } = message(plan, tag);
    let content = (!texts.is_empty()).then(|| texts.concat());
    let mut message = json!({"role": "assistant", "content": content, "refusal": refusal});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": tag.id("chatcmpl-"), "object": "chat.completion", "created": tag.now, "model": tag.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage(),
    })
}

pub(super) fn stream(plan: &Plan, tag: &Tag) -> Tape {
    let Message { texts, calls, refusal, reason } = message(plan, tag);
    let mut tape = Tape::new(plan);
    let chunk = |choices: Value| {
        json!({
            "id": tag.id("chatcmpl-"), "object": "chat.completion.chunk", "created": tag.now, "model": tag.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]));
    tape.event(None, &delta(json!({"role": "assistant", "content": ""})));
    for piece in plan.thought.map(|thought| pieces(thought, 4)).unwrap_or_default() {
        tape.event(None, &delta(json!({"reasoning_content": piece})));
    }
    for text in texts {
        let said = plan.said(text);
        for piece in said.pieces {
            tape.paced(None, &delta(json!({"content": piece})), plan.pace);
        }
        if said.fate != Fate::Whole {
            return tape.stop(said.fate);
        }
    }
    for piece in refusal.map(|text| pieces(text, 4)).unwrap_or_default() {
        tape.paced(None, &delta(json!({"refusal": piece})), Pace::Short);
    }
    for (at, call) in calls.iter().enumerate() {
        let mut begun = call.clone();
        begun["index"] = json!(at);
        begun["function"]["arguments"] = json!("");
        tape.event(None, &delta(json!({"tool_calls": [begun]})));
        for piece in pieces(text(&call["function"], "arguments"), 3) {
            let more = json!({"index": at, "function": {"arguments": piece}});
            tape.event(None, &delta(json!({"tool_calls": [more]})));
        }
    }
    tape.event(None, &chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}])));
    let mut end = chunk(json!([]));
    end["usage"] = usage();
    tape.event(None, &end);
    tape.word("[DONE]");
    tape
}
