//! Gemini: contents of parts go in, candidates of parts come out.

use serde_json::{Value, json};

use crate::model::asked::{Asked, Conversation, Offered, Who, list, printed, text};
use crate::model::plan::{Block, Failure, Fate, Finish, Limit, Plan, Refusal};
use crate::model::tape::Tape;
use crate::model::texts;

use super::{Tag, WireError};

pub(super) fn read(request: &Value) -> Asked {
    // Who logs in with an account sends the same one level deeper.
    let request = request.get("request").unwrap_or(request);
    let mut conversation = Conversation::default();
    for content in list(request, "contents") {
        let is_model = text(content, "role") == "model";
        for part in list(content, "parts") {
            if let Some(response) = part.get("functionResponse") {
                conversation.add(Who::Tool, &printed(&response["response"]));
            } else if is_model {
                conversation.add(Who::Model, text(part, "text"));
            } else {
                conversation.add(Who::User, text(part, "text"));
            }
        }
    }
    let functions = list(request, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    let offered = |function: &Value| {
        let parameters = function.get("parametersJsonSchema").unwrap_or(&function["parameters"]);
        Offered { name: text(function, "name").to_owned(), namespace: None, parameters: parameters.clone() }
    };
    Asked {
        model: request["model"].as_str().map(str::to_owned),
        wants_json: text(&request["generationConfig"], "responseMimeType") == "application/json",
        tools: functions.map(offered).collect(),
        ..conversation.into_asked()
    }
}

fn reason(plan: &Plan) -> &'static str {
    match plan.finish {
        Finish::Stop => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Refused(_) => "SAFETY",
    }
}

fn around(tag: &Tag, mut answer: Value) -> Value {
    answer["usageMetadata"] = json!({"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120});
    answer["modelVersion"] = json!(tag.model);
    answer["responseId"] = json!(tag.id("r"));
    answer
}

/// None: the candidate has no content.
fn candidate(parts: Option<Vec<Value>>, end: Option<&Plan>, tag: &Tag) -> Value {
    let mut candidate = json!({"index": 0});
    if let Some(parts) = parts {
        candidate["content"] = json!({"role": "model", "parts": parts});
    }
    if let Some(plan) = end {
        candidate["finishReason"] = json!(reason(plan));
        if matches!(plan.finish, Finish::Refused(_)) {
            candidate["safetyRatings"] =
                json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}]);
        }
    }
    around(tag, json!({"candidates": [candidate]}))
}

fn blocked(tag: &Tag) -> Value {
    around(tag, json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))
}

fn texts_of(plan: &Plan) -> Vec<&str> {
    let said = plan.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Tool(_) => None,
    });
    said.chain((plan.finish == Finish::Refused(Refusal::Said)).then_some(texts::REFUSED)).collect()
}

fn calls(plan: &Plan) -> Vec<Value> {
    let call = |block: &Block| match block {
        Block::Text(_) => None,
        Block::Tool(call) => Some(json!({"functionCall": {"name": call.name, "args": call.arguments}})),
    };
    plan.blocks.iter().filter_map(call).collect()
}

fn thought(text: &str) -> Value {
    json!({"text": format!("**Plan** {text}"), "thought": true})
}

pub(super) fn whole(plan: &Plan, tag: &Tag) -> Value {
    match plan.finish {
        Finish::Refused(Refusal::Withheld) => blocked(tag),
        Finish::Refused(Refusal::Silent) => candidate(None, Some(plan), tag),
        Finish::Stop | Finish::Length | Finish::Refused(Refusal::Said) => {
            let thought = plan.thought.map(thought);
            let said = texts_of(plan).into_iter().map(|text| json!({"text": text}));
            let parts = thought.into_iter().chain(said).chain(calls(plan)).collect();
            candidate(Some(parts), Some(plan), tag)
        }
    }
}

pub(super) fn stream(plan: &Plan, tag: &Tag) -> Tape {
    let mut tape = Tape::new(plan);
    match plan.finish {
        Finish::Refused(Refusal::Withheld) => {
            tape.event(None, &blocked(tag));
            return tape;
        }
        Finish::Refused(Refusal::Silent) => {
            tape.event(None, &candidate(None, Some(plan), tag));
            return tape;
        }
        Finish::Stop | Finish::Length | Finish::Refused(Refusal::Said) => {}
    }
    if let Some(text) = plan.thought {
        tape.event(None, &candidate(Some(vec![thought(text)]), None, tag));
    }
    for text in texts_of(plan) {
        let said = plan.said(text);
        for piece in said.pieces {
            tape.paced(None, &candidate(Some(vec![json!({"text": piece})]), None, tag), plan.pace);
        }
        if said.fate != Fate::Whole {
            return tape.stop(said.fate);
        }
    }
    let calls = calls(plan);
    let last = if calls.is_empty() { vec![json!({"text": ""})] } else { calls };
    tape.event(None, &candidate(Some(last), Some(plan), tag));
    tape
}

pub(super) fn error(failure: Failure) -> WireError {
    let Failure { status, limit, wait_seconds } = failure;
    let (kind, message) = match status {
        400 => ("INVALID_ARGUMENT", "The simulated model takes no request.".to_owned()),
        401 => (
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token or API key.".to_owned(),
        ),
        404 => (
            "NOT_FOUND",
            "models/simulated is not found for API version v1beta, or is not supported for generateContent.".to_owned(),
        ),
        429 => ("RESOURCE_EXHAUSTED", format!("You exceeded your current quota. Please retry in {wait_seconds}s.")),
        503 => ("UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned()),
        _ => ("INTERNAL", "An internal error has occurred.".to_owned()),
    };
    let mut body = json!({"error": {"code": status, "message": message, "status": kind}});
    let mut headers = Vec::new();
    if status == 429 {
        let retry =
            json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{wait_seconds}s")});
        body["error"]["details"] = match limit {
            Limit::Rate => json!([retry]),
            Limit::Plan => {
                let violation = json!({
                    "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                    "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250",
                });
                json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}, retry])
            }
        };
        headers.push(("retry-after", wait_seconds.to_string()));
    }
    WireError { headers, body }
}
