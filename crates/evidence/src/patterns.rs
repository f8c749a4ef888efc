//! Patterns of the user: what they match in a line is read as `*`. Same length, so every offset stays valid.
//!
//! A pattern is a regular expression in the syntax of the crate `regex`, whose search takes time linear in the text for
//! any pattern. It sees one line at a time, without `\n` or `\r\n`. The whole match is hidden, groups have no meaning,
//! and an empty match hides nothing. Bytes that are not UTF-8 count as one character each, as for a reader that uses
//! replacement characters; otherwise one such byte would end every `.*`.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::error::{EvidenceError, EvidenceErrorKind};
use crate::lines::Lane;

/// Most patterns there can be: every line is searched for each.
const MOST: usize = 64;
/// Longest pattern, in bytes.
const LONGEST: usize = 1024;
/// Memory of one compiled pattern, and of what its search keeps.
const COMPILED_MAX: usize = 2 << 20;
/// Longest text that an error message repeats.
const SHOWN_MAX: usize = 40;
/// Stands for a byte that is not UTF-8.
const SUBSTITUTE: u8 = 0x1a;

/// What is hidden in every line. Cheap to clone; the default hides nothing.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    all: Arc<[Regex]>,
}

/// Why patterns cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("there are {0} patterns, and at most {MOST} are allowed")]
    TooMany(usize),
    #[error("the pattern \"{}\" has {} bytes, and at most {LONGEST} are allowed", shown(.0), .0.len())]
    TooLong(String),
    #[error("the pattern \"{}\" takes too much memory; make its repetitions smaller", shown(.0))]
    TooLarge(String),
    #[error("the pattern \"{}\" is not a regular expression ({why})", shown(pattern))]
    Invalid { pattern: String, why: String },
}

/// A pattern as an error message shows it.
fn shown(pattern: &str) -> String {
    let cut: String = pattern.chars().take(SHOWN_MAX).collect();
    let more = if cut.len() < pattern.len() { "…" } else { "" };
    let plain: String = cut.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{plain}{more}")
}

#[derive(Deserialize)]
struct RunRecord {
    #[serde(default)]
    redact_patterns: Vec<String>,
}

