use super::MarkerForm::{self, Fenced, InProse, OwnLine, WholeMessage};
use super::{OBJECTS_KEPT, Scan, scan};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

struct Row {
    /// Which sentence of contract R4 the row comes from.
    origin: &'static str,
    text: &'static str,
    /// Form and rest of the first marker.
    first: Option<(MarkerForm, &'static str)>,
    repeated: usize,
    malformed: usize,
    denied: bool,
}

const KEY: &str = "Marker: key `__SKILL_DONE__`, JSON value `true`, at the root of such an object, uppercase only";
const PLACE: &str = "The object may be the whole message, in a fence, inside prose, on its own line";
const MALFORMED: &str = "Lowercase, `\"true\"`, `1`, nested, or an object that does not parse: not a marker";
const DENIED: &str = "A root `__SKILL_DONE__` that is JSON `false` is the agent saying \"not done\"";
const OTHER: &str = "Any other value is malformed and says nothing";
const FIRST: &str = "The first marker of an attempt wins, later ones: DONE_MARKER_REPEATED";
const ROOTS: &str = "at each `{`, if a complete strict JSON object starts there, take it and go on after it";
const NESTED: &str = "What lies inside a complete object or array is nested, not a root";
const DECODED: &str = "The plain and the escaped spelling are the same thing after decoding";
const SURROGATE: &str = "a lone surrogate escape decodes to U+FFFD and spoils nothing";

/// A row with a marker and no problems.
const fn done(origin: &'static str, text: &'static str, form: MarkerForm, rest: &'static str) -> Row {
    Row { origin, text, first: Some((form, rest)), repeated: 0, malformed: 0, denied: false }
}

/// A row without a marker.
const fn not_done(origin: &'static str, text: &'static str, malformed: usize, denied: bool) -> Row {
    Row { origin, text, first: None, repeated: 0, malformed, denied }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    done(KEY, r#"{"__SKILL_DONE__": true}"#, WholeMessage, "{}"),
    done(KEY, r#"{"__SKILL_DONE__":true,"a":1}"#, WholeMessage, r#"{"a":1}"#),
    done("removed before validation", r#"{"b":1,"__SKILL_DONE__":true,"a":{"c":[]},"d":2}"#, WholeMessage, r#"{"b":1,"a":{"c":[]},"d":2}"#),
    done(PLACE, "\n  {\"__SKILL_DONE__\"\t:\n true}\r\n", WholeMessage, "{}"),
    done(PLACE, "Here:\n```json\n{\"__SKILL_DONE__\": true}\n```\nBye.", Fenced, "{}"),
    done(PLACE, "```\n\n  {\"__SKILL_DONE__\": true}\n\n```", Fenced, "{}"),
    done(PLACE, "~~~json\n{\"__SKILL_DONE__\": true}\n~~~", Fenced, "{}"),
    done(PLACE, "Cut:\n```json\n{\"__SKILL_DONE__\": true}", Fenced, "{}"),
    done(PLACE, "```a\n1\n```\n```json\n{\"__SKILL_DONE__\": true}\n```", Fenced, "{}"),
    done(PLACE, "```\nnote\n{\"__SKILL_DONE__\": true}\n```", OwnLine, "{}"),
    done(PLACE, "All done.\n{\"__SKILL_DONE__\": true}", OwnLine, "{}"),
    done(PLACE, "All done.\r\n  {\n\"__SKILL_DONE__\": true\n}  \r\nBye", OwnLine, "{}"),
    done(PLACE, "All done. {\"__SKILL_DONE__\": true}", InProse, "{}"),
    done(PLACE, "{\"__SKILL_DONE__\": true} is my last word", InProse, "{}"),
    done(PLACE, "All done: `{\"__SKILL_DONE__\": true}`.", InProse, "{}"),
    done(ROOTS, r#"f() { return 1; } {"__SKILL_DONE__": true}"#, InProse, "{}"),
    done(ROOTS, r#"{{"__SKILL_DONE__": true}}"#, InProse, "{}"),
    done(ROOTS, r#"{"cut": {"__SKILL_DONE__": true}"#, InProse, "{}"),
    done(DECODED, r#"{"__SKILL\u005fDONE__": true}"#, WholeMessage, "{}"),
    done(SURROGATE, r#"{"__SKILL_DONE__": true, "a": "\ud800"}"#, WholeMessage, r#"{"a":"\ufffd"}"#),
    not_done(KEY, "", 0, false),
    not_done(KEY, "__SKILL_DONE__", 0, false),
    not_done(KEY, "I will print \"__SKILL_DONE__\" at the end.", 0, false),
    not_done(KEY, r#"["__SKILL_DONE__", true]"#, 0, false),
    not_done(KEY, r#"{"a": "__SKILL_DONE__"}"#, 0, false),
    not_done(KEY, r#"{"__SKILL_DONE": true, "SKILL_DONE__": true}"#, 0, false),
    not_done(MALFORMED, r#"{"__skill_done__": true}"#, 1, false),
    not_done(MALFORMED, r#"{"__Skill_Done__" : true}"#, 1, false),
    not_done(MALFORMED, r#"{"__skill_done__": true, "a": "\u0041"}"#, 1, false),
    not_done(OTHER, r#"{"__SKILL_DONE__": "true"}"#, 1, false),
    not_done(OTHER, r#"{"__SKILL_DONE__": 1}"#, 1, false),
    not_done(OTHER, r#"{"__SKILL_DONE__": "false"}"#, 1, false),
    not_done(OTHER, r#"{"__SKILL_DONE__": 0}"#, 1, false),
    not_done(OTHER, r#"{"__SKILL_DONE__": []}"#, 1, false),
    not_done(DENIED, r#"{"__SKILL_DONE__": false}"#, 0, true),
    not_done(DENIED, r#"{"__SKILL\u005fDONE__": false}"#, 0, true),
    not_done(OTHER, r#"{"__SKILL_DONE__": null}"#, 1, false),
    not_done(DENIED, r#"{"__skill_done__": false}"#, 1, false),
    not_done(DENIED, r#"{"a": {"__SKILL_DONE__": false}}"#, 1, false),
    not_done(NESTED, r#"{"a": {"__SKILL_DONE__": true}}"#, 1, false),
    not_done(NESTED, r#"[{"__SKILL_DONE__": true}]"#, 1, false),
    not_done(NESTED, r#"{"a": "{\"__SKILL_DONE__\": true}"}"#, 0, false),
    not_done(MALFORMED, r#"{"__SKILL_DONE__": true"#, 1, false),
    not_done(MALFORMED, r#"{"__SKILL_DONE__": true,}"#, 1, false),
    not_done(MALFORMED, r#"{"__SKILL_DONE__": True}"#, 1, false),
    not_done(MALFORMED, r#"{"__SKILL_DONE__": true, "a": 1e999}"#, 1, false),
    not_done(MALFORMED, r#""__SKILL_DONE__": true"#, 1, false),
    not_done(MALFORMED, "{\"__SKILL_DONE__\": \"tr\nue\"} {\"__skill_done__\":1}", 2, false),
    Row { origin: FIRST, text: "{\"__SKILL_DONE__\": true,\"a\":1}\n{\"__SKILL_DONE__\": true,\"a\":2} {\"__SKILL_DONE__\":true}",
        first: Some((OwnLine, r#"{"a":1}"#)), repeated: 2, malformed: 0, denied: false },
    Row { origin: FIRST, text: "{\"__skill_done__\": true} {\"__SKILL_DONE__\": true}",
        first: Some((InProse, "{}")), repeated: 0, malformed: 1, denied: false },
    Row { origin: DENIED, text: "{\"__SKILL_DONE__\": false}\n\n{\"__SKILL_DONE__\": true}",
        first: Some((OwnLine, "{}")), repeated: 0, malformed: 0, denied: true },
    Row { origin: NESTED, text: r#"{"__SKILL_DONE__": true, "a": {"__SKILL_DONE__": true}}"#,
        first: Some((WholeMessage, r#"{"a":{"__SKILL_DONE__":true}}"#)), repeated: 0, malformed: 1, denied: false },
    Row { origin: DECODED, text: r#"{"__SKILL\u005fDONE__": true, "a": [{"__SKILL_DONE__": true}]}"#,
        first: Some((WholeMessage, r#"{"a":[{"__SKILL_DONE__":true}]}"#)), repeated: 0, malformed: 1, denied: false },
    // Of duplicate keys the last counts, as everywhere in JSON.
    Row { origin: KEY, text: r#"{"__SKILL_DONE__": false, "__SKILL_DONE__": true}"#,
        first: Some((WholeMessage, "{}")), repeated: 0, malformed: 1, denied: false },
    not_done(DENIED, r#"{"__SKILL_DONE__": true, "__SKILL_DONE__": false}"#, 1, true),
    // A longer key that only ends like the marker.
    Row { origin: KEY, text: r#"{"__SKILL_DONE__": true, "x\"__SKILL_DONE__": true}"#,
        first: Some((WholeMessage, r#"{"x\"__SKILL_DONE__":true}"#)), repeated: 0, malformed: 1, denied: false },
];

fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).expect("a row's rest is an object")
}

#[test]
fn decision_table() {
    for row in ROWS {
        let Scan { first, repeated, malformed, denied, .. } = scan(row.text);
        let seen = first.as_ref().map(|m| (m.form, &m.rest));
        let expected = row.first.map(|(form, rest)| (form, object(rest)));
        let context = format!("{:?} ({})", row.text, row.origin);
        assert_eq!(seen, expected.as_ref().map(|(f, r)| (*f, r)), "first: {context}");
        // Equality of objects does not look at the order of keys, but result.json does.
        let order = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
        let wanted = expected.as_ref().map(|(_, rest)| order(rest));
        assert_eq!(seen.map(|(_, rest)| order(rest)), wanted, "order: {context}");
        assert_eq!(repeated, row.repeated, "repeated: {context}");
        assert_eq!(malformed, row.malformed, "malformed: {context}");
        assert_eq!(denied, row.denied, "denied: {context}");
    }
}

/// Only what is not JSON is broken; another value, spelling or place is not.
#[test]
fn reports_which_objects_are_broken() {
    let rows: &[(&str, &[(&str, &str)])] = &[
        (r#"{"__SKILL_DONE__": true}"#, &[]),
        (r#"{"__skill_done__": true}"#, &[]),
        (r#"{"__SKILL_DONE__": 1} [{"__SKILL_DONE__": true}]"#, &[]),
        (r#""__SKILL_DONE__": true"#, &[]),
        (r#"{"a": 1} "__SKILL_DONE__": true"#, &[]),
        (r#"So: {"__SKILL_DONE__": true,} Bye."#, &[(r#"{"__SKILL_DONE__": true,}"#, "trailing comma at column 29")]),
        (
            r#"{"a": {"b": 1}, "c": {}, "__SKILL_DONE__": true,}"#,
            &[(r#"{"a": {"b": 1}, "c": {}, "__SKILL_DONE__": true,}"#, "trailing comma at column 49")],
        ),
        (
            "{\"__SKILL_DONE__\": True}\nand\n{\"__SKILL_DONE__\": true",
            &[
                (r#"{"__SKILL_DONE__": True}"#, "expected value at line 1, column 20"),
                (r#"{"__SKILL_DONE__": true"#, "the text ends inside the object, at line 3, column 23"),
            ],
        ),
    ];
    for (text, expected) in rows {
        let broken = scan(text).broken;
        let seen: Vec<_> = broken.iter().map(|b| (&text[b.start..b.end], b.problem.as_str())).collect();
        assert_eq!(seen, *expected, "{text}");
    }
    let many = "{\"__SKILL_DONE__\": true,} ".repeat(1_000);
    assert_eq!(scan(&many).broken.len(), super::BROKEN_REPORTED);
}

#[test]
fn lists_all_root_objects_with_their_standing() {
    let text = "{\"a\":1}\nsee {\"b\":2}\n```\n{\"c\":3}\n```\n{\"d\":1e999}\n{\"cut\": 1\n{\"__SKILL_DONE__\":true}";
    let seen: Vec<_> = scan(text)
        .objects
        .iter()
        .filter_map(|o| Some((Value::from(o.decode(text)?), o.standing, o.after_cut)))
        .collect();
    let expected = [
        (json!({"a": 1}), OwnLine, false),
        (json!({"b": 2}), InProse, false),
        (json!({"c": 3}), Fenced, false),
        (json!({"__SKILL_DONE__": true}), OwnLine, true),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_marker_knows_where_it_stands() {
    let text = "é {\"__SKILL_DONE__\":true} é";
    let marker = scan(text).first.expect("a marker");
    assert_eq!(&text[marker.start..marker.end], "{\"__SKILL_DONE__\":true}");
}

#[test]
fn many_objects_on_one_line_do_not_hurt() {
    const COUNT: usize = 200_000;
    let text = "{} ".repeat(COUNT);
    let objects = scan(&text).objects;
    assert_eq!(objects.len(), OBJECTS_KEPT, "the last ones are kept, as many as may be");
    assert_eq!(objects.back().map(|object| object.end), Some(text.trim_end().len()));
    let text = "\"__skill_done__\" ".repeat(COUNT);
    assert_eq!(scan(&text).malformed, 0);
    let text = format!("\"__skill_done__\"{}:", " ".repeat(COUNT));
    assert_eq!(scan(&text).malformed, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn never_panics_and_counts_agree(
        text in prop::collection::vec(prop::sample::select(vec![
            "{\"__SKILL_DONE__\":true}", "\"__SKILL_DONE__\"", "\"__skill_done__\"", ":", "true", "false", "{", "}", "[",
            "]", ",", " ", "\n", "```", "\n```\n", "\\", "\"", "é", "{\"__SKILL_DONE__\":", "{\"a\":",
        ]), 0..16).prop_map(|pieces| pieces.concat())
    ) {
        let scan = scan(&text);
        let markers = scan.objects.iter().filter(|o| o.decode(&text).is_some_and(|v| v.get("__SKILL_DONE__") == Some(&json!(true)))).count();
        prop_assert_eq!(usize::from(scan.first.is_some()) + scan.repeated, markers);
        let mentions = text.to_lowercase().matches("\"__skill_done__\"").count();
        prop_assert!(scan.malformed <= mentions);
    }
}
