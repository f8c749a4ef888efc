//! The JSON Schema of RASP: the envelope, and for each event type the shape of its data.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::data::EventType;
use super::envelope::{Correlation, Kind, PROTOCOL_VERSION, RawRef, Source};
use crate::ids::{AttemptNumber, RunId};
use crate::time::Timestamp;

fn part<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema as a document of its own, draft 2020-12.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let per_type: Vec<Value> = EventType::ALL
        .iter()
        .map(|event_type| {
            json!({
                "properties": {
                    "event": {"properties": {
                        "type": {"const": event_type.as_str()},
                        "category": {"const": event_type.category().as_str()},
                    }},
                    "data": event_type.data_schema(&mut generator),
                }
            })
        })
        .collect();
    let properties = json!({
        "protocol_version": {"const": PROTOCOL_VERSION},
        "run_id": part::<RunId>(&mut generator),
        "seq": {"type": "integer", "minimum": 1},
        "ts": part::<Timestamp>(&mut generator),
        "attempt_number": part::<AttemptNumber>(&mut generator),
        "source": part::<Source>(&mut generator),
        "event": part::<Kind>(&mut generator),
        "data": {"type": "object"},
        "correlation": part::<Correlation>(&mut generator),
        "raw_ref": part::<RawRef>(&mut generator),
    });
    document("RASP event", &properties, json!({"oneOf": per_type}), &mut generator)
}

/// A schema of one envelope: all its properties are required and no other is allowed.
pub(crate) fn document(title: &str, properties: &Value, rest: Value, generator: &mut SchemaGenerator) -> Value {
    let required: Vec<&String> = properties.as_object().map(|p| p.keys().collect()).unwrap_or_default();
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "$defs": generator.take_definitions(true),
    });
    if let (Some(document), Value::Object(rest)) = (document.as_object_mut(), rest) {
        document.extend(rest);
    }
    document
}
