//! A request in, events out, for each API.

use serde_json::{Value, json};

use super::*;
use crate::model::memory::Memory;
use crate::model::plan::{Decision, Limit, decide};
use crate::model::tape::Ending;
use crate::model::texts;

fn tag() -> Tag {
    Tag { number: 7, turn: 1, model: "m".to_owned(), now: 1000 }
}

fn request(wire: Wire, conversation: Conversation) -> Value {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let asks = "Do the job.";
    match (wire, conversation) {
        (Wire::Responses, conversation) => {
            let mut input = vec![
                json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be good."}]}),
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": asks}]}),
            ];
            if conversation == Conversation::AfterTool {
                input.push(json!({"type": "reasoning", "summary": []}));
                input.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A look."}]}));
                input.push(json!({"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}));
                input.push(json!({"type": "function_call_output", "call_id": "c", "output": "printed"}));
            }
            let tool = json!({"type": "function", "name": "shell", "parameters": schema});
            json!({"model": "m", "stream": true, "input": input, "tools": [{"type": "web_search"}, tool]})
        }
        (Wire::Chat, conversation) => {
            let mut messages = vec![
                json!({"role": "system", "content": "Be good."}),
                json!({"role": "user", "content": [{"type": "text", "text": asks}]}),
            ];
            if conversation == Conversation::AfterTool {
                let call = json!({"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}});
                messages.push(json!({"role": "assistant", "content": "A look.", "tool_calls": [call]}));
                messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "printed"}));
            }
            let tool = json!({"type": "function", "function": {"name": "bash", "parameters": schema}});
            json!({"model": "m", "stream": true, "messages": messages, "tools": [tool]})
        }
        (Wire::Messages, conversation) => {
            let mut messages = vec![json!({"role": "user", "content": asks})];
            if conversation == Conversation::AfterTool {
                let call = json!({"type": "tool_use", "id": "c", "name": "Bash", "input": {}});
                messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "A look."}, call]}));
                let printed = json!({"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "printed"}]});
                messages.push(json!({"role": "user", "content": [printed, {"type": "text", "text": "<reminder>"}]}));
            }
            let tool = json!({"name": "Bash", "input_schema": schema});
            json!({"model": "m", "stream": true, "messages": messages, "tools": [tool]})
        }
        (Wire::Gemini, conversation) => {
            let mut contents = vec![json!({"role": "user", "parts": [{"text": asks}]})];
            if conversation == Conversation::AfterTool {
                let call = json!({"functionCall": {"name": "run_shell_command", "args": {}}});
                contents.push(json!({"role": "model", "parts": [{"text": "A look."}, call]}));
                let response = json!({"name": "run_shell_command", "response": {"output": "printed"}});
                contents.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
            }
            let tool = json!({"name": "run_shell_command", "parametersJsonSchema": schema});
            json!({"contents": contents, "tools": [{"functionDeclarations": [tool]}]})
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Conversation {
    Begun,
    AfterTool,
}

fn plan_of(wire: Wire, scenario: &str, conversation: Conversation) -> Plan {
    let asked = read(wire, &request(wire, conversation));
    let choice = scenario.parse().expect("a scenario");
    match decide(&choice, &asked, None, &mut Memory::default()) {
        Decision::Answer(plan) => plan,
        Decision::Error(failure) => panic!("{failure:?}"),
    }
}

fn tape(wire: Wire, scenario: &str, conversation: Conversation) -> Tape {
    stream(wire, &plan_of(wire, scenario, conversation), &tag())
}

/// The data of all events; data that is not JSON as strings.
fn data(tape: &Tape) -> Vec<Value> {
    let value = |event: &str| {
        let data = event.trim_end().rsplit_once("data: ").map_or(event, |(_, data)| data);
        serde_json::from_str(data).unwrap_or_else(|_| json!(data))
    };
    tape.frames.iter().map(|frame| value(&frame.event)).collect()
}

/// The text of a stream, put together again.
fn said(wire: Wire, tape: &Tape) -> String {
    let piece = |event: Value| {
        let piece = match wire {
            Wire::Responses if event["type"] == "response.output_text.delta" => event["delta"].clone(),
            Wire::Responses => Value::Null,
            Wire::Chat => event["choices"][0]["delta"]["content"].clone(),
            Wire::Messages => event["delta"]["text"].clone(),
            Wire::Gemini if event["candidates"][0]["content"]["parts"][0]["thought"] == true => Value::Null,
            Wire::Gemini => event["candidates"][0]["content"]["parts"][0]["text"].clone(),
        };
        piece.as_str().unwrap_or_default().to_owned()
    };
    data(tape).into_iter().map(piece).collect()
}

#[test]
fn every_api_is_read_to_the_same() {
    for wire in Wire::ALL {
        let begun = read(*wire, &request(*wire, Conversation::Begun));
        assert_eq!((begun.results, begun.after_result, begun.turns), (0, false, 0), "{wire}");
        assert_eq!(begun.user.trim(), "Do the job.", "{wire}");
        assert_eq!(begun.tools.len(), 1, "{wire}");
        let after = read(*wire, &request(*wire, Conversation::AfterTool));
        assert_eq!((after.results, after.after_result, after.turns), (1, true, 1), "{wire}");
        assert_eq!((after.printed.trim(), after.assistant.trim()), ("printed", "A look."), "{wire}");
    }
}

#[test]
fn nonsense_is_read_as_nothing() {
    let nonsense =
        [json!(null), json!([]), json!("x"), json!({"input": 1, "messages": [1, [], {}], "tools": {"a": 1}})];
    for wire in Wire::ALL {
        for nonsense in &nonsense {
            let asked = read(*wire, nonsense);
            assert_eq!((asked.tools.len(), asked.turns), (0, 0), "{wire} {nonsense}");
        }
    }
}

#[test]
fn texts_come_whole_in_every_api() {
    for wire in Wire::ALL {
        for (scenario, text) in
            [("auto", texts::done()), ("think", texts::done()), ("askuserbad", texts::ASK_BAD.to_owned())]
        {
            let tape = tape(*wire, scenario, Conversation::AfterTool);
            assert_eq!(said(*wire, &tape), text, "{wire} {scenario}");
            assert_eq!(tape.ending, Ending::Whole, "{wire} {scenario}");
            assert!(tape.frames.len() > 6, "{wire}: in pieces");
        }
    }
}

#[test]
fn a_stream_is_cut_or_ended_in_the_middle_of_its_text() {
    for wire in Wire::ALL {
        for (scenario, ending) in [("cut", Ending::Cut), ("endonce.k", Ending::Whole)] {
            let tape = tape(*wire, scenario, Conversation::Begun);
            let said = said(*wire, &tape);
            assert!(!said.is_empty() && texts::done().starts_with(&said) && said != texts::done(), "{wire}: {said}");
            assert_eq!(tape.ending, ending, "{wire}");
            let last = data(&tape).pop().expect("an event").to_string();
            assert!(!["STOP", "message_stop", "[DONE]", "completed\""].iter().any(|end| last.contains(end)), "{last}");
        }
    }
}

#[test]
fn responses_call_a_tool() {
    let events = data(&tape(Wire::Responses, "auto", Conversation::Begun));
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let expected = [
        "response.created",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    let item = &events[4]["item"];
    assert_eq!((&item["name"], &item["call_id"]), (&json!("shell"), &json!("call_00010000000700")));
    assert_eq!(item["arguments"], json!({"command": texts::DATE}).to_string());
    assert_eq!(&events[5]["response"]["output"], &json!([item]));
}

#[test]
fn chat_calls_a_tool() {
    let events = data(&tape(Wire::Chat, "auto", Conversation::Begun));
    let deltas = events.iter().map(|event| &event["choices"][0]["delta"]["tool_calls"][0]);
    let arguments: String = deltas.clone().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, json!({"command": texts::DATE}).to_string());
    assert_eq!(deltas.filter_map(|call| call["function"]["name"].as_str()).collect::<Vec<_>>(), ["bash"]);
    let reasons: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["finish_reason"]).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "tool_calls").count(), 1);
    assert_eq!(events.last(), Some(&json!("[DONE]")));
    assert_eq!(events[events.len() - 2]["usage"]["total_tokens"], 120);
}

