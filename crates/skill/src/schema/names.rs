//! What the references of a schema can lead to.
//!
//! Where one leads depends on bases and scopes. That is not worked out here: a reference means everything that it could
//! mean by its name, and the caller assumes the worst of it.

use std::collections::HashMap;

use serde_json::Value;

/// What references can lead to.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// The schema, and parts of it that have an id: pointers begin at one of them.
    pub(super) resources: Vec<&'a Value>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        let mut names = Self { resources: vec![schema], anchors: HashMap::new() };
        names.collect(schema);
        names
    }

    fn collect(&mut self, part: &'a Value) {
        match part {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match (key.as_str(), value) {
                        ("$anchor" | "$dynamicAnchor", Value::String(name)) => self.anchor(name, part),
                        ("$id" | "id", Value::String(id)) => {
                            self.resources.push(part);
                            // Older drafts have no other anchors.
                            if let Some((_, name)) = id.split_once('#') {
                                self.anchor(name, part);
                            }
                        }
                        (_, _) => {}
                    }
                    self.collect(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn anchor(&mut self, name: &'a str, part: &'a Value) {
        self.anchors.entry(name).or_default().push(part);
    }

    /// Everything that a reference could mean.
    pub(super) fn meant(&self, reference: &str) -> Vec<&'a Value> {
        let fragment = fragment(reference);
        if fragment.is_empty() {
            self.resources.clone()
        } else if fragment.starts_with('/') {
            self.resources.iter().filter_map(|resource| resource.pointer(&fragment)).collect()
        } else {
            self.anchors.get(fragment.as_str()).cloned().unwrap_or_default()
        }
    }
}

/// What stands behind the `#` of a reference.
pub(super) fn fragment(reference: &str) -> String {
    unescaped(reference.split_once('#').map_or("", |(_, fragment)| fragment))
}

/// `%24` and the like as the characters they stand for.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
