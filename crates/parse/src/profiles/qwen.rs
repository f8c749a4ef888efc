//! `qwen --output-format stream-json`, or `json`: see [`super::message_events`].
//!
//! Errors come as an assistant's text `[API Error: …]`. A retry may retract the text of the previous response.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::ProfileId;

use crate::classify;
use crate::json;
use crate::profiles::message_events::{Dialect, MessageEvents, ModelRetry, Sender};
use crate::record::Voided;

pub(crate) type Qwen = MessageEvents<QwenDialect>;

#[derive(Debug, Default)]
pub(crate) struct QwenDialect;

#[derive(Deserialize)]
struct SystemRetry<'a> {
    #[serde(borrow)]
    data: RetryData<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct RetryData<'a> {
    #[serde(rename = "preserveText")]
    preserve_text: Option<bool>,
    reason: Option<&'a RawValue>,
    attempt: Option<&'a RawValue>,
    #[serde(rename = "maxRetries")]
    max_retries: Option<&'a RawValue>,
    #[serde(rename = "delayMs")]
    delay_ms: Option<&'a RawValue>,
}

impl Dialect for QwenDialect {
    const ID: ProfileId = ProfileId::QwenStreamJson;

    fn is_error_text(_sender: &Sender<'_>, text: &str) -> bool {
        text.trim_start().starts_with("[API Error")
    }

    fn retry(line: &str) -> Option<ModelRetry> {
        let SystemRetry { data } = serde_json::from_str(line).ok()?;
        let number = |raw: Option<&RawValue>| raw.and_then(json::decode::<u64>);
        let reason = data.reason.and_then(json::decode::<String>).filter(|reason| reason != "retry");
        let category = classify::by_words(reason.as_deref().unwrap_or_default());
        let mut message = match data.preserve_text {
            Some(false) => "the engine repeats its request; the text of the response is retracted".to_owned(),
            Some(true) | None => "the engine repeats its request; the text of the response is kept".to_owned(),
        };
        if let (Some(attempt), Some(max)) = (number(data.attempt), number(data.max_retries)) {
            message.push_str(&format!(" ({attempt} of {max})"));
        }
        if let Some(delay) = number(data.delay_ms) {
            message.push_str(&format!(", in {} s", delay.div_ceil(1000)));
        }
        if let Some(reason) = reason {
            message.push_str(&format!(": {reason}"));
        }
        let voids = (data.preserve_text == Some(false)).then_some(Voided::Response);
        Some(ModelRetry { message, category, voids })
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::ProfileId;

    use crate::profiles::message_events::tests::{self, text};

    fn read(stdout: &str) -> Vec<String> {
        tests::read(ProfileId::QwenStreamJson, stdout)
    }

    fn retry(data: &str) -> String {
        format!(r#"{{"type":"system","subtype":"retry","data":{{"reason":"retry"{data}}}}}"#) + "\n"
    }

    const VOIDED: &str =
        "Warning ENGINE_RETRY engine: the engine repeats its request; the text of the response is retracted";
    const KEPT: &str = "Warning ENGINE_RETRY engine: the engine repeats its request; the text of the response is kept";

    #[test]
    fn a_retry_may_retract_the_response() {
        let lines = [
            text("m1", "half"),
            retry(r#","preserveText":false"#),
            retry(r#","preserveText":true"#),
            retry(r#","preserveText":false,"attempt":1,"maxRetries":10,"delayMs":60000"#),
        ];
        let slow = format!("{VOIDED} (1 of 10), in 60 s");
        assert_eq!(read(&lines.concat()), ["message m1: half", "void Response", VOIDED, KEPT, "void Response", &slow]);
        assert_eq!(read(r#"{"type":"system","subtype":"retry"}"#), ["unknown system"]);
    }

    #[test]
    fn a_retry_retracts_the_open_message_too() {
        let delta = concat!(
            r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}}"#,
            "\n"
        );
        let lines = [delta, &retry(r#","preserveText":false"#)].concat();
        assert_eq!(read(&lines), ["delta: a", "partial: a", "void Response", VOIDED]);
    }

    #[test]
    fn an_error_as_text_is_an_error() {
        let error = text("m1", "[API Error: terminated]");
        let result = r#"{"type":"result","is_error":false,"result":"fine"}"#;
        let expected = [
            "Error ENGINE_ERROR network: [API Error: terminated]",
            "message: fine",
            "end success",
            "status turn_completed",
        ];
        assert_eq!(read(&[&error, result].concat()), expected);
        let repeated = r#"{"type":"result","is_error":false,"result":"[API Error: x]"}"#;
        let expected = ["Error ENGINE_ERROR engine: [API Error: x]", "end success", "status turn_completed"];
        assert_eq!(read(repeated), expected);
    }
}
