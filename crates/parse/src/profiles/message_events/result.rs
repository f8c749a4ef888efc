//! `result`, the end of a turn. Its `subtype` is `success` even where the turn failed; `is_error` decides.

use serde_json::value::RawValue;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;
use skillrun_model::verdict::EngineLimit;

use super::wire::{self, each_element, error_words};
use super::{Dialect, Sender, Turn, cut, status};
use crate::classify;
use crate::json::{self, Str};
use crate::profile::{Emit, LineOutcome};
use crate::profiles::text_errors;
use crate::record::{End, EndKind, MessageKey, RecordKind};

/// The members that show how the turn ended.
#[derive(Default)]
struct Signs<'a> {
    is_error: Option<bool>,
    subtype: Option<&'a str>,
    api_error: Option<&'a str>,
    stop_reason: Option<&'a str>,
}

impl Signs<'_> {
    fn is_refusal(&self) -> bool {
        self.stop_reason == Some("refusal")
    }

    fn limit(&self) -> Option<EngineLimit> {
        if self.is_refusal() {
            Some(EngineLimit::Refusal)
        } else if self.api_error == Some("max_output_tokens") {
            Some(EngineLimit::Tokens)
        } else {
            (self.subtype == Some("error_max_turns")).then_some(EngineLimit::Requests)
        }
    }

    /// None when there is no such member.
    fn kind(&self) -> Option<EndKind> {
        if self.limit().is_some() {
            Some(EndKind::Limit)
        } else if self.is_error == Some(true) || self.subtype.is_some_and(|subtype| subtype.starts_with("error_")) {
            Some(EndKind::Failure)
        } else {
            self.is_error.map(|_| EndKind::Success)
        }
    }
}

impl Turn {
    pub(super) fn result<D: Dialect>(&mut self, line: wire::ResultEvent<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        let api_error: Option<String> = line.api_error.and_then(json::decode);
        let stop_reason: Option<String> = line.stop_reason.and_then(json::decode);
        let signs = Signs {
            is_error: line.is_error,
            subtype: line.subtype.as_ref().map(Str::as_str),
            api_error: api_error.as_deref(),
            stop_reason: stop_reason.as_deref(),
        };
        let Some(kind) = signs.kind() else { return LineOutcome::Unknown("result".to_owned()) };
        self.has_ended = true;
        if kind == EndKind::Success {
            self.answer::<D>(line.result, emit);
        }
        if let Some(usage) = usage(&line) {
            emit.push(RecordKind::Usage(usage));
        }
        if kind == EndKind::Success {
            emit.push(RecordKind::End(End::success()));
            status(Phase::TurnCompleted, None, emit);
            return LineOutcome::Known;
        }
        let words = words(&line);
        let shown = words.clone().unwrap_or_else(|| match signs.subtype {
            Some(subtype) if subtype != "success" => format!("the turn ended with {}", cut(subtype, super::NAME_MAX)),
            Some(_) | None => "the turn failed".to_owned(),
        });
        let http_status = line.api_error_status.and_then(json::decode);
        let category = classify::by_all(http_status, signs.api_error, &shown);
        emit.push(match signs.limit() {
            Some(limit) => text_errors::limit(words.as_deref(), limit),
            None => text_errors::failure(words.as_deref(), Some(category)),
        });
        emit.push(text_errors::with_category(&shown, category));
        status(Phase::TurnFailed, None, emit);
        LineOutcome::Known
    }

    /// The answer as the end of the turn repeats it; a message where no other event contained it.
    fn answer<D: Dialect>(&mut self, result: Option<&RawValue>, emit: &mut Emit<'_>) {
        let Some(text) = result.filter(|_| !self.has_text).and_then(json::decode::<String>) else { return };
        if text.trim().is_empty() {
            return;
        }
        self.close_open(emit);
        let sender = Sender::default();
        if D::is_error_text(&sender, &text) {
            emit.push(text_errors::with_category(&text, sender.category(&text)));
        } else {
            emit.push(RecordKind::Message { id: MessageKey::Unnamed, text: text.into(), partial: false });
        }
    }
}

/// Longest part of a list of errors that is concatenated.
const WORDS_MAX: usize = 8 * 1024;

/// The engine's text about a failure.
fn words(line: &wire::ResultEvent<'_>) -> Option<String> {
    let told = |words: &String| !words.trim().is_empty();
    let listed = |errors: &RawValue| {
        let mut all = String::new();
        each_element(errors.get(), |error| {
            if let Some(words) = error_words(error).filter(told)
                && all.len() < WORDS_MAX
            {
                let separator = if all.is_empty() { "" } else { "; " };
                all.push_str(separator);
                all.push_str(&cut(&words, WORDS_MAX));
            }
        });
        all
    };
    let said = line.result.and_then(json::decode::<String>).filter(told);
    said.or_else(|| line.errors.map(listed).filter(told)).or_else(|| line.error.and_then(error_words).filter(told))
}

fn usage(line: &wire::ResultEvent<'_>) -> Option<TurnUsage> {
    let usage: wire::Usage = json::decode(line.usage?)?;
    let cost = line.total_cost_usd.and_then(json::decode::<serde_json::Number>);
    let reported = [
        ("cache_creation_input_tokens", usage.cache_creation_input_tokens.map(Into::into)),
        ("total_cost_usd", cost),
        ("total_tokens", usage.total_tokens.map(Into::into)),
    ];
    let reported = reported.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?.into())));
    Some(TurnUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_input_tokens: usage.cache_read_input_tokens,
        reasoning_tokens: usage.output_tokens_details.and_then(|details| details.thinking_tokens),
        reported: reported.collect(),
    })
}

/// Whether a cut line is the beginning of a `result` and already shows success. claude writes `type` near the end.
pub(super) fn is_cut_success(text: &str) -> bool {
    let members = json::members_before_cut(text);
    let raw = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let word = |name: &str| raw(name).and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
    let is_result = match raw("type") {
        Some(kind) => kind == "\"result\"",
        None => raw("subtype").is_some() || raw("duration_api_ms").is_some(),
    };
    let signs = Signs {
        is_error: raw("is_error").and_then(|value| value.parse().ok()),
        subtype: word("subtype"),
        api_error: word("api_error"),
        stop_reason: word("stop_reason"),
    };
    // A subagent's end would not be the turn's.
    let is_own = raw("parent_tool_use_id").is_none_or(|value| value == "null");
    is_result && is_own && signs.kind() == Some(EndKind::Success)
}
