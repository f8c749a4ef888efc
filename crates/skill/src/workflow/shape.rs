//! What a JSON Schema certainly says about a part of a value. Where a schema leaves a doubt, nothing is said: what is
//! refused here would fail in every run.

use std::fmt;

use serde_json::Value;

/// Most references that lead to one part.
const HOPS_MAX: usize = 16;

/// A part of a schema, with the whole for its references.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    root: &'a Value,
    at: &'a Value,
}

/// Where a name leads in a value.
#[derive(Debug, Clone)]
pub(super) enum ShapePart<'a> {
    Described(Shape<'a>),
    /// It may exist.
    Open,
    /// It certainly does not exist; these do.
    Nowhere(Vec<&'a str>),
}

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const FRACTION: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;

impl Types {
    pub(super) const STRING: Self = Self(STRING);
    pub(super) const ARRAY: Self = Self(ARRAY);

    pub(super) fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    fn named(name: &str) -> Option<u8> {
        Some(match name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "number" => INTEGER | FRACTION,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            _ => return None,
        })
    }

    pub(super) fn of(value: &Value) -> Self {
        Self(match value {
            Value::Null => NULL,
            Value::Bool(_) => BOOLEAN,
            // A number such as 2.0 is an integer too.
            Value::Number(number) if number.is_f64() => INTEGER | FRACTION,
            Value::Number(_) => INTEGER,
            Value::String(_) => STRING,
            Value::Array(_) => ARRAY,
            Value::Object(_) => OBJECT,
        })
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (OBJECT, "an object"),
            (ARRAY, "a list"),
            (STRING, "a string"),
            (FRACTION, "a number"),
            (INTEGER, "an integer"),
            (BOOLEAN, "a boolean"),
            (NULL, "null"),
        ];
        let mut shown = self.0;
        if shown & FRACTION != 0 {
            shown &= !INTEGER;
        }
        let names: Vec<&str> = names.iter().filter(|(flag, _)| shown & flag != 0).map(|(_, name)| *name).collect();
        f.write_str(&names.join(" or "))
    }
}

