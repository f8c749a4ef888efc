//! How large and how deep a schema is with all its references written out, which is how a validator walks through it.
//!
//! Of everything that a reference could mean (see `names`) the largest counts. So the result is never too small, and
//! for schemas that people write it is exact.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::names::Names;

/// A schema that the library brings along, such as the one of all schemas.
const ELSEWHERE: Extent = Extent { parts: 1000, depth: 20 };

/// What a validator has to walk through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) parts: u64,
    /// Parts within parts.
    pub(super) depth: usize,
}

/// Of this schema; none when it is deeper than `most`. What leads back to itself counts once.
pub(super) fn extent(schema: &Value, most: usize) -> Option<Extent> {
    Walk { names: Names::of(schema), known: HashMap::new(), most }.part(schema, 1)
}

struct Walk<'a> {
    names: Names<'a>,
    /// What a reference stands for, None while it is being counted.
    known: HashMap<&'a str, Option<Extent>>,
    most: usize,
}

impl<'a> Walk<'a> {
    /// `level`: how deep it lies itself.
    fn part(&mut self, part: &'a Value, level: usize) -> Option<Extent> {
        if level > self.most {
            return None;
        }
        let mut all = Extent { parts: 1, depth: 1 };
        match part {
            Value::Object(fields) => self.fields(fields, level, &mut all)?,
            Value::Array(items) => {
                for item in items {
                    all.add(self.part(item, level + 1)?);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        (level + all.depth <= self.most + 1).then_some(all)
    }

    fn fields(&mut self, fields: &'a Map<String, Value>, level: usize, all: &mut Extent) -> Option<()> {
        for (key, value) in fields {
            match (key.as_str(), value) {
                // Counted where they are referred to.
                ("$defs" | "definitions", _) => {}
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    all.add(self.reference(reference, level + 1)?);
                }
                (_, value) => all.add(self.part(value, level + 1)?),
            }
        }
        Some(())
    }

    fn reference(&mut self, reference: &'a str, level: usize) -> Option<Extent> {
        match self.known.get(reference) {
            Some(Some(extent)) => return Some(*extent),
            Some(None) => return Some(Extent { parts: 1, depth: 1 }),
            None => {}
        }
        self.known.insert(reference, None);
        let meant = self.names.meant(reference);
        let mut largest = if meant.is_empty() { ELSEWHERE } else { Extent { parts: 1, depth: 1 } };
        for part in meant {
            let extent = self.part(part, level)?;
            largest = Extent { parts: largest.parts.max(extent.parts), depth: largest.depth.max(extent.depth) };
        }
        self.known.insert(reference, Some(largest));
        Some(largest)
    }
}

impl Extent {
    /// Takes in something that lies within.
    fn add(&mut self, inner: Self) {
        self.parts = self.parts.saturating_add(inner.parts);
        self.depth = self.depth.max(inner.depth + 1);
    }
}
