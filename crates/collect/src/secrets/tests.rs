//! Secrets in streams, whole and in pieces.

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

/// The result of `push` for each read: the ranges, and up to where the stream may be announced.
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
    // The last letter could begin the value in base64.
    assert_eq!(pushed(&none, &["abcdefgh", "."]), [(vec![(0, 8)], 7), (vec![], 9)]);
}

#[test]
fn ranges_of_one_read_are_in_order_and_joined() {
    let nested = secrets(&["around -inside- it", "-inside-"]);
    assert_eq!(pushed(&nested, &["around -inside- it", "."]), [(vec![(0, 18)], 17), (vec![], 19)]);
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
fn a_stream_counted_from_zero_continues_partial_matches() {
    let secrets = secrets(&["abcdefgh"]);
    let mut found = Vec::new();
    let mut first = Scanner::new();
    assert_eq!(first.push(&secrets, b"xxabc", &mut found), 2);
    let mut second = first.continued();
    assert_eq!((second.push(&secrets, b"def", &mut found), found.len()), (0, 0), "all of it may be hidden yet");
    assert_eq!(second.push(&secrets, b"gh.abcdefgh.", &mut found), 15);
    assert_eq!(found, [0..5, 6..14], "of the first one what is here");
    assert_eq!(first.continued().push(&secrets, b"xabcdefg", &mut Vec::new()), 1, "it was none");
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

const KEY: &str = "sk-live-0123+456/789";

/// What views show of lines of JSON: the strings of `text`, joined, without what is removed in views.
fn joined(stream: &str) -> String {
    let mut text = String::new();
    for line in stream.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON, still");
        text.push_str(line["text"].as_str().unwrap_or_default());
    }
    for removed in ["\u{1b}[1;31m", "\u{1b}]0;title\u{7}", "\u{1b}", "\0", "\r", "\u{7f}"] {
        text = text.replace(removed, "");
    }
    text
}

fn deltas(pieces: &[&str]) -> String {
    pieces.iter().map(|piece| format!("{{\"type\":\"delta\",\"text\":\"{piece}\"}}\n")).collect()
}

/// Regression: the value reappeared when the texts of two records were joined, on four profiles.
#[test]
fn a_value_in_the_strings_of_several_records_is_found() {
    let secrets = secrets(&[KEY]);
    let (one, other) = KEY.split_at(10);
    let stars = |piece: &str| "*".repeat(piece.len());
    let expected = deltas(&[&format!("it is {}", stars(one)), &format!("{}.", stars(other))]);
    assert_eq!(masked(&secrets, &deltas(&[&format!("it is {one}"), &format!("{other}.")])), expected);
    let parts = format!(r#"{{"content":[{{"text":"{one}"}},{{"text":"{other}"}}]}}"#);
    assert_eq!(masked(&secrets, &parts), parts.replace(one, &stars(one)).replace(other, &stars(other)));
    let tokens = deltas(&["sk", "-", "live", "-0", "12", "3+45", "6", "", "/789", "x"]);
    assert_eq!(masked(&secrets, &tokens), deltas(&["sk", "-", "****", "**", "**", "****", "*", "", "****", "x"]));
    let between = format!("{}{}{}", deltas(&[one]), "{\"type\":\"ping\",\"of\":\"sk-liv\"}\n", deltas(&[other]));
    let masked_between = masked(&secrets, &between);
    assert!(!masked_between.contains(one) && !masked_between.contains(other), "{masked_between}");
    assert!(masked_between.contains("sk-liv\"}\n"), "the match did not continue: {masked_between}");
}

#[test]
fn pieces_that_are_not_a_whole_value_are_shown() {
    let secrets = secrets(&[KEY]);
    let (one, other) = KEY.split_at(10);
    let far = format!("{}{}\n{}", deltas(&[one]), "x".repeat(70_000), deltas(&[other]));
    for text in [
        deltas(&[one]),
        deltas(&[other, one]),
        deltas(&[one, &format!(" {other}")]),
        deltas(&[&format!("{one} "), other]),
        deltas(&[one, &other[..8], &other[9..]]),
        format!("{one}\n{other}"),
        far,
    ] {
        assert_eq!(masked(&secrets, &text), text);
    }
}

/// An escape sequence, a NUL or `\u002B` in a value kept it from being found, and views put it together again.
#[test]
fn a_value_is_found_through_what_views_remove_and_resolve() {
    let secrets = secrets(&[KEY]);
    for written in [
        "sk-live-0123\\u002B456/789",
        "sk-live-0123\\u002b456\\/789",
        "sk-live-0123\\\\u002B456/789",
        "\\u0073k-live-0123+456/78\\u0039",
        "sk-live\\u001b[1;31m-0123+456/789",
        "sk-\\u0000live-0123\\u0000\\u0000+456/789",
        "sk-live\u{1b}[1;31m-0123\u{1b}[0m+456/789",
        "sk-live\u{1b}]0;title\u{7}-0123+456/789",
        "sk-live\u{1b}]0;title\u{1b}\\-0123+456/789",
        "sk-live\u{1b}(B-0123+456/789",
        "sk-live\0-0123\r+456/789",
    ] {
        assert_eq!(masked(&secrets, &format!("<{written}>")), format!("<{}>", "*".repeat(written.len())), "{written}");
    }
    for other in ["sk-live\u{1b}[1;31m-0123 +456/789", "sk-live\n-0123+456/789", "sk-live\u{1b}[1-0123+456/789"] {
        assert_eq!(masked(&secrets, other), other);
    }
    let rows = format!("sk-live{}-0123+456/789", "\0".repeat(2000));
    assert_eq!(masked(&secrets, &rows), rows, "what is between is bounded");
}

#[test]
fn a_value_is_found_in_other_encodings() {
    let secrets = secrets(&[KEY]);
    // printf 'sk-live-0123+456/789' | base64, with one and two letters before it, with `=` for padding cut; in hexadecimal
    // digits; as in an address.
    for (before, written, after) in [
        ("", "c2stbGl2ZS0wMTIzKzQ1Ni83OD", "k="),
        ("eH", "NrLWxpdmUtMDEyMys0NTYvNzg5", ""),
        ("eHh", "zay1saXZlLTAxMjMrNDU2Lzc4O", "Q=="),
        ("", "c2stbGl2ZS0wMTIz\nKzQ1Ni83OD", "k="),
        ("", "c2stbGl2ZS0wMTIz\\nKzQ1Ni83OD", "k="),
        ("", "736b2d6c6976652d303132332b3435362f373839", ""),
        ("", "736B2D6C6976652D303132332B3435362F373839", ""),
        ("?key=", "sk-live-0123%2B456%2F789", "&"),
        ("?key=", "sk-live-0123%2b456/789", "&"),
    ] {
        let stars = "*".repeat(written.len());
        assert_eq!(masked(&secrets, &format!("{before}{written}{after}")), format!("{before}{stars}{after}"));
    }
    let records = deltas(&["eHNrLWxpd", "mUtMDEyMys0NT", "YvNzg5"]);
    assert_eq!(masked(&secrets, &records), deltas(&["eH*******", "*************", "******"]));
}

fn one(start: u64, end: u64) -> Vec<Range<u64>> {
    std::iter::once(start..end).collect()
}

/// What could be the first piece is not announced before it is clear what follows; but a reader does not wait
/// indefinitely.
#[test]
fn the_end_of_a_string_is_held_back_and_released() {
    let secrets = secrets(&[KEY]);
    let mut found = Vec::new();
    let mut scanner = Scanner::new();
    let short = deltas(&["is sk-"]);
    let start = scanner.push(&secrets, short.as_bytes(), &mut found);
    assert_eq!((start, scanner.holds_strings()), (short.len() as u64, false), "too little to be held back");
    let first = deltas(&["is sk-liv"]);
    assert_eq!(scanner.push(&secrets, first.as_bytes(), &mut found), start + 27);
    assert!(scanner.holds_strings());
    scanner.release(&mut found);
    let expected = (scanner.end(), false, 0);
    assert_eq!((scanner.clear(), scanner.holds_strings(), found.len()), expected, "less than half of it");
    let rest = deltas(&[&KEY[6..]]);
    let end = scanner.end();
    scanner.push(&secrets, rest.as_bytes(), &mut found);
    assert_eq!(found, one(end + 24, end + 38), "what was announced is not hidden, the rest is");

    let (mut scanner, mut found) = (Scanner::new(), Vec::new());
    scanner.push(&secrets, deltas(&[&KEY[..12]]).as_bytes(), &mut found);
    scanner.release(&mut found);
    assert_eq!(found, one(24, 36), "half of it and more");
    scanner.push(&secrets, "x".repeat(70_000).as_bytes(), &mut Vec::new());
    assert_eq!(scanner.clear(), scanner.end());
}

#[test]
fn a_string_is_held_back_no_further_than_the_window() {
    let secrets = secrets(&[KEY]);
    let mut scanner = Scanner::new();
    scanner.push(&secrets, deltas(&["sk-live"]).as_bytes(), &mut Vec::new());
    for _ in 0..7 {
        scanner.push(&secrets, &[b'x'; 10_000], &mut Vec::new());
    }
    assert_eq!((scanner.clear(), scanner.unfinished()), (scanner.end(), vec![]));
}

#[test]
fn what_may_be_part_of_a_value_at_a_cut_is_known() {
    let secrets = secrets(&[KEY]);
    let mut scanner = Scanner::new();
    let first = deltas(&["sk-live-01"]);
    scanner.push(&secrets, first.as_bytes(), &mut Vec::new());
    scanner.push(&secrets, b"{\"text\":\"23+4", &mut Vec::new());
    let at = first.len() as u64;
    assert_eq!(scanner.unfinished(), [24..34, at + 9..at + 13]);
    let (mut found, mut next) = (Vec::new(), scanner.continued());
    assert_eq!(next.push(&secrets, b"56/789\"}", &mut found), 8);
    assert_eq!(found, one(0, 6), "the rest is found in what follows");
}

/// The ranges that are found in a stream that is read in pieces of this length.
fn scan(secrets: &Secrets, stream: &str, read: usize) -> (Scanner, Vec<Range<u64>>) {
    let (mut scanner, mut found) = (Scanner::new(), Vec::new());
    for bytes in stream.as_bytes().chunks(read) {
        scanner.push(secrets, bytes, &mut found);
    }
    (scanner, found)
}

/// The maximum number at once: every string ends with a beginning of a value.
#[test]
fn beginnings_without_end_take_linear_time_and_bounded_memory() {
    let value = "ab".repeat(2_000);
    let secrets = secrets(&[&value, KEY]);
    let stream = format!("\"{}\"\0", "ab".repeat(100)).repeat(200);
    for read in [1_000, stream.len()] {
        let (scanner, _) = scan(&secrets, &stream, read);
        assert!(scanner.end() - scanner.clear() <= 80_000);
    }
}

/// If each comparison started over, these would take hours.
#[test]
fn near_and_endless_matches_take_linear_time() {
    const LONG: usize = 64 * 1024;
    let near = "a".repeat(LONG) + "b";
    let endless = "a".repeat(LONG);
    let secrets = secrets(&[&near, &endless]);
    let stream = "a".repeat(16 * LONG);
    for read in [1, 1_000, LONG, stream.len()] {
        let (_, found) = scan(&secrets, &stream, read);
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

        let mut exact = Exact::default();
        let (mut found, mut announced, mut at) = (Vec::new(), 0, 0);
        for length in reads.iter().cycle().take(10_000).chain([&usize::MAX]) {
            let end = at + (stream.len() - at).min(*length);
            let before = found.len();
            exact.push(&secrets, &stream[at..end], &mut found);
            let next = exact.clear();
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
        prop_assert_eq!(exact.offset as usize, stream.len());
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

    /// However a value is cut into strings, escaped and interrupted, and however the stream is cut into reads.
    #[test]
    fn no_view_puts_a_value_together(
        cuts in vec(0..20_usize, 0..6),
        forms in vec(0..12_usize, 20),
        between in vec(0..4_usize, 0..8),
        reads in vec(1..40_usize, 1..20),
    ) {
        let secrets = secrets(&[KEY]);
        let (mut stream, mut piece) = (String::new(), "so: ".to_owned());
        for (at, letter) in KEY.chars().enumerate() {
            for _ in cuts.iter().filter(|cut| **cut == at) {
                stream.push_str(&deltas(&[&piece]));
                piece.clear();
                for which in &between {
                    stream.push_str(["{\"n\":1}\n", "{\"s\":\"s\"}\n", "{\"s\":\"sk-li\"}\n", "{}\n"][*which]);
                }
            }
            match forms[at] {
                0 => piece.push_str(&format!("\\u{:04x}", u32::from(letter))),
                1 => piece.push_str(&format!("\\u001b[1;31m{letter}")),
                2 => piece.push_str(&format!("\\u0000{letter}")),
                3 => piece.push_str(&format!("\\u001b]0;title\\u0007{letter}\\r")),
                4 => piece.push_str(&format!("\u{7f}{letter}")),
                _ => piece.push(letter),
            }
        }
        stream.push_str(&deltas(&[&piece, " done"]));
        prop_assert!(joined(&stream).contains(KEY));
        let shown = masked(&secrets, &stream);
        let text = joined(&shown);
        prop_assert!(!text.contains(KEY) && text.starts_with("so: ") && text.ends_with(" done"), "{shown}");

        let (_, whole) = scan(&secrets, &stream, stream.len());
        let mut scanner = Scanner::new();
        let (mut found, mut announced, mut at) = (Vec::new(), 0, 0);
        for length in reads.iter().cycle() {
            let end = (at + length).min(stream.len());
            let before = found.len();
            let next = scanner.push(&secrets, &stream.as_bytes()[at..end], &mut found);
            prop_assert!(found[before..].iter().all(|range| range.start >= announced && range.end <= end as u64));
            prop_assert!(next >= announced && next <= end as u64);
            (announced, at) = (next, end);
            if at == stream.len() {
                break;
            }
        }
        prop_assert_eq!(union(found), union(whole), "whatever the reads");
    }
}
