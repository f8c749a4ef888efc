//! Lines on their way to a reader when there are patterns: a line is returned, masked, when its end has arrived.
//!
//! ```text
//! a line of up to 64 KiB      is searched as a whole
//! a longer one                in windows of 64 KiB, of which the first half is given out; a match begins in a first half
//!
//!   line   |-------------------------------------------------|
//!   window |--------,--------|
//!                   |--------,--------|        the next one, from the end of the last match on
//! ```
//!
//! So a match of up to 32 KiB is found in every line. One that begins in a first half and reaches the end of its window
//! is longer: it may continue, and hides the rest of its line. A match that needs text behind its window is not found.
//! What is hidden depends on the line alone, never on the pieces in which it arrived.

use memchr::memchr;

use crate::Stream;
use crate::patterns::{Patterns, searchable};

const WINDOW: usize = 64 * 1024;
const STEP: usize = WINDOW / 2;
/// The bytes before a window: enough to decide whether a word begins there.
const CONTEXT: usize = 4;

/// The streams of one attempt.
#[derive(Debug)]
pub(crate) struct Lines {
    patterns: Patterns,
    lanes: [Lane; 3],
    given: [u64; 3],
    /// The bytes that are being returned.
    out: Vec<u8>,
}

impl Lines {
    /// None where there are no patterns, so that readers without patterns skip all of this.
    pub(crate) fn new(patterns: &Patterns) -> Option<Self> {
        let lanes = Default::default();
        (!patterns.is_empty()).then(|| Self { patterns: patterns.clone(), lanes, given: [0; 3], out: Vec::new() })
    }

    /// Takes the next bytes of a stream; returns what is complete, which may be nothing, and the offset at which it
    /// begins.
    pub(crate) fn take(&mut self, stream: Stream, bytes: &[u8]) -> (u64, &mut [u8]) {
        self.out.clear();
        self.lanes[stream.index()].take(&self.patterns, bytes, &mut self.out);
        self.give(stream)
    }

    /// The stream is over: returns the rest.
    pub(crate) fn end(&mut self, stream: Stream) -> (u64, &mut [u8]) {
        self.out.clear();
        self.lanes[stream.index()].end(&self.patterns, &mut self.out);
        self.give(stream)
    }

    fn give(&mut self, stream: Stream) -> (u64, &mut [u8]) {
        let given = &mut self.given[stream.index()];
        let offset = *given;
        *given += self.out.len() as u64;
        (offset, &mut self.out)
    }

    /// The bytes that were returned last.
    pub(crate) fn last(&self) -> &[u8] {
        &self.out
    }

    /// How many bytes were returned.
    pub(crate) fn given(&self, stream: Stream) -> u64 {
        self.given[stream.index()]
    }
}

/// One stream.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// Begins `before` bytes ahead of the bytes that were not returned yet.
    raw: Vec<u8>,
    /// The same with matches hidden.
    masked: Vec<u8>,
    /// How many bytes at the front were already returned; they belong to the current line.
    before: usize,
    /// There is no line end before this offset.
    looked_to: usize,
    /// Where the search for each pattern continues; empty at the beginning of a line.
    from: Vec<usize>,
    rest_is_hidden: bool,
}

impl Lane {
    pub(crate) fn take(&mut self, patterns: &Patterns, bytes: &[u8], out: &mut Vec<u8>) {
        self.raw.extend_from_slice(bytes);
        self.masked.extend_from_slice(bytes);
        let mut begin = self.before;
        while let Some(at) = memchr(b'\n', &self.raw[self.looked_to..]) {
            let newline = self.looked_to + at;
            begin = self.long(patterns, begin, newline);
            begin = self.finish(patterns, begin, newline, newline + 1);
        }
        self.looked_to = self.raw.len();
        begin = self.long(patterns, begin, self.raw.len());
        self.give(begin, out);
    }

