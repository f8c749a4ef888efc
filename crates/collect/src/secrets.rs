//! Finds secrets in what an engine writes, as the bytes arrive and however they are cut into reads.
//!
//! [`Secrets`] holds all search values, [`Scanner`] follows one stream. It searches in two ways:
//!
//! - [`Exact`]: for each spelling of a value as one run of bytes. Per spelling it keeps one number: how many of the
//!   last bytes are a beginning of it. So no byte is kept, each is examined a bounded number of times whatever the
//!   input, and where nothing has begun a vectorised search does the work.
//! - [`pieces`]: for a value whose bytes are not contiguous, because bytes that readers remove are between them,
//!   because some of them are escaped, or because they are in several strings; and for the value in base64, in
//!   hexadecimal digits and in percent encoding ([`encodings`]). The bytes between the pieces are read by [`decoder`].
//!
//! Spellings of a value for [`Exact`]: its bytes; its bytes with `\n` as `\r\n`, as a terminal writes it; and, when it
//! is UTF-8, as escaped inside of a JSON string, and of a JSON string inside of a JSON string. JSON may be written in
//! several ways (see [`Style`]); a value without characters to escape has the same spelling in all of them.
//!
//! A value is searched as a whole, whatever its length: the kernel accepts no variable longer than 128 KiB. One shorter
//! than [`SHORTEST`] is not searched, since it would be found everywhere. One longer than 8 KiB is searched in its
//! exact spellings only. Not searched: parts of a value, other encodings, a value spelled backwards or letter by letter
//! in prose.

mod decoder;
mod encodings;
mod pieces;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;
use pieces::{Patterns, Pieces};

use crate::plan::{HostPlan, VariableKind};

/// Values with fewer bytes are not searched.
pub(crate) const SHORTEST: usize = 8;

/// All spellings of all secret values of an attempt.
#[derive(Default)]
pub struct Secrets {
    spellings: Vec<Spelling>,
    patterns: Patterns,
}

/// Shows only the number of spellings, never the values.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} spellings)", self.spellings.len())
    }
}

impl Secrets {
    /// What a plan says must be masked.
    pub(crate) fn of(plan: &HostPlan) -> Self {
        let marked = plan.variables.iter().filter(|variable| variable.kind == VariableKind::Secret);
        let keys = plan.keys.iter().map(|key| key.0.as_bytes());
        Self::new(marked.map(|variable| variable.value.as_bytes()).chain(keys))
    }

    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let values: BTreeSet<&[u8]> = values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        let mut spellings = BTreeSet::new();
        for &value in &values {
            spellings.insert(value.to_vec());
            spellings.insert(as_on_a_terminal(value));
            if let Ok(text) = str::from_utf8(value) {
                spellings.extend(as_in_json(text).map(String::into_bytes));
            }
        }
        let spellings = spellings.iter().map(|bytes| Spelling::new(bytes)).collect();
        Self { spellings, patterns: Patterns::of_values(values) }
    }

    /// Same-length mask of a whole text, for views that are generated at once (text diffs, requests).
    pub fn mask(&self, bytes: &mut [u8]) {
        let mut found = Vec::new();
        Scanner::new().push(self, bytes, &mut found);
        for range in found {
            // The scanner has seen these bytes alone, so its offsets are theirs.
            bytes[range.start as usize..range.end as usize].fill(b'*');
        }
    }

    /// Whether these bytes contain a secret.
    pub(crate) fn are_in(&self, bytes: &[u8]) -> bool {
        let mut found = Vec::new();
        Scanner::new().push(self, bytes, &mut found);
        !found.is_empty()
    }
}

