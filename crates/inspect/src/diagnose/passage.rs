//! The bytes that a verdict is based on, as they can be shown: masked, and without terminal control sequences.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_evidence::mask::Mask;
use skillrun_evidence::{Patterns, Stream, names};
use skillrun_model::AttemptNumber;
use skillrun_model::rasp::{SourceStream, SpanRef};
use skillrun_model::verdict::VerdictEvidence;
use skillrun_parse::ansi;

/// Longest text that is shown.
pub(super) const SHOWN: usize = 200;
/// This many bytes hold that many characters, and a few escape sequences.
const READ: u64 = 2048;
/// This many bytes are searched for the run's patterns: the shown text may be the beginning of something longer.
const SEARCHED: u64 = 64 * 1024;
/// An answer that came in pieces has a range for each; at most this many are reported.
const PIECES: usize = 3;

/// Bytes that a decision was based on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Passage {
    pub what: PassageKind,
    /// In `.audit`.
    pub file: String,
    pub from: u64,
    pub to: u64,
    /// Its beginning; none where the file cannot be read.
    pub excerpt: Option<String>,
}

/// What the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassageKind {
    /// The end of the turn.
    End,
    Marker,
    Answer,
}

impl PassageKind {
    pub const ALL: &'static [Self] = &[Self::End, Self::Marker, Self::Answer];
}

pub(super) fn of(audit: &Path, attempt: AttemptNumber, evidence: &VerdictEvidence) -> Vec<Passage> {
    let VerdictEvidence { end, marker, answer } = evidence;
    let kinds = [(PassageKind::End, end), (PassageKind::Marker, marker), (PassageKind::Answer, answer)];
    let pieces = kinds.into_iter().flat_map(|(what, spans)| spans.iter().take(PIECES).map(move |span| (what, span)));
    let patterns = Patterns::of_run(audit).ok();
    pieces.filter_map(|(what, span)| passage(audit, attempt, patterns.as_ref(), what, span)).collect()
}

fn passage(
    audit: &Path,
    attempt: AttemptNumber,
    patterns: Option<&Patterns>,
    what: PassageKind,
    span: &SpanRef,
) -> Option<Passage> {
    let stream = match span.stream {
        SourceStream::Stdout => Stream::Stdout,
        SourceStream::Stderr => Stream::Stderr,
        SourceStream::Pty => Stream::Pty,
        // No verdict is based on these.
        SourceStream::Stdin | SourceStream::Control => return None,
    };
    let is_there = |stream| audit.join(names::log(stream, attempt)).is_file();
    // The terminal alone replaces stdout.
    let is_one_pty = stream == Stream::Stdout && !is_there(Stream::Stdout) && is_there(Stream::Pty);
    let file = names::log(if is_one_pty { Stream::Pty } else { stream }, attempt);
    let mask = Mask::of_attempt(audit, attempt, is_one_pty).ok();
    let excerpt = mask.zip(patterns).and_then(|(mask, patterns)| {
        let mut bytes = read(&audit.join(&file), span.from, span.to).ok()?;
        patterns.apply(&mut bytes);
        mask.apply(stream, span.from, &mut bytes);
        let is_cut = bytes.len() as u64 > READ;
        bytes.truncate(READ as usize);
        let text = String::from_utf8_lossy(&bytes);
        // Half a character at the end is an effect of the cut.
        Some(shown(if is_cut { text.trim_end_matches('\u{fffd}') } else { &text }))
    });
    Some(Passage { what, file, from: span.from, to: span.to, excerpt })
}

/// The beginning of a range.
fn read(path: &Path, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let wanted = to.saturating_sub(from);
    let mut bytes = Vec::new();
    file.take(wanted.min(SEARCHED)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Foreign text on one line, short, and without anything that a terminal would act on.
pub(super) fn shown(text: &str) -> String {
    // Only as much as can be shown is processed; a question may have megabytes.
    let end = text.char_indices().nth(READ as usize).map_or(text.len(), |(at, _)| at);
    let stripped = ansi::strip(&text[..end]);
    let plain: String = stripped.chars().map(|c| if moves_text(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let line = words.join(" ");
    let is_cut = end < text.len() || line.chars().count() > SHOWN;
    let mut short: String = line.chars().take(if is_cut { SHOWN - 1 } else { SHOWN }).collect();
    if is_cut {
        short.push('…');
    }
    short
}

/// Control characters, and those that change the text direction or are invisible.
fn moves_text(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_moves_a_terminal() {
        assert_eq!(shown("a\n\tb\u{1b}[31m red\u{1b}[0m \u{7}\u{9b}x\u{202e}y"), "a b red x y");
        let long = shown(&"ä".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with("ä…")), (SHOWN, true));
        assert_eq!(shown(&"ä".repeat(SHOWN)).chars().count(), SHOWN);
        assert!(!shown(&"ä".repeat(SHOWN)).ends_with('…'));
    }

    #[test]
    fn an_excerpt_hides_the_patterns_of_the_run() {
        let run = tempfile::tempdir().expect("a folder");
        let audit = run.path().join(".audit");
        std::fs::create_dir(&audit).expect("a folder");
        let text = format!("by {}@example.org\n", "j".repeat(READ as usize));
        std::fs::write(audit.join("stdout.1.log"), &text).expect("written");
        std::fs::write(audit.join("stdout.2.log"), "by jo@example.org").expect("written");
        let excerpt = |attempt, to| {
            let span = SpanRef { stream: SourceStream::Stdout, from: 0, to };
            let evidence = VerdictEvidence { end: vec![span], ..VerdictEvidence::default() };
            of(&audit, AttemptNumber(attempt), &evidence).remove(0).excerpt
        };
        let shown = excerpt(2, 17);
        assert_eq!(shown.as_deref(), Some("by jo@example.org"), "there is no record");
        std::fs::write(run.path().join("run.json"), r#"{"redact_patterns":["[a-z]+@example\\.org"]}"#)
            .expect("written");
        assert_eq!(excerpt(2, 17).as_deref(), Some("by **************"));
        let long = excerpt(1, text.len() as u64).expect("an excerpt");
        assert!(long.starts_with("by *****") && !long.contains('j'), "it ends behind what is read to be shown: {long}");
        std::fs::write(run.path().join("run.json"), "{").expect("written");
        assert_eq!(excerpt(2, 17), None, "what to hide is unknown");
    }

    #[test]
    fn an_excerpt_is_masked_and_cut_between_characters() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("{{\"key\":\"hunter22\"}} {}", "ö".repeat(2000));
        std::fs::write(folder.path().join("stdout.1.log"), &text).expect("written");
        std::fs::write(folder.path().join("redact.1.jsonl"), "{\"stream\":\"stdout\",\"from\":8,\"to\":16}\n")
            .expect("written");
        let span = SpanRef { stream: SourceStream::Stdout, from: 1, to: text.len() as u64 };
        let evidence = VerdictEvidence { end: vec![span; 5], ..VerdictEvidence::default() };
        let passages = of(folder.path(), AttemptNumber(1), &evidence);
        assert_eq!(passages.len(), PIECES);
        let excerpt = passages[0].excerpt.as_deref().expect("an excerpt");
        assert!(excerpt.starts_with("\"key\":\"********\"} ö") && excerpt.ends_with("ö…"), "{excerpt}");
        std::fs::remove_file(folder.path().join("redact.1.jsonl")).expect("removed");
        std::fs::create_dir(folder.path().join("redact.1.jsonl")).expect("a folder");
        let blind = of(folder.path(), AttemptNumber(1), &evidence);
        assert_eq!(blind[0].excerpt, None, "what cannot be masked is not shown");
    }
}