    pub(crate) fn end(&mut self, patterns: &Patterns, out: &mut Vec<u8>) {
        let end = self.raw.len();
        let begin = self.long(patterns, self.before, end);
        self.finish(patterns, begin, end, end);
        self.give(end, out);
    }

    /// Searches windows while the line, which reaches at least to `end`, is longer than one window. Returns the start
    /// of the last window that remains.
    fn long(&mut self, patterns: &Patterns, mut begin: usize, end: usize) -> usize {
        let end = content_end(&self.raw[begin..end]) + begin;
        while end - begin > WINDOW {
            self.search(patterns, begin, begin + WINDOW, begin + STEP);
            begin += STEP;
        }
        begin
    }

    /// Searches the rest of a line. Returns the start of the next one.
    fn finish(&mut self, patterns: &Patterns, begin: usize, end: usize, next: usize) -> usize {
        let end = content_end(&self.raw[begin..end]) + begin;
        self.search(patterns, begin, end, end);
        self.from.clear();
        self.rest_is_hidden = false;
        self.looked_to = next;
        next
    }

    /// Hides matches that begin before `until` in a window.
    fn search(&mut self, patterns: &Patterns, begin: usize, end: usize, until: usize) {
        let is_last = end == until;
        if self.rest_is_hidden {
            self.masked[begin..end].fill(b'*');
            return;
        }
        let is_first = self.from.is_empty();
        if is_first {
            self.from.resize(patterns.len(), begin);
        }
        // Nothing of the previous line, and always the same part of this one, however much of it is still buffered.
        let low = if is_first { begin } else { begin - CONTEXT };
        let text = searchable(&self.raw[low..end]);
        for (pattern, from) in self.from.iter_mut().enumerate() {
            let (masked, rest_is_hidden) = (&mut self.masked, &mut self.rest_is_hidden);
            let go_on = patterns.find(pattern, &text, (*from).max(begin) - low, until - low, |found| {
                masked[low + found.start..low + found.end].fill(b'*');
                *rest_is_hidden |= !is_last && low + found.end == end;
            });
            *from = low + go_on;
        }
    }

    /// Returns everything before `begin`, and drops it except for the bytes that the next window needs as context.
    fn give(&mut self, begin: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.masked[self.before..begin]);
        self.before = if self.from.is_empty() { 0 } else { CONTEXT };
        let gone = begin - self.before;
        self.raw.drain(..gone);
        self.masked.drain(..gone);
        self.from.iter_mut().for_each(|from| *from = from.saturating_sub(gone));
        self.looked_to -= gone;
    }
}

