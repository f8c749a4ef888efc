//! A line as JSON: typed, borrowing where it can, and tolerant of a lone surrogate escape.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::profile::LineOutcome;
use crate::text::json::repair_surrogates;

/// A string that borrows from the line unless it had escapes. `Option<Cow<str>>` would always copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl Str<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

/// Reads a line of a JSON format. `read` returns its result for the text, or none when the text is not of its format;
/// it is called a second time where lone surrogate escapes had made the line invalid.
pub(crate) fn read_event(text: &str, mut read: impl FnMut(&str) -> Option<LineOutcome>) -> LineOutcome {
    if let Some(outcome) = read(text) {
        return outcome;
    }
    match repair_surrogates(text) {
        Some(repaired) => read(&repaired).unwrap_or_else(|| unknown_or_raw(&repaired)),
        None => unknown_or_raw(text),
    }
}

#[derive(serde::Deserialize)]
struct Typed<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a serde_json::value::RawValue>,
}

/// A JSON object is of the format, but unknown; anything else is only a line.
fn unknown_or_raw(text: &str) -> LineOutcome {
    match serde_json::from_str::<Typed<'_>>(text) {
        Ok(object) => {
            let name = object.kind.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
            LineOutcome::Unknown(name.unwrap_or_else(|| "object without type".to_owned()))
        }
        Err(_) => LineOutcome::Raw,
    }
}

/// A value of uncertain shape that must not cost its event; none when it has another shape.
pub(crate) fn decode<T: de::DeserializeOwned>(raw: &serde_json::value::RawValue) -> Option<T> {
    let text = raw.get();
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&repair_surrogates(text)?).ok())
}

/// Calls `each` with every element of an array, keeping none; false when it is not an array.
pub(crate) fn each_element<'a>(array: &'a str, each: impl FnMut(&'a serde_json::value::RawValue)) -> bool {
    struct Elements<F>(F);
    impl<'de, F: FnMut(&'de serde_json::value::RawValue)> Visitor<'de> for Elements<F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> std::result::Result<(), A::Error> {
            while let Some(element) = elements.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }
    serde_json::Deserializer::from_str(array).deserialize_seq(Elements(each)).is_ok()
}

/// The first elements of an array; none when it is not an array.
pub(crate) fn elements(array: &str, most: usize) -> Vec<&serde_json::value::RawValue> {
    let mut kept = Vec::new();
    let is_array = each_element(array, |element| {
        if kept.len() < most {
            kept.push(element);
        }
    });
    if is_array { kept } else { Vec::new() }
}

/// The complete members of a JSON object that was cut: `(key, value)`, as they are written.
pub(crate) fn members_before_cut(text: &str) -> Vec<(String, &str)> {
    let mut members = Vec::new();
    let Some(mut rest) = text.trim_start().strip_prefix('{') else { return members };
    while let Some((key, after)) = take_value::<String>(rest)
        && let Some(after) = after.trim_start().strip_prefix(':')
        && let Some((value, after)) = take_value::<&serde_json::value::RawValue>(after)
    {
        // A number at the very end may have been longer.
        let Some(after) = after.trim_start().strip_prefix(',') else {
            if after.trim_start().starts_with('}') {
                members.push((key, value.get()));
            }
            break;
        };
        members.push((key, value.get()));
        rest = after;
    }
    members
}

fn take_value<'a, T: Deserialize<'a>>(text: &'a str) -> Option<(T, &'a str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}