/// The patterns in a run's record, `run.json`, beside `.audit`. Without a record there are none; a record that cannot
/// be read is an error, because its patterns are not known.
pub(crate) fn recorded(audit: &Path) -> Result<Vec<String>, EvidenceError> {
    // The folder may have been given as ".", which has no parent in its path.
    let real = match audit.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(EvidenceError::new(audit, error)),
    };
    let path = real.parent().unwrap_or(&real).join("run.json");
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice::<RunRecord>(&bytes)
            .map(|record| record.redact_patterns)
            .map_err(|error| EvidenceError::new(path, EvidenceErrorKind::BadRunRecord(error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(EvidenceError::new(path, error)),
    }
}

impl Patterns {
    pub fn new(patterns: &[String]) -> Result<Self, PatternError> {
        if patterns.len() > MOST {
            return Err(PatternError::TooMany(patterns.len()));
        }
        Ok(Self { all: patterns.iter().map(|pattern| compiled(pattern)).collect::<Result<_, _>>()? })
    }

    /// The patterns of the run that a folder `.audit` belongs to. Every reader of a run's evidence hides these.
    pub fn of_run(audit: &Path) -> Result<Self, EvidenceError> {
        Self::new(&recorded(audit)?).map_err(|error| EvidenceError::new(audit.with_file_name("run.json"), error))
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Hides matches in bytes that begin at the beginning of a line. The last line may be incomplete; matches that
    /// would need more of it are not found here.
    pub fn apply(&self, bytes: &mut [u8]) {
        let mut lane = Lane::default();
        let mut masked = Vec::with_capacity(bytes.len());
        lane.take(self, bytes, &mut masked);
        lane.end(self, &mut masked);
        bytes.copy_from_slice(&masked);
    }

    /// Finds the matches of one pattern, starting at `from`, that begin before `until`. Returns the place at which to
    /// continue.
    pub(crate) fn find(
        &self,
        pattern: usize,
        text: &[u8],
        from: usize,
        until: usize,
        mut found: impl FnMut(Range<usize>),
    ) -> usize {
        let mut at = from;
        while at < until
            && let Some(found_at) = self.all[pattern].find_at(text, at)
            && found_at.start() < until
        {
            if found_at.is_empty() {
                at = found_at.end() + 1;
            } else {
                at = found_at.end();
                found(found_at.range());
            }
        }
        at
    }
}

fn compiled(pattern: &str) -> Result<Regex, PatternError> {
    if pattern.len() > LONGEST {
        return Err(PatternError::TooLong(pattern.to_owned()));
    }
    let built = RegexBuilder::new(pattern).size_limit(COMPILED_MAX).dfa_size_limit(COMPILED_MAX).build();
    built.map_err(|error| {
        let pattern = pattern.to_owned();
        if let regex::Error::CompiledTooBig(_) = error {
            return PatternError::TooLarge(pattern);
        }
        // The crate draws the position of the error on several lines, and describes the error at the end.
        let text = error.to_string();
        let why = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        PatternError::Invalid { pattern, why: why.strip_prefix("error: ").unwrap_or(why).to_owned() }
    })
}

/// The same length, with every byte that is not UTF-8 as one character.
pub(crate) fn searchable(bytes: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        text.resize(text.len() + chunk.invalid().len(), SUBSTITUTE);
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recording, patterns};

    fn hidden(all: &[&str], text: &[u8]) -> String {
        let mut bytes = text.to_vec();
        patterns(all).apply(&mut bytes);
        bytes.escape_ascii().to_string()
    }

    fn problem(all: &[String]) -> String {
        Patterns::new(all).expect_err("not usable").to_string()
    }

    #[test]
    fn all_of_a_match_is_hidden_and_nothing_else() {
        let mail = r"[a-z]+@example\.org";
        assert_eq!(hidden(&[mail], b"by jo@example.org, and al@example.org"), "by **************, and **************");
        assert_eq!(hidden(&["key=(?<value>[0-9]+)"], b"a key=123;"), "a *******;", "groups mean nothing");
        assert_eq!(hidden(&["bc", "ab", "x*|"], b"abcd"), "***d", "one match does not keep another from being found");
        assert_eq!(hidden(&["", "x*", "$"], b"ab\n"), "ab\\n", "an empty match hides nothing");
        assert_eq!(hidden(&[], b"ab"), "ab");
    }

    #[test]
    fn a_line_is_all_that_a_pattern_sees() {
        assert_eq!(hidden(&[r"(?s)a.*"], b"1a2\n3a4\r\n5\n"), r"1**\n3**\r\n5\n");
        assert_eq!(hidden(&[r"^a$"], b"a\na\r\n a\na"), r"*\n*\r\n a\n*");
        assert_eq!(hidden(&[r"a\s+b"], b"a\nb a  b"), r"a\nb ****");
        assert_eq!(hidden(&[".*"], b"\na\rb\r\n\n"), r"\n***\r\n\n");
    }

    #[test]
    fn a_byte_that_is_not_utf8_counts_as_one_character() {
        assert_eq!(hidden(&["key=.*"], b"key=\xff\xfe1 \xc3\xa4\n\xff"), r"**********\n\xff");
        assert_eq!(hidden(&["a.b"], b"a\xffb a\xc3\xa4b a\xe2\x82b"), r"*** **** a\xe2\x82b");
        assert_eq!(hidden(&[r"[\x80-\xff]"], b"a\xffb"), r"a\xffb");
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_named_in_one_sentence() {
        let one = |pattern: &str| problem(&[pattern.to_owned()]);
        assert_eq!(one("a(b"), "the pattern \"a(b\" is not a regular expression (unclosed group)");
        assert_eq!(
            one("(?=a)\n"),
            "the pattern \"(?=a) \" is not a regular expression (look-around, including look-ahead and look-behind, is not supported)"
        );
        let expected = "the pattern \"(\\w{100}){100}\" takes too much memory; make its repetitions smaller";
        assert_eq!(one(r"(\w{100}){100}"), expected);
        let long = format!("the pattern \"{}…\" has 1025 bytes, and at most 1024 are allowed", "x".repeat(40));
        assert_eq!(one(&"x".repeat(1025)), long);
        assert!(Patterns::new(&vec!["x".repeat(1024); 64]).is_ok());
        assert_eq!(problem(&vec![String::new(); 65]), "there are 65 patterns, and at most 64 are allowed");
    }

    /// If the record cannot be read, the patterns to hide are not known.
    #[test]
    fn the_patterns_of_a_run_are_in_its_record() {
        let recording = Recording::new(&[("stdout.1.log", b"a b")]);
        let of_run = || Patterns::of_run(&recording.path().join(".audit"));
        assert!(of_run().expect("no record").is_empty());
        recording.write("run.json", b"{\"run_id\":\"?\",\"redact_patterns\":[\"b\"]}");
        let mut text = *b"a b";
        of_run().expect("readable").apply(&mut text);
        assert_eq!(&text, b"a *");
        assert_eq!(recording.folder().recorded_patterns().expect("readable"), ["b"]);
        recording.write("run.json", b"{\"run_id\":\"?\"}");
        assert!(of_run().expect("readable").is_empty());
        for bad in [&b"{"[..], b"{\"redact_patterns\":\"b\"}", b"{\"redact_patterns\":[\"(\"]}"] {
            recording.write("run.json", bad);
            let error = of_run().expect_err("not known");
            assert!(error.to_string().contains("run.json: "), "{error}");
        }
        assert!(Patterns::of_run(&recording.path().join("nowhere/.audit")).expect("nothing").is_empty());
    }
}
