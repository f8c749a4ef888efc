//! How the structured formats treat stderr: it is raw, except where the engine reports that it refused a session. Lines
//! that every healthy run has are known to have no meaning.

use crate::classify;
use crate::profile::{Emit, LineOutcome, ProfileLine};
use crate::profiles::text_errors;

/// Reads a line of stderr of an engine whose format is on stdout.
pub(crate) fn line(line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
    let text = crate::ansi::strip(line.text);
    if classify::refuses_session(&text) {
        emit.push_inferred(0.8, text_errors::error(text.trim()));
        return LineOutcome::Known;
    }
    if is_harmless(&text) { LineOutcome::Noise } else { LineOutcome::Raw }
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
