use super::{Finder, FoundObject, MAX_DEPTH, find_objects};
use proptest::prelude::*;

/// The rule, implemented literally, in quadratic time.
fn naive(text: &str, max_depth: usize) -> Vec<FoundObject> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut cut = false;
    let mut at = 0;
    while at < bytes.len() {
        if matches!(bytes[at], b'{' | b'[') {
            if let Some(end) = value(bytes, at, max_depth) {
                if bytes[at] == b'{' {
                    found.push(FoundObject { start: at, end, after_cut: cut });
                }
                at = end;
                continue;
            }
            cut |= bytes[at] == b'{' && bytes.get(space(bytes, at + 1)) == Some(&b'"');
        }
        at += 1;
    }
    found
}

fn space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn value(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'{' => container(bytes, at, depth, b'}'),
        b'[' => container(bytes, at, depth, b']'),
        b'"' => string(bytes, at),
        b't' => word(bytes, at, b"true"),
        b'f' => word(bytes, at, b"false"),
        b'n' => word(bytes, at, b"null"),
        _ => number(bytes, at),
    }
}

fn word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(word).then_some(at + word.len())
}

fn container(bytes: &[u8], at: usize, depth: usize, closer: u8) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let mut at = space(bytes, at + 1);
    if bytes.get(at) == Some(&closer) {
        return Some(at + 1);
    }
    loop {
        if closer == b'}' {
            at = space(bytes, string(bytes, at)?);
            if bytes.get(at) != Some(&b':') {
                return None;
            }
            at = space(bytes, at + 1);
        }
        at = space(bytes, value(bytes, at, depth)?);
        match bytes.get(at)? {
            b',' => at = space(bytes, at + 1),
            byte if *byte == closer => return Some(at + 1),
            _ => return None,
        }
    }
}

fn string(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if bytes.get(at + 1) == Some(&b'u') => {
                let hex = bytes.get(at + 2..at + 6)?;
                if !hex.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at += 6;
            }
            b'\\' if b"\"\\/bfnrt".contains(bytes.get(at + 1)?) => at += 2,
            b'\\' | 0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + usize::from(bytes.get(at) == Some(&b'-'));
    match bytes.get(at)? {
        b'0' => at += 1,
        b'1'..=b'9' => at = digits(bytes, at)?,
        _ => return None,
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits(bytes, at)?;
    }
    Some(at)
}

