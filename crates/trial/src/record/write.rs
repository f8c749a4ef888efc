//! The files of a recording.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use skillrun_base::files::{self, FileProblem, FileReadError};
use skillrun_evidence::{Folder, Stream, names};
use skillrun_model::{AttemptNumber, Timestamp};
use skillrun_runs::RunFolder;

use super::RecordingError;
use super::clean::{Cleaned, Cleaner};

/// Largest file of a recording.
const BYTES_MAX: u64 = 64 << 20;

/// Variables that every engine gets; of others, only those that lead it to the model are recorded.
const VARIABLES: &[&str] = &["HOME", "LANG", "PATH", "SKILLRUN_ATTEMPT", "TERM", "TMPDIR"];

/// Members that are numbers of processes, of which a machine has its own.
const PROCESSES: &[&str] = &["pid", "host_pid"];

/// What was made.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) attempts: usize,
    pub(super) files: Vec<String>,
    pub(super) replaced: usize,
    pub(super) version: Option<String>,
}

/// Writes what a recording has of the evidence of a run: all of it, or nothing is left. The folder must not exist.
pub(super) fn recording(
    run: &RunFolder,
    to: &Path,
    cleaner: &Cleaner,
    variables: &[String],
) -> Result<Made, RecordingError> {
    let evidence = Folder::open(run.root())?;
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(failed(parent, "cannot be created"))?;
    // It must be new: an existing folder would be discarded below.
    fs::create_dir(to).map_err(failed(to, "cannot be created"))?;
    let made = attempts(run, &evidence, to, cleaner, variables);
    made.inspect_err(|_| discard(to))
}

/// Half a recording is in the way of the next try.
pub(super) fn discard(folder: &Path) {
    // The error that prevented the recording matters more than a failed cleanup.
    fs::remove_dir_all(folder).ok();
}

fn attempts(
    run: &RunFolder,
    evidence: &Folder,
    to: &Path,
    cleaner: &Cleaner,
    variables: &[String],
) -> Result<Made, RecordingError> {
    let audit = to.join(".audit");
    fs::create_dir(&audit).map_err(failed(&audit, "cannot be created"))?;
    let mut made = Made::default();
    for number in evidence.attempts() {
        made.attempts += 1;
        let mut parts = Parts { variables: variables.to_vec(), ..Parts::default() };
        attempt(&run.audit(), &audit, number, cleaner, &mut parts, &mut made)?;
    }
    Ok(made)
}

fn attempt(
    from: &Path,
    to: &Path,
    number: AttemptNumber,
    cleaner: &Cleaner,
    parts: &mut Parts,
    made: &mut Made,
) -> Result<(), RecordingError> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for stream in [Stream::Stdout, Stream::Stderr, Stream::Pty] {
        let name = names::log(stream, number);
        let Some(bytes) = read(&from.join(&name))? else { continue };
        let cleaned = cleaner.bytes(&bytes);
        made.replaced += cleaned.replaced();
        files.push((name, cleaned.bytes.clone()));
        parts.streams.insert(stream.source().as_str(), cleaned);
    }
    if let Some(bytes) = read(&from.join(names::chunks(number)))? {
        files.push((names::chunks(number), parts.index(&bytes)));
    }
    for (name, bytes) in &files {
        parts.hashes.insert(name.clone(), blake3::hash(bytes).to_hex().to_string());
    }
    if let Some(bytes) = read(&from.join(names::meta(number)))?
        && let Ok(Value::Object(meta)) = serde_json::from_slice(&bytes)
    {
        let version = meta.get("engine_version").and_then(Value::as_str).map(str::to_owned);
        made.version = made.version.take().or(version);
        files.push((names::meta(number), parts.meta(&meta, cleaner)));
    }
    for (name, bytes) in files {
        let path = to.join(&name);
        fs::write(&path, bytes).map_err(failed(&path, "cannot be written"))?;
        made.files.push(name);
    }
    Ok(())
}

/// What the other files of an attempt depend on.
#[derive(Debug, Default)]
struct Parts {
    /// By name in the index.
    streams: BTreeMap<&'static str, Cleaned>,
    /// By name of the file.
    hashes: BTreeMap<String, String>,
    /// That lead the engine to the model.
    variables: Vec<String>,
}

