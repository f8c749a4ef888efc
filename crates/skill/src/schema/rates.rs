//! What a step can cost because of the schema, found out once when it is compiled. Each is never too small: of all parts
//! of the schema the worst counts.

use serde_json::{Map, Value};

use super::extent::Extent;
use super::names::Names;

/// A regular expression that needs going back is stopped after 10,000 times (see `STEPS_BACK_MAX`). That is this many
/// steps as counted here.
const BACK_STEPS: u64 = 2_000;
/// The product of the bytes of a text and of a regular expression that counts as one step.
const MATCH_STEP: u64 = 1_024;
/// The number of parts of a schema that read nothing of the value and count as one step.
const BLIND_PARTS: u64 = 4;

/// Of one schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rates {
    /// What every step costs.
    pub(super) step: u64,
    /// Parts within parts.
    pub(super) levels: u64,
    /// An error may keep a copy of its value.
    pub(super) copies: bool,
    /// Of the regular expressions for texts, the worst.
    text: Matching,
    /// Of those for the names of fields in one object, all together.
    name: Matching,
    /// The longest path of a part; 0 where nothing refers to another part.
    reference_bytes: u64,
}

/// The work of one text with regular expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Matching {
    /// However short the text is.
    steps: u64,
    /// Their length, which the text's is multiplied with.
    bytes: u64,
}

/// How a value looks from afar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) depth: u64,
    /// Of the longest path in it.
    path_bytes: u64,
}

impl Matching {
    const NONE: Self = Self { steps: 0, bytes: 1 };

    fn of(pattern: &str) -> Self {
        let steps = if goes_back(pattern) { BACK_STEPS } else { 1 };
        Self { steps, bytes: pattern.len() as u64 + 1 }
    }

    fn worst(self, other: Self) -> Self {
        Self { steps: self.steps.max(other.steps), bytes: self.bytes.max(other.bytes) }
    }

    fn and(self, other: Self) -> Self {
        Self { steps: self.steps.saturating_add(other.steps), bytes: self.bytes.saturating_add(other.bytes) }
    }

    fn of_text(self, len: usize) -> u64 {
        self.steps.saturating_add((len as u64).saturating_mul(self.bytes) / MATCH_STEP)
    }
}

impl Rates {
    pub(super) const FREE: Self =
        Self { step: 1, levels: 1, copies: false, text: Matching::NONE, name: Matching::NONE, reference_bytes: 0 };

    pub(super) fn of(schema: &Value, extent: Extent) -> Self {
        let mut walk = Walk { names: Names::of(schema), rates: Self::FREE, is_blind: false, longest: 0, refers: false };
        walk.part(schema, 0);
        let Walk { mut rates, is_blind, longest, refers, .. } = walk;
        rates.levels = extent.depth as u64;
        if is_blind {
            rates.step += extent.parts / BLIND_PARTS;
        }
        rates.reference_bytes = if refers { longest } else { 0 };
        rates
    }

    /// Beyond the step itself.
    pub(super) fn text_steps(self, text: &str) -> u64 {
        self.text.of_text(text.len())
    }

    /// Beyond the step itself.
    pub(super) fn member_steps(self, name: &str) -> u64 {
        self.name.of_text(name.len())
    }

    /// Of an error: where it is in the value, and the way to it through the schema, which is one reference for each
    /// level or more.
    pub(super) fn path_bytes(self, shape: Shape) -> u64 {
        shape.path_bytes.saturating_add(self.reference_bytes.saturating_mul(shape.depth))
    }
}

impl Shape {
    pub(super) fn of(value: &Value) -> Self {
        let mut shape = Self { depth: 1, path_bytes: 0 };
        shape.take_in(value, 1, 0);
        shape
    }