/// Where a line ends without `\r`, which is part of the line end or all of it that has arrived so far.
fn content_end(line: &[u8]) -> usize {
    line.len() - usize::from(line.ends_with(b"\r"))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use regex::bytes::Regex;

    use super::*;
    use crate::testing::patterns;

    /// The output for a text that arrives in pieces.
    fn in_pieces<'a>(patterns: &Patterns, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let (mut lane, mut out) = (Lane::default(), Vec::new());
        for piece in pieces {
            lane.take(patterns, piece, &mut out);
        }
        lane.end(patterns, &mut out);
        assert!(lane.raw.is_empty() && lane.from.is_empty());
        out
    }

    /// What a search of a whole line hides.
    fn whole_line(all: &[&str], line: &[u8]) -> Vec<u8> {
        let mut masked = line.to_vec();
        for pattern in all {
            for found in Regex::new(pattern).expect("a pattern").find_iter(line) {
                masked[found.range()].fill(b'*');
            }
        }
        masked
    }

    #[test]
    fn a_line_comes_when_its_end_is_there() {
        let patterns = patterns(&["bad"]);
        let (mut lane, mut out) = (Lane::default(), Vec::new());
        for (piece, expected) in
            [("a b", ""), ("ad\nb", "a ***\n"), ("a", ""), ("d\r", ""), ("\n\n", "***\r\n\n"), ("x", "")]
        {
            out.clear();
            lane.take(&patterns, piece.as_bytes(), &mut out);
            assert_eq!(out.escape_ascii().to_string(), expected.as_bytes().escape_ascii().to_string(), "{piece:?}");
        }
        out.clear();
        lane.end(&patterns, &mut out);
        assert_eq!(out, b"x");
    }

    #[test]
    fn no_more_than_a_window_is_kept_back() {
        let patterns = patterns(&["bad"]);
        let (mut lane, mut out) = (Lane::default(), Vec::new());
        for taken in 1..=20 {
            lane.take(&patterns, &[b'x'; 10_000], &mut out);
            let held = taken * 10_000 - out.len();
            assert!(held <= WINDOW && lane.raw.len() <= held + CONTEXT, "{taken}: {held}, {}", lane.raw.len());
            assert!(out.is_empty() || out.len() >= STEP);
        }
        assert!(out.len() >= 200_000 - WINDOW);
    }

    /// At every position, and with every chunking of the line.
    #[test]
    fn a_match_in_a_long_line_is_found_everywhere() {
        let pattern = r"\bkey:[0-9]+;";
        let patterns = patterns(&[pattern]);
        let secret = [b"key:".to_vec(), vec![b'7'; STEP - 5], b";".to_vec()].concat();
        assert_eq!(secret.len(), STEP);
        for at in [0, 1, STEP - 1, STEP, STEP + 1, WINDOW - 3, WINDOW, WINDOW + STEP - 2, 120_001, 200_000 - STEP] {
            let mut line = vec![b'-'; 200_000];
            line[at..at + STEP].copy_from_slice(&secret);
            let expected = whole_line(&[pattern], &line);
            assert_eq!(expected.iter().filter(|byte| **byte == b'*').count(), STEP);
            for size in [1_000, 65_536, 65_537, 200_000] {
                assert!(in_pieces(&patterns, line.chunks(size)) == expected, "at {at}, in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_match_without_end_hides_the_rest_of_its_line_alone() {
        let line = [&vec![b'-'; 50_000][..], b"key=", &vec![b'x'; 150_000], b"\r\nkey\n"].concat();
        let expected = [&vec![b'-'; 50_000][..], &vec![b'*'; 150_004], b"\r\nkey\n"].concat();
        for pattern in ["key=.*", "key=[a-z]+", "key=.*$"] {
            for size in [700, 65_536, 300_000] {
                assert!(in_pieces(&patterns(&[pattern]), line.chunks(size)) == expected, "{pattern}, {size}");
            }
        }
    }

    const TRICKY: &[&str] =
        &["\"[^\"]*\"", r"\bab\b", "xx", "^a", "b$", "[a-c]+x?", "ä+|ab", r"\Bb", "(?i)XA|", "a??", r"\r"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// Windows are a matter of memory: what is hidden is what a search of the whole line finds.
        #[test]
        fn a_long_line_is_searched_as_one(
            words in vec(select(vec!["a", "b", "ab ", "xxx", "x", "\"", "\"b", "ä", " ", "\r", "--"]), 1..40),
            length in 0..200_000usize,
            some in vec(select(TRICKY.to_vec()), 1..4),
            sizes in vec(1..90_000usize, 1..8),
        ) {
            // Of odd length, so that windows cut it at another place each time.
            let word = format!("{}#", words.concat());
            let mut line = word.repeat(length / word.len() + 1).into_bytes();
            line.truncate(length);
            let content = &line[..content_end(&line)];
            let expected = [&whole_line(&some, content), &line[content.len()..]].concat();
            // A character that the end of the line cuts is not the same to both.
            prop_assume!(std::str::from_utf8(&line).is_ok());
            let mut rest = line.as_slice();
            let mut pieces = Vec::new();
            for size in sizes.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, others) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = others;
            }
            let found = in_pieces(&patterns(&some), pieces);
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            prop_assert_eq!((differs, found.len()), (None, expected.len()), "{:?} {:?}", some, word);
        }
    }
}
