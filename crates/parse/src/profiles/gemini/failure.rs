//! How gemini reports a failure: `error{type,message,code}`, or only a text.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::status::Phase;

use crate::profile::Emit;
use crate::profiles::text_errors;
use crate::{classify, json};

#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) message: Option<String>,
    category: Option<ErrorCategory>,
}

#[derive(Default, Deserialize)]
struct Body {
    #[serde(rename = "type")]
    kind: Option<Box<RawValue>>,
    message: Option<Box<RawValue>>,
    code: Option<Box<RawValue>>,
}

impl Failure {
    pub(super) fn read(raw: &RawValue) -> Self {
        if let Some(message) = json::decode::<String>(raw) {
            return Self { message: Some(message), category: None };
        }
        let body = json::decode::<Body>(raw).unwrap_or_default();
        let text = |raw: Option<Box<RawValue>>| raw.and_then(|raw| json::decode::<String>(&raw));
        let (kind, message) = (text(body.kind), text(body.message));
        let status = body.code.and_then(|raw| raw.get().trim_matches('"').parse().ok());
        let category = classify::by_all(status, kind.as_deref(), message.as_deref().unwrap_or_default());
        Self { message: message.or(kind), category: Some(category).filter(|known| *known != ErrorCategory::Engine) }
    }

    /// The engine error, the end of the turn, and its status.
    pub(super) fn emit(self, emit: &mut Emit<'_>) {
        let message = self.message.as_deref();
        let told = message.unwrap_or("the turn failed");
        emit.push(match self.category {
            Some(category) => text_errors::with_category(told, category),
            None => text_errors::error(told),
        });
        emit.push(text_errors::failure(message, self.category));
        emit.status(Phase::TurnFailed);
    }
}