    /// A value is as deep as JSON is read at most.
    fn take_in(&mut self, value: &Value, depth: u64, path: u64) {
        self.depth = self.depth.max(depth);
        self.path_bytes = self.path_bytes.max(path);
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| self.take_in(value, depth + 1, path + 1 + key.len() as u64));
            }
            Value::Array(items) => {
                // Their numbers have no more digits than this.
                let digits = items.len().checked_ilog10().unwrap_or(0) + 1;
                items.iter().for_each(|value| self.take_in(value, depth + 1, path + 1 + u64::from(digits)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

struct Walk<'a> {
    names: Names<'a>,
    rates: Rates,
    is_blind: bool,
    longest: u64,
    refers: bool,
}

impl Walk<'_> {
    /// Everything is looked at as if it were a part, values in the schema as well: at worst a step costs too much.
    fn part(&mut self, part: &Value, path: u64) {
        self.longest = self.longest.max(path);
        match part {
            Value::Object(fields) => {
                self.fields(fields);
                fields.iter().for_each(|(key, value)| self.part(value, path + 1 + key.len() as u64));
            }
            Value::Array(items) => {
                let digits = items.len().checked_ilog10().unwrap_or(0) + 1;
                items.iter().for_each(|value| self.part(value, path + 1 + u64::from(digits)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("allOf", Value::Array(parts)) => self.is_blind |= parts.iter().any(Value::is_boolean),
                ("anyOf" | "oneOf", Value::Array(parts)) => {
                    self.rates.copies = true;
                    self.is_blind |= parts.iter().any(Value::is_boolean);
                }
                ("not" | "if" | "then" | "else", Value::Bool(_)) => self.is_blind = true,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    self.is_blind |= parts.values().any(Value::is_boolean);
                }
                // Such an error keeps the error of the name within it.
                ("propertyNames", _) => self.rates.copies = true,
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.refers = true;
                    self.is_blind |= self.names.meant(reference).into_iter().any(Value::is_boolean);
                }
                ("pattern", Value::String(pattern)) => {
                    self.rates.text = self.rates.text.worst(Matching::of(pattern));
                }
                // The text is compiled.
                ("format", Value::String(format)) if format == "regex" => {
                    self.rates.text = self.rates.text.worst(Matching { steps: BACK_STEPS, bytes: MATCH_STEP });
                }
                ("patternProperties", Value::Object(patterns)) => {
                    let all = patterns.keys().map(|key| Matching::of(key)).fold(Matching::NONE, Matching::and);
                    self.rates.name = self.rates.name.worst(all);
                }
                (_, _) => {}
            }
        }
    }
}

/// Whether a regular expression needs more than one look at each character: it looks around, or refers back. Found by
/// what such expressions have in them; one that only looks like it costs too much.
fn goes_back(pattern: &str) -> bool {
    const GROUPS: [&str; 9] = ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "(?P=", "(?&", "(?R"];
    const POSSESSIVE: [&str; 4] = ["*+", "++", "?+", "}+"];
    let escapes = |pair: &[u8]| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9' | b'k' | b'g' | b'K' | b'G');
    GROUPS.iter().chain(&POSSESSIVE).any(|word| pattern.contains(word)) || pattern.as_bytes().windows(2).any(escapes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_that_go_back_are_known() {
        for pattern in ["^(a+)+\\1*$", "^(?=.*[0-9])", "(?<!x)y", "(?<n>a)\\k<n>", "a*+b"] {
            assert!(goes_back(pattern), "{pattern}");
        }
        for pattern in ["^[a-z]+$", "^\\d{4}-\\d{2}$", "(?i)abc", "(?:a|b)?", "(?<name>a)"] {
            assert!(!goes_back(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_usual_schema_costs_one_step_for_one_step() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {"a": true},
            "anyOf": [{"required": ["a"]}, {"$ref": "#/$defs/b"}], "$defs": {"b": {"type": "object"}}});
        let rates = Rates::of(&schema, Extent { parts: 100, depth: 3 });
        assert_eq!((rates.step, rates.copies), (1, true));
        assert!(rates.reference_bytes > 0);
        let blind = Rates::of(&json!({"anyOf": [false, true]}), Extent { parts: 1600, depth: 3 });
        assert_eq!(blind.step, 401);
    }

    #[test]
    fn the_longest_path_and_the_depth_of_a_value() {
        let value = json!({"a": {"bcd": [1, {"efgh": null}]}, "i": 1});
        assert_eq!(Shape::of(&value), Shape { depth: 5, path_bytes: "/a/bcd/1/efgh".len() as u64 });
    }
}
