//! How the structured formats treat stderr: it is raw, except where the engine reports that it refused a session or that
//! it repeats a request. Lines that every healthy run has are known to have no meaning.

use skillrun_model::Code;

use crate::classify;
use crate::profile::{Emit, LineOutcome, ProfileLine};
use crate::profiles::text_errors;
use crate::record::{RecordKind, ServerFailure};

/// Reads a line of stderr of an engine whose format is on stdout.
pub(crate) fn line(line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
    let text = crate::ansi::strip(line.text);
    if classify::refuses_session(&text) {
        emit.push_inferred(0.8, text_errors::error(text.trim()));
        return LineOutcome::Known;
    }
    let failures = failed_servers(&text);
    if !failures.is_empty() {
        failures.into_iter().for_each(|failure| emit.push_inferred(0.8, RecordKind::ServerFailed(failure)));
        return LineOutcome::Known;
    }
    if reports_retry(&text) {
        emit.push_inferred(0.8, text_errors::warning(Code::EngineRetry, text.trim()));
        return LineOutcome::Known;
    }
    if is_harmless(&text) { LineOutcome::Noise } else { LineOutcome::Raw }
}

/// Whether a line reports that a request to the model failed and is repeated:
///
/// ```text
/// Attempt 1 failed with status 503. Retrying with backoff... _ApiError: …      gemini
/// Retrying in 60s (attempt 1/10): [API Error: 429 …]                           qwen
/// ```
fn reports_retry(text: &str) -> bool {
    failed_attempt(text).is_some_and(retries) || retries_in_seconds(text)
}

/// What follows in `Attempt N failed…`.
pub(crate) fn failed_attempt(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Attempt ")?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == rest.len() { None } else { after.strip_prefix(" failed") }
}

/// Whether the rest of such a line reports another attempt.
pub(crate) fn retries(rest: &str) -> bool {
    rest.contains("Retrying")
}

/// `Retrying in 60s (attempt 1/10): …`.
fn retries_in_seconds(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("Retrying in ") else { return false };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && after.starts_with("s (attempt ")
}

/// Most servers that one line names.
const SERVERS_MAX: usize = 100;

/// The MCP servers that a line reports as not started:
///
/// ```text
/// Warning: MCP server(s) failed to start: lab, web. Continuing with built-in tools …         qwen
/// MCP issues detected. Run /mcp list for status.                                             gemini
/// Error: … Failed to initialize session: required MCP servers failed to initialize: lab: …   codex
/// ```
pub(crate) fn failed_servers(text: &str) -> Vec<ServerFailure> {
    if let Some(names) = text.strip_prefix("Warning: MCP server(s) failed to start: ") {
        let names = names.split_once(". ").map_or(names.trim_end().trim_end_matches('.'), |(names, _)| names);
        return names.split(", ").take(SERVERS_MAX).map(|name| ServerFailure::of(name, "reported on stderr")).collect();
    }
    if text.starts_with("MCP issues detected.") {
        return vec![ServerFailure::unnamed()];
    }
    let required =
        text.strip_prefix("Error: ").and_then(|rest| rest.split_once("required MCP servers failed to initialize: "));
    let name =
        required.and_then(|(_, rest)| rest.split_once(':')).map(|(name, _)| ServerFailure::of(name, "it is required"));
    name.into_iter().collect()
}

/// The beginnings of lines that engines write to stderr in every healthy run, as recorded in November 2026.
const HARMLESS: &[&str] = &[
    // codex
    "Reading additional input from stdin...",
    "Reading prompt from stdin...",
    "WARNING: proceeding, even though we could not create PATH aliases",
    // gemini
    "YOLO mode is enabled. All tool calls will be automatically approved.",
    "Loaded cached credentials.",
    "Ripgrep is not available. Falling back to GrepTool.",
    "Warning: 256-color support not detected.",
    "Warning: True color (24-bit) support not detected.",
    "[STARTUP] Phase 'cleanup_ops' was started but never ended. Skipping metrics.",
    "[STARTUP] Cannot measure phase 'cleanup_ops':",
    // qwen
    "Ripgrep not available: ",
    "Warning: running headless with --yolo / approval-mode=yolo and no sandbox.",
];

fn is_harmless(line: &str) -> bool {
    HARMLESS.iter().any(|beginning| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_did_not_start_are_recognized() {
        let names = |text: &str| failed_servers(text).into_iter().map(|failure| failure.server).collect::<Vec<_>>();
        let some = |name: &str| Some(name.to_owned());
        let qwen = "Warning: MCP server(s) failed to start: web, bad. Continuing with built-in tools and any servers.";
        assert_eq!(names(qwen), [some("web"), some("bad")]);
        assert_eq!(names("Warning: MCP server(s) failed to start: lab."), [some("lab")]);
        assert_eq!(names("MCP issues detected. Run /mcp list for status."), [None]);
        let codex = "Error: thread/start: thread/start failed: error creating thread: Fatal error: Failed to initialize \
                     session: required MCP servers failed to initialize: lab: handshaking with MCP server failed";
        assert_eq!(names(codex), [some("lab")]);
        for other in [
            "2026-11-18T21:24:51Z ERROR codex_core: required MCP servers failed to initialize: lab: x",
            "MCP issues",
            "I saw MCP issues detected.",
        ] {
            assert_eq!(names(other), [], "{other}");
        }
    }

    #[test]
    fn retries_of_gemini_and_qwen_are_recognized() {
        for line in [
            "Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {}",
            "Retrying in 60s (attempt 1/10): [API Error: 429 Rate limit reached]",
        ] {
            assert!(reports_retry(line), "{line}");
        }
        for line in [
            "Attempt 2 failed: Rate limit reached. Max attempts reached",
            "Attempt failed. Retrying",
            "Retrying in a moment (attempt 1/10)",
            "Retrying in 60s",
            "I am Retrying in 60s (attempt 1/10): x",
        ] {
            assert!(!reports_retry(line), "{line}");
        }
    }
}
