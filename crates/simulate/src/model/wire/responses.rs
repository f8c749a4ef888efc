//! OpenAI Responses: a list of items goes in, a list of items comes out.

use serde_json::{Value, json};

use crate::model::asked::{Asked, Conversation, Offered, Who, list, printed, said, text};
use crate::model::plan::{Block, Finish, Pace, Phases, Plan, Refusal};
use crate::model::tape::{Tape, pieces};
use crate::model::texts;

use super::Tag;

pub(super) fn read(request: &Value) -> Asked {
    let mut conversation = Conversation::default();
    if let Some(prompt) = request["input"].as_str() {
        conversation.add(Who::User, prompt);
    }
    for item in list(request, "input") {
        let kind = text(item, "type");
        if kind.ends_with("_output") {
            conversation.add(Who::Tool, &printed(&item["output"]));
        } else if kind.ends_with("_call") || kind == "reasoning" {
            conversation.add(Who::Model, "");
        } else {
            match text(item, "role") {
                "user" => conversation.add(Who::User, &said(&item["content"])),
                "assistant" => conversation.add(Who::Model, &said(&item["content"])),
                // Instructions: part of no conversation.
                _ => {}
            }
        }
    }
    Asked {
        model: request["model"].as_str().map(str::to_owned),
        stream: request["stream"] == true,
        wants_json: text(&request["text"]["format"], "type").starts_with("json"),
        tools: list(request, "tools").iter().flat_map(offered).collect(),
        ..conversation.into_asked()
    }
}

/// One function, or those of a namespace: that is how codex offers the tools of an MCP server.
fn offered(tool: &Value) -> Vec<Offered> {
    let function = |tool: &Value, namespace: Option<&str>| Offered {
        name: text(tool, "name").to_owned(),
        namespace: namespace.map(str::to_owned),
        parameters: tool["parameters"].clone(),
    };
    let is_function = |tool: &&Value| text(tool, "type") == "function";
    match text(tool, "type") {
        "function" => vec![function(tool, None)],
        "namespace" => {
            let namespace = text(tool, "name");
            list(tool, "tools").iter().filter(is_function).map(|tool| function(tool, Some(namespace))).collect()
        }
        _ => Vec::new(),
    }
}

/// A part of the answer as it stands in the finished response.
enum Item<'a> {
    Thought(&'a str),
    Text(&'a str, Option<&'static str>),
    Refusal(&'a str),
    Call { namespace: Option<&'a str>, name: &'a str, arguments: String },
}

fn items(plan: &Plan) -> Vec<Item<'_>> {
    let last = plan.blocks.len().saturating_sub(1);
    let blocks = plan.blocks.iter().enumerate().map(|(at, block)| match block {
        Block::Text(text) => Item::Text(
            text,
            match plan.phases {
                Phases::Untold => None,
                Phases::Told if at == last => Some("final_answer"),
                Phases::Told => Some("commentary"),
            },
        ),
        Block::Tool(call) => Item::Call {
            namespace: call.namespace.as_deref(),
            name: &call.name,
            arguments: Value::Object(call.arguments.clone()).to_string(),
        },
    });
    let refusal = match plan.finish {
        Finish::Stop | Finish::Length | Finish::Refused(Refusal::Silent) => None,
        Finish::Refused(Refusal::Said) => Some(Item::Refusal(texts::REFUSED)),
        Finish::Refused(Refusal::Withheld) => Some(Item::Text(texts::REFUSED, None)),
    };
    plan.thought.map(Item::Thought).into_iter().chain(blocks).chain(refusal).collect()
}

/// Why the response is incomplete, if it is.
fn incomplete(plan: &Plan) -> Option<&'static str> {
    match plan.finish {
        Finish::Stop | Finish::Refused(Refusal::Said) => None,
        Finish::Length => Some("max_output_tokens"),
        Finish::Refused(Refusal::Withheld | Refusal::Silent) => Some("content_filter"),
    }
}

fn finished(item: &Item<'_>, id: &str, at: usize, tag: &Tag, status: &str) -> Value {
    match item {
        Item::Thought(thought) => {
            let summary = [json!({"type": "summary_text", "text": thought})];
            json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": null})
        }
        Item::Text(text, phase) => {
            let content = [json!({"type": "output_text", "text": text, "annotations": []})];
            let mut item =
                json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content});
            if let Some(phase) = phase {
                item["phase"] = json!(phase);
            }
            item
        }
        Item::Refusal(text) => {
            let content = [json!({"type": "refusal", "refusal": text})];
            json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
        }
        Item::Call { namespace, name, arguments } => {
            let mut call = json!({
                "type": "function_call", "id": id, "call_id": tag.part("call_", at), "name": name,
                "arguments": arguments, "status": "completed",
            });
            if let Some(namespace) = namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
    }
}

