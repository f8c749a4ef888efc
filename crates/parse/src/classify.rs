//! Whose fault an engine's error is, from its status or its words. Only chooses advice; never decides a verdict.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use skillrun_model::codes::ErrorCategory;

/// The category of an HTTP status, if it says something.
pub fn by_status(status: u64) -> Option<ErrorCategory> {
    match status {
        401 | 403 => Some(ErrorCategory::Auth),
        429 => Some(ErrorCategory::Quota),
        502..=504 => Some(ErrorCategory::Network),
        _ => None,
    }
}

/// Words that tell a category, in the order in which they are looked for.
const WORDS: &[(ErrorCategory, &[&str])] = &[
    (ErrorCategory::Session, SESSION_REFUSED),
    (ErrorCategory::Quota, &["429", "rate limit", "rate_limit", "quota", "too many requests", "resource_exhausted"]),
    (
        ErrorCategory::Auth,
        &["401", "403", "unauthorized", "authentication", "api key", "missing environment variable", "not logged in"],
    ),
    (
        ErrorCategory::Network,
        &[
            "network",
            "disconnected",
            "econnreset",
            "econnrefused",
            "enotfound",
            "etimedout",
            "connection reset",
            "connection refused",
            "socket",
            "terminated",
            "fetch failed",
        ],
    ),
];

/// What the engines say when they do not know the session they should go on with.
const SESSION_REFUSED: &[&str] = &[
    "no rollout found for thread id",
    "session not found",
    "error resuming session",
    "no conversation found with session id",
    "no saved session found",
];

/// Longest part of a message that is looked at.
const WINDOW: usize = 4096;

pub fn by_words(message: &str) -> ErrorCategory {
    let window = &message[..crate::buffer::floor_boundary(message, WINDOW)];
    let lower = window.to_ascii_lowercase();
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| lower.contains(word)))
        .map_or(ErrorCategory::Engine, |(category, _)| *category)
}

/// One of these stands in every refusal; looking for them first spares nearly every line of noise a closer look.
static HINTS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| [Finder::new("ession"), Finder::new("rollout")]);

/// Whether the engine says that it does not know the session.
pub fn refuses_session(message: &str) -> bool {
    HINTS.iter().any(|hint| hint.find(message.as_bytes()).is_some()) && by_words(message) == ErrorCategory::Session
}

#[cfg(test)]
mod tests {
    use super::{HINTS, SESSION_REFUSED, refuses_session};

    #[test]
    fn every_refusal_has_a_hint() {
        for words in SESSION_REFUSED {
            assert!(HINTS.iter().any(|hint| hint.find(words.as_bytes()).is_some()), "{words}");
            assert!(refuses_session(&format!("Error: {words} 0000")), "{words}");
        }
        assert!(!refuses_session("Loaded session from disk"));
    }
}
