//! Engine errors as records, from an engine's words.

use skillrun_model::Code;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;

use crate::classify;
use crate::record::{End, EndKind, EngineError, RecordKind};
use crate::reset::Reset;

/// Longest error text that is kept.
const MESSAGE_MAX: usize = 8 * 1024;

fn cut(message: &str) -> String {
    message[..crate::buffer::floor_boundary(message, MESSAGE_MAX)].to_owned()
}

/// An error the engine reports, with the category its words tell.
pub(crate) fn error(message: &str) -> RecordKind {
    with_category(message, classify::by_words(message))
}

pub(crate) fn with_category(message: &str, category: ErrorCategory) -> RecordKind {
    with_reset(message, category, None)
}

/// The same, where the engine tells beside its words when to ask again.
pub(crate) fn with_reset(message: &str, category: ErrorCategory, reset: Option<Reset>) -> RecordKind {
    let code = if category == ErrorCategory::Session { Code::SessionNotFound } else { Code::EngineError };
    RecordKind::EngineError(EngineError { level: Level::Error, code, message: cut(message), category, reset })
}

/// Something the engine gets over by itself.
pub(crate) fn warning(code: Code, message: &str) -> RecordKind {
    RecordKind::EngineError(EngineError {
        level: Level::Warning,
        code,
        message: cut(message),
        category: classify::by_words(message),
        reset: None,
    })
}

pub(crate) fn failure(message: Option<&str>, category: Option<ErrorCategory>) -> RecordKind {
    end(EndKind::Failure, message, category)
}

pub(crate) fn limit(message: Option<&str>) -> RecordKind {
    end(EndKind::Limit, message, None)
}

fn end(kind: EndKind, message: Option<&str>, category: Option<ErrorCategory>) -> RecordKind {
    let category = category.or_else(|| message.map(classify::by_words)).unwrap_or(ErrorCategory::Engine);
    RecordKind::End(End { kind, message: message.map(cut), category })
}
