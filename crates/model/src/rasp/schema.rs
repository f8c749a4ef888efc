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
    alone("RASP event", event)
}

/// The schema of one event. Definitions that it refers to stay in the generator.
pub fn event(generator: &mut SchemaGenerator) -> Value {
    let per_type: Vec<Value> = EventType::ALL
        .iter()
        .map(|event_type| {
            json!({
                "properties": {
                    "event": {
                        "type": "object",
                        "properties": {
                            "type": {"const": event_type.as_str()},
                            "category": {"const": event_type.category().as_str()},
                        },
                        "required": ["type", "category"],
                    },
                    "data": event_type.data_schema(generator),
                },
                "required": ["event", "data"],
            })
        })
        .collect();
    let properties = json!({
        "protocol_version": {"const": PROTOCOL_VERSION},
        "run_id": part::<RunId>(generator),
        "seq": {"type": "integer", "minimum": 1, "description": "Counts the events of the run from 1, without gaps."},
        "ts": part::<Timestamp>(generator),
        "attempt_number": part::<AttemptNumber>(generator),
        "source": part::<Source>(generator),
        "event": part::<Kind>(generator),
        "data": {"description": "Its shape depends on `event.type`."},
        "correlation": part::<Correlation>(generator),
        "raw_ref": part::<RawRef>(generator),
    });
    let mut schema = envelope(
        "One event of a run, RASP: nothing is left out, and `raw_ref` gives the bytes that it was made from.",
        &properties,
        &per_type,
    );
    // A property of the line and not of the event, so it is not required.
    schema["properties"]["prev"] = json!({
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "BLAKE3 of the line before this one in the Log, without its line end; in the first line that of \
                        the run's id. Absent in events that are not from a Log, and in Logs of older versions.",
    });
    schema
}

/// All properties are required and no others are allowed; the event has one of the types.
pub(crate) fn envelope(description: &str, properties: &Value, per_type: &[Value]) -> Value {
    let required: Vec<&String> = properties.as_object().map(|p| p.keys().collect()).unwrap_or_default();
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "oneOf": per_type,
    })
}

/// A document for `event`, for events as they are written.
pub(crate) fn alone(title: &str, event: fn(&mut SchemaGenerator) -> Value) -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12().for_serialize());
    let event = event(&mut generator);
    let mut document = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title});
    if let (Some(document), Value::Object(event)) = (document.as_object_mut(), event) {
        document.extend(event);
        document.insert("$defs".to_owned(), generator.take_definitions(true).into());
    }
    document
}
