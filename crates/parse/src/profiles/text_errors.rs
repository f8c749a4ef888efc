//! Engine errors as records, from an engine's text.

use std::borrow::Cow;

use serde_json::{Map, Value};
use skillrun_model::Code;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;
use skillrun_model::verdict::EngineLimit;

use crate::buffer::cut;
use crate::classify;
use crate::record::{End, EndKind, EngineError, RecordKind};
use crate::reset::Reset;

/// Longest error text that is kept.
const MESSAGE_MAX: usize = 8 * 1024;

/// Most nested documents that are opened.
const NESTED_MAX: usize = 4;

/// The text of an error. Engines pass on the response of a service as it came, which is a JSON document that contains
/// the text; the text around it is kept.
pub(crate) fn readable_text(message: &str) -> Cow<'_, str> {
    let mut told = Cow::Borrowed(message);
    for _ in 0..NESTED_MAX {
        let Some(plainer) = without_document(&told) else { break };
        told = Cow::Owned(plainer);
    }
    told
}

/// The text with its first JSON object replaced by the message in it; none where there is none.
fn without_document(text: &str) -> Option<String> {
    let from = text.find('{').filter(|_| text.len() <= DOCUMENT_MAX)?;
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Map<String, Value>>();
    let document = documents.next()?.ok()?;
    let words = words_of(&document)?;
    let behind = &text[from + documents.byte_offset()..];
    Some(format!("{}{words}{behind}", &text[..from]))
}

/// Longest message in which a document is searched.
const DOCUMENT_MAX: usize = 64 * 1024;

fn words_of(document: &Map<String, Value>) -> Option<&str> {
    let error = document.get("error");
    let of_error = error.and_then(Value::as_object).and_then(|error| error.get("message"));
    let candidates = [of_error, error, document.get("message"), document.get("detail")];
    let mut words = candidates.into_iter().flatten().filter_map(Value::as_str);
    words.find(|words| !words.trim().is_empty())
}

/// An error that the engine reports, with the category that its text determines.
pub(crate) fn error(message: &str) -> RecordKind {
    with_category(message, classify::by_words(message))
}

pub(crate) fn with_category(message: &str, category: ErrorCategory) -> RecordKind {
    with_reset(message, category, None)
}

/// The same, where the engine also reports when to retry.
pub(crate) fn with_reset(message: &str, category: ErrorCategory, reset: Option<Reset>) -> RecordKind {
    let code = if category == ErrorCategory::Session { Code::SessionNotFound } else { Code::EngineError };
    engine_error(Level::Error, code, message, category, reset)
}

/// A problem that the engine handles by itself.
pub(crate) fn warning(code: Code, message: &str) -> RecordKind {
    warning_of(code, message, classify::by_words(message), None)
}

/// The same, where more than the text is known.
pub(crate) fn warning_of(code: Code, message: &str, category: ErrorCategory, reset: Option<Reset>) -> RecordKind {
    engine_error(Level::Warning, code, message, category, reset)
}

fn engine_error(level: Level, code: Code, message: &str, category: ErrorCategory, reset: Option<Reset>) -> RecordKind {
    RecordKind::EngineError(EngineError { level, code, message: cut(message, MESSAGE_MAX), category, reset })
}

/// A call that failed. The first line of its output is the reason, up to `reason_max` bytes.
pub(crate) fn tool_failed(id: String, output: Option<String>, reason_max: usize) -> RecordKind {
    let told = output.as_deref().and_then(|output| output.trim().lines().next()).filter(|line| !line.is_empty());
    let reason = cut(told.unwrap_or("the tool failed"), reason_max);
    RecordKind::ToolFailed { id, reason, output }
}

/// What the engines call a limit of one answer.
pub(crate) const LIMITS: [&str; 2] = ["max_output_tokens", REFUSAL];

/// The limit among them at which the service declines to answer.
pub(crate) const REFUSAL: &str = "content_filter";

/// The limit with which codex's text about it ends.
pub(crate) fn named_limit(message: &str) -> Option<&'static str> {
    let told = message.rsplit_once("reason: ").map(|(_, reason)| reason.trim())?;
    LIMITS.into_iter().find(|limit| told == *limit)
}

pub(crate) fn failure(message: Option<&str>, category: Option<ErrorCategory>) -> RecordKind {
    end(EndKind::Failure, message, category)
}

pub(crate) fn limit(message: Option<&str>, limit: EngineLimit) -> RecordKind {
    RecordKind::End(End { limit: Some(limit), ..end_of(EndKind::Limit, message, None) })
}

/// The limit of one answer, or the refusal that engines report as one.
pub(crate) fn limit_or_refusal(message: Option<&str>, is_refusal: bool) -> RecordKind {
    limit(message, if is_refusal { EngineLimit::Refusal } else { EngineLimit::Tokens })
}

pub(crate) fn end(kind: EndKind, message: Option<&str>, category: Option<ErrorCategory>) -> RecordKind {
    RecordKind::End(end_of(kind, message, category))
}

fn end_of(kind: EndKind, message: Option<&str>, category: Option<ErrorCategory>) -> End {
    let category = category.or_else(|| message.map(classify::by_words)).unwrap_or(ErrorCategory::Engine);
    let limit = match kind {
        EndKind::Limit | EndKind::ProvisionalLimit => Some(EngineLimit::Tokens),
        EndKind::Success | EndKind::Failure | EndKind::Retracted => None,
    };
    End { kind, message: message.map(|message| cut(message, MESSAGE_MAX)), category, limit }
}
