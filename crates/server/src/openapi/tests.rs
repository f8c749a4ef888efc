//! The document is consistent: a name has one meaning, every reference resolves, and everything is described.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{document, parts};

/// Every value of the document, with its path.
fn each<'a>(value: &'a Value, path: &str, take: &mut impl FnMut(&str, &'a Value)) {
    take(path, value);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                each(field, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), take);
            }
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                each(value, &format!("{path}/{at}"), take);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut count = 0;
    each(&document, "", &mut |path, value| {
        let Some(target) = value.as_object().and_then(|fields| fields.get("$ref")).and_then(Value::as_str) else {
            return;
        };
        let pointer = target.strip_prefix('#').unwrap_or_else(|| panic!("{path}: {target} is elsewhere"));
        assert!(document.pointer(pointer).is_some(), "{path}: there is no {target}");
        count += 1;
    });
    assert!(count > 300, "only {count}");
}

/// If two types of requests, or two of responses, had the same name, a number would be appended to the second.
#[test]
fn a_name_means_one_thing() {
    let (_, [asked, given]) = parts();
    for name in asked.keys().chain(given.keys()) {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}: two types have this name");
    }
    for (name, schema) in &asked {
        let other = given.get(name).unwrap_or(schema);
        assert_eq!(schema, other, "{name} is one thing in requests and another in answers");
    }
}

#[test]
fn everything_is_described() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for (name, schema) in schemas {
        assert!(schema["description"].as_str().is_some_and(|words| words.ends_with('.')), "{name}");
    }
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for operation in methods.as_object().expect("methods").values() {
            assert!(ids.insert(operation["operationId"].as_str().expect("an id")), "{path}");
            assert!(operation["summary"].is_string(), "{path}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{path}: {}", parameter["name"]);
            }
        }
    }
    each(&document, "", &mut |path, value| {
        if path.ends_with("/description")
            && let Some(words) = value.as_str()
        {
            // Links between Rust types mean nothing to readers of the document.
            assert!(!words.contains("[`") && !words.contains("::"), "{path}: {words}");
        }
    });
}