/// Follows one stream. Every call must get the same [`Secrets`].
#[derive(Debug)]
pub(crate) struct Scanner {
    exact: Exact,
    pieces: Pieces,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self { exact: Exact::default(), pieces: Pieces::default() }
    }

    /// Takes the next bytes of the stream and adds the ranges in which secrets are, by their offsets in the stream.
    /// Returns up to where the stream may be announced: what comes after may be part of a secret, and a range that is
    /// found later begins there at the earliest.
    ///
    /// Ranges of one call are in order and do not touch. Those of different calls may overlap.
    pub(crate) fn push(&mut self, secrets: &Secrets, bytes: &[u8], found: &mut Vec<Range<u64>>) -> u64 {
        let mut fresh = Vec::new();
        self.exact.push(secrets, bytes, &mut fresh);
        self.pieces.push(&secrets.patterns, bytes, &mut fresh);
        put_in_order(fresh, found);
        self.clear()
    }

    /// Up to where the stream may be announced.
    pub(crate) fn clear(&self) -> u64 {
        self.exact.clear().min(self.pieces.clear())
    }

    /// Whether the end of a string is held back until it is clear whether a secret continues in another one.
    pub(crate) fn holds_strings(&self) -> bool {
        self.pieces.holds_strings()
    }

    /// Nothing arrives, and readers wait: ends of strings are no longer held back. Adds the ranges of those that are
    /// therefore hidden.
    pub(crate) fn release(&mut self, found: &mut Vec<Range<u64>>) {
        let mut fresh = Vec::new();
        self.pieces.release(&mut fresh);
        put_in_order(fresh, found);
    }

    /// Bytes that may be part of a secret and are not hidden yet, because the rest did not arrive.
    pub(crate) fn unfinished(&self) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        self.pieces.unfinished(&mut found);
        found.push(self.exact.clear()..self.exact.offset);
        found.retain(|range| !range.is_empty());
        let mut ordered = Vec::new();
        put_in_order(found, &mut ordered);
        ordered
    }

    /// Continues with the same stream, but counts from here: of a partial match only the rest will be in its ranges.
    pub(crate) fn continued(&self) -> Self {
        Self { exact: self.exact.continued(), pieces: self.pieces.continued() }
    }

    /// At the end of the stream everything may be announced.
    pub(crate) fn end(&self) -> u64 {
        self.exact.offset
    }
}

/// Adds ranges, in order and joined.
fn put_in_order(mut fresh: Vec<Range<u64>>, found: &mut Vec<Range<u64>>) {
    fresh.sort_unstable_by_key(|range| range.start);
    let mut joined = Vec::new();
    fresh.into_iter().for_each(|range| join(&mut joined, range));
    found.append(&mut joined);
}

/// Searches for exact spellings.
#[derive(Debug, Default)]
struct Exact {
    offset: u64,
    /// The length of the longest partial match of any spelling.
    held: usize,
    /// For each spelling, the maximum number of its first bytes that the stream ends with, but never all.
    begun: Vec<usize>,
}

impl Exact {
    /// Ranges come in no order.
    fn push(&mut self, secrets: &Secrets, bytes: &[u8], fresh: &mut Vec<Range<u64>>) {
        self.begun.resize(secrets.spellings.len(), 0);
        let mut held = 0;
        for (spelling, begun) in secrets.spellings.iter().zip(&mut self.begun) {
            *begun = spelling.follow(*begun, bytes, |end| {
                let end = self.offset + end as u64;
                // It may have begun before the first byte: see `continued`.
                join(fresh, end.saturating_sub(spelling.len() as u64)..end);
            });
            held = held.max(*begun);
        }
        self.held = held;
        self.offset += bytes.len() as u64;
    }

    fn clear(&self) -> u64 {
        self.offset.saturating_sub(self.held as u64)
    }

    fn continued(&self) -> Self {
        Self { offset: 0, held: self.held, begun: self.begun.clone() }
    }
}

/// Adds a range, to the last one when they touch: a stream may hold a match at every byte.
fn join(ranges: &mut Vec<Range<u64>>, next: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if (last.start..=last.end).contains(&next.start) => last.end = last.end.max(next.end),
        Some(_) | None => ranges.push(next),
    }
}

/// One spelling and what is needed to find it in linear time (Knuth, Morris and Pratt).
struct Spelling {
    finder: Finder<'static>,
    /// At `n`: the longest beginning of the spelling that its first `n` bytes end with, not counting those `n`.
    borders: Vec<usize>,
}

impl Spelling {
    fn new(bytes: &[u8]) -> Self {
        let mut spelling = Self { finder: Finder::new(bytes).into_owned(), borders: vec![0, 0] };
        let mut border = 0;
        for &byte in &bytes[1..] {
            border = spelling.next(border, byte);
            spelling.borders.push(border);
        }
        spelling
    }

