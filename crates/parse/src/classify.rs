//! The category of an engine's error, from its status, its name or its text. It only selects advice; it never decides a
//! verdict.
//!
//! Exact signs come first. Phrases are searched last, and are chosen such that neither the work of a skill nor a number
//! in a text is mistaken for a refusal: `429` alone, or `quota` alone, has no meaning.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use memchr::memmem::Finder;
use skillrun_model::ProfileId;
use skillrun_model::codes::ErrorCategory;

/// The category of an HTTP status, if it has one.
pub fn by_status(status: u64) -> Option<ErrorCategory> {
    match status {
        401 | 403 => Some(ErrorCategory::Auth),
        402 | 429 => Some(ErrorCategory::Quota),
        // 407 and 511 come from a proxy or a portal between the engine and its service.
        407 | 502..=504 | 511 | 529 => Some(ErrorCategory::Network),
        _ => None,
    }
}

/// The service failed. A name or a text may give a more exact cause.
fn is_service_failure(status: u64) -> bool {
    (500..=599).contains(&status)
}

/// The category of an error with several known properties: by its status, else by its name, else by its text.
pub fn by_all(status: Option<u64>, name: Option<&str>, words: &str) -> ErrorCategory {
    match status.and_then(by_status) {
        // A service answers in JSON, so this refusal does not come from the service.
        Some(ErrorCategory::Auth) if holds_page(words) => return ErrorCategory::Network,
        Some(category) => return category,
        None => {}
    }
    if let Some(category) = name.and_then(by_name) {
        return category;
    }
    let category = by_words(words);
    let is_untold = category == ErrorCategory::Engine;
    if is_untold && status.is_some_and(is_service_failure) { ErrorCategory::Network } else { category }
}

/// What an engine's exit code shows in addition to its messages. gemini exits with the status of the service, of which
/// the system keeps the lower eight bits.
pub fn by_exit(profile: ProfileId, code: i32) -> Option<ErrorCategory> {
    let is_gemini = matches!(profile, ProfileId::GeminiStreamJson | ProfileId::GeminiJson);
    match code {
        145 | 147 if is_gemini => Some(ErrorCategory::Auth),
        146 | 173 if is_gemini => Some(ErrorCategory::Quota),
        244 | 246..=248 if is_gemini => Some(ErrorCategory::Network),
        _ => None,
    }
}

/// Names that engines and services have for errors, in lower case.
const NAMES: &[(ErrorCategory, &[&str])] = &[
    (
        ErrorCategory::Quota,
        &[
            "rate_limit",
            "rate_limit_error",
            "rate_limit_exceeded",
            "ratelimitexceeded",
            "usage_limit_reached",
            "usage_limit_exceeded",
            "usagelimitexceeded",
            "insufficient_quota",
            "quota_exceeded",
            "resource_exhausted",
            "billing_error",
            "insufficient_credits",
            "payment_required",
        ],
    ),
    (
        ErrorCategory::Network,
        &["server_error", "internal_server_error", "service_unavailable", "overloaded_error", "connectionrefused"],
    ),
    (
        ErrorCategory::Auth,
        &[
            "authentication_failed",
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "unauthenticated",
            "unauthorized",
            "permission_denied",
            "auth_required",
            "oauth_org_not_allowed",
            "providerautherror",
            "fatalauthenticationerror",
        ],
    ),
];

/// The category of an error by its name, if the name determines one.
pub fn by_name(name: &str) -> Option<ErrorCategory> {
    let is_it = |known: &str| known.eq_ignore_ascii_case(name.trim());
    NAMES.iter().find(|(_, names)| names.iter().any(|known| is_it(known))).map(|(category, _)| *category)
}

