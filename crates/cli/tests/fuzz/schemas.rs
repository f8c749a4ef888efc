//! JSON Schemas of skills, and values of models that are held against them.
//!
//! Laws: compiled or refused in one sentence; a value is judged in bounded time and words, however the schema refers to
//! itself, doubles, or goes back in a text.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use skillrun_skill::Schema;

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Material};
use crate::seeds;
use crate::tree::assert_sentence;
use crate::words::{self, list, texts};

#[derive(Debug, Clone)]
struct Judged {
    schema: Bytes,
    values: Vec<Value>,
}

impl Input for Judged {
    fn bytes(&self) -> Vec<u8> {
        [self.schema.0.clone(), b"\n====\n".to_vec(), json!(self.values).to_string().into_bytes()].concat()
    }
}

const PATTERNS: &str = r##"
    ^(a+)+$ ^(a|a)*b$ ^(a+)+\\1*$ (.*)*x (?=(a+))\\1b a{1,1000}{1,1000} [ (?<n>a)\\k<n>+ \\p{L}+ (x+x+)+y
    ^(?:(?:a?){20}){20}$
"##;

/// And the empty one.
const REFS: &str = "# #/$defs/a #/$defs/b #/$defs/c #/properties/a #a #b x x#/$defs/a urn:x#a \
    http://127.0.0.1:9/s.json file:///etc/passwd #/%24defs/a #/$defs/nothing \
    https://json-schema.org/draft/2020-12/schema http://json-schema.org/draft-07/schema# // %";

const MANY: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const ONE: &str = "not if then else items additionalProperties unevaluatedProperties unevaluatedItems contains \
    propertyNames additionalItems contentSchema";
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const NAMES: &[&str] = &["a", "b", "c", "^(a+)+$", "", "$ref"];

fn leaf() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        (Just("type"), select(vec![json!("object"), json!("string"), json!(["array", "null"]), json!("x"), json!(3)])),
        (select(vec!["$ref", "$dynamicRef", "$recursiveRef"]), select(refs()).prop_map(Value::from)),
        (
            select(vec!["$id", "$anchor", "$dynamicAnchor", "$schema", "id"]),
            select(refs()).prop_map(|text| text.trim_start_matches('#').into())
        ),
        (Just("pattern"), select(texts(PATTERNS)).prop_map(Value::from)),
        (
            select(vec!["minimum", "multipleOf", "minLength", "maxItems", "minProperties"]),
            select(vec![json!(0), json!(1e-300), json!(-1), json!(1e300), json!(0.1)])
        ),
        (
            Just("format"),
            select(vec!["date-time", "regex", "uri", "idn-email", "ipv6", "json-pointer", "x"]).prop_map(Value::from)
        ),
        (Just("enum"), Just(json!([1, "a", null, {"a": 1}]))),
        (Just("required"), Just(json!(["a", "b"]))),
        (Just("uniqueItems"), any::<bool>().prop_map(Value::from)),
        (Just("$vocabulary"), Just(json!({"https://json-schema.org/draft/2020-12/vocab/core": true}))),
    ];
    prop_oneof![6 => vec(field, 0..4).prop_map(object), 1 => any::<bool>().prop_map(Value::from)]
}

fn refs() -> Vec<&'static str> {
    list(REFS).into_iter().chain([""]).collect()
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 60, 6, |inner| {
        let named = vec((select(NAMES), inner.clone()), 0..4).prop_map(object);
        let field = prop_oneof![
            2 => (select(MANY), vec(inner.clone(), 0..4).prop_map(Value::from)),
            2 => (select(list(ONE)), inner.clone()),
            3 => (select(NAMED), named),
        ];
        (vec(field, 0..4), leaf()).prop_map(|(fields, leaf)| {
            let Value::Object(mut all) = object(fields) else { return leaf };
            all.extend(leaf.as_object().cloned().unwrap_or_default());
            all.into()
        })
    })
}

/// How one level of a doubling schema refers to the next.
#[derive(Debug, Clone, Copy)]
enum Way {
    Pointer,
    Escaped,
    Anchor,
    DynamicAnchor,
    Id,
    FromId,
    Elsewhere,
}

const WAYS: &[Way] =
    &[Way::Pointer, Way::Escaped, Way::Anchor, Way::DynamicAnchor, Way::Id, Way::FromId, Way::Elsewhere];