fn item_id(item: &Item<'_>, at: usize, tag: &Tag) -> String {
    match item {
        Item::Thought(_) => tag.part("rs_", at),
        Item::Text(..) | Item::Refusal(_) => tag.part("msg_", at),
        Item::Call { .. } => tag.part("fc_", at),
    }
}

fn response(plan: &Plan, tag: &Tag, output: Option<&[Value]>) -> Value {
    let mut response = json!({
        "id": tag.id("resp_"), "object": "response", "created_at": tag.now, "status": "in_progress",
        "model": tag.model, "output": output.unwrap_or_default(),
    });
    if output.is_some() {
        response["usage"] = json!({
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120,
        });
        match incomplete(plan) {
            None => response["status"] = json!("completed"),
            Some(reason) => {
                response["status"] = json!("incomplete");
                response["incomplete_details"] = json!({"reason": reason});
            }
        }
    }
    response
}

fn status(plan: &Plan) -> &'static str {
    if incomplete(plan).is_some() { "incomplete" } else { "completed" }
}

pub(super) fn whole(plan: &Plan, tag: &Tag) -> Value {
    let finished = |(at, item): (usize, &Item<'_>)| finished(item, &item_id(item, at, tag), at, tag, status(plan));
    let output: Vec<Value> = items(plan).iter().enumerate().map(finished).collect();
    response(plan, tag, Some(&output))
}

/// Events with their number.
struct Events {
    tape: Tape,
    number: u64,
}

impl Events {
    fn event(&mut self, kind: &str, fields: Value, pace: Pace) {
        let mut event = json!({"type": kind, "sequence_number": self.number});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.tape.paced(Some(kind), &event, pace);
        self.number += 1;
    }
}

pub(super) fn stream(plan: &Plan, tag: &Tag) -> Tape {
    let mut events = Events { tape: Tape::new(plan), number: 0 };
    events.event("response.created", json!({"response": response(plan, tag, None)}), Pace::None);
    let mut output = Vec::new();
    for (at, item) in items(plan).iter().enumerate() {
        let id = item_id(item, at, tag);
        let finished = finished(item, &id, at, tag, status(plan));
        let mut begun = finished.clone();
        begun["status"] = json!("in_progress");
        match item {
            Item::Thought(thought) => {
                begun["summary"] = json!([]);
                events.event("response.output_item.added", json!({"output_index": at, "item": begun}), Pace::None);
                let part = json!({"item_id": id, "output_index": at, "summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                events.event("response.reasoning_summary_part.added", part, Pace::None);
                for piece in pieces(thought, 4) {
                    let delta = json!({"item_id": id, "output_index": at, "summary_index": 0, "delta": piece});
                    events.event("response.reasoning_summary_text.delta", delta, Pace::None);
                }
                let done = json!({"item_id": id, "output_index": at, "summary_index": 0, "text": thought});
                events.event("response.reasoning_summary_text.done", done, Pace::None);
            }
            Item::Call { arguments, .. } => {
                begun["arguments"] = json!("");
                events.event("response.output_item.added", json!({"output_index": at, "item": begun}), Pace::None);
                let delta = json!({"item_id": id, "output_index": at, "delta": arguments});
                events.event("response.function_call_arguments.delta", delta, Pace::None);
                let done = json!({"item_id": id, "output_index": at, "arguments": arguments});
                events.event("response.function_call_arguments.done", done, Pace::None);
            }
            Item::Text(text, _) | Item::Refusal(text) => {
                let (kind, key) = match item {
                    Item::Refusal(_) => ("refusal", "refusal"),
                    Item::Text(..) | Item::Thought(_) | Item::Call { .. } => ("output_text", "text"),
                };
                begun["content"] = json!([]);
                events.event("response.output_item.added", json!({"output_index": at, "item": begun}), Pace::None);
                let place = json!({"item_id": id, "output_index": at, "content_index": 0});
                let with = |key: &str, value: Value| {
                    let mut fields = place.clone();
                    fields[key] = value;
                    fields
                };
                let mut empty = finished["content"][0].clone();
                empty[key] = json!("");
                events.event("response.content_part.added", with("part", empty), Pace::None);
                let said = plan.said(text);
                for piece in said.pieces {
                    events.event(&format!("response.{kind}.delta"), with("delta", json!(piece)), plan.pace);
                }
                if said.fate != crate::model::plan::Fate::Whole {
                    return events.tape.stop(said.fate);
                }
                events.event(&format!("response.{kind}.done"), with(key, json!(text)), Pace::None);
                let part = finished["content"][0].clone();
                events.event("response.content_part.done", with("part", part), Pace::None);
            }
        }
        events.event("response.output_item.done", json!({"output_index": at, "item": finished}), Pace::None);
        output.push(finished);
    }
    let kind = if incomplete(plan).is_some() { "response.incomplete" } else { "response.completed" };
    events.event(kind, json!({"response": response(plan, tag, Some(&output))}), Pace::None);
    events.tape
}