/// Phrases that determine a category, in the order in which they are searched.
const WORDS: &[(ErrorCategory, &[&str])] = &[
    (ErrorCategory::Session, SESSION_REFUSED),
    (
        ErrorCategory::Quota,
        &[
            "rate limit reached",
            "rate limit exceeded",
            "rate limited",
            "rate_limit_error",
            "rate_limit_exceeded",
            "too many requests",
            "resource_exhausted",
            "resource has been exhausted",
            "quota exceeded",
            "quota_exceeded",
            "insufficient_quota",
            "exceeded your current quota",
            "exceeded your quota",
            "quota will reset",
            "quota is used up",
            "usage limit reached",
            "usage_limit_reached",
            "hit your usage limit",
            "hit your session limit",
            "hit your weekly limit",
            "credit balance is too low",
            "credit balance too low",
            "insufficient balance",
            "insufficient credit",
            "payment required",
            "billing_error",
        ],
    ),
    (
        ErrorCategory::Auth,
        &[
            "incorrect api key",
            "invalid api key",
            "invalid_api_key",
            "invalid x-api-key",
            "api key not valid",
            "api key not found",
            "api key expired",
            "missing api key",
            "missing environment variable",
            "failed to authenticate",
            "authentication failed",
            "authentication_error",
            "authentication required",
            "invalid authentication",
            "unauthenticated",
            "unauthorized",
            "not logged in",
            "please run /login",
            "please log in",
            "oauth token has expired",
            "invalid bearer token",
            "set an auth method",
        ],
    ),
    (
        ErrorCategory::Network,
        &[
            "network error",
            "network is unreachable",
            "waiting for network",
            "stream disconnected",
            "econnreset",
            "econnrefused",
            "enotfound",
            "etimedout",
            "eai_again",
            "connection reset",
            "connection refused",
            "connection closed",
            "connection error",
            "socket hang up",
            "other side closed",
            "error: terminated",
            "fetch failed",
            "error sending request",
            "unable to connect",
            "cannot connect to api",
            "connectionrefused",
            "server_error",
            "internal server error",
            "internal_server_error",
            "service unavailable",
            "overloaded",
            // codex, of a service that answers 500.
            "experiencing high demand",
            // gemini, of the name that its service has for 503 and 500.
            "status: unavailable",
            "status: internal",
            "\"status\":\"unavailable\"",
            "\"status\":\"internal\"",
        ],
    ),
];

/// How a web page begins. Such a text comes neither from the engine nor from its service, but from a portal or a proxy
/// between the two.
const PAGES: &[&str] = &["<!doctype html", "<!doctype \"", "<html", "<head>", "<body"];

/// Where a page begins. The text is in lower case.
fn page_in(text: &str) -> Option<usize> {
    PAGES.iter().filter_map(|beginning| text.find(beginning)).min()
}

/// Whether a message contains a web page.
pub fn holds_page(message: &str) -> bool {
    page_in(&window(message)).is_some()
}

/// The examined part of a message, in lower case.
fn window(message: &str) -> String {
    message[..message.floor_char_boundary(WINDOW)].to_ascii_lowercase()
}

/// What the engines write when they do not know the session that they were asked to resume.
const SESSION_REFUSED: &[&str] = &[
    "no rollout found for thread id",
    "session not found",
    "error resuming session",
    "no conversation found with session id",
    "no saved session found",
];

/// Longest part of a message that is examined.
const WINDOW: usize = 4096;

pub fn by_words(message: &str) -> ErrorCategory {
    let lower = window(message);
    let page = page_in(&lower);
    let lower = &lower[..page.unwrap_or(lower.len())];
    let told = |wanted: ErrorCategory| {
        WORDS.iter().any(|(category, words)| *category == wanted && words.iter().any(|word| lower.contains(word)))
    };
    if told(ErrorCategory::Session) {
        return ErrorCategory::Session;
    }
    // A status is more exact than a phrase.
    match statuses_in(lower).find_map(by_status) {
        Some(ErrorCategory::Auth) if page.is_some() => return ErrorCategory::Network,
        Some(category) => return category,
        None => {}
    }
    let by_words = WORDS.iter().map(|(category, _)| *category).find(|category| told(*category));
    let failed = || page.is_some() || statuses_in(lower).any(is_service_failure);
    by_words.unwrap_or_else(|| if failed() { ErrorCategory::Network } else { ErrorCategory::Engine })
}

