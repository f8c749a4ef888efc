//! Tests: schemas that lead back to themselves several times, and that counting their steps changes nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::steps::Budget;
use super::{
    BYTES_LIST, ERRORS_MAX, PatternOptions, STEPS_BACK_MAX, STEPS_JUDGE, STEPS_LIST, Schema, SchemaProblem, shorten,
};

fn compile(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap()
}

fn nested(levels: usize, innermost: Value) -> Value {
    (0..levels).fold(innermost, |value, _| json!({"a": value}))
}

/// With few steps for the list.
fn briefly(schema: &Schema, value: &Value) -> Vec<SchemaProblem> {
    let budget = |steps| Budget { steps, bytes: BYTES_LIST };
    schema.within(value, budget(STEPS_JUDGE), budget(20_000))
}

fn assert_soon(start: Instant) {
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Found by fuzzing: this was walked through two to the power of the levels times.
#[test]
fn references_that_double_at_each_level_of_a_value_end() {
    let start = Instant::now();
    let back = json!({"additionalProperties": {"$ref": "#"}});
    let any = compile(&json!({"allOf": [back, back]}));
    let objects = compile(&json!({"type": "object", "allOf": [back, back]}));
    let does_not_fit =
        "does not fit this schema; it would take too many steps to find every place where it does not".to_owned();
    for levels in [60, 127] {
        assert_eq!(any.problems(&nested(levels, json!(3))), []);
        assert_eq!(objects.problems(&nested(levels, json!({}))), []);
        let problems = objects.problems(&nested(levels, json!(3)));
        assert_eq!(problems, [SchemaProblem { path: String::new(), message: does_not_fit.clone() }]);
    }
    assert_soon(start);
}

/// However they are written, and whatever asks for them.
#[test]
fn every_way_to_double_ends() {
    let start = Instant::now();
    let draft_4 = "http://json-schema.org/draft-04/schema#";
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    let draft_2019 = "https://json-schema.org/draft/2019-09/schema";
    let referring = [
        json!({"$ref": "#"}),
        json!({"$ref": "urn:x"}),
        json!({"$ref": "#me"}),
        json!({"$dynamicRef": "#dynamic"}),
        json!({"$ref": "#/$defs/pure"}),
        json!({"$schema": draft_4, "$ref": "#"}),
        json!({"$schema": draft_7, "$ref": "#/$defs/pure", "type": "string"}),
        json!({"$schema": draft_2019, "$recursiveRef": "#"}),
    ];
    let ways = [("allOf", "additionalProperties"), ("anyOf", "additionalProperties"), ("oneOf", "patternProperties")];
    for (to, (key, deeper)) in referring.iter().flat_map(|to| ways.map(|way| (to, way))) {
        let down = if deeper == "patternProperties" { json!({"a": to}) } else { to.clone() };
        let mut schema = json!({"$id": "urn:x", "$anchor": "me", "$dynamicAnchor": "dynamic", "type": "object",
            "$defs": {"pure": {"$ref": "#"}}});
        schema[key] = json!([{deeper: down}, {deeper: down}, {deeper: down, "minProperties": 0}]);
        if let Some(draft) = to.get("$schema") {
            schema["$schema"] = draft.clone();
        }
        assert_eq!(briefly(&compile(&schema), &nested(100, json!(3))).len(), 1, "{schema}");
    }
    assert_soon(start);
}

#[test]
fn what_is_left_over_may_double_too() {
    let start = Instant::now();
    for (key, deeper) in [("allOf", "unevaluatedProperties"), ("anyOf", "unevaluatedProperties"), ("oneOf", "not")] {
        let down = json!({deeper: {"$ref": "#"}});
        let schema = compile(&json!({key: [down, down, {"additionalProperties": {"$ref": "#"}}], "type": "object"}));
        assert!(briefly(&schema, &nested(100, json!(3))).len() <= ERRORS_MAX);
    }
    assert_soon(start);
}

/// Each refers to all the others, so there are as many ways through them as there are orders of them.
#[test]
fn parts_that_all_refer_to_each_other_end() {
    let start = Instant::now();
    for key in ["allOf", "anyOf", "oneOf"] {
        let to = |number: usize| json!({"$ref": format!("#/$defs/{number}")});
        let all: Vec<Value> = (0..10).map(to).collect();
        let mut defs: Map<String, Value> = (0..10).map(|number| (number.to_string(), json!({key: all}))).collect();
        defs.insert("9".to_owned(), json!({"type": "string"}));
        let schema = compile(&json!({"$defs": defs, "$ref": "#/$defs/0"}));
        for value in [json!("a"), json!(3)] {
            let budget = |steps| Budget { steps, bytes: BYTES_LIST };
            schema.within(&value, budget(200_000), budget(20_000));
        }
    }
    assert_soon(start);
}

/// Ten kinds of nodes with two of any kind in each.
fn language() -> Schema {
    let node = |kind: usize| {
        json!({"type": "object", "required": ["kind"], "additionalProperties": false, "properties": {
            "kind": {"const": format!("k{kind}")}, "left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"},
            "a": {"$ref": "#/$defs/node"},
        }})
    };
    let nodes: Vec<Value> = (0..10).map(node).collect();
    compile(&json!({"$ref": "#/$defs/node", "$defs": {"node": {"oneOf": nodes}}}))
}

#[test]
fn a_tree_of_many_kinds_is_judged_right() {
    let start = Instant::now();
    let tree = |leaf: &str| {
        (0..40).fold(json!({"kind": leaf}), |value, level| {
            json!({"a": value, "kind": format!("k{}", level % 10), "left": {"kind": "k3"}, "right": {"kind": "k9"}})
        })
    };
    let language = language();
    assert_eq!(language.problems(&tree("k1")), []);
    assert_eq!(language.problems(&tree("none")).len(), 1);
    assert_soon(start);
}

