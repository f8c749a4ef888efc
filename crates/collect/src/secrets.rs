//! Finds secrets in what an engine writes, as the bytes arrive and however they are cut into reads.
//!
//! [`Secrets`] holds every spelling in which a value is looked for, [`Scanner`] follows one stream. Per spelling it
//! keeps one number: how many of the last bytes are a beginning of it. So no byte is kept, each is looked at a bounded
//! number of times whatever comes, and where nothing has begun a vectorised search does the work.
//!
//! Spellings of a value: its bytes; its bytes with `\n` as `\r\n`, which is what a terminal makes of it; and, when it
//! is UTF-8, as it stands inside of a JSON string, and of a JSON string inside of a JSON string. JSON may be written in
//! several ways (see [`Style`]); a value that has nothing to escape has one spelling in all.
//!
//! A value is searched whole, whatever its length: the kernel takes no variable longer than 128 KiB. One shorter than
//! [`SHORTEST`] is not searched, since it would be found everywhere. Not looked for: parts of a value, more than two
//! levels of JSON, JSON that is escaped now so and now so, base64, percent signs.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;

/// Values with fewer bytes are not searched.
pub(crate) const SHORTEST: usize = 8;

/// All spellings of all secret values of an attempt.
#[derive(Default)]
pub struct Secrets {
    spellings: Vec<Spelling>,
}

/// Tells how many there are, never what they are.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} spellings)", self.spellings.len())
    }
}

impl Secrets {
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut spellings = BTreeSet::new();
        for value in values.into_iter().filter(|value| value.len() >= SHORTEST) {
            spellings.insert(value.to_vec());
            spellings.insert(as_on_a_terminal(value));
            if let Ok(text) = str::from_utf8(value) {
                spellings.extend(as_in_json(text).map(String::into_bytes));
            }
        }
        Self { spellings: spellings.iter().map(|bytes| Spelling::new(bytes)).collect() }
    }

    /// Same-length mask of a whole text, for views that are made at once (text diffs, requests).
    pub fn mask(&self, bytes: &mut [u8]) {
        let mut found = Vec::new();
        Scanner::new().push(self, bytes, &mut found);
        for range in found {
            // The scanner has seen these bytes alone, so its offsets are theirs.
            bytes[range.start as usize..range.end as usize].fill(b'*');
        }
    }
}

