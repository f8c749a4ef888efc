//! Where two texts differ, as a message. Values are not included: they may be long, and the place is what matters.

use serde_json::Value;

/// The first byte in which two texts differ.
pub(super) fn first_byte(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Where two JSON texts differ: the path of the first field that does, and the byte in the first text.
pub(super) fn of_json(a: &[u8], b: &[u8]) -> String {
    let byte = first_byte(a, b);
    let values = serde_json::from_slice::<Value>(a).ok().zip(serde_json::from_slice::<Value>(b).ok());
    match values.and_then(|(a, b)| first_field(&a, &b)) {
        Some(path) if path.is_empty() => format!("at byte {byte}"),
        Some(path) => format!("in {path}, at byte {byte}"),
        // The same values, written differently.
        None => format!("at byte {byte}, in how it is written"),
    }
}

/// None when the values are the same.
pub(super) fn first_field(a: &Value, b: &Value) -> Option<String> {
    let mut path = String::new();
    walk(a, b, &mut path).then_some(path)
}

fn walk(a: &Value, b: &Value, path: &mut String) -> bool {
    let length = path.len();
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                let differ = match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => walk(a, b, path),
                    (Some(_), None) | (None, Some(_)) => true,
                    (None, None) => false,
                };
                if differ {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                path.push_str(&format!("[{at}]"));
                let differ = match (a.get(at), b.get(at)) {
                    (Some(a), Some(b)) => walk(a, b, path),
                    (Some(_), None) | (None, Some(_)) | (None, None) => true,
                };
                if differ {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _)
        | (Value::Array(_) | Value::Object(_), _) => a != b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_that_differs_is_named() {
        let text = br#"{"a":1,"b":{"c":[1,{"d":"x"}]},"e":2}"#;
        let cases: [(&[u8], &str); 5] = [
            (br#"{"a":1,"b":{"c":[1,{"d":"y"}]},"e":2}"#, "in b.c[1].d, at byte 25"),
            (br#"{"a":1,"b":{"c":[1]},"e":2}"#, "in b.c[1], at byte 18"),
            (br#"{"a":1,"b":{"c":[1,{"d":"x"}]},"e":2,"f":0}"#, "in f, at byte 36"),
            (br#"{"a": 1,"b":{"c":[1,{"d":"x"}]},"e":2}"#, "at byte 5, in how it is written"),
            (br#"{"a":1,"#, "at byte 7, in how it is written"),
        ];
        for (other, words) in cases {
            assert_eq!(of_json(text, other), words);
        }
    }
}
