//! The bounds of integers, which their formats only imply: `uint32` is not a standard format, and readers need not know
//! it.

use serde_json::{Value, json};

/// Adds the bounds of its format to every integer in a document, unless it has narrower ones.
pub(super) fn add(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some((minimum, maximum)) = fields.get("format").and_then(Value::as_str).and_then(of_format) {
                fields.entry("minimum").or_insert(minimum);
                fields.entry("maximum").or_insert(maximum);
            }
            fields.values_mut().for_each(add);
        }
        Value::Array(values) => values.iter_mut().for_each(add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn of_format(format: &str) -> Option<(Value, Value)> {
    Some(match format {
        "uint8" => (json!(0), json!(u8::MAX)),
        "uint16" => (json!(0), json!(u16::MAX)),
        "uint32" => (json!(0), json!(u32::MAX)),
        "uint64" | "uint" => (json!(0), json!(u64::MAX)),
        "int32" => (json!(i32::MIN), json!(i32::MAX)),
        "int64" => (json!(i64::MIN), json!(i64::MAX)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_bounds_wherever_they_stand() {
        let mut document =
            json!({"a": [{"type": "integer", "format": "uint32", "minimum": 1}], "b": {"format": "uuid"}});
        add(&mut document);
        let bounded = json!({"type": "integer", "format": "uint32", "minimum": 1, "maximum": u32::MAX});
        assert_eq!(document, json!({"a": [bounded], "b": {"format": "uuid"}}));
    }
}