    fn len(&self) -> usize {
        self.finder.needle().len()
    }

    /// The length of the partial match after one more byte.
    fn next(&self, mut begun: usize, byte: u8) -> usize {
        let needle = self.finder.needle();
        while needle[begun] != byte {
            if begun == 0 {
                return 0;
            }
            begun = self.borders[begun];
        }
        begun + 1
    }

    /// Goes through `bytes`, calls `at_end` with the end of each match, overlapping ones too, and returns the partial
    /// match after the last byte.
    fn follow(&self, mut begun: usize, bytes: &[u8], mut at_end: impl FnMut(usize)) -> usize {
        let mut at = 0;
        loop {
            // A partial match is followed byte by byte, so that neither a match across reads nor one that overlaps the
            // previous match is missed, and no comparison starts over.
            while begun > 0 {
                let Some(&byte) = bytes.get(at) else { return begun };
                begun = self.next(begun, byte);
                at += 1;
                if begun == self.len() {
                    at_end(at);
                    begun = self.borders[begun];
                }
            }
            let Some(start) = self.finder.find(&bytes[at..]) else { break };
            at += start + self.len();
            at_end(at);
            begun = self.borders[self.len()];
        }
        // There is no further match; only in the last bytes can one have begun.
        at = at.max(bytes.len().saturating_sub(self.len() - 1));
        while let Some(&byte) = bytes.get(at) {
            if begun == 0 && byte != self.finder.needle()[0] {
                let Some(start) = memchr(self.finder.needle()[0], &bytes[at..]) else { break };
                at += start;
                continue;
            }
            begun = self.next(begun, byte);
            at += 1;
        }
        begun
    }
}

fn as_on_a_terminal(value: &[u8]) -> Vec<u8> {
    value.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(b"\r\n".as_slice())
}

/// A way to write a JSON string. Quotes, backslashes and control characters are escaped in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    hex: Hex,
    non_ascii: Written,
    /// `\/`, as PHP does.
    slash: Written,
    /// `<`, `>` and `&`, as Go does.
    markup: Written,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hex {
    Lower,
    Upper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Plain,
    Escaped,
}

impl Style {
    /// What `serde_json` and `JSON.stringify` do.
    const USUAL: Self =
        Self { hex: Hex::Lower, non_ascii: Written::Plain, slash: Written::Plain, markup: Written::Plain };

    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for hex in [Hex::Lower, Hex::Upper] {
            for non_ascii in [Written::Plain, Written::Escaped] {
                for slash in [Written::Plain, Written::Escaped] {
                    for markup in [Written::Plain, Written::Escaped] {
                        all.push(Self { hex, non_ascii, slash, markup });
                    }
                }
            }
        }
        all
    }

    fn escape(self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            let is_escaped = |written| written == Written::Escaped;
            match character {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                '\u{8}' => escaped.push_str("\\b"),
                '\u{c}' => escaped.push_str("\\f"),
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                '/' if is_escaped(self.slash) => escaped.push_str("\\/"),
                '\0'..'\u{20}' => self.unicode(character, &mut escaped),
                '<' | '>' | '&' if is_escaped(self.markup) => self.unicode(character, &mut escaped),
                '\u{80}'.. if is_escaped(self.non_ascii) => self.unicode(character, &mut escaped),
                _ => escaped.push(character),
            }
        }
        escaped
    }

    fn unicode(self, character: char, escaped: &mut String) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&match self.hex {
                Hex::Lower => format!("\\u{unit:04x}"),
                Hex::Upper => format!("\\u{unit:04X}"),
            });
        }
    }
}

/// A text inside of a JSON string, and of a JSON string in another one. Where there are two, both are in the same style
/// or one of them in the usual one; other mixtures have not been seen.
fn as_in_json(text: &str) -> impl Iterator<Item = String> {
    let usual = Style::USUAL.escape(text);
    Style::all().into_iter().flat_map(move |style| {
        let once = style.escape(text);
        [Style::USUAL.escape(&once), style.escape(&once), style.escape(&usual), once]
    })
}
