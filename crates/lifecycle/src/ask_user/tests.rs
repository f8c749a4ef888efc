use super::{Ask, AskNote, AskUser, find, without_envelopes};
use proptest::prelude::*;
use serde_json::json;
use skillrun_model::interaction::{AskOption, DecisionPolicy as Policy, InteractionKind as Kind};

fn tag(content: &str) -> String {
    format!("<ASK_USER_YAML>{content}</ASK_USER_YAML>")
}

fn found(answer: &str) -> (Ask, Vec<AskNote>) {
    match find(answer) {
        AskUser::Found { ask, notes, .. } => (*ask, notes),
        other @ (AskUser::None | AskUser::Malformed { .. }) => panic!("{answer:?}: {other:?}"),
    }
}

/// The envelopes as text; a malformed answer has a `!` first.
fn envelopes(answer: &str) -> Vec<&str> {
    let (mut shown, ranges) = match find(answer) {
        AskUser::None => (vec![], vec![]),
        AskUser::Malformed { ranges } => (vec!["!"], ranges),
        AskUser::Found { ranges, .. } => (vec![], ranges),
    };
    shown.extend(ranges.iter().map(|(start, end)| &answer[*start..*end]));
    shown
}

fn is_malformed(answer: &str) -> bool {
    matches!(find(answer), AskUser::Malformed { .. })
}

fn option(value: &str, label: &str, default: bool) -> AskOption {
    AskOption { value: value.into(), label: label.into(), default }
}

const RECORDED: &str = "Before I can go on I need a decision from you: which colour should the report use?\n\n\
    <ASK_USER_YAML>\nask_user:\n  kind: choose_one\n  prompt: Which colour?\n  options:\n    \
    - {value: red, label: Red}\n    - {value: blue, label: Blue, default: true}\n  \
    default_decision_policy: safe_default\n</ASK_USER_YAML>";

#[test]
fn reads_what_engines_wrote() {
    let (ask, notes) = found(RECORDED);
    let expected = Ask {
        kind: Some(Kind::ChooseOne),
        prompt: Some("Which colour?".into()),
        options: vec![option("red", "Red", false), option("blue", "Blue", true)],
        default_decision_policy: Some(Policy::SafeDefault),
        ..Ask::default()
    };
    assert_eq!((ask, notes), (expected, vec![]));
    let AskUser::Found { ranges, .. } = find(RECORDED) else {
        panic!("no envelope");
    };
    let expected = "Before I can go on I need a decision from you: which colour should the report use?";
    assert_eq!(without_envelopes(RECORDED, &ranges), expected);
}

#[test]
fn what_engines_wrote_badly_is_malformed() {
    let bad = "Which colour?\n\n<ASK_USER_YAML>\nask_user:\n  kind: choose_one\n  prompt: Which colour? [red: or blue\n  \
        options:\n    - {value: red, label: Red\n   - value: blue\n\t label: \"Blue\n  default_decision_policy: safe_default\n";
    assert_eq!(envelopes(bad), ["!", &bad[15..]]);
    assert!(is_malformed(&format!("{bad}</ASK_USER_YAML>")));
}

