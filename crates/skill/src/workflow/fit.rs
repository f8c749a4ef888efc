//! Whether values with pointers fit a schema, as far as that is certain before anything runs.

use serde_json::{Map, Value};

use super::error::WorkflowProblem;
use super::pointer::{Pointer, escaped};
use super::shape::{Shape, Types};
use crate::schema::Schema;

/// What is known of the value to which a pointer leads.
#[derive(Debug, Clone)]
pub(super) enum Known {
    Value(Value),
    Typed(Types),
    Unknown,
}

/// A problem, and the names that lead to its place.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) place: Vec<String>,
    pub(super) problem: WorkflowProblem,
}

/// A schema, compiled and as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) compiled: &'a Schema,
    pub(super) document: &'a Value,
}

/// A value in which `null` stands where nothing is known, and those places.
struct Filled<'k> {
    known: &'k dyn Fn(&Pointer) -> Known,
    shape: Shape<'k>,
    unknown: Vec<String>,
    mismatch: Option<Misfit>,
    key: &'k str,
}

/// What certainly does not fit in the fields of `with`. `key` is in front of the place in messages.
pub(super) fn misfit_of_fields(
    fields: &Map<String, Value>,
    target: Target<'_>,
    key: &str,
    known: &dyn Fn(&Pointer) -> Known,
) -> Option<Misfit> {
    misfit(target, key, known, |filled| Value::Object(filled.fields(fields, &mut String::new())))
}

/// The same for one value.
pub(super) fn misfit_of_value(
    value: &Value,
    target: Target<'_>,
    key: &str,
    known: &dyn Fn(&Pointer) -> Known,
) -> Option<Misfit> {
    misfit(target, key, known, |filled| filled.value(value, &mut String::new()))
}

