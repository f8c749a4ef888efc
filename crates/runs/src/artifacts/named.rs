//! Paths in an output. Any string may be a path; the workspace decides whether it is one.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde_json::{Map, Value};

use super::FOLDER;
use super::inside::Root;

/// Maximum number of strings that are checked.
const STRINGS: usize = 10_000;
/// Longest string that can be a path.
const LONGEST: usize = 4_096;
/// Folders that are never meant as a result.
const HOUSEKEEPING: [&str; 2] = [".git", ".audit"];

/// Paths below the root that strings of the output may mean: relative to the workspace or, as the prompt asks agents to
/// write them, to the folder for artifacts.
pub(super) fn paths(output: &Map<String, Value>, root: &Root) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = STRINGS;
    // An explicit stack: the output came from outside, and its depth is not bounded.
    let mut waiting: Vec<&Value> = output.values().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                if left == 0 {
                    break;
                }
                left -= 1;
                add(text, root, &mut found);
            }
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

fn add(text: &str, root: &Root, found: &mut BTreeSet<String>) {
    if text.is_empty() || text.len() > LONGEST || text.chars().any(char::is_control) {
        return;
    }
    let Some(path) = root.relative(Path::new(text)) else { return };
    let is_housekeeping =
        |part: Component<'_>| part.as_os_str().to_str().is_some_and(|name| HOUSEKEEPING.contains(&name));
    if path.components().any(is_housekeeping) {
        return;
    }
    if !Path::new(text).is_absolute() {
        found.extend(Path::new(FOLDER).join(&path).to_str().map(str::to_owned));
    }
    found.extend(path.to_str().map(str::to_owned));
}