#[test]
fn knows_three_envelopes() {
    let yaml = "ask_user:\n  prompt: P\n";
    let json = r#"{"ask_user": {"prompt": "P"}}"#;
    let cases = [
        (tag(&format!("\n{yaml}")), "tags"),
        (tag("\nprompt: P\n"), "tags, root key left out"),
        (tag("prompt: P"), "tags on one line"),
        (tag(json), "tags, JSON"),
        (tag(r#"{"prompt": "P"}"#), "tags, JSON, root key left out"),
        (tag("{\n\t\"prompt\": \"P\"\n}"), "tags, JSON indented by tabs"),
        (tag("\nask_user:\nprompt: P\n"), "tags, fields not under the key"),
        (format!("```yaml\n{yaml}```"), "yaml fence"),
        (format!("```yml\n{yaml}```"), "yml fence"),
        (format!("~~~YAML title\n{yaml}~~~"), "fence with more info, tildes"),
        (format!("```\n{yaml}```"), "fence without info"),
        (format!("```\n# note\n---\n{yaml}```"), "comment before"),
        (format!("```\n{json}\n```"), "JSON in a plain fence"),
        (format!("```yaml\n{yaml}"), "unclosed fence"),
        (format!("```json\n{json}\n```"), "JSON in a JSON fence"),
        (json.to_owned(), "JSON"),
    ];
    for (answer, name) in &cases {
        assert_eq!(found(answer).0.prompt.as_deref(), Some("P"), "{name}");
        assert_eq!(envelopes(answer), [answer.as_str()], "{name}");
    }
    assert_eq!(envelopes(&format!("a {json} b")), [json]);
    // YAML would refuse the escape.
    assert_eq!(found(&tag(r#"{"prompt": "a\ud800"}"#)).0.prompt.as_deref(), Some("a\u{fffd}"));
}

#[test]
fn other_text_is_no_envelope() {
    let cases = [
        "",
        "ask_user: what",
        "```yaml\nother: 1\n```",
        "```yaml\nother: 1\nask_user:\n  prompt: P\n```",
        "```yaml\n- ask_user\n```",
        "```yaml\nconfig: [unclosed ask_user\n```",
        "```python\nask_user:\n  prompt: P\n```",
        "```json\n{\"ask_user\": {\"prompt\": \"P\"}, \"b\": 1}\n```",
        "{\"ask_user\": {\"prompt\": \"P\"}, \"b\": 1}",
        "{\"a\": {\"ask_user\": {\"prompt\": \"P\"}}}",
        "[{\"ask_user\": {\"prompt\": \"P\"}}]",
        "{\"Ask_User\": {\"prompt\": \"P\"}}",
        "<ask_user_yaml>prompt: P</ask_user_yaml>",
        "</ASK_USER_YAML>",
    ];
    for answer in cases {
        assert_eq!(find(answer), AskUser::None, "{answer:?}");
    }
}

#[test]
fn malformed_envelopes() {
    let cases = [
        ("<ASK_USER_YAML>\nprompt: P\n".to_owned(), "unclosed"),
        (tag(""), "empty"),
        (tag("just words"), "no mapping"),
        (tag("- prompt"), "a list"),
        (tag("options: [a]"), "neither kind nor prompt"),
        (tag("prompt:"), "prompt without a value"),
        (tag("prompt: [a]"), "prompt that is no text"),
        (tag("\nask_user:\n\tprompt: P\n"), "tab as indentation"),
        (tag("\nask_user:\n  kind: confirm\n\tprompt: P\n"), "tab as indentation later"),
        (tag("prompt: [a"), "not YAML"),
        (tag("{\"prompt\": \"a\"} b"), "JSON and more"),
        (tag("prompt: a\n---\nprompt: b"), "two documents"),
        (tag("prompt: a\nprompt: b"), "key twice"),
        ("```yaml\nask_user: [\n```".to_owned(), "fence that sets out to be one"),
        ("```\n\nask_user:\n  prompt: P\nother: 1\n```".to_owned(), "fence with another key after"),
        ("```yaml\nask_user:\n  options: [a]\n```".to_owned(), "fence without prompt"),
        ("```yaml\nask_user: P\n```".to_owned(), "fence with text"),
        ("{\"ask_user\": \"P\"}".to_owned(), "JSON with text"),
        ("{\"ask_user\": {}}".to_owned(), "JSON without prompt"),
    ];
    for (answer, name) in &cases {
        assert!(is_malformed(answer), "{name}: {:?}", find(answer));
    }
}

#[test]
fn reads_all_fields() {
    let (ask, notes) = found(&tag(
        "\nask_user:\n  kind: risk_ack\n  prompt: |\n    Two\n    lines\n  options:\n    - plain\n    - 3\n    - true\n    \
         - no\n    - value: v\n    - label: L\n      default: yes\n    - {value: 1.5, label: \"x: y\", default: false}\n  \
         ui_hints: {rows: 3}\n  default_decision_policy: abort\n  context:\n    - a\n  unknown: 1\n",
    ));
    assert_eq!(notes, []);
    let expected = Ask {
        kind: Some(Kind::RiskAck),
        prompt: Some("Two\nlines".into()),
        options: vec![
            option("plain", "plain", false),
            option("3", "3", false),
            option("true", "true", false),
            option("no", "no", false),
            option("v", "v", false),
            option("L", "L", true),
            option("1.5", "x: y", false),
        ],
        ui_hints: Some(json!({"rows": 3})),
        default_decision_policy: Some(Policy::Abort),
        context: Some(json!(["a"])),
    };
    assert_eq!(ask, expected);
}

#[test]
fn every_kind_and_policy_has_its_name() {
    let kinds = [
        ("choose_one", Kind::ChooseOne),
        ("confirm", Kind::Confirm),
        ("fill_fields", Kind::FillFields),
        ("open_text", Kind::OpenText),
        ("risk_ack", Kind::RiskAck),
    ];
    for (name, kind) in kinds {
        let (ask, notes) = found(&tag(&format!("kind: {name}")));
        assert_eq!((ask.kind, ask.prompt, notes), (Some(kind), None, vec![]));
    }
    let policies = [
        ("engine_judgement", Policy::EngineJudgement),
        ("safe_default", Policy::SafeDefault),
        ("abort", Policy::Abort),
    ];
    for (name, policy) in policies {
        let (ask, notes) = found(&tag(&format!("prompt: P\ndefault_decision_policy: {name}")));
        assert_eq!((ask.default_decision_policy, notes), (Some(policy), vec![]));
    }
}

#[test]
fn what_is_unknown_is_noted() {
    let (ask, notes) = found(&tag("kind: quiz\ndefault_decision_policy: coin\noptions: [a, [b], {c: d}, ~]"));
    assert_eq!(ask.kind, Some(Kind::OpenText));
    assert_eq!(ask.default_decision_policy, None);
    assert_eq!(ask.options, [option("a", "a", false)]);
    let expected = [
        AskNote::UnknownKind("quiz".into()),
        AskNote::UnreadableOptions(Some(1)),
        AskNote::UnreadableOptions(Some(2)),
        AskNote::UnreadableOptions(Some(3)),
        AskNote::UnknownPolicy("coin".into()),
    ];
    assert_eq!(notes, expected);
    let (_, notes) = found(&tag("prompt: P\noptions: {a: b}"));
    assert_eq!(notes, [AskNote::UnreadableOptions(None)]);
}

#[test]
fn the_first_well_formed_envelope_counts_and_all_are_ranges() {
    let bad = tag("x");
    let first = "```yaml\nask_user: {prompt: one}\n```";
    let second = "{\"ask_user\": {\"prompt\": \"two\"}}";
    let third = tag("prompt: three");
    let answer = format!("a {bad} b\n{first}\nc {second} d {third} e");
    assert_eq!(found(&answer).0.prompt.as_deref(), Some("one"));
    assert_eq!(envelopes(&answer), [bad.as_str(), first, second, third.as_str()]);
}

#[test]
fn envelopes_do_not_overlap() {
    let fence_in_tags = tag("\n```yaml\nask_user: {prompt: P}\n```\n");
    assert_eq!(envelopes(&fence_in_tags), ["!", fence_in_tags.as_str()]);
    let inner = tag("prompt: P");
    let tags_in_fence = format!("```yaml\n{inner}\n```");
    assert_eq!(envelopes(&tags_in_fence), [inner.as_str()]);
    // A tag that is only mentioned does not affect the real one.
    let mentioned = format!("I use <ASK_USER_YAML> now: {inner}");
    assert_eq!(found(&mentioned).0.prompt.as_deref(), Some("P"));
    assert_eq!(envelopes(&mentioned), ["<ASK_USER_YAML> now: ", inner.as_str()]);
}

#[test]
fn the_rest_of_the_answer_is_the_prompt() {
    let rest = |answer: &str| match find(answer) {
        AskUser::None => without_envelopes(answer, &[]),
        AskUser::Malformed { ranges } | AskUser::Found { ranges, .. } => without_envelopes(answer, &ranges),
    };
    let ask = tag("prompt: P");
    assert_eq!(rest(" a\n"), "a");
    assert_eq!(rest(&ask), "");
    assert_eq!(rest(&format!("a\n\n{ask}\n\nb\n\n\nc\n")), "a\n\nb\n\n\nc");
    assert_eq!(rest(&format!("a {ask} b")), "a b");
    assert_eq!(rest(&format!("{ask}{ask}\nb")), "b");
    assert_eq!(rest("a <ASK_USER_YAML> lost"), "a");
    assert_eq!(rest("é\n```json\n{\"ask_user\":{\"prompt\":\"P\"}}\n```\né"), "é\n\né");
    // Ranges that are not from this text do no harm.
    assert_eq!(without_envelopes("éa", &[(1, 2), (9, 12), (0, 99)]), "éa");
}

#[test]
fn size_is_bounded() {
    let long = "x".repeat(70_000);
    assert!(is_malformed(&tag(&format!("prompt: {long}"))));
    assert!(is_malformed(&format!("```yaml\nask_user:\n  prompt: {long}\n```")));
    assert!(is_malformed(&format!("{{\"ask_user\":{{\"prompt\":\"{long}\"}}}}")));
    assert!(!is_malformed(&tag(&format!("prompt: {}", &long[..60_000]))));
}

#[test]
fn bombs_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let uses = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{uses}]\n"));
    }
    bomb.push_str("prompt: P\n");
    assert!(is_malformed(&tag(&bomb)));

    let big = "y".repeat(50_000);
    // Few aliases, each cheap to write and expensive to expand.
    let echo = format!(
        "b: &b {big}\nc: &c [*b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c]\nprompt: P\ncontext: [*d, *d, *d, *d]\n"
    );
    assert!(is_malformed(&tag(&echo)));
    let uses = |count: usize| "*b, ".repeat(count);
    assert!(is_malformed(&tag(&format!("prompt: P\nb: &b [1, 2, 3, 4, 5, 6, 7, 8, 9]\ncontext: [{}]", uses(12)))));
    assert!(is_malformed(&tag(&format!("prompt: P\nb: &b 1\ncontext: [{}]", uses(20)))));
    assert!(!is_malformed(&tag(&format!("prompt: P\nb: &b 1\ncontext: [{}]", uses(3)))));

    assert!(is_malformed(&tag(&format!("prompt: P\ncontext: {}", "[".repeat(30_000)))));
    assert!(is_malformed(&tag(&format!("prompt: P\ncontext: {}{}", "[".repeat(100), "]".repeat(100)))));
    assert!(is_malformed(&tag(&format!("prompt: P\ncontext: [{}]", "1, ".repeat(15_000)))));
    assert!(is_malformed(&tag(&format!("prompt: P\ncontext:\n {}x", "- ".repeat(20_000)))));
    assert!(is_malformed(&tag(&format!("prompt: P\n{}", "? ".repeat(20_000)))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn never_panics_and_ranges_are_apart(
        answer in prop::collection::vec(prop::sample::select(vec![
            "<ASK_USER_YAML>", "</ASK_USER_YAML>", "ask_user:", "ask_user: {prompt: P}", " ", "\n", "\n```yaml\n", "\n```\n",
            "prompt: P", "kind: x", "{\"ask_user\":", "{\"prompt\":\"P\"}", "}", "[", "\"", "&a ", "*a", "- ", "é", "\t", "|",
            "!!binary x", "? ", "<<: ", "\\", "%YAML", "---",
        ]), 0..20).prop_map(|pieces| pieces.concat())
    ) {
        let (AskUser::Found { ranges, .. } | AskUser::Malformed { ranges }) = find(&answer) else {
            return Ok(());
        };
        prop_assert!(!ranges.is_empty());
        let places: Vec<_> = ranges.iter().flat_map(|(start, end)| [*start, *end]).collect();
        prop_assert!(places.is_sorted() && places.iter().all(|place| answer.is_char_boundary(*place)));
        let rest = without_envelopes(&answer, &ranges);
        prop_assert_eq!(rest.trim(), &rest);
        prop_assert!(!rest.contains("<ASK_USER_YAML>"));
    }

    #[test]
    fn any_text_between_tags_is_an_envelope(content in "\\PC{0,40}") {
        prop_assert_ne!(find(&tag(&content)), AskUser::None);
    }
}
