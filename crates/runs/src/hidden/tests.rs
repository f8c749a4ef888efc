use serde_json::json;

use super::*;

fn hidden(patterns: &[&str], values: &[&str]) -> Hidden {
    let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    let secrets = Secrets::new(values.iter().map(|value| value.as_bytes()));
    Hidden::new(Patterns::new(&patterns).expect("patterns"), secrets)
}

fn shown(hidden: &Hidden, value: Value) -> Value {
    Value::Object(hidden.object(value.as_object().expect("an object")))
}

#[test]
fn a_secret_is_hidden_wherever_it_stands() {
    let hidden = hidden(&[], &["hush-hush", "12345678"]);
    let input = json!({
        "a": "it is hush-hush!",
        "hush-hush": [{"deep": "{\"key\":\"hush-hush\"}"}],
        "n": 12345678,
        "other": [1, true, null, "grün"],
    });
    let expected = json!({
        "a": "it is *********!",
        "*********": [{"deep": "{\"key\":\"*********\"}"}],
        "n": "********",
        "other": [1, true, null, "grün"],
    });
    assert_eq!(shown(&hidden, input), expected);
}

#[test]
fn a_pattern_matches_text_that_contains_a_secret() {
    let hidden = hidden(&["token=[a-z-]+ end"], &["hush-hush"]);
    assert_eq!(hidden.text("a token=hush-hush end b"), "a ******************* b");
    assert_eq!(hidden.text("two lines\ntoken=abc end\n"), "two lines\n*************\n");
}

#[test]
fn a_value_is_known_by_its_key() {
    let hidden = hidden(&[r#""password": ?"[^"]*""#, r#""pin":\d+"#], &[]);
    let input = json!({"password": "open", "pin": 1234, "name": "me", "deep": {"password": "sesame"}});
    let expected = json!({"password": "****", "pin": "****", "name": "me", "deep": {"password": "******"}});
    // The patterns match the keys too, which are not secret themselves.
    assert_eq!(shown(&hidden, input), expected);
}

#[test]
fn where_nothing_is_to_be_hidden_everything_is_as_it_was() {
    let input = json!({"text": "a * b\r\nc", "n": 1.5, "big": u64::MAX, "list": [[], {}]});
    assert_eq!(shown(&hidden(&[], &["short"]), input.clone()), input);
    assert_eq!(shown(&hidden(&["no such words"], &[]), input.clone()), input);
}
