//! The category of an error: by its code, by the `data` of the agents, else by its text.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use skillrun_model::codes::ErrorCategory;

use super::{cut, wire};
use crate::profiles::text_errors::{LIMITS, named_limit};
use crate::{classify, json};

/// The protocol's own codes.
const AUTH_REQUIRED: i64 = -32_000;
const NOT_FOUND: i64 = -32_002;

/// Longest `data` that is examined, and how deep.
const DATA_MAX: usize = 64 * 1024;
const DEPTH_MAX: usize = 8;
const MESSAGE_MAX: usize = 8 * 1024;

/// Members of `data` with the status of the model's API.
const STATUS: [&str; 4] = ["httpStatusCode", "http_status_code", "statusCode", "status"];
/// Members of `data` that name the error.
const NAMES: [&str; 5] = ["errorKind", "codexErrorInfo", "codex_error_info", "errorName", "kind"];
/// Members of `data` with more text.
const WORDS: [&str; 4] = ["details", "additionalDetails", "message", "error"];
/// Other texts of agents that do not know a session.
const NO_SESSION: [&str; 4] = ["no previous session", "invalid session", "unknown session", "session does not exist"];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ErrorReport {
    pub(super) message: String,
    pub(super) category: ErrorCategory,
    /// The limit that stopped the model.
    pub(super) limit: Option<&'static str>,
}

#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Failure<'a> {
    code: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
}

/// The content of `data`, as far as it is useful.
#[derive(Default)]
struct Data {
    status: Option<u64>,
    names: Vec<String>,
    words: Option<String>,
    /// The part of the agent that failed.
    service: Option<String>,
}

impl ErrorReport {
    pub(super) fn engine(message: String) -> Self {
        Self { message, category: ErrorCategory::Engine, limit: None }
    }

    /// An error of JSON-RPC, or an object like one.
    pub(super) fn of_error(error: &RawValue) -> Self {
        Self::read(error).0
    }

    /// The response to a session request was an error. Whether an existing session was to be loaded is not known here,
    /// so the text decides; it is phrased such that its readers recognise a session error.
    pub(super) fn of_session(error: &RawValue) -> Self {
        let (told, code, data) = Self::read(error);
        let is_other = matches!(told.category, ErrorCategory::Auth | ErrorCategory::Quota | ErrorCategory::Network);
        let lower = told.message.to_ascii_lowercase();
        let is_refused = told.category == ErrorCategory::Session
            || code == Some(NOT_FOUND)
            || data.service.as_deref() == Some("session")
            || NO_SESSION.iter().any(|words| lower.contains(words));
        if is_other || !is_refused {
            return told;
        }
        let is_plain = classify::refuses_session(&told.message);
        let message = if is_plain { told.message } else { format!("session not found: {}", told.message) };
        Self { message, category: ErrorCategory::Session, limit: None }
    }

    fn read(error: &RawValue) -> (Self, Option<i64>, Data) {
        let failure = wire::object::<Failure<'_>>(error).unwrap_or_default();
        let code: Option<i64> = failure.code.and_then(json::decode);
        let whole = Some(error).filter(|error| error.get().len() <= DATA_MAX).and_then(json::decode::<Value>);
        let mut data = Data::default();
        if let Some(Value::Object(mut whole)) = whole {
            // Members that do not describe the cause.
            whole.retain(|name, _| name != "code" && name != "message");
            data.look(&Value::Object(whole), 0);
        }
        if let Some(words) = failure.data.and_then(wire::word) {
            data.words = Some(words);
        }
        let mut message = failure.message.and_then(wire::word).or_else(|| wire::word(error)).unwrap_or_default();
        if let Some(words) = data.words.as_deref().filter(|words| !message.contains(*words)) {
            let separator = if message.is_empty() { "" } else { ": " };
            message = format!("{}{separator}{}", shortened(&message), shortened(words));
        }
        if message.is_empty() {
            message = "the agent gave no reason".to_owned();
        }
        let category = category(code, &data, &message);
        let by_name = LIMITS.into_iter().find(|limit| data.names.iter().any(|name| name == limit));
        let limit = by_name.or_else(|| named_limit(&message));
        (Self { message: shortened(&message), category, limit }, code, data)
    }
}

fn category(code: Option<i64>, data: &Data, message: &str) -> ErrorCategory {
    if code == Some(AUTH_REQUIRED) {
        return ErrorCategory::Auth;
    }
    // Some agents put the status of the model's API into the code.
    let by_code = code.and_then(|code| u64::try_from(code).ok()).and_then(classify::by_status);
    if let Some(category) = data.status.and_then(classify::by_status).or(by_code) {
        return category;
    }
    let name = data.names.iter().find(|name| classify::by_name(name).is_some());
    classify::by_all(data.status, name.map(String::as_str), message)
}

impl Data {
    fn look(&mut self, value: &Value, depth: usize) {
        let Value::Object(members) = value else { return };
        for (name, value) in members {
            let name = name.as_str();
            if STATUS.contains(&name) {
                self.status = self.status.or(value.as_u64());
            }
            if NAMES.contains(&name) {
                // A name alone, or one with a description.
                self.names.extend(value.as_str().map(str::to_owned));
                self.names.extend(value.as_object().into_iter().flat_map(|members| members.keys().cloned()));
            }
            if let Some(text) = value.as_str().filter(|text| WORDS.contains(&name) && !text.is_empty()) {
                self.words.get_or_insert_with(|| text.to_owned());
            }
            if let Some(text) = value.as_str().filter(|_| name == "service") {
                self.service = Some(text.to_owned());
            }
            if depth < DEPTH_MAX {
                self.look(value, depth + 1);
            }
        }
    }
}

pub(super) fn shortened(message: &str) -> String {
    cut(message, MESSAGE_MAX)
}