#[test]
fn messages_call_a_tool() {
    let tape = tape(Wire::Messages, "auto", Conversation::Begun);
    assert!(tape.frames[0].event.starts_with("event: message_start\ndata: {"), "{}", tape.frames[0].event);
    let events = data(&tape);
    let arguments: String = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(arguments, json!({"command": texts::DATE}).to_string());
    assert_eq!(events[1]["content_block"]["name"], "Bash");
    assert_eq!(events[1]["content_block"]["input"], json!({}));
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events.last(), Some(&json!({"type": "message_stop"})));
}

#[test]
fn gemini_calls_a_tool() {
    let events = data(&tape(Wire::Gemini, "auto", Conversation::Begun));
    let call = json!({"functionCall": {"name": "run_shell_command", "args": {"command": texts::DATE}}});
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["candidates"][0]["content"]["parts"], json!([call]));
    assert_eq!(events[0]["candidates"][0]["finishReason"], "STOP");
}

/// The finish as each API names it, in pieces and whole.
fn finishes(wire: Wire, scenario: &str) -> (Value, Value) {
    let plan = plan_of(wire, scenario, Conversation::Begun);
    let events = data(&stream(wire, &plan, &tag()));
    let whole = whole(wire, &plan, &tag());
    let last = events.last().cloned().unwrap_or_default();
    match wire {
        Wire::Responses => (last["response"].clone(), whole),
        Wire::Chat => {
            let mut reason = events.iter().map(|event| event["choices"][0]["finish_reason"].clone());
            let reason = reason.rfind(|reason| !reason.is_null()).unwrap_or_default();
            (reason, whole["choices"][0]["finish_reason"].clone())
        }
        Wire::Messages => (events[events.len() - 2]["delta"]["stop_reason"].clone(), whole["stop_reason"].clone()),
        Wire::Gemini => (last["candidates"][0].clone(), whole["candidates"][0].clone()),
    }
}

