//! Removes the traces of the machine from a recording: paths, names, ids and secrets become fixed stand-ins of the same
//! kind, and every offset can be mapped to its new position.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use skillrun_model::RunId;
use skillrun_runs::RunFolder;

/// Shorter words cannot be distinguished from ordinary text.
const WORD_MIN: usize = 4;

/// Shorter secrets are looked for as whole words: they may be a part of any other.
const SECRET_MIN: usize = 8;

/// The regular expression of all that is looked for.
const REGEX_MAX: usize = 4 << 20;

/// Folders that every machine has; their paths reveal nothing.
const ORDINARY: &[&str] = &["/", "/bin", "/usr", "/usr/bin", "/usr/local", "/usr/local/bin", "/opt", "/tmp"];

/// Stand-ins. None of them can be a real folder.
const WORKSPACE: &str = "/lab/workspace";
const OWN_HOME: &str = "/lab/engine-home";
const SCRATCH: &str = "/lab/scratch";
const HOME: &str = "/lab/user";
const PROGRAMS: &str = "/lab/programs";
const TEMPORARY: &str = "/lab/tmp";
const FOLDER: &str = "/lab/folder";
const USER: &str = "somebody";
const HOST: &str = "lab.example";
const MACHINE: &str = "00000000000000000000000000000000";
const SECRET: &str = "secret-of-somebody";
const RUN: &str = "01900000-0000-7000-8000-000000000000";
const SERVER: &str = "http://127.0.0.1:18931";

/// What the caller knows about the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    pub user_home: Option<PathBuf>,
    /// The folder of the engine's program.
    pub programs: Option<PathBuf>,
    /// Where engines have their temporary files.
    pub temporary: Option<PathBuf>,
    /// The folder the user stands in.
    pub cwd: Option<PathBuf>,
    pub user: Option<String>,
    pub host: Option<String>,
    /// As in `/etc/machine-id`.
    pub machine_id: Option<String>,
    /// Values that must never be seen.
    pub secrets: Vec<String>,
}

/// Where the run was.
#[derive(Debug, Clone, Copy)]
pub struct RunPlace<'a> {
    pub run: &'a RunFolder,
    pub run_id: RunId,
    /// What the run lies in.
    pub scratch: &'a Path,
    /// The address of the model.
    pub server: &'a str,
}

/// More is to be taken out than can be looked for.
#[derive(Debug, thiserror::Error)]
#[error("what must be taken out of the recording cannot be looked for ({0})")]
pub struct CleanError(regex::Error);

/// Knows what is replaced by what.
#[derive(Debug)]
pub struct Cleaner {
    pattern: Regex,
    stand_ins: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Bytes with nothing of the machine in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    pub bytes: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    old_from: u64,
    old_to: u64,
    new_to: u64,
}

impl Cleaner {
    pub fn new(machine: &Machine, place: &RunPlace<'_>) -> Result<Self, CleanError> {
        let mut known = Known::default();
        let folders = [(place.run.workspace(), WORKSPACE), (place.run.home(), OWN_HOME)];
        for (path, stand_in) in folders.iter().map(|(path, stand_in)| (path.as_path(), *stand_in)) {
            known.real_path(path, stand_in);
        }
        known.real_path(place.scratch, SCRATCH);
        for (path, stand_in) in [
            (&machine.user_home, HOME),
            (&machine.programs, PROGRAMS),
            (&machine.temporary, TEMPORARY),
            (&machine.cwd, FOLDER),
        ] {
            if let Some(path) = path {
                known.path(path, stand_in);
            }
        }
        known.text(&place.run_id.to_string(), RUN);
        known.text(place.server, SERVER);
        for secret in machine.secrets.iter().filter(|secret| secret.len() >= WORD_MIN) {
            match secret.len() < SECRET_MIN && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                true => known.word(secret, SECRET),
                false => known.text(secret, SECRET),
            }
        }
        if let Some(id) = &machine.machine_id {
            known.text(id, MACHINE);
        }
        // `root` exists everywhere and reveals nothing.
        for (word, stand_in) in
            [(machine.user.as_deref().filter(|user| *user != "root"), USER), (machine.host.as_deref(), HOST)]
        {
            if let Some(word) = word.filter(|word| word.len() >= WORD_MIN) {
                known.word(word, stand_in);
            }
        }
        known.cleaner()
    }

    pub fn bytes(&self, bytes: &[u8]) -> Cleaned {
        let mut cleaned = Cleaned { bytes: Vec::with_capacity(bytes.len()), changes: Vec::new() };
        let mut done = 0;
        for found in self.pattern.find_iter(bytes) {
            let Some(stand_in) = self.stand_ins.get(found.as_bytes()) else { continue };
            cleaned.bytes.extend_from_slice(&bytes[done..found.start()]);
            cleaned.bytes.extend_from_slice(stand_in);
            done = found.end();
            cleaned.changes.push(Change {
                old_from: found.start() as u64,
                old_to: found.end() as u64,
                new_to: cleaned.bytes.len() as u64,
            });
        }
        cleaned.bytes.extend_from_slice(&bytes[done..]);
        cleaned
    }

    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes()).bytes).into_owned()
    }

    /// Every text in a document, names of members too.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (self.text(name), self.value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

