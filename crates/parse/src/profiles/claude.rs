//! `claude -p --output-format stream-json --verbose`, or `json`: see [`super::message_events`].
//!
//! Errors come as an assistant's text of model `<synthetic>`; `subtype` of a `result` says `success` for them too.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::ProfileId;

use crate::classify;
use crate::json;
use crate::profiles::message_events::{Dialect, MessageEvents, ModelRetry, Sender};

pub(crate) type Claude = MessageEvents<ClaudeDialect>;

#[derive(Debug, Default)]
pub(crate) struct ClaudeDialect;

/// The model that claude names as the author of its own texts.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ApiRetry<'a> {
    attempt: Option<&'a RawValue>,
    max_retries: Option<&'a RawValue>,
    error_status: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl Dialect for ClaudeDialect {
    const ID: ProfileId = ProfileId::ClaudeStreamJson;

    fn is_error_text(sender: &Sender<'_>, _text: &str) -> bool {
        sender.reports_error || sender.model == Some(SYNTHETIC)
    }

    fn retry(line: &str) -> Option<ModelRetry> {
        let line: ApiRetry<'_> = serde_json::from_str(line).ok()?;
        let number = |raw: Option<&RawValue>| raw.and_then(json::decode::<u64>);
        let status = number(line.error_status);
        let error = line.error.and_then(json::decode::<String>).unwrap_or_default();
        let category = classify::by_all(status, Some(&error), &error);
        let mut message = "the request to the model failed and is retried".to_owned();
        if let (Some(attempt), Some(max)) = (number(line.attempt), number(line.max_retries)) {
            message.push_str(&format!(" ({attempt} of {max})"));
        }
        if let Some(status) = status {
            message.push_str(&format!(", status {status}"));
        }
        if !error.is_empty() {
            message.push_str(&format!(": {error}"));
        }
        Some(ModelRetry { message, category, voids: None })
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::ProfileId;

    use crate::profiles::message_events::tests::{self, text};

    fn read(stdout: &str) -> Vec<String> {
        tests::read(ProfileId::ClaudeStreamJson, stdout)
    }

    #[test]
    fn a_retry_is_a_warning() {
        let retry = concat!(
            r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"retry_delay_ms":1429,"#,
            r#""error_status":503,"error":"overloaded"}"#
        );
        let words = "the request to the model failed and is retried (1 of 3), status 503: overloaded";
        assert_eq!(read(retry), [format!("Warning ENGINE_RETRY network: {words}")]);
        let bare = r#"{"type":"system","subtype":"api_retry","error":"rate_limit"}"#;
        let words = "the request to the model failed and is retried: rate_limit";
        assert_eq!(read(bare), [format!("Warning ENGINE_RETRY quota: {words}")]);
    }

    #[test]
    fn a_synthetic_text_is_an_error() {
        let synthetic = text("m1", "API Error: no").replace(r#""model":"m""#, r#""model":"<synthetic>""#);
        assert_eq!(read(&synthetic), ["Error ENGINE_ERROR engine: API Error: no"]);
        let named = synthetic.replace(r#""parent"#, r#""error":"rate_limit","is_api_error_message":true,"parent"#);
        assert_eq!(read(&named), ["Error ENGINE_ERROR quota: API Error: no"]);
        let with_status = named.replace(r#""error":"#, r#""api_error_status":401,"error":"#);
        assert_eq!(read(&with_status), ["Error ENGINE_ERROR auth: API Error: no"]);
    }

    #[test]
    fn a_synthetic_text_is_no_answer_before_a_result() {
        let synthetic = text("m1", "oops").replace(r#""model":"m""#, r#""model":"<synthetic>""#);
        let result = r#"{"type":"result","is_error":false,"result":"fine"}"#;
        let expected = ["Error ENGINE_ERROR engine: oops", "message: fine", "end success", "status turn_completed"];
        assert_eq!(read(&[&synthetic, result].concat()), expected);
    }

    #[test]
    fn qwens_error_text_is_text_here() {
        assert_eq!(read(&text("m1", "[API Error: x]")), ["message m1: [API Error: x]"]);
    }
}