#[test]
fn a_long_list_fits() {
    let list = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "next": {
        "anyOf": [{"type": "null"}, {"$ref": "#"}]}}});
    let value = |last: Value| (0..119).fold(json!({"n": last, "next": null}), |next, n| json!({"n": n, "next": next}));
    assert_eq!(compile(&list).problems(&value(json!(1))), []);
    assert_eq!(compile(&list).problems(&value(json!("x"))).len(), 1);
}

#[test]
fn a_large_value_is_judged_right() {
    let start = Instant::now();
    let of = json!({"$ref": "#/$defs/number"});
    let schema = compile(&json!({"items": of, "$defs": {"number": {"allOf": [{"type": "integer"}, {"minimum": 1}]}}}));
    let mut items = vec![json!(3); 400_000];
    const { assert!(STEPS_LIST < 400_000 * 6 && 400_000 * 12 < STEPS_JUDGE) };
    assert_eq!(schema.problems(&json!(items)), []);
    items.push(json!(0));
    assert_eq!(schema.problems(&json!(items)).len(), 1);
    assert_soon(start);
}

/// All files below a folder of the repository that are schemas.
fn schemas(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            schemas(&path, found);
        } else if path.to_string_lossy().ends_with("schema.json") {
            found.push(path);
        }
    }
}

#[test]
fn counting_changes_nothing_for_the_schemas_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    ["schemas", "examples", "testkit", "crates/skill/src", "crates/trial/probe", "crates/cli/tests/cmd"]
        .iter()
        .for_each(|folder| schemas(&root.join(folder), &mut found));
    assert!(found.len() > 5, "{found:?}");
    for path in found {
        let schema = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for value in [json!({}), json!(3), json!([]), json!({"text": 3, "seq": "x", "data": {}, "type": null, "z": []})]
        {
            assert_unchanged(&schema, &value);
        }
    }
}

/// As it was without counting.
fn uncounted(schema: &Value, value: &Value) -> Option<Vec<SchemaProblem>> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(STEPS_BACK_MAX);
    let compiled = jsonschema::options().offline().with_pattern_options(patterns).build(schema).ok()?;
    let problem = |error: jsonschema::ValidationError<'_>| SchemaProblem {
        path: error.instance_path().to_string(),
        message: shorten(&error.to_string()),
    };
    Some(compiled.iter_errors(value).take(ERRORS_MAX).map(problem).collect())
}

fn assert_unchanged(schema: &Value, value: &Value) {
    let now = Schema::compile(schema).ok().map(|compiled| compiled.problems(value));
    assert_eq!(now, uncounted(schema, value), "{schema} {value}");
}

#[test]
fn a_message_that_shows_a_part_shows_it_as_it_was_written() {
    for part in [json!({}), json!({"type": "integer"}), json!({"allOf": [{}, {"$comment": "z"}], "zz": 1})] {
        let problems = compile(&json!({"not": part})).problems(&json!(3));
        assert_eq!(problems[0].message, format!("{part} is not allowed for 3"));
        assert_unchanged(&json!({"not": part}), &json!(3));
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        (Just("type"), select(vec![json!("object"), json!("string"), json!("integer"), json!(["array", "null"])])),
        (Just("$ref"), select(vec![json!("#"), json!("#/$defs/a"), json!("#/properties/a"), json!("#/items")])),
        (Just("const"), select(vec![json!({"a": {}}), json!(1), json!([])])),
        (Just("enum"), Just(json!([1, "a", null, {"a": 1}, {"not": {}}]))),
        (select(vec!["minimum", "minItems", "maxItems", "minProperties"]), select(vec![json!(0), json!(1), json!(2)])),
        (Just("required"), select(vec![json!(["a"]), json!(["a", "b"])])),
        (Just("uniqueItems"), Just(json!(true))),
        (Just("$schema"), Just(json!("http://json-schema.org/draft-07/schema#"))),
    ];
    prop_oneof![6 => vec(field, 0..4).prop_map(object), 1 => any::<bool>().prop_map(Value::from)]
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn schema() -> impl Strategy<Value = Value> {
    const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
    const SCHEMAS: &[&str] = &[
        "not",
        "if",
        "then",
        "else",
        "items",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contains",
        "propertyNames",
    ];
    const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "dependentSchemas"];
    leaf().prop_recursive(4, 30, 4, |inner| {
        let named = vec((select(&["a", "b", "not", "const"][..]), inner.clone()), 0..4).prop_map(object);
        let field = prop_oneof![
            2 => (select(LISTS), vec(inner.clone(), 1..4).prop_map(Value::from)),
            3 => (select(SCHEMAS), inner),
            3 => (select(NAMED), named),
        ];
        (vec(field, 0..4), leaf()).prop_map(|(fields, leaf)| {
            let mut all = object(fields);
            leaf.as_object().into_iter().flatten().for_each(|(key, value)| all[key] = value.clone());
            all
        })
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = select(vec![json!(null), json!(1), json!("a"), json!(0.5), json!({"a": 1}), json!([])]);
    leaf.prop_recursive(3, 20, 4, |inner| {
        let named = vec((select(&["a", "b", "not", "const"][..]), inner.clone()), 0..4).prop_map(object);
        prop_oneof![vec(inner, 0..4).prop_map(Value::from), named]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn counting_changes_no_problem(schema in schema(), values in vec(value(), 1..4)) {
        values.iter().for_each(|value| assert_unchanged(&schema, value));
    }
}