#[test]
fn limits_and_refusals_are_named_as_each_api_does() {
    let reasons = |scenario: &str| {
        let (response, whole) = finishes(Wire::Responses, scenario);
        assert_eq!(response, whole, "{scenario}");
        let (chat, whole) = finishes(Wire::Chat, scenario);
        assert_eq!(chat, whole, "{scenario}");
        let (message, whole) = finishes(Wire::Messages, scenario);
        assert_eq!(message, whole, "{scenario}");
        let (gemini, whole) = finishes(Wire::Gemini, scenario);
        assert_eq!(gemini["finishReason"], whole["finishReason"], "{scenario}");
        let details = response["incomplete_details"]["reason"].clone();
        [details, chat, message, gemini["finishReason"].clone()]
    };
    let null = Value::Null;
    assert_eq!(reasons("soft"), [null.clone(), json!("stop"), json!("end_turn"), json!("STOP")]);
    let length = [json!("max_output_tokens"), json!("length"), json!("max_tokens"), json!("MAX_TOKENS")];
    assert_eq!(reasons("maxtokens"), length);
    let said = [null.clone(), json!("content_filter"), json!("refusal"), json!("SAFETY")];
    assert_eq!(reasons("refusal"), said);
    assert_eq!(reasons("refusalempty"), [json!("content_filter"), json!("stop"), json!("refusal"), null]);
    let silent = [json!("content_filter"), json!("content_filter"), json!("refusal"), json!("SAFETY")];
    assert_eq!(reasons("refusalnotext"), silent);
    let blocked = data(&tape(Wire::Gemini, "refusalempty", Conversation::Begun));
    assert_eq!(blocked[0]["promptFeedback"]["blockReason"], "PROHIBITED_CONTENT");
    let (refused, _) = finishes(Wire::Responses, "refusal");
    assert_eq!(refused["output"][0]["content"][0]["type"], "refusal");
}

#[test]
fn thoughts_and_phases_stand_where_they_belong() {
    for wire in Wire::ALL {
        let streamed =
            data(&tape(*wire, "think", Conversation::Begun)).iter().map(Value::to_string).collect::<String>();
        assert!(streamed.contains("Thinking"), "{wire}");
    }
    let plan = plan_of(Wire::Responses, "commentaryphase", Conversation::Begun);
    assert_eq!(whole(Wire::Responses, &plan, &tag())["output"][0]["phase"], "commentary");
    let plan = plan_of(Wire::Responses, "commentary", Conversation::Begun);
    assert_eq!(whole(Wire::Responses, &plan, &tag())["output"][0]["phase"], Value::Null);
}

