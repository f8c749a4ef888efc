//! The parts of a schema that are schemas themselves: each gets the keyword that counts steps (see `steps`).
//!
//! Values in a schema stay as they are: what an `enum` or a `const` lists is compared, and must not change.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::names::{Names, fragment};
use super::steps::KEYWORD;

/// A reference leads into an `enum` or a `const`. Its steps could not be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IntoValue(pub(super) String);

/// The schema with the keyword in each of its parts.
pub(super) fn counted(schema: &Value) -> Result<Value, IntoValue> {
    let mut walk = Walk { names: Names::of(schema), ..Walk::default() };
    walk.from(schema);
    match walk.misled() {
        Some(reference) => Err(IntoValue(reference.to_owned())),
        None => Ok(walk.copy(schema)),
    }
}

/// What the field of a schema holds.
enum Field {
    /// A schema, or a list of them.
    Schemas,
    /// Schemas by names that are not keywords.
    Named,
    Reference,
    /// Values that are compared.
    Values,
    Other,
}

fn field(key: &str) -> Field {
    match key {
        "additionalItems"
        | "additionalProperties"
        | "allOf"
        | "anyOf"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "oneOf"
        | "prefixItems"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Field::Schemas,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
            Field::Named
        }
        "$ref" | "$dynamicRef" | "$recursiveRef" => Field::Reference,
        "const" | "enum" => Field::Values,
        _ => Field::Other,
    }
}

/// A place in the schema, which is not changed while it is walked through.
type Place = *const Value;

#[derive(Default)]
struct Walk<'a> {
    names: Names<'a>,
    parts: HashSet<Place>,
    /// All that lies in an `enum` or a `const`.
    values: HashSet<Place>,
    references: Vec<(Place, &'a str)>,
}

impl<'a> Walk<'a> {
    fn from(&mut self, schema: &'a Value) {
        let mut open = vec![schema];
        while let Some(part) = open.pop() {
            if let Value::Object(fields) = part
                && self.parts.insert(part)
            {
                fields.iter().for_each(|(key, value)| self.field(part, key, value, &mut open));
            }
        }
    }

    fn field(&mut self, part: &'a Value, key: &str, value: &'a Value, open: &mut Vec<&'a Value>) {
        match (field(key), value) {
            (Field::Schemas, Value::Array(schemas)) => open.extend(schemas),
            (Field::Schemas, schema) => open.push(schema),
            (Field::Named, Value::Object(named)) => open.extend(named.values()),
            (Field::Reference, Value::String(reference)) => {
                self.references.push((part, reference));
                open.extend(self.names.meant(reference));
            }
            (Field::Values, values) => self.within_value(values),
            (Field::Named | Field::Reference | Field::Other, _) => {}
        }
    }

    fn within_value(&mut self, value: &'a Value) {
        self.values.insert(value);
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.within_value(value)),
            Value::Array(items) => items.iter().for_each(|value| self.within_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn is_value(&self, part: &Value) -> bool {
        self.values.contains(&std::ptr::from_ref(part))
    }

    /// A pointer from a schema into a value. Ids and anchors in values are none, and lead nowhere.
    fn misled(&self) -> Option<&'a str> {
        let leads = |reference: &str| {
            let fragment = fragment(reference);
            let mut resources = self.names.resources.iter().filter(|resource| !self.is_value(resource));
            fragment.starts_with('/')
                && resources.any(|resource| resource.pointer(&fragment).is_some_and(|part| self.is_value(part)))
        };
        let mut real = self.references.iter().filter(|(part, _)| !self.values.contains(part));
        real.find(|(_, reference)| leads(reference)).map(|(_, reference)| *reference)
    }

    fn copy(&self, part: &Value) -> Value {
        if self.is_value(part) {
            return part.clone();
        }
        match part {
            Value::Object(fields) => {
                let copied = fields.iter().map(|(key, value)| (key.clone(), self.copy(value)));
                let mut copied: Map<String, Value> = copied.collect();
                if self.parts.contains(&std::ptr::from_ref(part)) {
                    copied.insert(KEYWORD.to_owned(), Value::Bool(true));
                }
                copied.into()
            }
            Value::Array(items) => items.iter().map(|item| self.copy(item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => part.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `N` stands for the keyword.
    fn assert_counted(schema: Value, expected: Value) {
        let expected = expected.to_string().replace("\"N\":0", &format!("\"{KEYWORD}\":true"));
        assert_eq!(counted(&schema), Ok(serde_json::from_str(&expected).unwrap()));
    }

    #[test]
    fn parts_are_counted_and_values_are_not() {
        assert_counted(
            json!({"properties": {"enum": {"not": {}}, "const": true}, "enum": [{"not": {}}], "default": {"a": {}}}),
            json!({"N": 0, "properties": {"enum": {"N": 0, "not": {"N": 0}}, "const": true}, "enum": [{"not": {}}],
                "default": {"a": {}}}),
        );
        assert_counted(
            json!({"items": [{}, false], "dependencies": {"a": ["b"], "b": {}}, "$defs": {"$ref": {"oneOf": [{}]}}}),
            json!({"N": 0, "items": [{"N": 0}, false], "dependencies": {"a": ["b"], "b": {"N": 0}},
                "$defs": {"$ref": {"N": 0, "oneOf": [{"N": 0}]}}}),
        );
        assert_counted(json!(true), json!(true));
    }

    #[test]
    fn what_is_referred_to_is_counted_wherever_it_lies() {
        assert_counted(
            json!({"x": {"y": {"items": {"$anchor": "z"}}, "n": {}}, "allOf": [{"$ref": "#/x/y"}]}),
            json!({"N": 0, "x": {"y": {"N": 0, "items": {"N": 0, "$anchor": "z"}}, "n": {}},
                "allOf": [{"N": 0, "$ref": "#/x/y"}]}),
        );
    }

    #[test]
    fn a_reference_into_a_value_is_refused() {
        let into = json!({"not": {"const": {"items": {}}}, "items": {"$ref": "#/not/const/items"}});
        assert_eq!(counted(&into), Err(IntoValue("#/not/const/items".to_owned())));
        assert_counted(
            json!({"const": {"id": "a", "$ref": "#/enum"}, "items": {"$ref": "#"}}),
            json!({"N": 0, "const": {"id": "a", "$ref": "#/enum"}, "items": {"N": 0, "$ref": "#"}}),
        );
    }
}