/// Follows one stream. It must be given the same [`Secrets`] each time.
#[derive(Debug)]
pub(crate) struct Scanner {
    offset: u64,
    /// For each spelling the number of its first bytes that the stream ends with: the most there are, never all.
    begun: Vec<usize>,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self { offset: 0, begun: Vec::new() }
    }

    /// Takes the next bytes of the stream and adds the ranges in which secrets are, by their offsets in the stream.
    /// Returns up to where the stream may be announced: what comes after is the beginning of a spelling, and a range
    /// that is found later begins there at the earliest.
    ///
    /// Ranges of one call are in order and do not touch. Those of different calls may overlap.
    pub(crate) fn push(&mut self, secrets: &Secrets, bytes: &[u8], found: &mut Vec<Range<u64>>) -> u64 {
        self.begun.resize(secrets.spellings.len(), 0);
        let mut fresh = Vec::new();
        let mut held = 0;
        for (spelling, begun) in secrets.spellings.iter().zip(&mut self.begun) {
            *begun = spelling.follow(*begun, bytes, |end| {
                let end = self.offset + end as u64;
                // It may have begun before the first byte: see `go_on`.
                join(&mut fresh, end.saturating_sub(spelling.len() as u64)..end);
            });
            held = held.max(*begun);
        }
        // The ranges of each spelling came in order; now those of all of them are put in order and joined.
        fresh.sort_unstable_by_key(|range| range.start);
        let mut joined = Vec::new();
        fresh.into_iter().for_each(|range| join(&mut joined, range));
        found.append(&mut joined);
        self.offset += bytes.len() as u64;
        self.offset.saturating_sub(held as u64)
    }

    /// Follows the same stream, but counts from here: of what has begun only the rest will be in its ranges.
    pub(crate) fn go_on(&self) -> Self {
        Self { offset: 0, begun: self.begun.clone() }
    }

    /// At the end of the stream everything may be announced.
    pub(crate) fn end(&self) -> u64 {
        self.offset
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

    /// How much is begun after one more byte.
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

    /// Goes through `bytes`, calls `at_end` with the end of each match, overlapping ones too, and returns what is begun
    /// behind the last byte.
    fn follow(&self, mut begun: usize, bytes: &[u8], mut at_end: impl FnMut(usize)) -> usize {
        let mut at = 0;
        loop {
            // What has begun is followed byte by byte, so that neither a match across reads nor one that overlaps the
            // match before is missed, and none is compared from its beginning again.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|value| value.as_bytes()))
    }

    fn spellings(secrets: &Secrets) -> Vec<&[u8]> {
        secrets.spellings.iter().map(|spelling| spelling.finder.needle()).collect()
    }

    fn masked(secrets: &Secrets, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        secrets.mask(&mut bytes);
        String::from_utf8(bytes).expect("whole characters were masked")
    }

    /// What `push` says for each read: the ranges, and up to where the stream may be announced.
    fn pushed(secrets: &Secrets, reads: &[&str]) -> Vec<(Vec<(u64, u64)>, u64)> {
        let mut scanner = Scanner::new();
        let one = |read: &&str| {
            let mut found = Vec::new();
            let announced = scanner.push(secrets, read.as_bytes(), &mut found);
            (found.iter().map(|range| (range.start, range.end)).collect(), announced)
        };
        reads.iter().map(one).collect()
    }

    #[test]
    fn what_may_become_a_secret_is_held_back_until_it_is_clear() {
        let secrets = secrets(&["hunter2-hunter3"]);
        assert_eq!(
            pushed(&secrets, &["my hun", "ter", "2-hunt", "er3 is it, hunt", "ing", " hunter2-h", "unter4"]),
            [(vec![], 3), (vec![], 3), (vec![], 3), (vec![(3, 18)], 26), (vec![], 33), (vec![], 34), (vec![], 49),]
        );
    }

    #[test]
    fn the_end_of_a_match_is_held_only_when_it_may_begin_another() {
        let whole = secrets(&["abcdabcd"]);
        assert_eq!(pushed(&whole, &["abcdabcd", "abcd", "x"]), [(vec![(0, 8)], 4), (vec![(4, 12)], 8), (vec![], 13)]);
        let none = secrets(&["abcdefgh"]);
        assert_eq!(pushed(&none, &["abcdefgh"]), [(vec![(0, 8)], 8)]);
    }

    #[test]
    fn ranges_of_one_read_are_in_order_and_joined() {
        let nested = secrets(&["around -inside- it", "-inside-"]);
        assert_eq!(pushed(&nested, &["around -inside- it", "."]), [(vec![(0, 18)], 18), (vec![], 19)]);
        let apart = secrets(&["aaaabbbb", "yyyyzzzz"]);
        assert_eq!(pushed(&apart, &["yyyyzzzz, aaaabbbb."]), [(vec![(0, 8), (10, 18)], 19)]);
    }

    #[test]
    fn at_the_end_everything_may_be_announced() {
        let secrets = secrets(&["abcdefgh"]);
        let mut scanner = Scanner::new();
        assert_eq!(scanner.push(&secrets, b"xxabc", &mut Vec::new()), 2);
        assert_eq!(scanner.end(), 5);
    }

    #[test]
    fn a_stream_that_is_counted_anew_goes_on_with_what_has_begun() {
        let secrets = secrets(&["abcdefgh"]);
        let mut found = Vec::new();
        let mut first = Scanner::new();
        assert_eq!(first.push(&secrets, b"xxabc", &mut found), 2);
        let mut second = first.go_on();
        assert_eq!((second.push(&secrets, b"def", &mut found), found.len()), (0, 0), "all of it may be hidden yet");
        assert_eq!(second.push(&secrets, b"gh.abcdefgh", &mut found), 14);
        assert_eq!(found, [0..5, 6..14], "of the first one what is here");
        assert_eq!(first.go_on().push(&secrets, b"xabcdefg", &mut Vec::new()), 1, "it was none");
    }

    #[test]
    fn without_secrets_bytes_are_only_counted() {
        let none = secrets(&["", "short", "sevensv"]);
        assert!(none.spellings.is_empty());
        assert!(!secrets(&["eighteig"]).spellings.is_empty());
        assert_eq!(pushed(&none, &["sevensv", "short"]), [(vec![], 7), (vec![], 12)]);
    }

    #[test]
    fn a_plain_value_has_one_spelling() {
        assert_eq!(spellings(&secrets(&["sk-ant-0123456789", "sk-ant-0123456789"])), [b"sk-ant-0123456789"]);
    }

    #[test]
    fn a_value_is_found_however_json_writes_it() {
        let secrets = secrets(&["p\"ä/<\u{1f}😀\nq"]);
        for written in [
            "p\"ä/<\u{1f}😀\nq",
            "p\"ä/<\u{1f}😀\r\nq",
            r#"p\"ä/<\u001f😀\nq"#,
            r#"p\"ä/<\u001F😀\nq"#,
            r#"p\"ä\/<\u001f😀\nq"#,
            r#"p\"ä/\u003c\u001f😀\nq"#,
            r#"p\"\u00e4/<\u001f\ud83d\ude00\nq"#,
            r#"p\"\u00E4/<\u001F\uD83D\uDE00\nq"#,
            r#"p\"\u00e4\/<\u001f\ud83d\ude00\nq"#,
            r#"p\\\"ä/<\\u001f😀\\nq"#,
            r#"p\\\"\\u00e4/<\\u001f\\ud83d\\ude00\\nq"#,
            r#"p\\\"\u00e4/<\\u001f\ud83d\ude00\\nq"#,
            r#"p\\\"ä\/<\\u001f😀\\nq"#,
            r#"p\\\"ä\\\/<\\u001f😀\\nq"#,
        ] {
            assert_eq!(masked(&secrets, &format!("<{written}>")), format!("<{}>", "*".repeat(written.len())));
        }
    }

    #[test]
    fn a_value_that_is_not_utf_8_is_found_as_it_is() {
        let secrets = Secrets::new([b"\xff\xfe\x00\"\\/xy".as_slice()]);
        assert_eq!(spellings(&secrets).len(), 1);
        let mut bytes = b"a\xff\xfe\x00\"\\/xyb".to_vec();
        secrets.mask(&mut bytes);
        assert_eq!(bytes, b"a********b");
    }

    #[test]
    fn values_are_never_shown() {
        assert_eq!(format!("{:?}", secrets(&["hunter2-hunter3"])), "Secrets(1 spellings)");
    }

    /// Where each comparison started over, these would take hours.
    #[test]
    fn near_and_endless_matches_take_linear_time() {
        const LONG: usize = 64 * 1024;
        let near = "a".repeat(LONG) + "b";
        let endless = "a".repeat(LONG);
        let secrets = secrets(&[&near, &endless]);
        let stream = "a".repeat(16 * LONG);
        for read in [1, 1_000, LONG, stream.len()] {
            let mut scanner = Scanner::new();
            let mut found = Vec::new();
            for bytes in stream.as_bytes().chunks(read) {
                scanner.push(&secrets, bytes, &mut found);
            }
            assert!(found.len() <= stream.len().div_ceil(read), "ranges of one read are joined");
            let whole = 0..stream.len() as u64;
            assert_eq!(union(found), [whole]);
        }
    }

    fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                Some(_) | None => joined.push(range),
            }
        }
        joined
    }

    fn naive(secrets: &Secrets, stream: &[u8]) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for spelling in spellings(secrets) {
            for (start, window) in stream.windows(spelling.len()).enumerate() {
                if window == spelling {
                    ranges.push(start as u64..(start + spelling.len()) as u64);
                }
            }
        }
        union(ranges)
    }

    fn naively_held(secrets: &Secrets, stream: &[u8]) -> usize {
        let held = |spelling: &[u8]| (0..spelling.len()).rev().find(|length| stream.ends_with(&spelling[..*length]));
        spellings(secrets).into_iter().filter_map(held).max().unwrap_or(0)
    }

    /// Values of few letters, so that they overlap themselves and each other; some need escapes.
    fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let letters = prop_oneof![
            vec(prop_oneof![Just(b'a'), Just(b'b')], 6..14),
            vec(prop_oneof![Just(b'a'), Just(b'"'), Just(b'\\'), Just(b'/'), Just(b'\n')], 8..12),
            vec(prop_oneof![Just(b'a'), Just(0xc3), Just(0xa4)], 8..12),
        ];
        vec(letters, 0..4)
    }

    proptest! {
        #[test]
        fn any_cutting_finds_what_a_naive_search_finds(
            values in values(),
            // Pieces of spellings (which, from, to) and letters between them.
            pieces in vec((any::<prop::sample::Index>(), 0..40_usize, 0..40_usize, vec(0..4_usize, 0..6)), 0..12),
            reads in vec(0..12_usize, 1..20),
        ) {
            let secrets = Secrets::new(values.iter().map(Vec::as_slice));
            let known = spellings(&secrets);
            let mut stream = Vec::new();
            for (which, from, to, letters) in &pieces {
                if !known.is_empty() {
                    let spelling = known[which.index(known.len())];
                    let to = spelling.len().min(*to);
                    stream.extend_from_slice(&spelling[(*from / 4).min(to)..to]);
                }
                stream.extend(letters.iter().map(|letter| b"ab\\x"[*letter]));
            }

            let mut scanner = Scanner::new();
            let (mut found, mut announced, mut at) = (Vec::new(), 0, 0);
            for length in reads.iter().cycle().take(10_000).chain([&usize::MAX]) {
                let end = at + (stream.len() - at).min(*length);
                let before = found.len();
                let next = scanner.push(&secrets, &stream[at..end], &mut found);
                for range in &found[before..] {
                    prop_assert!(range.start >= announced, "{range:?} begins before {announced}");
                    prop_assert!(range.end <= end as u64);
                }
                prop_assert!(next >= announced);
                prop_assert_eq!(next as usize, end - naively_held(&secrets, &stream[..end]));
                (announced, at) = (next, end);
                if at == stream.len() {
                    break;
                }
            }
            prop_assert_eq!(scanner.end() as usize, stream.len());
            prop_assert_eq!(union(found), naive(&secrets, &stream));
        }

        #[test]
        fn the_usual_style_is_that_of_serde_json(text in any::<String>()) {
            let json = serde_json::to_string(&text).expect("a string");
            prop_assert_eq!(Style::USUAL.escape(&text), &json[1..json.len() - 1]);
        }

        #[test]
        fn every_style_reads_back(text in any::<String>()) {
            for style in Style::all() {
                let json = format!("\"{}\"", style.escape(&text));
                prop_assert_eq!(&serde_json::from_str::<String>(&json).expect("JSON"), &text);
            }
        }
    }
}