impl Cleaned {
    /// Where an offset is now. One inside of what was replaced is at the end of its stand-in.
    pub fn moved(&self, offset: u64) -> u64 {
        let before = self.changes.partition_point(|change| change.old_from < offset);
        match before.checked_sub(1).and_then(|last| self.changes.get(last)) {
            None => offset,
            Some(change) if offset >= change.old_to => change.new_to + (offset - change.old_to),
            Some(change) => change.new_to,
        }
    }

    /// How often something was replaced.
    pub fn replaced(&self) -> usize {
        self.changes.len()
    }
}

/// What is looked for, and what stands in for it.
#[derive(Debug, Default)]
struct Known {
    stand_ins: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of these, those that are whole words.
    words: Vec<Vec<u8>>,
}

impl Known {
    fn text(&mut self, text: &str, stand_in: &str) {
        // The first who knows it is the one who knows it best.
        self.stand_ins.entry(text.into()).or_insert_with(|| stand_in.into());
        let escaped = serde_json::to_string(text).unwrap_or_default();
        let escaped = escaped.trim_matches('"');
        self.stand_ins.entry(escaped.into()).or_insert_with(|| stand_in.into());
    }

    fn word(&mut self, word: &str, stand_in: &str) {
        self.text(word, stand_in);
        self.words.push(word.into());
    }

    /// With and without links.
    fn real_path(&mut self, path: &Path, stand_in: &str) {
        self.path(path, stand_in);
        if let Ok(real) = path.canonicalize() {
            self.path(&real, stand_in);
        }
    }

    fn path(&mut self, path: &Path, stand_in: &str) {
        let text = path.to_string_lossy();
        let text = text.trim_end_matches('/');
        if text.is_empty() || ORDINARY.contains(&text) {
            return;
        }
        self.text(text, stand_in);
        // Engines turn paths into file names, with a dash for every character that is not a letter or a digit. A path
        // of one component would match every second option, and reveals nothing.
        if text.matches('/').count() < 2 {
            return;
        }
        let dashed = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        self.text(&dashed(text), &dashed(stand_in));
    }