#[test]
fn ids_differ_between_turns_and_calls() {
    let plan = plan_of(Wire::Chat, "parallel", Conversation::Begun);
    let ids = |turn| {
        let whole = whole(Wire::Chat, &plan, &Tag { turn, ..tag() });
        let calls = whole["choices"][0]["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        calls.iter().map(|call| call["id"].to_string()).collect::<Vec<_>>()
    };
    let all: std::collections::BTreeSet<String> = ids(0).into_iter().chain(ids(1)).collect();
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn too_many_requests_are_reported_as_by_each_provider() {
    let header =
        |error: &WireError, name: &str| error.headers.iter().find(|(of, _)| *of == name).map(|(_, v)| v.clone());
    for wire in Wire::ALL {
        let error = error(*wire, failing(429, Limit::Rate), 1000);
        assert_eq!(header(&error, "retry-after").as_deref(), Some("20"), "{wire}");
    }
    let open_ai = error(Wire::Chat, failing(429, Limit::Rate), 1000);
    assert!(text_of(&open_ai).contains("Please try again in 20s."), "{}", open_ai.body);
    let anthropic = error(Wire::Messages, failing(429, Limit::Rate), 1000);
    assert_eq!(anthropic.body["error"]["type"], "rate_limit_error");
    assert_eq!(header(&anthropic, "anthropic-ratelimit-unified-reset").as_deref(), Some("1020"));
    let gemini = error(Wire::Gemini, failing(429, Limit::Rate), 1000);
    assert_eq!(gemini.body["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(gemini.body["error"]["details"][0]["retryDelay"], "20s");
}

fn failing(status: u16, limit: Limit) -> Failure {
    Failure { status, limit, wait_seconds: 20 }
}

#[test]
fn an_exhausted_plan_is_reported_as_by_each_provider() {
    let body = |wire| error(wire, failing(429, Limit::Plan), 1000).body["error"].clone();
    let responses = body(Wire::Responses);
    assert_eq!((&responses["type"], &responses["resets_at"]), (&json!("usage_limit_reached"), &json!(1020)));
    assert_eq!(body(Wire::Chat)["code"], "insufficient_quota");
    assert!(body(Wire::Gemini)["details"][0]["violations"][0]["quotaId"].to_string().contains("PerDay"));
    let claim = ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned());
    assert!(error(Wire::Messages, failing(429, Limit::Plan), 1000).headers.contains(&claim));
    assert!(!error(Wire::Messages, failing(429, Limit::Rate), 1000).headers.contains(&claim));
}

fn text_of(error: &WireError) -> &str {
    error.body["error"]["message"].as_str().unwrap_or_default()
}

#[test]
fn other_errors_have_the_names_that_engines_know() {
    let kind = |wire, status| {
        let body = error(wire, failing(status, Limit::Rate), 0).body;
        body["error"].get("status").or(body["error"].get("type")).cloned().unwrap_or_default()
    };
    assert_eq!(error(Wire::Responses, failing(401, Limit::Rate), 0).body["error"]["code"], "invalid_api_key");
    assert_eq!(kind(Wire::Messages, 401), "authentication_error");
    assert_eq!(kind(Wire::Gemini, 401), "UNAUTHENTICATED");
    assert_eq!(kind(Wire::Gemini, 400), "INVALID_ARGUMENT");
    assert_eq!(kind(Wire::Messages, 500), "api_error");
    assert_eq!(kind(Wire::Chat, 500), "server_error");
}

#[test]
fn paths_say_which_api() {
    let answer = |wire, stream, model| Some(Endpoint::Answer { wire, stream, model });
    assert_eq!(Endpoint::of("/s/auto/v1/responses"), answer(Wire::Responses, false, None));
    assert_eq!(Endpoint::of("/s/auto/v1/chat/completions"), answer(Wire::Chat, false, None));
    assert_eq!(Endpoint::of("/s/auto/v1/messages"), answer(Wire::Messages, false, None));
    let gemini = "/s/auto/v1beta/models/gemini-2.5-flash:streamGenerateContent";
    assert_eq!(Endpoint::of(gemini), answer(Wire::Gemini, true, Some("gemini-2.5-flash")));
    assert_eq!(Endpoint::of("/s/auto/v1beta/models/g:countTokens"), Some(Endpoint::Count(Wire::Gemini)));
    assert_eq!(Endpoint::of("/s/auto/v1/messages/count_tokens"), Some(Endpoint::Count(Wire::Messages)));
    for nothing in ["/s/auto", "/s/auto/completions", "/s/auto/x:y", ""] {
        assert_eq!(Endpoint::of(nothing), None, "{nothing}");
    }
}

/// codex offers the tools of an MCP server in this form, and refuses a call without the namespace.
#[test]
fn a_call_names_the_namespace_of_its_tool() {
    let function = json!({"type": "function", "name": "wait_runs", "parameters": {"type": "object"}});
    let namespace = json!({"type": "namespace", "name": "mcp__skillrun", "tools": [function]});
    let order = r#"[[call wait_runs {"run_ids": []}]]"#;
    let asked = read(Wire::Responses, &json!({"input": order, "tools": [namespace]}));
    let plan = match decide(&"ordered".parse().expect("a scenario"), &asked, None, &mut Memory::default()) {
        Decision::Answer(plan) => plan,
        Decision::Error(failure) => panic!("{failure:?}"),
    };
    let whole = whole(Wire::Responses, &plan, &tag());
    let call = &whole["output"][0];
    assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__skillrun"), &json!("wait_runs")));
    let done = data(&stream(Wire::Responses, &plan, &tag()))
        .into_iter()
        .find(|event| event["type"] == "response.output_item.done");
    assert_eq!(done.expect("an item")["item"]["namespace"], "mcp__skillrun");
}