fn misfit(
    target: Target<'_>,
    key: &str,
    known: &dyn Fn(&Pointer) -> Known,
    fill: impl Fn(&mut Filled<'_>) -> Value,
) -> Option<Misfit> {
    let shape = Shape::new(target.document);
    let mut filled = Filled { known, shape, unknown: Vec::new(), mismatch: None, key };
    let value = fill(&mut filled);
    if filled.mismatch.is_some() {
        return filled.mismatch;
    }
    let problems = target.compiled.located_problems(&value)?;
    let (_, problem) = problems.into_iter().find(|(way, problem)| is_certain(way, &problem.path, &filled.unknown))?;
    let place = names(&problem.path);
    Some(Misfit { problem: WorkflowProblem::DoesNotFit { key: label(key, &place), message: problem.message }, place })
}

/// The place in a message: `with.list.0`.
pub(super) fn label(key: &str, place: &[String]) -> String {
    std::iter::once(key).chain(place.iter().map(String::as_str)).collect::<Vec<_>>().join(".")
}

/// The names of a JSON pointer.
pub(super) fn names(place: &str) -> Vec<String> {
    place.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
}

impl Filled<'_> {
    fn fields(&mut self, fields: &Map<String, Value>, place: &mut String) -> Map<String, Value> {
        let length = place.len();
        let mut filled = Map::with_capacity(fields.len());
        for (name, value) in fields {
            place.push('/');
            place.push_str(&escaped(name));
            filled.insert(name.clone(), self.value(value, place));
            place.truncate(length);
        }
        filled
    }

    fn value(&mut self, value: &Value, place: &mut String) -> Value {
        if let Some(pointer) = Pointer::of(value) {
            return pointer.map_or(Value::Null, |pointer| self.pointed(&pointer, place));
        }
        match value {
            Value::Array(items) => {
                let length = place.len();
                let mut filled = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    place.push('/');
                    place.push_str(&index.to_string());
                    filled.push(self.value(item, place));
                    place.truncate(length);
                }
                Value::Array(filled)
            }
            Value::Object(fields) => Value::Object(self.fields(fields, place)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn pointed(&mut self, pointer: &Pointer, place: &str) -> Value {
        match (self.known)(pointer) {
            Known::Value(value) => return value,
            Known::Typed(found) => {
                let names = names(place);
                let expected = self.shape.follow(names.iter().cloned()).and_then(Shape::types);
                if let Some(expected) = expected.filter(|expected| expected.is_disjoint(found)) {
                    let problem = WorkflowProblem::TypeMismatch {
                        key: label(self.key, &names),
                        pointer: pointer.clone(),
                        found: found.to_string(),
                        expected: expected.to_string(),
                    };
                    self.mismatch.get_or_insert(Misfit { place: names, problem });
                }
            }
            Known::Unknown => {}
        }
        self.unknown.push(place.to_owned());
        Value::Null
    }
}

/// Whether a problem remains whatever the unknown values turn out to be. `way` leads through the schema.
fn is_certain(way: &str, place: &str, unknown: &[String]) -> bool {
    if unknown.is_empty() {
        return true;
    }
    // What applies only under a condition may not apply: the condition may depend on what is unknown.
    if way.split('/').any(|word| matches!(word, "then" | "else" | "dependentSchemas" | "dependencies")) {
        return false;
    }
    let is_inside = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if unknown.iter().any(|unknown| is_inside(place, unknown)) {
        return false;
    }
    if !unknown.iter().any(|unknown| is_inside(unknown, place)) {
        return true;
    }
    // The value here contains what is unknown. Its names and their number are known all the same.
    let keyword = way.rsplit('/').next().unwrap_or_default();
    let is_of_choice = way.split('/').any(|word| matches!(word, "anyOf" | "oneOf" | "not" | "if" | "contains"));
    let depends_on_names = matches!(
        keyword,
        "required"
            | "additionalProperties"
            | "type"
            | "minProperties"
            | "maxProperties"
            | "minItems"
            | "maxItems"
            | "dependentRequired"
            | "propertyNames"
    );
    depends_on_names && !is_of_choice
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(with: &Value, schema: &Value) -> Option<String> {
        let compiled = Schema::compile(schema).unwrap();
        let known = |pointer: &Pointer| match pointer {
            Pointer::Input { name, .. } if name == "three" => Known::Value(json!(3)),
            Pointer::StepText { .. } => Known::Typed(Types::STRING),
            Pointer::Input { .. } | Pointer::StepOutput { .. } | Pointer::Item { .. } => Known::Unknown,
        };
        let target = Target { compiled: &compiled, document: schema };
        let misfit = misfit_of_fields(with.as_object().unwrap(), target, "with", &known)?;
        Some(misfit.problem.to_string())
    }

    #[test]
    fn what_is_certain_is_reported_and_the_rest_is_not() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer"}, "t": {"type": "string", "minLength": 2},
                "list": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 2},
            },
            "required": ["n"],
            "additionalProperties": false,
            "if": {"properties": {"t": {"type": "null"}}, "required": ["t"]}, "then": {"required": ["list"]},
        });
        let unknown = json!({"from": "/inputs/any"});
        let cases = [
            (json!({"n": 3, "t": "ab"}), None),
            (json!({"n": "3"}), Some("with.n: \"3\" is not of type \"integer\"")),
            (json!({}), Some("with: \"n\" is a required property")),
            (json!({"n": unknown, "t": unknown, "list": unknown}), None),
            (json!({"t": unknown}), Some("with: \"n\" is a required property")),
            (json!({"n": 1, "t": unknown}), None),
            (
                json!({"n": unknown, "m": unknown}),
                Some("with: Additional properties are not allowed ('m' was unexpected)"),
            ),
            (json!({"n": {"from": "/inputs/three"}}), None),
            (json!({"n": 1, "t": {"from": "/inputs/three"}}), Some("with.t: 3 is not of type \"string\"")),
            (json!({"n": 1, "list": [unknown, unknown]}), None),
            (json!({"n": 1, "list": [unknown, 4]}), Some("with.list.1: 4 is not of type \"string\"")),
            (json!({"n": 1, "list": ["a", "b", unknown]}), Some("with.list: [\"a\",\"b\",null] has more than 2 items")),
            (
                json!({"n": {"from": "/steps/s/text"}}),
                Some("with.n: /steps/s/text is a string, and an integer is needed there"),
            ),
            (json!({"n": 1, "list": [{"from": "/steps/s/text"}]}), None),
            (
                json!({"n": 1, "list": {"from": "/steps/s/text"}}),
                Some("with.list: /steps/s/text is a string, and a list is needed there"),
            ),
        ];
        for (with, expected) in cases {
            assert_eq!(said(&with, &schema).as_deref(), expected, "{with}");
        }
    }

    #[test]
    fn choices_are_not_decided_by_what_is_unknown() {
        let schema =
            json!({"anyOf": [{"required": ["a"], "properties": {"b": {"type": "string"}}}, {"maxProperties": 0}]});
        assert_eq!(said(&json!({"a": 1, "b": {"from": "/inputs/any"}}), &schema), None);
        assert!(said(&json!({"a": 1, "b": 2}), &schema).is_some());
    }
}