/// What engines and services write about a model that they do not know.
const MODEL_UNKNOWN: &[&str] = &[
    "model_not_found",
    "model not found",
    "modelnotfound",
    "unknown model",
    "issue with the selected model",
    // gemini
    "requested entity was not found",
];

/// The same, after the name of the model.
const BEHIND_MODEL: &[&str] = &["does not exist", "may not exist", "is not found", "was not found", "is not supported"];

/// Longest name of a model with the text that may surround it.
const MODEL_NAME_MAX: usize = 200;

/// Whether an error says that there is no such model.
pub fn names_unknown_model(message: &str) -> bool {
    let lower = window(message);
    let lower = &lower[..page_in(&lower).unwrap_or(lower.len())];
    if MODEL_UNKNOWN.iter().any(|words| lower.contains(words)) {
        return true;
    }
    let Some(model) = lower.find("model") else { return false };
    let behind = &lower[model..lower.floor_char_boundary(model + MODEL_NAME_MAX)];
    BEHIND_MODEL.iter().any(|words| behind.contains(words)) || statuses_in(lower).any(|status| status == 404)
}

/// What precedes a number that is a status.
const BEFORE_STATUS: &[&str] = &[
    "status",
    "status code",
    "status_code",
    "statuscode",
    "error code",
    "\"code",
    "http",
    "http/1.1",
    "http/2",
    "api error",
    "api error:",
    "request rejected",
];

/// What follows one.
const AFTER_STATUS: &[&str] = &[
    "too many requests",
    "unauthorized",
    "payment required",
    "forbidden",
    "not found",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
];

/// Most numbers of a text that are examined.
const NUMBERS: usize = 64;

/// The HTTP status that an error names, if it names one.
pub fn status_in(message: &str) -> Option<u64> {
    let lower = window(message);
    statuses_in(&lower).find(|status| (400..600).contains(status))
}

/// Three-digit numbers that the text presents as the status of a response. The text is in lower case.
fn statuses_in(text: &str) -> impl Iterator<Item = u64> {
    numbers(text).take(NUMBERS).filter_map(|(at, number)| {
        let before = text[..at].trim_end_matches([' ', ':', '=', '"', '\'', '\\', '(', '[', '#']);
        let after = text[at + 3..].trim_start_matches([' ', ':', '-', ')']);
        let is_status = BEFORE_STATUS.iter().any(|words| ends_with_words(before, words.trim_end_matches(':')))
            || AFTER_STATUS.iter().any(|words| after.starts_with(words));
        is_status.then_some(number)
    })
}

fn ends_with_words(text: &str, words: &str) -> bool {
    text.strip_suffix(words).is_some_and(|before| {
        let is_inside = before.ends_with(|last: char| last.is_ascii_alphanumeric());
        !is_inside || !words.starts_with(|first: char| first.is_ascii_alphanumeric())
    })
}

/// The positions of numbers of exactly three digits.
fn numbers(text: &str) -> impl Iterator<Item = (usize, u64)> {
    let bytes = text.as_bytes();
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (0..bytes.len()).filter_map(move |at| {
        let digits = bytes.get(at..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let is_alone = !is_part(at.checked_sub(1).and_then(|before| bytes.get(before))) && !is_part(bytes.get(at + 3));
        is_alone.then(|| (at, digits.iter().fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'))))
    })
}

/// One of these occurs in every refusal; searching for them first avoids a full search of nearly every line of noise.
static HINTS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| [Finder::new("ession"), Finder::new("rollout")]);

/// Whether the engine reports that it does not know the session.
pub fn refuses_session(message: &str) -> bool {
    HINTS.iter().any(|hint| hint.find(message.as_bytes()).is_some()) && by_words(message) == ErrorCategory::Session
}