impl Parts {
    /// The index, with everything where it is now.
    fn index(&self, lines: &[u8]) -> Vec<u8> {
        let mut index = Vec::with_capacity(lines.len());
        let mut number = 0_u64;
        for line in lines.split(|byte| *byte == b'\n') {
            let Ok(Value::Object(mut record)) = serde_json::from_slice(line) else { continue };
            let cleaned = record.get("stream").and_then(Value::as_str).and_then(|name| self.streams.get(name));
            let range = ["from", "to"].map(|end| record.get(end).and_then(Value::as_u64));
            if let (Some(cleaned), [Some(from), Some(to)]) = (cleaned, range) {
                let (new_from, new_to) = (cleaned.moved(from), cleaned.moved(to));
                // Its bytes were a piece of what was replaced, and stand in the record before it now.
                if from < to && new_from == new_to {
                    continue;
                }
                record.insert("from".to_owned(), json!(new_from));
                record.insert("to".to_owned(), json!(new_to));
            }
            // A recording has no mask: what it would hide was replaced.
            record.remove("masks");
            if record.contains_key("i") {
                record.insert("i".to_owned(), json!(number));
                number += 1;
            }
            index.extend_from_slice(Value::Object(record).to_string().as_bytes());
            index.push(b'\n');
        }
        index
    }