/// Each level refers to the next this many times: with all references expanded there is no end of it.
fn doubling() -> impl Strategy<Value = Value> {
    let key = select(vec!["allOf", "anyOf", "oneOf"]);
    let size = prop_oneof![8 => (2..60usize, 1..5usize), 2 => (60..4000usize, 1..2usize)];
    (size, select(WAYS), key, any::<bool>()).prop_map(|((levels, times), way, key, is_round)| {
        let to = |level: usize| match way {
            Way::Pointer => json!({"$ref": format!("#/$defs/d{level}")}),
            Way::Escaped => json!({"$ref": format!("#/%24defs/d{level}")}),
            Way::Anchor => json!({"$ref": format!("#d{level}")}),
            Way::DynamicAnchor => json!({"$dynamicRef": format!("#d{level}")}),
            Way::Id => json!({"$ref": format!("d{level}")}),
            Way::FromId => json!({"$ref": format!("urn:x#/$defs/d{level}")}),
            Way::Elsewhere => json!({"$ref": format!("#/x/d{level}")}),
        };
        let mut levels: Vec<Value> = (0..levels).map(|level| json!({key: vec![to(level + 1); times]})).collect();
        levels.push(if is_round { json!({"additionalProperties": to(0)}) } else { json!({"type": "object"}) });
        for (number, level) in levels.iter_mut().enumerate() {
            match way {
                Way::Pointer | Way::Escaped | Way::FromId | Way::Elsewhere => {}
                Way::Anchor => level["$anchor"] = json!(format!("d{number}")),
                Way::DynamicAnchor => level["$dynamicAnchor"] = json!(format!("d{number}")),
                Way::Id => level["$id"] = json!(format!("d{number}")),
            }
        }
        let defs: Map<String, Value> =
            levels.into_iter().enumerate().map(|(number, level)| (format!("d{number}"), level)).collect();
        let place = if matches!(way, Way::Elsewhere) { "x" } else { "$defs" };
        json!({"$id": "urn:x", place: defs, "allOf": [to(0)]})
    })
}

/// Values of a few levels.
fn broad() -> impl Strategy<Value = Value> {
    let text =
        select(vec!["", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "b\u{0}"]).prop_map(Value::from);
    let leaf = prop_oneof![text, select(vec![json!(null), json!(1), json!(1e300), json!(true)])];
    leaf.prop_recursive(4, 40, 8, |inner| {
        prop_oneof![vec(inner.clone(), 0..8).prop_map(Value::from), vec((select(NAMES), inner), 0..4).prop_map(object),]
    })
}

fn deep() -> impl Strategy<Value = Value> {
    (1..120usize).prop_map(|depth| (0..depth).fold(json!(3), |value, _| json!({"a": value})))
}

/// Refers back to itself several times at each level, with a few parts of any kind beside.
fn round() -> impl Strategy<Value = Value> {
    let deeper = select(vec!["additionalProperties", "unevaluatedProperties", "items", "contains", "not"]);
    let back = select(vec![json!({"$ref": "#"}), json!({"$ref": "#/$defs/a"}), json!({"$dynamicRef": "#b"})]);
    let part = (deeper, back).prop_map(|(deeper, back)| json!({deeper: back}));
    (select(vec!["allOf", "anyOf", "oneOf"]), vec(part, 1..5), leaf()).prop_map(|(key, parts, leaf)| {
        json!({"$dynamicAnchor": "b", "$defs": {"a": {key: parts}}, "allOf": [{key: parts}], "anyOf": [leaf, true]})
    })
}

fn check(place: &Path, judged: &Judged) {
    fs::write(place, &judged.schema.0).expect("written");
    let schema = match Schema::read(place) {
        Ok(schema) => schema,
        Err(error) => return assert_sentence(&error.to_string()),
    };
    for value in &judged.values {
        let problems = schema.problems(value);
        assert!(problems.len() <= 20, "{} problems", problems.len());
        for problem in problems {
            assert!(problem.message.chars().count() <= 501, "{} characters", problem.message.len());
        }
    }
}

#[test]
fn schemas() {
    let folder = tempfile::tempdir().expect("a folder");
    let material = Material::new(seeds::files("examples", "schema.json"), words::JSON);
    let json = |value: Value| Bytes(value.to_string().into_bytes());
    let changed = {
        let material = material.clone();
        (schema(), mutate::changes()).prop_map(move |(schema, changes)| {
            let mut bytes = schema.to_string().into_bytes();
            mutate::apply(&mut bytes, &changes, &material);
            Bytes(bytes)
        })
    };
    let any = prop_oneof![2 => mutate::bytes(&material), 6 => schema().prop_map(json), 2 => changed];
    let judged = prop_oneof![
        10 => (any, vec(broad(), 1..4)),
        1 => (prop_oneof![doubling(), round()].prop_map(json), vec(prop_oneof![broad(), deep()], 1..4)),
    ];
    let judged = judged.prop_map(|(schema, values)| Judged { schema, values });
    fuzz("schemas", judged, |judged| check(&folder.path().join("schema.json"), judged));
}
