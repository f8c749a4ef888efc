//! Schemas and values that were made to use up time or memory. A process of its own, so that its memory is that of these
//! tests; what is counted is the same in every build and on every machine, so nothing here measures time.

use std::fs;

use serde_json::{Map, Value, json};
use skillrun_skill::Schema;

/// Beyond this a server with some runs is in trouble. The first of these took 3.1 GB.
const MEMORY_MAX_KB: u64 = 400 << 10;

fn compile(schema: &Value) -> Schema {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("schema.json");
    fs::write(&path, schema.to_string()).expect("written");
    Schema::read(&path).expect("a schema")
}

fn messages(schema: &Value, value: &Value) -> Vec<String> {
    compile(schema).problems(value).into_iter().map(|problem| problem.message).collect()
}

fn assert_little_memory() {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().expect("a number");
    assert!(peak < MEMORY_MAX_KB, "{peak} kB were used");
}

fn assert_not_listed(schema: &Value, value: &Value) {
    let messages = messages(schema, value);
    assert!(matches!(&messages[..], [one] if one.starts_with("does not fit this schema;")), "{messages:?}");
    assert_little_memory();
}

fn assert_refused(schema: &Value, value: &Value) {
    let messages = messages(schema, value);
    assert!(matches!(&messages[..], [one] if one.starts_with("takes more than")), "{messages:?}");
    assert_little_memory();
}

fn nested(levels: usize, name: &str, innermost: Value) -> Value {
    (0..levels).fold(innermost, |value, _| Value::Object(Map::from_iter([(name.to_owned(), value)])))
}

/// Two kilobytes and 400 bytes: every error of every branch was kept with a copy of its value.
#[test]
fn a_list_of_errors_that_doubles_at_each_level() {
    for key in ["anyOf", "oneOf"] {
        let branch = |number: usize| json!({"required": [format!("r{number}")], "properties": {"a": {"$ref": "#"}}});
        let schema = json!({"type": "object", key: (0..20).map(branch).collect::<Vec<_>>()});
        let value = nested(66, "a", json!(3));
        assert!(schema.to_string().len() < 2_000 && value.to_string().len() < 400);
        assert_not_listed(&schema, &value);
    }
}

/// The place of each error is as long as all names around it.
#[test]
fn a_list_of_errors_with_long_paths() {
    let name = "n".repeat(1_000);
    let branch = |number: usize| json!({"required": [format!("r{number}")], "additionalProperties": {"$ref": "#"}});
    let schema = json!({"type": "object", "anyOf": [branch(1), branch(2), branch(3)]});
    assert_not_listed(&schema, &nested(100, &name, json!(3)));
}

/// Nothing of it fits, and what does not fit was not counted: the count came last in each part.
#[test]
fn judging_where_nothing_fits() {
    let to = |level: usize| json!({"$ref": format!("#/$defs/d{level}")});
    let levels = (0..4).map(|level| (format!("d{level}"), json!({"anyOf": vec![to(level + 1); 10]})));
    let mut defs: Map<String, Value> = levels.collect();
    defs.insert("d4".to_owned(), json!({"contains": {"type": "number"}}));
    let schema = json!({"$defs": defs, "$ref": "#/$defs/d0"});
    assert_refused(&schema, &json!(vec!["a"; 5_000]));
}

/// Parts that do not even look at the value.
#[test]
fn judging_by_parts_that_read_nothing() {
    let never = json!({"allOf": [false]});
    let schema = json!({"contains": {"anyOf": vec![never; 20_000]}});
    assert_refused(&schema, &json!(vec![0; 20_000]));
}

/// Each of these texts is gone through again and again until the library stops.
#[test]
fn judging_by_regular_expressions_that_go_back() {
    let texts = json!(vec!["a".repeat(40) + "c"; 20_000]);
    assert_refused(&json!({"contains": {"type": "string", "pattern": "^(a+)+\\1*b$"}}), &texts);
    let names: Map<String, Value> =
        (0..20_000).map(|number| (format!("{}{number}", "a".repeat(40)), json!(1))).collect();
    assert_refused(&json!({"patternProperties": {"^(a+)+\\1*b$": {"type": "string"}}}), &json!(names));
}

/// What people write is far from every bound, and a large value with a mistake is told where the mistake is.
#[test]
fn what_is_usual_is_judged_and_listed() {
    let item = json!({"type": "object", "required": ["id", "kind"], "additionalProperties": false, "properties": {
        "id": {"type": "string", "pattern": "^[a-z0-9-]{1,40}$"},
        "kind": {"enum": ["a", "b", "c"]},
        "value": {"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 100}, {"type": "null"}]},
    }});
    let schema = json!({"type": "object", "properties": {"items": {"type": "array", "items": item}}});
    let items = |last: Value| {
        let mut items: Vec<Value> =
            (0..20_000).map(|id| json!({"id": format!("id-{id}"), "kind": "b", "value": id})).collect();
        items.push(last);
        json!({"items": items})
    };
    assert_eq!(messages(&schema, &items(json!({"id": "x", "kind": "a"}))), [""; 0]);
    let wrong = messages(&schema, &items(json!({"id": "X", "kind": "a", "value": []})));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].contains("does not match"), "{wrong:?}");
    assert_little_memory();
}
