//! The JSON Schema of FCMP, made from the types.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::data::FcmpType;
use super::envelope::{Meta, PROTOCOL_VERSION};
use crate::ids::RunId;
use crate::profile::EngineName;
use crate::rasp::schema::document;
use crate::rasp::{Correlation, RawRef};
use crate::time::Timestamp;

/// The schema as a document of its own, draft 2020-12.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let per_type: Vec<Value> = FcmpType::ALL
        .iter()
        .map(|fcmp_type| {
            json!({"properties": {
                "type": {"const": fcmp_type.as_str()},
                "data": fcmp_type.data_schema(&mut generator),
            }})
        })
        .collect();
    let properties = json!({
        "protocol_version": {"const": PROTOCOL_VERSION},
        "run_id": generator.subschema_for::<RunId>(),
        "seq": {"type": "integer", "minimum": 1},
        "ts": generator.subschema_for::<Timestamp>(),
        "engine": generator.subschema_for::<EngineName>(),
        "session_id": {"type": ["string", "null"]},
        "type": generator.subschema_for::<FcmpType>(),
        "data": {"type": "object"},
        "meta": generator.subschema_for::<Meta>(),
        "correlation": generator.subschema_for::<Correlation>(),
        "raw_ref": generator.subschema_for::<RawRef>(),
    });
    document("FCMP event", &properties, json!({"oneOf": per_type}), &mut generator)
}