    fn cleaner(self) -> Result<Cleaner, CleanError> {
        let mut needles: Vec<&Vec<u8>> = self.stand_ins.keys().filter(|needle| !needle.is_empty()).collect();
        // Of several that begin at the same place, the longest.
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        let pattern = needles.iter().map(|needle| {
            let literal = regex::escape(&String::from_utf8_lossy(needle));
            if self.words.contains(needle) { format!(r"(?-u:\b){literal}(?-u:\b)") } else { literal }
        });
        let pattern = pattern.collect::<Vec<_>>().join("|");
        let pattern = RegexBuilder::new(&pattern).size_limit(REGEX_MAX).build().map_err(CleanError)?;
        Ok(Cleaner { pattern, stand_ins: self.stand_ins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "018f0000-1111-7222-8333-444444444444";

    fn machine() -> Machine {
        Machine {
            user_home: Some("/people/ada".into()),
            programs: Some("/usr/bin".into()),
            temporary: None,
            cwd: None,
            user: Some("adal".to_owned()),
            host: Some("engine9".to_owned()),
            machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
            secrets: vec!["s3cr3t\"key".to_owned(), String::new()],
        }
    }

    fn cleaner() -> Cleaner {
        knowing(&machine()).unwrap()
    }

    fn knowing(machine: &Machine) -> Result<Cleaner, CleanError> {
        let scratch = Path::new("/people/ada/data/x.1");
        let run = RunFolder::at(scratch.join("runs").join(ID));
        let run_id = ID.parse().unwrap();
        Cleaner::new(machine, &RunPlace { run: &run, run_id, scratch, server: "http://127.0.0.1:40123" })
    }

    #[test]
    fn the_machine_is_taken_out() {
        let cleaner = cleaner();
        let cases = [
            ("/people/ada/data/x.1/runs/018f0000-1111-7222-8333-444444444444/workspace/a", "/lab/workspace/a"),
            ("/people/ada/data/x.1/runs/018f0000-1111-7222-8333-444444444444/home", "/lab/engine-home"),
            (
                "/people/ada/data/x.1/y018f0000-1111-7222-8333-444444444444",
                "/lab/scratch/y01900000-0000-7000-8000-000000000000",
            ),
            (
                "-x-1-runs-018f0000-1111-7222-8333-444444444444-workspace",
                "-x-1-runs-01900000-0000-7000-8000-000000000000-workspace",
            ),
            (
                "projects/-people-ada-data-x-1-runs-018f0000-1111-7222-8333-444444444444-workspace/m",
                "projects/-lab-workspace/m",
            ),
            ("/people/ada/.codex", "/lab/user/.codex"),
            ("projects/-people-ada-data-x-1-runs", "projects/-lab-scratch-runs"),
            ("POST http://127.0.0.1:40123/s/auto", "POST http://127.0.0.1:18931/s/auto"),
            ("adal at engine9, not engine91 nor adalbert", "somebody at lab.example, not engine91 nor adalbert"),
            (r#"{"key":"s3cr3t\"key"} s3cr3t"key"#, r#"{"key":"secret-of-somebody"} secret-of-somebody"#),
            ("id 0123456789abcdef0123456789abcdef", "id 00000000000000000000000000000000"),
            ("/usr/bin/sh says nothing", "/usr/bin/sh says nothing"),
        ];
        for (text, clean) in cases {
            assert_eq!(cleaner.text(text), clean);
        }
    }

    #[test]
    fn ordinary_words_stay_as_they_were_written() {
        let secrets = ["test", "abc", "a-long-secret"].map(str::to_owned).to_vec();
        let folders = Machine { user_home: Some("/alone".into()), cwd: Some("/x".into()), secrets, ..machine() };
        let cleaner = knowing(&folders).unwrap();
        let cases = [
            ("the latest of linux-x64, npm-alone, abc", "the latest of linux-x64, npm-alone, abc"),
            ("key=test, xa-long-secretx", "key=secret-of-somebody, xsecret-of-somebodyx"),
            ("/alone/.codex", "/lab/user/.codex"),
        ];
        for (text, clean) in cases {
            assert_eq!(cleaner.text(text), clean);
        }
    }

    #[test]
    fn what_cannot_be_looked_for_is_an_error() {
        let huge = Machine { secrets: vec!["secret".repeat(1 << 20)], ..machine() };
        assert!(knowing(&huge).is_err());
    }

    #[test]
    fn offsets_are_where_they_were() {
        let cleaned = cleaner().bytes(b"ab /people/ada cd /people/ada");
        assert_eq!(cleaned.bytes, b"ab /lab/user cd /lab/user");
        let moved: Vec<u64> = [0, 3, 4, 13, 14, 15, 18, 20, 29].iter().map(|at| cleaned.moved(*at)).collect();
        assert_eq!(moved, [0, 3, 12, 12, 12, 13, 16, 25, 25]);
        assert_eq!(cleaned.replaced(), 2);
    }

    proptest! {
        /// Parts of a stream, cut where offsets say, are the parts of the clean stream.
        #[test]
        fn what_lies_between_two_offsets_stays_between_them(
            parts in proptest::collection::vec("[a-c /]{0,6}|/people/ada|adal", 0..12), cut in 0usize..80,
        ) {
            let text = parts.concat();
            let cut = cut.min(text.len());
            let cleaned = cleaner().bytes(text.as_bytes());
            let moved = usize::try_from(cleaned.moved(cut as u64)).unwrap();
            prop_assert!(moved <= cleaned.bytes.len());
            prop_assert_eq!(cleaned.moved(text.len() as u64), cleaned.bytes.len() as u64);
            // Nothing before the cut is behind it, whatever was replaced.
            let is_inside = cleaned.changes.iter().any(|c| c.old_from < cut as u64 && (cut as u64) < c.old_to);
            if !is_inside {
                let expected = cleaned.bytes.len() - moved;
                let changed: i64 = cleaned.changes.iter().filter(|c| c.old_from >= cut as u64)
                    .map(|c| {
                        let old = &text.as_bytes()[c.old_from as usize..c.old_to as usize];
                        let new: i64 = if old == b"adal" { USER.len() as i64 } else { HOME.len() as i64 };
                        new - old.len() as i64
                    }).sum();
                prop_assert_eq!(expected as i64, (text.len() - cut) as i64 + changed);
            }
        }
    }
}