impl<'a> Shape<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, at: root }.followed()
    }

    /// Behind references into the same schema.
    fn followed(mut self) -> Self {
        for _ in 0..HOPS_MAX {
            let target = self.at.get("$ref").and_then(Value::as_str).and_then(|reference| {
                let pointer = reference.strip_prefix('#')?;
                (pointer.is_empty() || pointer.starts_with('/')).then(|| self.root.pointer(pointer)).flatten()
            });
            match target {
                Some(target) => self.at = target,
                None => break,
            }
        }
        self
    }

    fn at(self, at: &'a Value) -> Self {
        Self { at, ..self }.followed()
    }

    /// The types that it can have. None: not declared.
    pub(super) fn types(self) -> Option<Types> {
        let of_type = match self.at.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                names.iter().map(|name| Types::named(name.as_str()?)).try_fold(0, |all, one| Some(all | one?))
            }
            _ => None,
        };
        let of_values = match (self.at.get("const"), self.at.get("enum")) {
            (Some(value), _) => Some(Types::of(value).0),
            (None, Some(Value::Array(values))) => Some(values.iter().fold(0, |all, value| all | Types::of(value).0)),
            (None, _) => None,
        };
        match (of_type, of_values) {
            (Some(one), Some(other)) => Some(Types(one & other)),
            (Some(one), None) | (None, Some(one)) => Some(Types(one)),
            (None, None) => None,
        }
        .filter(|types| types.0 != 0)
    }

    /// The part with a name of an object, or with an index of a list.
    pub(super) fn part(self, name: &str) -> ShapePart<'a> {
        let types = self.types();
        let may_be = |kind: u8| types.is_none_or(|types| types.0 & kind != 0);
        let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if may_be(ARRAY) && is_index {
            // With a declared object as the other choice, either may be meant.
            let is_list = types == Some(Types::ARRAY) && self.at.get("prefixItems").is_none();
            return match self.at.get("items").filter(|items| is_list && items.is_object()) {
                Some(items) => ShapePart::Described(self.at(items)),
                None => ShapePart::Open,
            };
        }
        if !may_be(OBJECT) {
            return ShapePart::Nowhere(Vec::new());
        }
        let properties = self.at.get("properties").and_then(Value::as_object);
        if let Some(part) = properties.and_then(|properties| properties.get(name)) {
            return ShapePart::Described(self.at(part));
        }
        let has_patterns = self.at.get("patternProperties").is_some();
        match self.at.get("additionalProperties") {
            Some(Value::Bool(false)) if !has_patterns => {
                ShapePart::Nowhere(properties.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect())
            }
            Some(more @ Value::Object(_)) if !has_patterns => ShapePart::Described(self.at(more)),
            _ => ShapePart::Open,
        }
    }

    /// What the items of a list are, if it is described.
    pub(super) fn items(self) -> Option<Shape<'a>> {
        let items = self.at.get("items").filter(|items| items.is_object())?;
        self.at.get("prefixItems").is_none().then(|| self.at(items))
    }

    /// The part at a place, a JSON pointer whose names are given. None: not described.
    pub(super) fn follow(self, names: impl Iterator<Item = String>) -> Option<Shape<'a>> {
        let mut shape = self;
        for name in names {
            match shape.part(&name) {
                ShapePart::Described(part) => shape = part,
                ShapePart::Open | ShapePart::Nowhere(_) => return None,
            }
        }
        Some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn types(schema: Value) -> Option<String> {
        Shape::new(&schema).types().map(|types| types.to_string())
    }

    #[test]
    fn declared_types_are_found_behind_references() {
        let cases = [
            (json!({"type": "string"}), Some("a string")),
            (json!({"type": ["integer", "null"]}), Some("an integer or null")),
            (json!({"type": "number"}), Some("a number")),
            (json!({"enum": ["a", 1]}), Some("a string or an integer")),
            (
                json!({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"const": true}}}),
                Some("a boolean"),
            ),
            (json!({"$ref": "#"}), None),
            (json!({"$ref": "#/none"}), None),
            (json!({"anyOf": [{"type": "string"}]}), None),
            (json!({"type": "mystery"}), None),
            (json!(true), None),
        ];
        for (schema, expected) in cases {
            assert_eq!(types(schema.clone()).as_deref(), expected, "{schema}");
        }
        let number = Types::of(&json!(2));
        assert!(!number.is_disjoint(Types(INTEGER | FRACTION)) && number.is_disjoint(Types::STRING));
        assert!(!Types::of(&json!(2.0)).is_disjoint(number), "2.0 is an integer");
    }

    #[test]
    fn only_certain_absence_is_nowhere() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": false});
        let part = |schema: &Value, name: &str| match Shape::new(schema).part(name) {
            ShapePart::Described(part) => format!("described {:?}", part.types().map(|types| types.to_string())),
            ShapePart::Open => "open".to_owned(),
            ShapePart::Nowhere(known) => format!("nowhere {known:?}"),
        };
        assert_eq!(part(&closed, "a"), "described Some(\"a list\")");
        assert_eq!(part(&closed, "b"), "nowhere [\"a\"]");
        assert_eq!(part(&closed["properties"]["a"], "0"), "described Some(\"a string\")");
        assert_eq!(part(&closed["properties"]["a"], "x"), "nowhere []");
        assert_eq!(part(&json!({"type": "string"}), "0"), "nowhere []");
        for open in [
            json!({"properties": {}}),
            json!({"additionalProperties": false, "patternProperties": {"^b": {}}}),
            json!({"additionalProperties": true}),
            json!(true),
        ] {
            assert_eq!(part(&open, "b"), "open", "{open}");
        }
        assert_eq!(part(&json!({"additionalProperties": {"type": "null"}}), "b"), "described Some(\"null\")");
        assert_eq!(part(&json!({"type": ["array", "object"], "additionalProperties": false}), "0"), "open");
        assert_eq!(part(&json!({"additionalProperties": false}), "0"), "open", "it may be a list");
    }
}
