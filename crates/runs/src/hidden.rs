//! The parts of a request that are not shown: the values of variables that the run keeps secret, and text that the
//! patterns of the run match. Users put such text into an input although there is a better place for it.
//!
//! The same is hidden as in the evidence: same length, `*`. A value is known here only as long as the variable still
//! has it; no value is ever stored.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Map, Value};
use skillrun_collect::Secrets;
use skillrun_engine::Engines;
use skillrun_evidence::Patterns;

use crate::record::{RecordError, RunRecord};

#[derive(Debug)]
pub struct Hidden {
    patterns: Patterns,
    secrets: Secrets,
}

impl Hidden {
    /// Hides what the patterns match, and these values.
    pub fn new(patterns: Patterns, secrets: Secrets) -> Self {
        Self { patterns, secrets }
    }

    /// `path` is the place of the record, `variable` returns the current value of a variable.
    pub fn of<'a>(
        record: &RunRecord,
        path: &Path,
        engines: &Engines,
        variable: impl Fn(&str) -> Option<&'a OsStr>,
    ) -> Result<Self, RecordError> {
        // An engine that is no longer in the settings has no names; those of the request are still hidden.
        let engine = engines.get(&record.engine.name).ok();
        let of_engine = engine.into_iter().flat_map(|engine| &engine.environment.secret);
        let names = record.request.secrets.iter().chain(of_engine);
        let values = names.filter_map(|name| variable(name)).map(OsStr::as_encoded_bytes);
        Ok(Self::new(record.patterns(path)?, Secrets::new(values)))
    }

    /// A text as it may be shown.
    pub fn text(&self, text: &str) -> String {
        let (mut by_patterns, mut by_secrets) = (text.as_bytes().to_vec(), text.as_bytes().to_vec());
        self.patterns.apply(&mut by_patterns);
        self.secrets.mask(&mut by_secrets);
        // Both searched the original text: a `*` of one must not keep the other from matching.
        let star = |(one, other): (u8, u8)| if one == other { one } else { b'*' };
        let shown: Vec<u8> = by_patterns.into_iter().zip(by_secrets).map(star).collect();
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// An object as it may be shown, including its keys.
    pub fn object(&self, object: &Map<String, Value>) -> Map<String, Value> {
        let entry = |(key, value): (&String, &Value)| {
            let shown = if self.is_hidden_by_its_key(key, value) { stars(value) } else { self.value(value) };
            (self.text(key), shown)
        };
        object.iter().map(entry).collect()
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => Value::Array(values.iter().map(|value| self.value(value)).collect()),
            Value::Object(object) => Value::Object(self.object(object)),
            Value::Number(number) => {
                let (spelled, shown) = (number.to_string(), self.text(&number.to_string()));
                if spelled == shown { value.clone() } else { Value::String(shown) }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// Whether a pattern matches a value because of the key before it, as in a line of JSON.
    fn is_hidden_by_its_key(&self, key: &str, value: &Value) -> bool {
        let is_plain = matches!(value, Value::String(_) | Value::Number(_));
        let spelled = |gap: &str| format!("{}:{gap}{value}", Value::from(key));
        is_plain
            && !self.patterns.is_empty()
            && ["", " "].into_iter().any(|gap| {
                let line = spelled(gap);
                let mut masked = line.clone().into_bytes();
                self.patterns.apply(&mut masked);
                // The key alone is not a reason to hide its value.
                let at = line.len() - value.to_string().len();
                masked[at..] != line.as_bytes()[at..]
            })
    }
}

fn stars(value: &Value) -> Value {
    let length = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    Value::String("*".repeat(length))
}