    /// The facts about the attempt, with sizes and hashes of what is there now.
    fn meta(&self, meta: &Map<String, Value>, cleaner: &Cleaner) -> Vec<u8> {
        let mut clean = cleaner.value(&Value::Object(meta.clone()));
        if let Some(Value::Object(bytes)) = clean.get_mut("bytes") {
            for (stream, cleaned) in &self.streams {
                if let Some(size) = bytes.get_mut(*stream) {
                    *size = json!(cleaned.bytes.len());
                }
            }
        }
        if let Some(Value::Object(hashes)) = clean.get_mut("hashes") {
            hashes.retain(|name, _| self.hashes.contains_key(name));
            for (name, hash) in hashes.iter_mut() {
                *hash = json!(self.hashes.get(name));
            }
        }
        if let Some(Value::Array(names)) = clean.get_mut("env_names") {
            let is_told = |name: &str| VARIABLES.contains(&name) || self.variables.iter().any(|known| known == name);
            names.retain(|name| name.as_str().is_some_and(is_told));
        }
        without_processes(&mut clean);
        let mut text = serde_json::to_vec_pretty(&clean).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

fn without_processes(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if PROCESSES.contains(&name.as_str()) && value.is_number() {
                    *value = json!(1);
                }
                without_processes(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_processes),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// None where there is no such file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, RecordingError> {
    files::if_exists(files::read(path, BYTES_MAX)).map_err(|error| match error {
        FileReadError::Problem(FileProblem::TooLarge(limit)) => {
            RecordingError::TooLarge { path: path.to_owned(), limit }
        }
        other @ (FileReadError::Io(_) | FileReadError::Problem(_)) => failed(path, "cannot be read")(other.into()),
    })
}

fn failed(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> RecordingError {
    let path = path.to_owned();
    move |error| RecordingError::File { path, what, error }
}

/// The line of a recording in the page beside it.
#[derive(Debug)]
pub(super) struct Readme<'a> {
    pub(super) name: &'a str,
    pub(super) engine: &'a str,
    pub(super) version: Option<&'a str>,
    pub(super) now: Timestamp,
}

impl Readme<'_> {
    pub(super) fn add(&self, path: &Path) -> Result<(), RecordingError> {
        let mut page =
            OpenOptions::new().create(true).append(true).open(path).map_err(failed(path, "cannot be opened"))?;
        page.write_all(self.text().as_bytes()).map_err(failed(path, "cannot be written"))
    }

    fn text(&self) -> String {
        let moment = self.now.to_string();
        let date = moment.split('T').next().unwrap_or_default();
        let version = self.version.unwrap_or("of unknown version");
        let ours = env!("CARGO_PKG_VERSION");
        format!("- `{}`: {} {version}, recorded with skillrun {ours} on {date}\n", self.name, self.engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::clean::{Machine, RunPlace};

    fn cleaner() -> Cleaner {
        let machine = Machine { user_home: Some("/people/ada".into()), ..Machine::default() };
        let (scratch, run) = (Path::new("/elsewhere/x"), RunFolder::at("/elsewhere/x/run"));
        let run_id = "018f0000-1111-7222-8333-444444444444".parse().unwrap();
        Cleaner::new(&machine, &RunPlace { run: &run, run_id, scratch, server: "http://127.0.0.1:40123" }).unwrap()
    }

    #[test]
    fn a_recording_that_fails_half_way_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::at(folder.path().join("run"));
        let second = run.audit().join("chunks.2.jsonl");
        fs::create_dir_all(&second).unwrap();
        for name in ["stdout.1.log", "stdout.2.log"] {
            fs::write(run.audit().join(name), "said\n").unwrap();
        }
        let to = folder.path().join("out/codex-auto");
        let error = recording(&run, &to, &cleaner(), &[]).unwrap_err();
        assert!(error.to_string().contains("chunks.2.jsonl: cannot be read"), "{error}");
        assert!(!to.exists(), "the next try would find half a recording");
        fs::remove_dir(second).unwrap();
        assert_eq!(recording(&run, &to, &cleaner(), &[]).unwrap().attempts, 2);
        assert!(recording(&run, &to, &cleaner(), &[]).is_err());
        assert!(to.join(".audit/stdout.2.log").exists(), "what was there before stays");
    }

    fn parts(stdout: &[u8]) -> Parts {
        let streams = [("stdout", cleaner().bytes(stdout))].into();
        let hashes = [("stdout.1.log".to_owned(), "ab".to_owned())].into();
        Parts { streams, hashes, variables: vec!["MODEL_URL".to_owned()] }
    }

    #[test]
    fn the_index_follows_the_bytes() {
        // Cut inside of the path, so that the third read has nothing of its own any more.
        let parts = parts(b"in /people/ada\n");
        let lines = [
            r#"{"i":0,"t_ns":1,"stream":"stdout","from":0,"to":5,"batch":0,"masks":1}"#,
            r#"{"i":1,"t_ns":2,"stream":"stderr","from":0,"to":9,"batch":0,"masks":1}"#,
            r#"{"i":2,"t_ns":3,"stream":"stdout","from":5,"to":8,"batch":1}"#,
            r#"{"i":3,"t_ns":4,"stream":"stdout","from":8,"to":15,"batch":2}"#,
            r#"{"i":4,"t_ns":5,"eof":"stdout"}"#,
        ];
        let index = String::from_utf8(parts.index(lines.join("\n").as_bytes())).unwrap();
        let expected = [
            r#"{"i":0,"t_ns":1,"stream":"stdout","from":0,"to":12,"batch":0}"#,
            r#"{"i":1,"t_ns":2,"stream":"stderr","from":0,"to":9,"batch":0}"#,
            r#"{"i":2,"t_ns":4,"stream":"stdout","from":12,"to":13,"batch":2}"#,
            r#"{"i":3,"t_ns":5,"eof":"stdout"}"#,
        ];
        assert_eq!(index, expected.map(|line| format!("{line}\n")).concat());
    }

    #[test]
    fn the_facts_are_about_what_is_there_now() {
        let parts = parts(b"in /people/ada\n");
        let meta = json!({
            "cwd": "/people/ada/x", "pid": 77, "host_pid": 78, "bytes": {"stdout": 15, "stderr": 2},
            "hashes": {"stdout.1.log": "old", "stdin.1.log": "gone"}, "survivors": [{"pid": 79, "name": "sh"}],
            "exit_code": 0, "env_names": ["HOME", "MODEL_URL", "OF_THIS_MACHINE"],
        });
        let Value::Object(meta) = meta else { panic!("an object") };
        let clean: Value = serde_json::from_slice(&parts.meta(&meta, &cleaner())).unwrap();
        let expected = json!({
            "cwd": "/lab/user/x", "pid": 1, "host_pid": 1, "bytes": {"stdout": 13, "stderr": 2},
            "hashes": {"stdout.1.log": "ab"}, "survivors": [{"pid": 1, "name": "sh"}], "exit_code": 0,
            "env_names": ["HOME", "MODEL_URL"],
        });
        assert_eq!(clean, expected);
    }

    #[test]
    fn the_page_has_versions_and_date() {
        let now = "2026-11-15T18:00:00Z".parse().unwrap();
        let line = Readme { name: "codex-auto", engine: "codex", version: Some("0.166.0"), now }.text();
        let ours = env!("CARGO_PKG_VERSION");
        assert_eq!(line, format!("- `codex-auto`: codex 0.166.0, recorded with skillrun {ours} on 2026-11-15\n"));
    }
}
