//! The JSON Schema of FCMP, made from the types.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::data::FcmpType;
use super::envelope::{Meta, PROTOCOL_VERSION};
use crate::ids::RunId;
use crate::profile::EngineName;
use crate::rasp::schema::{alone, envelope};
use crate::rasp::{Correlation, RawRef};
use crate::time::Timestamp;

/// The schema as a document of its own, draft 2020-12.
pub fn schema() -> Value {
    alone("FCMP event", event)
}

/// The schema of one event. Definitions that it refers to stay in the generator.
pub fn event(generator: &mut SchemaGenerator) -> Value {
    let per_type: Vec<Value> = FcmpType::ALL
        .iter()
        .map(|fcmp_type| {
            json!({
                "properties": {
                    "type": {"const": fcmp_type.as_str()},
                    "data": fcmp_type.data_schema(generator),
                },
                "required": ["type", "data"],
            })
        })
        .collect();
    let properties = json!({
        "protocol_version": {"const": PROTOCOL_VERSION},
        "run_id": generator.subschema_for::<RunId>(),
        "seq": {"type": "integer", "minimum": 1, "description": "Counts the events of the conversation from 1, without gaps."},
        "ts": generator.subschema_for::<Timestamp>(),
        "engine": generator.subschema_for::<EngineName>(),
        "session_id": {"type": ["string", "null"], "description": "The engine's id of the session."},
        "type": generator.subschema_for::<FcmpType>(),
        "data": {"description": "Its shape depends on `type`."},
        "meta": generator.subschema_for::<Meta>(),
        "correlation": generator.subschema_for::<Correlation>(),
        "raw_ref": generator.subschema_for::<RawRef>(),
    });
    envelope("One event of a conversation, FCMP: everything that a frontend needs.", &properties, &per_type)
}
