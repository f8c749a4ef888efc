//! Banned phrases: words that leave the subject open, and words that are not used in this sense elsewhere. The rules are
//! in CONTRIBUTING.md under "Wording".

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::paths;

use super::files;

/// What is not written in documents, help, errors and comments, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("whoever", "name the process, the thread or the user"),
    ("nobody", "\"no process\", \"no client\", \"no user\""),
    ("somebody", "name the process, the thread or the user"),
    ("anew", "\"again\", \"from scratch\", \"recreate\""),
    ("mend", "\"repair\", \"fix\""),
    ("mends", "\"repairs\", \"fixes\""),
    ("mended", "\"repaired\", \"fixed\""),
    ("is told", "\"is reported\", \"is sent\", \"receives\""),
    ("are told", "\"are reported\", \"are sent\", \"receive\""),
    ("was told", "\"was sent\", \"received\""),
    ("were told", "\"were sent\", \"received\""),
    ("gets on", "\"makes progress\""),
    ("get on", "\"make progress\""),
    ("so many times", "state the number"),
    ("there again", "\"available again\""),
    ("last word", "\"end event\", \"final report\""),
    ("our words", "\"the texts of the codes\""),
    ("is no", "\"is not a\""),
    ("are no", "\"are not\""),
    ("undertaker", "\"reaper\""),
    ("in vain", "\"without effect\""),
    ("put up with", "\"tolerated\""),
];

/// Sentences in which a banned phrase is right, with the reason.
const RIGHT: &[(&str, &str)] = &[
    ("there is no", "existence, not identity"),
    ("there are no", "existence, not identity"),
    ("is no longer", "time, not identity"),
    ("are no longer", "time, not identity"),
    ("is no more than", "a comparison"),
    ("are no more than", "a comparison"),
    ("is no room", "existence, not identity"),
    ("rename = \"somebody\"", "a word on the wire"),
    ("rename = \"nobody\"", "a word on the wire"),
    ("\"somebody", "the user name in recordings that were cleaned"),
    ("secret-of-somebody", "the secret in recordings that were cleaned"),
];

/// Files with words of other programs, or written by a tool from measurements.
const OTHERS: &[&str] = &["docs/mutations.md", "docs/numbers.md"];

fn documents() -> Vec<PathBuf> {
    let mut found = files("docs", "md");
    found.extend(files("crates/model/codes", "md"));
    found.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| paths::workspace().join(name)));
    found.retain(|path| !OTHERS.iter().any(|other| path.ends_with(other)));
    found
}

/// The sources of the product: their strings are the help and the errors, their comments the module documents.
fn sources() -> Vec<PathBuf> {
    let mut found = files("crates", "rs");
    let is_test = |path: &Path| {
        path.components().any(|part| part.as_os_str() == "tests")
            || path.file_stem().is_some_and(|stem| stem == "tests")
    };
    found.retain(|path| !is_test(path));
    found
}

/// A document without its code: examples of what is not to be written stand in code.
fn without_code(text: &str) -> String {
    let mut kept = String::new();
    let mut is_fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if !is_fence && !is_fenced {
            kept.extend(line.split('`').step_by(2));
        }
        kept.push('\n');
    }
    kept
}

/// The banned phrases of a text, each with its line.
fn found_in(text: &str) -> BTreeSet<(usize, &'static str)> {
    let mut found = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let mut line = line.to_lowercase();
        for (right, _) in RIGHT {
            line = line.replace(right, "");
        }
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')
            .filter(|word| !word.is_empty())
            .collect();
        for (phrase, _) in BANNED {
            let phrase_words: Vec<&str> = phrase.split(' ').collect();
            if words.windows(phrase_words.len()).any(|window| window == phrase_words) {
                found.insert((number + 1, *phrase));
            }
        }
    }
    found
}

fn check(files: Vec<PathBuf>, prepare: impl Fn(&str) -> String) {
    let mut problems = Vec::new();
    for path in files {
        let text = prepare(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        let name = path.strip_prefix(paths::workspace()).unwrap_or(&path).display().to_string();
        problems.extend(found_in(&text).into_iter().map(|(line, phrase)| {
            let instead = BANNED.iter().find(|(banned, _)| *banned == phrase).map_or("", |(_, instead)| instead);
            format!("{name}:{line}: \"{phrase}\"; write {instead}")
        }));
    }
    assert!(problems.is_empty(), "{} banned phrases:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn documents_have_no_banned_phrase() {
    check(documents(), without_code);
}

#[test]
fn sources_have_no_banned_phrase() {
    check(sources(), str::to_owned);
}

#[test]
fn banned_phrases_are_found() {
    let phrases = |text: &str| found_in(&without_code(text)).into_iter().map(|(_, phrase)| phrase).collect::<Vec<_>>();
    assert_eq!(phrases("Whoever comes, and nobody else."), ["nobody", "whoever"]);
    assert_eq!(phrases("It is no file; there is no file; it is no longer there."), ["is no"]);
    assert_eq!(phrases("amend `nobody` it\n```\nnobody\n```\n"), [""; 0]);
    assert_eq!(phrases("the owner is\ntold"), [""; 0]);
}
