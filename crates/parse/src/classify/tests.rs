use skillrun_model::ProfileId;
use skillrun_model::codes::ErrorCategory::{self, Auth, Engine, Network, Quota};

use super::{
    HINTS, SESSION_REFUSED, by_all, by_exit, by_name, by_words, names_unknown_model, refuses_session, status_in,
};

#[test]
fn every_refusal_has_a_hint() {
    for words in SESSION_REFUSED {
        assert!(HINTS.iter().any(|hint| hint.find(words.as_bytes()).is_some()), "{words}");
        assert!(refuses_session(&format!("Error: {words} 0000")), "{words}");
    }
    assert!(!refuses_session("Loaded session from disk"));
}

/// As the engines print it, November 2026, against a service that answers 401, 429 or not at all.
#[test]
fn what_engines_really_print() {
    let cases: [(ErrorCategory, &[&str]); 3] = [
        (
            Auth,
            &[
                "codex: unexpected status 401 Unauthorized: Incorrect API key provided: dummy, url: http://127.0.0.1:28417/v1/responses",
                "codex: Missing environment variable: `OPENAI_API_KEY`.",
                "claude: Failed to authenticate. API Error: 401 Incorrect API key provided: dummy",
                "claude: Not logged in · Please run /login",
                r#"gemini: [API Error: {"error":{"code":401,"message":"Incorrect API key provided: dummy","status":"UNAUTHENTICATED"}}]"#,
                "opencode: Incorrect API key provided: dummy",
                "qwen: [API Error: 401 Incorrect API key provided: dummy]",
            ],
        ),
        (
            Quota,
            &[
                "codex: exceeded retry limit, last status: 429 Too Many Requests",
                "codex: Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)",
                "codex: You've hit your usage limit. Visit https://chatgpt.com/settings/usage or try again at 3:05 PM.",
                "claude: API Error: Request rejected (429) · Rate limit reached for fake-model: quota exceeded",
                "claude: You've hit your session limit · resets 3pm (UTC)",
                "gemini: [API Error: Rate limit reached for fake-model: quota exceeded]\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method",
                r#"gemini: Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"busy"}}"#,
                "qwen: [API Error: 429 Rate limit reached for fake-model: quota exceeded]",
            ],
        ),
        (
            Network,
            &[
                "codex: stream disconnected before completion: error sending request for url (http://127.0.0.1:1/)",
                "qwen: [API Error: terminated]",
            ],
        ),
    ];
    for (category, lines) in cases {
        for line in lines {
            let words = line.split_once(": ").expect("an engine and its words").1;
            assert_eq!(by_words(words), category, "{line}");
        }
    }
}

