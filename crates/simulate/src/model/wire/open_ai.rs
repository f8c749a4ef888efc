//! Errors of OpenAI, which both of its APIs word alike.

use serde_json::{Value, json};

use crate::model::plan::{Failure, Limit};

use super::{Wire, WireError};

pub(super) fn error(wire: Wire, failure: Failure, now: u64) -> WireError {
    let Failure { status, limit, wait_seconds } = failure;
    let mut headers = Vec::new();
    let error = match (status, limit) {
        (400, _) => error_body("invalid_request_error", None, "Invalid request: the simulated model takes none."),
        (401, _) => error_body("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided: dummy."),
        (402, _) => error_body("insufficient_balance", Some("insufficient_balance"), "Insufficient Balance"),
        (404, _) => error_body(
            "invalid_request_error",
            Some("model_not_found"),
            "The model `simulated` does not exist or you do not have access to it.",
        ),
        (429, Limit::Rate) => {
            headers.push(("retry-after", wait_seconds.to_string()));
            headers.push(("x-ratelimit-remaining-tokens", "0".to_owned()));
            headers.push(("x-ratelimit-reset-tokens", format!("{wait_seconds}s")));
            let message = format!(
                "Rate limit reached for this model on tokens per min (TPM): Limit 30000, Used 30000, Requested 120. \
                 Please try again in {wait_seconds}s."
            );
            error_body("tokens", Some("rate_limit_exceeded"), &message)
        }
        (429, Limit::Plan) => match wire {
            // As sent to clients that log in with an account.
            Wire::Responses => json!({
                "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                "resets_at": now.saturating_add(u64::from(wait_seconds)), "resets_in_seconds": wait_seconds,
            }),
            Wire::Chat | Wire::Messages | Wire::Gemini => error_body(
                "insufficient_quota",
                Some("insufficient_quota"),
                "You exceeded your current quota, please check your plan and billing details.",
            ),
        },
        _ => error_body("server_error", None, "The server had an error while processing your request."),
    };
    WireError { headers, body: json!({"error": error}) }
}

fn error_body(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({"message": message, "type": kind, "param": null, "code": code})
}
