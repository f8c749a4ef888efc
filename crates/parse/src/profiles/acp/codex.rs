//! What the codex adapter reports only in `_meta.codex`: a failed turn still ends with `end_turn`, and its error is a
//! piece of a message without a name.

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::Code;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;

use super::failure::ErrorReport;
use super::wire;
use crate::profiles::text_errors;
use crate::record::EngineError;

/// The state of the thread when its turn failed for good.
const SYSTEM_ERROR: &str = "systemError";

#[derive(Debug, Default)]
pub(super) struct Codex {
    seen: bool,
    failed: bool,
    /// Of the last error that had one.
    category: Option<ErrorCategory>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CodexMeta<'a> {
    thread_status: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ThreadStatus<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodexError<'a> {
    #[serde(borrow)]
    will_retry: Option<&'a RawValue>,
}

/// What an update about the session reports about the turn.
#[derive(Debug, PartialEq)]
pub(super) enum Turned {
    /// Nothing that would end a message.
    Quiet,
    /// The thread is in another state: an unnamed message is over.
    Moved,
    /// The same, and it works again.
    Active,
    /// The model's text so far is void or cut off.
    Broken(Option<EngineError>),
}

impl Codex {
    /// Whether the agent is the codex adapter.
    pub(super) fn is_seen(&self) -> bool {
        self.seen
    }

    pub(super) fn name(&mut self, agent: &str) {
        self.seen |= agent.contains("codex");
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// The turn continues: the failure was not the end.
    pub(super) fn goes_on(&mut self) {
        *self = Self { seen: self.seen, ..Self::default() };
    }

    pub(super) fn info(&mut self, meta: &RawValue) -> Turned {
        let Some(meta) = wire::object::<CodexMeta<'_>>(meta) else { return Turned::Quiet };
        self.seen = true;
        if let Some(error) = meta.error {
            return self.error(error);
        }
        let status = meta.thread_status.and_then(wire::object::<ThreadStatus<'_>>);
        let Some(kind) = status.and_then(|status| wire::word(status.kind?)) else { return Turned::Quiet };
        if kind == SYSTEM_ERROR {
            self.failed = true;
            return Turned::Broken(None);
        }
        if kind == "active" { Turned::Active } else { Turned::Moved }
    }

    /// An error that is retried, or one of another turn.
    fn error(&mut self, error: &RawValue) -> Turned {
        let told = ErrorReport::of_error(error);
        let retries = wire::object::<CodexError<'_>>(error)
            .and_then(|error| crate::json::decode::<bool>(error.will_retry?))
            .unwrap_or(false);
        self.category = Some(told.category).filter(|category| *category != ErrorCategory::Engine).or(self.category);
        let code = if retries { Code::EngineRetry } else { Code::EngineWarning };
        let ErrorReport { message, category, .. } = told;
        Turned::Broken(Some(EngineError { level: Level::Warning, code, message, category, reset: None }))
    }

    /// Why the turn failed, if it did; with the text that was reported.
    pub(super) fn failure(&self, words: Option<&str>) -> Option<ErrorReport> {
        if !self.failed {
            return None;
        }
        let message = words.unwrap_or("the turn failed").to_owned();
        let by_words = crate::classify::by_words(&message);
        let category = if by_words == ErrorCategory::Engine { self.category.unwrap_or(by_words) } else { by_words };
        Some(ErrorReport { limit: text_errors::named_limit(&message), message, category })
    }
}
