//! Messages of the other side, read strictly. Pure.

use serde_json::{Map, Value};

/// A message that a strict agent takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request { id: Value, call: Call },
    Cancel { session: String },
    Answer { id: Value, result: Result<Value, Value> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Initialize,
    New {
        cwd: String,
    },
    Load {
        session: String,
    },
    Resume {
        session: String,
    },
    Prompt {
        session: String,
        text: String,
    },
    /// Something that the protocol leaves to others. It is answered all the same.
    Extension,
}

/// What is wrong with a message, and the error for its sender; no error is sent for a message without an id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wrong {
    pub(super) id: Option<Value>,
    pub(super) code: i64,
    pub(super) words: String,
}

const INVALID: i64 = -32600;
const NO_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;

pub(super) fn read(line: &str) -> Result<Message, Wrong> {
    let wrong = |id: Option<&Value>, code: i64, words: &str| Wrong { id: id.cloned(), code, words: words.to_owned() };
    let value: Value = serde_json::from_str(line).map_err(|_| wrong(None, -32700, "the line is not JSON"))?;
    let Value::Object(fields) = &value else { return Err(wrong(None, INVALID, "the message is not an object")) };
    let id = fields.get("id");
    if fields.get("jsonrpc") != Some(&Value::from("2.0")) {
        return Err(wrong(id, INVALID, "jsonrpc is not \"2.0\""));
    }
    if id.is_some_and(|id| !(id.is_string() || id.is_i64())) {
        return Err(wrong(None, INVALID, "the id is neither a text nor a whole number"));
    }
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    if let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(wrong(id, INVALID, &format!("the message has a field {key}")));
    }
    match (fields.get("method"), id) {
        (Some(Value::String(method)), id) => {
            let Some(params) = fields.get("params").and_then(Value::as_object) else {
                return Err(wrong(id, BAD_PARAMS, "params is not an object"));
            };
            match id {
                Some(id) => {
                    let call = call(method, params).map_err(|(code, words)| wrong(Some(id), code, &words))?;
                    Ok(Message::Request { id: id.clone(), call })
                }
                None if method == "session/cancel" => {
                    let session = text(params, "sessionId").map_err(|words| wrong(None, BAD_PARAMS, &words))?;
                    Ok(Message::Cancel { session })
                }
                None => Err(wrong(None, NO_METHOD, &format!("there is no notification {method}"))),
            }
        }
        (Some(_), id) => Err(wrong(id, INVALID, "the method is not a string")),
        (None, Some(id)) => match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => Ok(Message::Answer { id: id.clone(), result: Ok(result.clone()) }),
            (None, Some(error)) if error.get("code").is_some_and(Value::is_i64) && error.get("message").is_some() => {
                Ok(Message::Answer { id: id.clone(), result: Err(error.clone()) })
            }
            (None, Some(_)) => Err(wrong(None, INVALID, "the error has no code or no message")),
            (Some(_), Some(_)) | (None, None) => Err(wrong(None, INVALID, "an answer has either a result or an error")),
        },
        (None, None) => Err(wrong(None, INVALID, "the message has neither a method nor an id")),
    }
}

fn call(method: &str, params: &Map<String, Value>) -> Result<Call, (i64, String)> {
    let bad = |words: String| (BAD_PARAMS, words);
    match method {
        "initialize" => {
            if params.get("protocolVersion") != Some(&Value::from(1)) {
                return Err(bad("protocolVersion is not 1".to_owned()));
            }
            let capabilities = params.get("clientCapabilities").and_then(Value::as_object);
            let offers = |key: &str| {
                capabilities.and_then(|all| all.get("fs")).is_some_and(|fs| fs.get(key) == Some(&Value::from(true)))
            };
            if offers("readTextFile") || offers("writeTextFile") {
                return Err(bad("the client offers files, and would have to give them".to_owned()));
            }
            Ok(Call::Initialize)
        }
        "session/new" => Ok(Call::New { cwd: folder(params).map_err(bad)? }),
        "session/load" => {
            folder(params).map_err(bad)?;
            Ok(Call::Load { session: text(params, "sessionId").map_err(bad)? })
        }
        "session/resume" => {
            absolute(params).map_err(bad)?;
            Ok(Call::Resume { session: text(params, "sessionId").map_err(bad)? })
        }
        "session/prompt" => {
            let session = text(params, "sessionId").map_err(bad)?;
            let blocks = params.get("prompt").and_then(Value::as_array);
            let blocks = blocks.ok_or_else(|| bad("prompt is not a list".to_owned()))?;
            let block = |block: &Value| match (block.get("type"), block.get("text")) {
                (Some(Value::String(kind)), Some(Value::String(text))) if kind == "text" => Ok(text.clone()),
                _ => Err(bad("a block of the prompt is not text".to_owned())),
            };
            let texts = blocks.iter().map(block).collect::<Result<Vec<_>, _>>()?;
            Ok(Call::Prompt { session, text: texts.join("\n") })
        }
        other if other.starts_with('_') => Ok(Call::Extension),
        other => Err((NO_METHOD, format!("there is no method {other}"))),
    }
}

fn text(params: &Map<String, Value>, key: &str) -> Result<String, String> {
    let value = params.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    value.map(str::to_owned).ok_or_else(|| format!("{key} is not a string"))
}

fn absolute(params: &Map<String, Value>) -> Result<String, String> {
    let cwd = text(params, "cwd")?;
    if cwd.starts_with('/') { Ok(cwd) } else { Err("cwd is not absolute".to_owned()) }
}

fn folder(params: &Map<String, Value>) -> Result<String, String> {
    let cwd = absolute(params)?;
    match params.get("mcpServers") {
        Some(Value::Array(_)) => Ok(cwd),
        Some(_) | None => Err("mcpServers is not a list".to_owned()),
    }
}
