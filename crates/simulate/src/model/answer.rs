//! From a request to its answer: which scenario, which API, what the model says.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use skillrun_base::sync::lock;

use super::http::Request;
use super::log::{Log, Seen, skills};
use super::memory::Memory;
use super::plan::{Decision, decide, script_name};
use super::scenario::Choice;
use super::script::{Script, ScriptError, Scripts};
use super::tape::{Tape, json_text};
use super::wire::{self, Endpoint, Tag};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    Whole { status: u16, headers: Vec<(&'static str, String)>, body: String },
    Stream(Tape),
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::Whole { status, headers: Vec::new(), body: body.to_string() }
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({"error": {"type": "simulated_model", "message": message}}))
    }
}

/// What a server knows.
#[derive(Debug, Default)]
pub(super) struct Mind {
    scripts: Mutex<Scripts>,
    memory: Mutex<Memory>,
    log: Mutex<Log>,
    requests: AtomicU64,
}

impl Mind {
    pub(super) fn keep(&self, name: &str, script: Script) -> Result<(), ScriptError> {
        lock(&self.scripts).keep(name, script)
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        lock(&self.log).all()
    }

    /// `now`: seconds since 1970.
    pub(super) fn answer(&self, request: &Request, now: u64) -> Reply {
        if request.path == "/health" {
            return Reply::json(200, &json!({"ok": true}));
        }
        if let Some(path) = request.path.strip_prefix("/control/") {
            return self.control(request, path);
        }
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let mut seen = Seen {
            number,
            method: request.method.clone(),
            path: request.path.clone(),
            scenario: None,
            wire: None,
            model: None,
            tools: Vec::new(),
            skills: skills(&request.body),
            body: Some(request.body.as_slice().into()),
        };
        let reply = self.model(request, &mut seen, now);
        lock(&self.log).add(seen.bounded());
        reply
    }

    fn model(&self, request: &Request, seen: &mut Seen, now: u64) -> Reply {
        let Some((name, path)) =
            request.path.strip_prefix("/s/").map(|rest| rest.split_once('/').unwrap_or((rest, "")))
        else {
            return Reply::error(404, "a path here begins with /s/SCENARIO/, /control/ or /health");
        };
        seen.scenario = Some(name.to_owned());
        let choice: Choice = match name.parse() {
            Ok(choice) => choice,
            Err(error) => return Reply::error(404, &format!("{error}")),
        };
        match request.method.as_str() {
            "HEAD" => return Reply::json(200, &json!({})),
            "GET" if path == "models" || path.ends_with("/models") => return Reply::json(200, &models()),
            "POST" => {}
            _ => return Reply::error(405, "models are asked with POST; GET is for …/models"),
        }
        let Some(endpoint) = Endpoint::of(&request.path) else {
            return Reply::error(
                404,
                "a request ends with /responses, /chat/completions, /messages, /messages/count_tokens, \
                 :generateContent, :streamGenerateContent or :countTokens",
            );
        };
        let (wire, stream, model) = match endpoint {
            Endpoint::Count(wire) => return Reply::json(200, &wire::count(wire)),
            Endpoint::Answer { wire, stream, model } => (wire, stream, model),
        };
        seen.wire = Some(wire);
        let body: Value = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(error) => return Reply::error(400, &format!("the body is not JSON: {error}")),
        };
        let asked = wire::read(wire, &body);
        seen.model = model.map(str::to_owned).or_else(|| asked.model.clone());
        seen.tools = asked.tools.iter().map(|tool| tool.name.clone()).collect();
        let wanted = script_name(&choice, &asked);
        let script = wanted.and_then(|name| lock(&self.scripts).get(name).cloned());
        if wanted.is_some() && script.is_none() {
            return Reply::error(404, "no such script; POST /control/scripts/NAME gives one");
        }
        match decide(&choice, &asked, script.as_ref(), &mut lock(&self.memory)) {
            Decision::Error(failure) => {
                let error = wire::error(wire, failure, now);
                Reply::Whole { status: failure.status, headers: error.headers, body: error.body.to_string() }
            }
            Decision::Answer(plan) => {
                let model = seen.model.clone().unwrap_or_else(|| "simulated".to_owned());
                let tag = Tag { number: seen.number, turn: asked.turns, model, now };
                if stream || asked.stream {
                    Reply::Stream(wire::stream(wire, &plan, &tag))
                } else {
                    let body = json_text(&wire::whole(wire, &plan, &tag), plan.encoding);
                    Reply::Whole { status: 200, headers: Vec::new(), body }
                }
            }
        }
    }

    fn control(&self, request: &Request, path: &str) -> Reply {
        match (request.method.as_str(), path) {
            ("GET", "requests") => match request.query.strip_prefix("full=") {
                None => {
                    let all: Vec<Value> = self.requests().iter().map(Seen::to_json).collect();
                    Reply::json(200, &json!({"requests": all}))
                }
                Some(number) => {
                    let body = number.parse().ok().and_then(|number| lock(&self.log).body(number));
                    match body {
                        Some(body) => Reply::Whole {
                            status: 200,
                            headers: Vec::new(),
                            body: String::from_utf8_lossy(&body).into_owned(),
                        },
                        None => Reply::error(404, "no request of this number is remembered"),
                    }
                }
            },
            ("POST", path) => match path.strip_prefix("scripts/") {
                Some(name) => match Script::read(&request.body).and_then(|script| self.keep(name, script)) {
                    Ok(()) => Reply::json(200, &json!({"kept": name})),
                    Err(error) => Reply::error(400, &error.to_string()),
                },
                None => Reply::error(404, CONTROLS),
            },
            _ => Reply::error(404, CONTROLS),
        }
    }
}

const CONTROLS: &str =
    "there are GET /control/requests, GET /control/requests?full=NUMBER and POST /control/scripts/NAME";

/// In the form of OpenAI, and of codex, which asks for another.
fn models() -> Value {
    let model = json!({"id": "fake-model", "object": "model", "created": 0, "owned_by": "simulated"});
    json!({"object": "list", "data": [model], "models": []})
}