fn digits(bytes: &[u8], at: usize) -> Option<usize> {
    let count = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

fn fast(text: &str, max_depth: usize) -> Vec<FoundObject> {
    let mut found = Vec::new();
    Finder::read(text, max_depth, |cut, taken| {
        if taken.is_object {
            let after_cut = cut.is_some_and(|cut| cut < taken.start);
            found.push(FoundObject { start: taken.start, end: taken.end, after_cut });
        }
    });
    found
}

/// The found objects as text, those after a cut with a `!` before them.
fn shown(text: &str) -> Vec<String> {
    find_objects(text)
        .iter()
        .map(|found| {
            let cut = if found.after_cut { "!" } else { "" };
            format!("{cut}{}", &text[found.start..found.end])
        })
        .collect()
}

#[test]
fn finds_roots_left_to_right() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("no braces", &[]),
        ("{}", &["{}"]),
        ("a {} b {\"k\":1} c", &["{}", "{\"k\":1}"]),
        ("{}{}", &["{}", "{}"]),
        ("{\"a\":{\"b\":{}}}", &["{\"a\":{\"b\":{}}}"]),
        ("[{\"a\":1}]", &[]),
        ("[{\"a\":1}] {}", &["{}"]),
        ("[{\"a\":1} {}", &["{\"a\":1}", "{}"]),
        ("{ x {\"a\":1} }", &["{\"a\":1}"]),
        ("{{\"a\":1}}", &["{\"a\":1}"]),
        ("[[[{}", &["{}"]),
        ("{\"a\": 1, {\"b\":2}", &["!{\"b\":2}"]),
        ("{\"a\": {\"b\":2}", &["!{\"b\":2}"]),
        ("{\"b\":2} {\"a", &["{\"b\":2}"]),
        ("{\n \"a {\"b\":2}", &["!{\"b\":2}"]),
        ("{\"a\":\"{\\\"b\\\":1}\"}", &["{\"a\":\"{\\\"b\\\":1}\"}"]),
        ("{\"a\":\"{}\"", &["!{}"]),
        ("\"{}\"", &["{}"]),
        ("{\"a\":\"x\u{1}{}", &["!{}"]),
        ("{\"a\":\"line\nbreak\"} {}", &["!{}"]),
        ("{\"a\":\"\\ud800\"}", &["{\"a\":\"\\ud800\"}"]),
        ("{\"a\":\"\\ud80\"}", &[]),
        ("{\"a\":\"\\x\"}", &[]),
        ("{\"a\":01}", &[]),
        ("{\"a\":-0.5e+3}", &["{\"a\":-0.5e+3}"]),
        ("{\"a\":1.}", &[]),
        ("{\"a\":.5}", &[]),
        ("{\"a\":+1}", &[]),
        ("{\"a\":1e}", &[]),
        ("{\"a\":truE}", &[]),
        ("{\"a\":NaN}", &[]),
        ("{'a':1}", &[]),
        ("{a:1}", &[]),
        ("{\"a\":1,}", &[]),
        ("{\"a\":[1,]}", &[]),
        ("{\"a\":1}}", &["{\"a\":1}"]),
        ("{\"a\" :\r\n\t[ ] , \"b\":null}", &["{\"a\" :\r\n\t[ ] , \"b\":null}"]),
        ("{\"a\":\u{a0}1}", &[]),
        ("{\"ä\":\"日本\"}", &["{\"ä\":\"日本\"}"]),
        // Inside the string of what fails later, and overlapping it: leftmost wins.
        ("{\"{\":1,\"}\":2}", &["{\"{\":1,\"}\":2}"]),
        ("[\"[\",\"]{}", &["{}"]),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), *expected, "{text:?}");
        assert_eq!(find_objects(text), naive(text, MAX_DEPTH), "{text:?}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(MAX_DEPTH, 128);
    let whole = nested(MAX_DEPTH);
    assert_eq!(shown(&whole), [whole.as_str()]);
    // One level more: the outermost is abandoned as a cut object, the next one is complete.
    assert_eq!(shown(&nested(MAX_DEPTH + 1)), [format!("!{whole}")]);
    let arrays = format!("{}{{}}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(shown(&arrays).is_empty());
}

/// Every short text over the characters that matter.
#[test]
fn agrees_with_the_rule_on_all_short_texts() {
    const ALPHABET: &[u8] = b"{}[]\",:\\";
    const LENGTH: u32 = 6;
    for length in 1..=LENGTH {
        for number in 0..ALPHABET.len().pow(length) {
            let mut rest = number;
            let text: String = (0..length)
                .map(|_| {
                    let letter = ALPHABET[rest % ALPHABET.len()];
                    rest /= ALPHABET.len();
                    char::from(letter)
                })
                .collect();
            assert_eq!(fast(&text, 3), naive(&text, 3), "{text:?}");
        }
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        10 => prop::sample::select(vec![
            "{", "}", "[", "]", "\"", ",", ":", "\\", " ", "a", "1", "t",
        ]),
        8 => prop::sample::select(vec![
            "{\"", "{\"k\":", "\"k\":", "\"}", "\"]", "{}", "[]", "[\"", "\\\"", ",\"", "{\"{\":",
        ]),
        2 => prop::sample::select(vec![
            "true", "false", "null", "\n", "\t", "-0.1e+2", "0", "\\u00e9", "\\ud800", "\u{1}", "é", "\r\n",
        ]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn agrees_with_the_rule(text in hostile_text(), depth in 1_usize..5) {
        prop_assert_eq!(fast(&text, depth), naive(&text, depth));
        prop_assert_eq!(find_objects(&text), naive(&text, MAX_DEPTH));
    }

    #[test]
    fn cut_texts_agree_with_the_rule(text in valid_text(), from in 0_usize..40, to in 0_usize..80) {
        let part: String = text.chars().skip(from).take(to).collect();
        prop_assert_eq!(fast(&part, 4), naive(&part, 4));
    }
}

/// Valid JSON with JSON inside its strings, so that both lanes advance far.
fn valid_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"{\"".to_owned()),
        Just("\"[1,\"".to_owned()),
        Just("\"]}\"".to_owned()),
        Just("\",\"".to_owned()),
        Just("\":\"".to_owned()),
        Just("\"{}\"".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(("\"[a{:,\\[\\]}]{0,2}\"", inner), 0..4).prop_map(|items| {
                let members: Vec<_> = items.iter().map(|(k, v)| format!("{k}:{v}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

#[test]
fn hostile_texts_take_linear_steps() {
    const SIZE: usize = 2 << 20;
    let shapes = [
        ("", "{"),
        ("", "["),
        ("", "{}"),
        ("", "{\"a\":"),
        ("", "{\"{\""),
        ("", "{\"{\":"),
        ("", "[\"[\","),
        ("", "\""),
        ("", "{\"a\":\"{\\\""),
        ("{\"a\":[", "{},"),
        ("{\"a\":[", "{\"a\":[{},{},"),
        ("{\"a\":\"", "{"),
        ("{\"a\":\"", "{\"b\":\""),
        ("{\"a\":\"", "x"),
        ("{\"a\":\"", "{\\\"b\\\":1} "),
        ("", "[[[[[[[[\"[[[[[[[[\"]]]]]]]]"),
        ("", "{\"a\":1 "),
        ("{", " "),
        ("[", "1"),
    ];
    for (prefix, unit) in shapes {
        let text = format!("{prefix}{}", unit.repeat(SIZE / unit.len()));
        let finder = Finder::read(&text, MAX_DEPTH, |_, _| {});
        assert!(finder.steps <= 4 * text.len(), "{prefix}{unit}: {} steps for {} bytes", finder.steps, text.len());
    }
}
