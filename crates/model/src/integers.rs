//! Integers in bodies. JSON has one kind of number, and JSON Schema counts 5.0 among the integers, so both spellings
//! are accepted.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A required integer. For types of up to 32 bits, all of whose values a float can represent.
pub fn integer<'de, D: Deserializer<'de>, T: FromStr>(deserializer: D) -> Result<T, D::Error> {
    exact(f64::deserialize(deserializer)?)
}

/// An integer that may be omitted or null.
pub fn optional_integer<'de, D: Deserializer<'de>, T: FromStr>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)?.map(exact).transpose()
}

fn exact<T: FromStr, E: Error>(number: f64) -> Result<T, E> {
    // A whole number is written without a decimal point. Adding zero turns minus zero into zero.
    let text = (number + 0.0).to_string();
    text.parse().map_err(|_| E::custom(format!("{text} is not an integer in the allowed range")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Numbers {
        #[serde(deserialize_with = "integer")]
        one: i32,
        #[serde(default, deserialize_with = "optional_integer")]
        other: Option<u32>,
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_spelled() {
        for (text, one, other) in [
            (r#"{"one": 5}"#, 5, None),
            (r#"{"one": 5.0, "other": null}"#, 5, None),
            (r#"{"one": -2147483648, "other": 4294967295}"#, i32::MIN, Some(u32::MAX)),
            (r#"{"one": -7e2, "other": -0.0}"#, -700, Some(0)),
        ] {
            assert_eq!(serde_json::from_str::<Numbers>(text).unwrap(), Numbers { one, other }, "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for word in ["5.5", "2147483648", "1e300", "\"5\"", "true", "null", "[5]"] {
            assert!(serde_json::from_str::<Numbers>(&format!(r#"{{"one": {word}}}"#)).is_err(), "{word}");
        }
        assert!(serde_json::from_str::<Numbers>(r#"{"one": 1, "other": -1}"#).is_err());
    }
}
