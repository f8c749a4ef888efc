//! Whose fault an engine's error is, from its status or its words. Only chooses advice; never decides a verdict.

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

/// Whether the engine says that it does not know the session.
pub fn refuses_session(message: &str) -> bool {
    by_words(message) == ErrorCategory::Session
}
