//! Which parts of a schema stand in some event: its types, and the fields of each of its definitions.

use std::collections::BTreeSet;

use serde_json::Value;

/// A schema, and what of it was seen.
pub(crate) struct Written<'a> {
    schema: &'a Value,
    /// Types of events, and pairs of a definition and a field that had a value other than null.
    seen: BTreeSet<(String, String)>,
}

/// The definition of an envelope.
const EVENT: &str = "event";
/// Stands for the list of types.
const TYPE: &str = "type";

impl<'a> Written<'a> {
    pub(crate) fn new(schema: &'a Value) -> Self {
        Self { schema, seen: BTreeSet::new() }
    }

    pub(crate) fn event(&mut self, event: &Value) {
        for (field, schema) in properties(self.schema) {
            self.value(schema, EVENT, field, &event[field]);
        }
        let branch = branches(self.schema).find(|(name, _)| *name == type_of(event));
        if let Some((name, data)) = branch {
            self.seen.insert((TYPE.to_owned(), name.to_owned()));
            self.inside(data, EVENT, &event["data"]);
        }
    }

    fn value(&mut self, schema: &Value, of: &str, field: &str, value: &Value) {
        if !value.is_null() {
            self.seen.insert((of.to_owned(), field.to_owned()));
            self.inside(schema, of, value);
        }
    }

    fn inside(&mut self, schema: &Value, of: &str, value: &Value) {
        let (schema, of) = match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => (&self.schema["$defs"][name], name),
            None => (schema, of),
        };
        for (field, schema) in properties(schema) {
            self.value(schema, of, field, &value[field]);
        }
        for element in value.as_array().into_iter().flatten() {
            self.inside(&schema["items"], of, element);
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            for schema in schema[list].as_array().into_iter().flatten() {
                self.inside(schema, of, value);
            }
        }
    }

    /// Takes over what was seen elsewhere.
    pub(crate) fn join(&mut self, other: Written<'_>) {
        self.seen.extend(other.seen);
    }

    /// What the schema has and no event had. A field that the schema allows to be nothing but null is none.
    pub(crate) fn missing(&self) -> Vec<String> {
        let types = branches(self.schema).map(|(name, _)| (TYPE, name));
        let envelope = properties(self.schema).map(|(field, _)| (EVENT, field));
        let definitions = self.schema["$defs"].as_object().expect("definitions");
        let fields = definitions.iter().flat_map(|(name, schema)| {
            let fields = properties(schema).filter(|(_, schema)| schema["type"] != "null");
            fields.map(move |(field, _)| (name.as_str(), field))
        });
        let all = types.chain(envelope).chain(fields);
        let missing = all.filter(|(of, field)| !self.seen.contains(&((*of).to_owned(), (*field).to_owned())));
        missing.map(|(of, field)| format!("{of} {field}")).collect()
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// The types of events, each with the schema of its data.
fn branches(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["oneOf"].as_array().into_iter().flatten().map(|branch| {
        let properties = &branch["properties"];
        let of_rasp = properties["event"]["properties"]["type"]["const"].as_str();
        let name = of_rasp.or_else(|| properties["type"]["const"].as_str()).expect("a type");
        (name, &properties["data"])
    })
}

fn type_of(event: &Value) -> &str {
    let name = event["type"].as_str().or_else(|| event["event"]["type"].as_str());
    name.expect("a type")
}

#[test]
fn what_no_event_has_is_missing() {
    let schema = serde_json::json!({
        "properties": {"seq": {}, "data": {}},
        "oneOf": [
            {"properties": {"type": {"const": "a"}, "data": {"$ref": "#/$defs/A"}}},
            {"properties": {"type": {"const": "b"}, "data": {"$ref": "#/$defs/A"}}},
        ],
        "$defs": {
            "A": {"properties": {"x": {}, "y": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}, "z": {"type": "null"}}},
            "B": {"properties": {"m": {"items": {"$ref": "#/$defs/C"}}}},
            "C": {"properties": {"n": {}}},
        },
    });
    let mut written = Written::new(&schema);
    assert_eq!(written.missing(), ["type a", "type b", "event seq", "event data", "A x", "A y", "B m", "C n"]);
    written.event(&serde_json::json!({"seq": 1, "type": "a", "data": {"x": null, "y": {"m": [{}]}}}));
    assert_eq!(written.missing(), ["type b", "A x", "C n"]);
    written.event(&serde_json::json!({"seq": 1, "type": "b", "data": {"x": 0, "y": {"m": [{"n": 0}]}}}));
    assert_eq!(written.missing(), Vec::<String>::new());
}
