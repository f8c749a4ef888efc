//! Strings of the operating system (paths, arguments) in JSON: text where they are UTF-8, else `{"hex":"…"}`, so that
//! nothing is lost.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path, an argument or a variable, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct OsText(OsString);

impl OsText {
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<OsString> for OsText {
    fn from(text: OsString) -> Self {
        Self(text)
    }
}

impl From<PathBuf> for OsText {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<&OsStr> for OsText {
    fn from(text: &OsStr) -> Self {
        Self(text.to_owned())
    }
}

impl From<&Path> for OsText {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().to_owned())
    }
}

impl From<&str> for OsText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

#[derive(Serialize, Deserialize)]
struct Hex {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Bytes(Hex),
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => Hex { hex: to_hex(self.0.as_bytes()) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into())),
            Form::Bytes(Hex { hex }) => from_hex(&hex)
                .map(|bytes| Self(OsString::from_vec(bytes)))
                .ok_or_else(|| serde::de::Error::custom("not hexadecimal")),
        }
    }
}

impl JsonSchema for OsText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OsText".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A path, an argument or a variable: text where it is UTF-8, else its bytes in hexadecimal.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"hex": {"type": "string", "pattern": "^([0-9a-f]{2})*$"}},
                    "required": ["hex"],
                },
            ],
        })
    }
}

/// Two lower-case digits per byte.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives_json() {
        for bytes in [&b"plain"[..], b"", b"with\nnewline", b"\xff\xfe/x", "grün".as_bytes(), b"{\"hex\":1}"] {
            let word = OsText(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&word).expect("JSON");
            assert_eq!(serde_json::from_str::<OsText>(&json).expect("the same"), word, "{json}");
        }
        let expected = r#"{"hex":"ff0a"}"#;
        assert_eq!(serde_json::to_string(&OsText::from(OsString::from_vec(vec![0xff, 0x0a]))).expect("JSON"), expected);
    }

    #[test]
    fn what_is_not_hexadecimal_is_refused() {
        for bad in [r#"{"hex":"f"}"#, r#"{"hex":"zz"}"#, r#"{"hex":"+1"}"#, "7"] {
            assert!(serde_json::from_str::<OsText>(bad).is_err(), "{bad}");
        }
    }
}