/// Found in real use: each of these was attributed to the engine, or to the login.
#[test]
fn money_and_servers_and_portals() {
    let cases: [(ErrorCategory, &str); 16] = [
        (Quota, "unexpected status 402 Payment Required: Insufficient Balance, url: http://127.0.0.1:1/v1/responses"),
        (Quota, "API Error: 402 you have no credits"),
        (Quota, "Credit balance is too low"),
        (Quota, "Your credit balance is too low to access the API. Please go to Plans & Billing."),
        (Quota, "status 400: credit balance too low"),
        (Network, r#"[API Error: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]"#),
        (Network, r#"[API Error: {"error":{"code":500,"message":"An internal error","status":"INTERNAL"}}]"#),
        (Network, "[API Error: The model is overloaded. Please try again later. (Status: UNAVAILABLE)]"),
        (Network, "[API Error: An internal error has occurred. (Status: INTERNAL)]"),
        (Network, "API Error: 500 The fake server had an error"),
        (Network, "We\u{2019}re currently experiencing high demand, which may cause temporary errors."),
        (Network, "server_error: the server had an error"),
        (Network, "Unable to connect. Is the computer able to access the url?"),
        (Network, "unexpected status 200 OK: <!DOCTYPE html><html><body>Please log in to the network</body></html>"),
        (Network, "unexpected status 403 Forbidden: <html><head><title>Please log in</title></head></html>"),
        (Network, "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON: please log in"),
    ];
    for (category, words) in cases {
        assert_eq!(by_words(words), category, "{words}");
    }
    assert_eq!(by_words("status 429: <html>slow down</html>"), Quota, "a status of a page counts");
    assert_eq!(by_words("please log in; <html>rate limit exceeded</html>"), Auth, "words before a page count");
    for (status, name, words, category) in [
        (Some(500), None, "it broke", Network),
        (Some(500), None, "rate limit exceeded", Quota),
        (Some(402), None, "it broke", Quota),
        (Some(404), None, "it broke", Engine),
        (Some(403), None, "<html>please log in</html>", Network),
        (Some(403), None, "no", Auth),
        (None, Some("server_error"), "it broke", Network),
        (None, Some("billing_error"), "it broke", Quota),
    ] {
        assert_eq!(by_all(status, name, words), category, "{status:?} {name:?} {words}");
    }
}

#[test]
fn an_unknown_model_is_recognised() {
    for words in [
        "unexpected status 404 Not Found: The model `gpt-9` does not exist or you do not have access to it.",
        "Model not found: openai/gpt-9. Did you mean: gpt-4.1?",
        "There's an issue with the selected model (claude-9). It may not exist or you may not have access to it.",
        r#"[API Error: {"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta"}}]"#,
        "[API Error: Requested entity was not found.]",
        r#"API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
        "model_not_found",
    ] {
        assert!(names_unknown_model(words), "{words}");
    }
    for words in [
        "unexpected status 404 Not Found: no such path",
        "the model said that the file does not matter",
        "Model metadata for `fake-model` not found. Defaulting to fallback metadata",
        "session not found",
        "<html>this model does not exist</html>",
        "",
    ] {
        assert!(!names_unknown_model(words), "{words}");
    }
}

/// Numbers and words with another meaning.
#[test]
fn a_number_or_a_word_alone_has_no_category() {
    let cases = [
        "the tool took 429 ms",
        "429",
        "429 files were read, 401 of them twice",
        "line 401: unexpected token",
        "exit code 403",
        "wrote err401.txt and http://127.0.0.1:429/s/err429",
        "status 4290",
        "version 1.429",
        "the quota report was not written",
        "quota.csv: no such file",
        "cannot read the network plan",
        "the process was terminated",
        "no socket wrench in stock",
        "the api key of the map is a legend",
        "the author's authentication story",
    ];
    for words in cases {
        assert_eq!(by_words(words), Engine, "{words}");
    }
}

/// A service that answers 429 may mention keys, and one that answers 401 may mention limits.
#[test]
fn a_status_counts_more_than_words() {
    assert_eq!(by_words("status 401: rate limit exceeded for anonymous callers"), Auth);
    assert_eq!(by_words("HTTP 429: unauthorized clients are limited"), Quota);
    assert_eq!(by_words("HTTP/1.1 503"), Network);
    assert_eq!(by_words("status code: 500, rate limit exceeded"), Quota, "a status that says nothing");
}

#[test]
fn names_are_exact() {
    for (name, category) in [
        ("rate_limit", Some(Quota)),
        ("RESOURCE_EXHAUSTED", Some(Quota)),
        ("usageLimitExceeded", Some(Quota)),
        ("authentication_failed", Some(Auth)),
        ("ProviderAuthError", Some(Auth)),
        ("rate_limit_of_my_skill", None),
        ("server_error", Some(Network)),
        ("billing_error", Some(Quota)),
        ("", None),
    ] {
        assert_eq!(by_name(name), category, "{name}");
    }
}

#[test]
fn gemini_exits_with_the_lower_bits_of_the_status() {
    for (status, category) in [
        (429, Some(Quota)),
        (402, Some(Quota)),
        (401, Some(Auth)),
        (403, Some(Auth)),
        (500, Some(Network)),
        (503, Some(Network)),
        (42, None),
    ] {
        assert_eq!(by_exit(ProfileId::GeminiStreamJson, status % 256), category, "{status}");
        assert_eq!(by_exit(ProfileId::QwenStreamJson, status % 256), None);
    }
}

#[test]
fn a_status_is_read_from_the_errors_of_engines() {
    let cases = [
        ("Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {}", Some(503)),
        ("Retrying in 60s (attempt 1/10): [API Error: 429 Rate limit reached]", Some(429)),
        ("the request to the model failed and is retried (1 of 3), status 529: overloaded", Some(529)),
        ("Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)", Some(429)),
        ("the file has 503 lines", None),
        ("status 200", None),
        ("", None),
    ];
    for (message, status) in cases {
        assert_eq!(status_in(message), status, "{message}");
    }
}
