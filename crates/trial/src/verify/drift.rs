//! Types of events: those that an engine writes now against those that it wrote when it was recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use serde::Serialize;
use skillrun_evidence::{Folder, Stream, names};
use skillrun_model::ProfileId;
use skillrun_parse::types;
use skillrun_runs::RunFolder;

/// Of one attempt; more is not read.
const BYTES_MAX: u64 = 8 << 20;

/// What has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Never seen before.
    pub new: Vec<String>,
    /// Of these, those that no parser understands.
    pub unknown: Vec<String>,
    /// Seen before, in the same situations, and not now.
    pub gone: Vec<String>,
}

/// Names of types, and whether each was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Types {
    all: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl Types {
    pub fn add(&mut self, profile: ProfileId, stdout: &[u8]) {
        let seen: BTreeMap<String, types::Count> = types::seen(profile, stdout);
        for (name, count) in seen {
            if count.unknown > 0 {
                self.unknown.insert(name.clone());
            }
            self.all.insert(name);
        }
    }

    /// What all attempts of a run show. What cannot be read shows nothing.
    pub fn add_run(&mut self, profile: ProfileId, folder: &RunFolder) {
        let Ok(evidence) = Folder::open(folder.root()) else { return };
        for number in evidence.attempts() {
            let path = folder.audit().join(names::log(Stream::Stdout, number));
            let mut bytes = Vec::new();
            if File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes)).is_ok() {
                self.add(profile, &bytes);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

pub fn compare(before: &Types, now: &Types) -> Drift {
    let new: Vec<String> = now.all.difference(&before.all).cloned().collect();
    let unknown = now.unknown.iter().cloned().collect();
    let gone = before.all.difference(&now.all).cloned().collect();
    Drift { new, unknown, gone }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(lines: &[&str]) -> Types {
        let mut types = Types::default();
        types.add(ProfileId::CodexNdjson, lines.join("\n").as_bytes());
        types
    }

    #[test]
    fn new_and_gone_and_unknown() {
        let began = r#"{"type":"thread.started","thread_id":"t"}"#;
        let turn = r#"{"type":"turn.started"}"#;
        let odd = r#"{"type":"turn.dreamed"}"#;
        let drift = compare(&types(&[began, turn]), &types(&[began, odd]));
        assert_eq!(drift.new, ["turn.dreamed"]);
        assert_eq!(drift.unknown, ["turn.dreamed"]);
        assert_eq!(drift.gone, ["turn.started"]);
        assert_eq!(compare(&types(&[began, turn]), &types(&[turn, began])), Drift::default());
    }
}
