//! A folder of evidence: which attempts it has, what is known about each, and the id of its run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use skillrun_model::{AttemptNumber, RunId};

use crate::Stream;
use crate::chunks::ChunkReader;
use crate::error::{EvidenceError, EvidenceErrorKind};
use crate::feed::{Feed, StreamFile};
use crate::host_record::HostRecord;
use crate::mask::MaskFile;
use crate::meta::Meta;
use crate::names;
use crate::patterns::{self, Patterns};

/// A `.audit` folder.
#[derive(Debug)]
pub struct Folder {
    audit: PathBuf,
    attempts: BTreeMap<AttemptNumber, Files>,
    patterns: Patterns,
}

#[derive(Debug, Default, Clone, Copy)]
struct Files {
    streams: [bool; 3],
    meta: bool,
}

/// One recorded attempt.
#[derive(Debug)]
pub struct Attempt {
    pub number: AttemptNumber,
    pub meta: Meta,
    audit: PathBuf,
    files: Files,
    patterns: Patterns,
}

#[derive(Deserialize)]
struct RunRecord {
    run_id: RunId,
}

impl Folder {
    /// Opens a folder that has `.audit/` in it, or such a folder itself.
    pub fn open(dir: &Path) -> Result<Self, EvidenceError> {
        if !dir.is_dir() {
            return Err(EvidenceError::new(dir, EvidenceErrorKind::NoFolder));
        }
        let inner = dir.join(".audit");
        let audit = if inner.is_dir() { inner } else { dir.to_owned() };
        let mut attempts: BTreeMap<AttemptNumber, Files> = BTreeMap::new();
        for entry in fs::read_dir(&audit).map_err(|e| EvidenceError::new(&audit, e))? {
            let entry = entry.map_err(|e| EvidenceError::new(&audit, e))?;
            let name = entry.file_name();
            let Some((what, number)) = name.to_str().and_then(attempt_file) else { continue };
            let files = attempts.entry(number).or_default();
            match what {
                FileRole::Log(stream) => files.streams[stream.index()] = true,
                FileRole::Meta => files.meta = true,
                // On a full disk the record may be the only file.
                FileRole::Record => {}
            }
        }
        if attempts.is_empty() {
            return Err(EvidenceError::new(dir, EvidenceErrorKind::NoAttempt));
        }
        Ok(Self { audit, attempts, patterns: Patterns::default() })
    }

    /// Hides patterns too, in everything that is read of its attempts.
    #[must_use]
    pub fn hiding(self, patterns: &Patterns) -> Self {
        Self { patterns: patterns.clone(), ..self }
    }

    /// The patterns in `run.json` beside `.audit`; none where there is no such file.
    pub fn recorded_patterns(&self) -> Result<Vec<String>, EvidenceError> {
        patterns::recorded(&self.audit)
    }

    /// Numbers of the recorded attempts, in order.
    pub fn attempts(&self) -> Vec<AttemptNumber> {
        self.attempts.keys().copied().collect()
    }

    pub fn attempt(&self, number: AttemptNumber) -> Result<Attempt, EvidenceError> {
        let Some(files) = self.attempts.get(&number) else {
            let known = self.attempts.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(EvidenceError::new(&self.audit, EvidenceErrorKind::NoSuchAttempt(number.0, known)));
        };
        let meta = Meta::read(&self.audit.join(names::meta(number)));
        // The record is authoritative; the meta file is a view of it that the host may not have written.
        let meta = match HostRecord::read(&self.audit, number) {
            Ok(Some(record)) => meta.or_of(record),
            Ok(None) | Err(_) => meta,
        };
        let (audit, patterns) = (self.audit.clone(), self.patterns.clone());
        Ok(Attempt { number, meta, audit, files: *files, patterns })
    }

    /// The id in `run.json` beside `.audit`, or one made from the bytes of the evidence.
    pub fn run_id(&self) -> Result<RunId, EvidenceError> {
        // The folder may have been given as ".", which has no parent in its path.
        let audit = self.audit.canonicalize().map_err(|e| EvidenceError::new(&self.audit, e))?;
        let record = audit.parent().unwrap_or(&audit).join("run.json");
        match fs::read(&record) {
            Ok(bytes) => serde_json::from_slice::<RunRecord>(&bytes)
                .map(|r| r.run_id)
                .map_err(|e| EvidenceError::new(record, EvidenceErrorKind::BadRunRecord(e))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.hash().map(|hash| RunId::from_evidence_hash(&hash))
            }
            Err(error) => Err(EvidenceError::new(record, error)),
        }
    }

    /// One hash over all evidence files, their names and sizes.
    fn hash(&self) -> Result<[u8; 32], EvidenceError> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 64 * 1024];
        for (number, files) in &self.attempts {
            for stream in Stream::ALL.into_iter().filter(|s| files.streams[s.index()]) {
                let name = names::log(stream, *number);
                let path = self.audit.join(&name);
                let mut file = File::open(&path).map_err(|e| EvidenceError::new(&path, e))?;
                hasher.update(name.as_bytes());
                let mut len = 0u64;
                loop {
                    let read = file.read(&mut buffer).map_err(|e| EvidenceError::new(&path, e))?;
                    if read == 0 {
                        break;
                    }
                    len += read as u64;
                    hasher.update(&buffer[..read]);
                }
                hasher.update(&len.to_le_bytes());
            }
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

/// What a file in `.audit` is of an attempt.
#[derive(Debug, Clone, Copy)]
enum FileRole {
    Log(Stream),
    Meta,
    Record,
}

/// What a file name in `.audit` says, and the attempt.
fn attempt_file(name: &str) -> Option<(FileRole, AttemptNumber)> {
    let meta = names::number_in(name, names::meta).map(|number| (FileRole::Meta, number));
    let record = || names::number_in(name, names::host).map(|number| (FileRole::Record, number));
    let log = |stream| Some((FileRole::Log(stream), names::number_in(name, |number| names::log(stream, number))?));
    meta.or_else(record).or_else(|| Stream::ALL.into_iter().find_map(log))
}

impl Attempt {
    /// The terminal's recording alone stands for stdout.
    pub fn is_one_pty(&self) -> bool {
        is_one_pty(self.files.streams)
    }

    pub fn has_meta(&self) -> bool {
        self.files.meta
    }

    /// The bytes that have a record by now. The attempt may still be running: the mask and the files hold what the
    /// index refers to by the time the index refers to it, so they are opened in the opposite order.
    pub fn feed(&self) -> Result<Feed, EvidenceError> {
        let chunks = ChunkReader::open(&self.audit.join(names::chunks(self.number)))?;
        Ok(feed_of(&self.audit, self.number, chunks, self.files.streams)?.hiding(&self.patterns))
    }
}

/// The terminal's recording alone stands for stdout.
fn is_one_pty(streams: [bool; 3]) -> bool {
    streams == [false, false, true]
}

/// Which streams of an attempt have a file.
pub(crate) fn streams_of(audit: &Path, number: AttemptNumber) -> Result<[bool; 3], EvidenceError> {
    let mut streams = [false; 3];
    for stream in Stream::ALL {
        let path = audit.join(names::log(stream, number));
        streams[stream.index()] = path.try_exists().map_err(|e| EvidenceError::new(path, e))?;
    }
    Ok(streams)
}

/// Opens the files that an already opened index refers to: first the mask, then the streams.
pub(crate) fn feed_of(
    audit: &Path,
    number: AttemptNumber,
    chunks: Option<ChunkReader>,
    streams: [bool; 3],
) -> Result<Feed, EvidenceError> {
    let one_pty = is_one_pty(streams);
    let mut mask = MaskFile::new(audit.join(names::redact(number)), one_pty);
    mask.refresh()?;
    let mut files: [Option<StreamFile>; 3] = [None, None, None];
    for stream in Stream::ALL.into_iter().filter(|s| streams[s.index()]) {
        let at = if one_pty { Stream::Stdout } else { stream };
        files[at.index()] = Some(StreamFile::open(audit.join(names::log(stream, number)))?);
    }
    Ok(Feed::new(files, chunks, mask, one_pty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use crate::testing::Recording;

    fn numbers(recording: &Recording) -> Vec<u32> {
        recording.folder().attempts().into_iter().map(|number| number.0).collect()
    }

    #[test]
    fn attempts_are_found_by_any_of_their_files() {
        let recording = Recording::new(&[
            ("stdout.10.log", b""),
            ("stderr.2.log", b""),
            ("pty-output.3.log", b""),
            ("meta.7.json", b""),
            ("stdout.7.log", b""),
            ("host.12.json", b""),
        ]);
        assert_eq!(numbers(&recording), [2, 3, 7, 10, 12]);
    }

    #[test]
    fn other_file_names_are_not_attempts() {
        let names = ["stdout.0.log", "stdout.01.log", "stdout.+1.log", "stdout.log", "stdout.1.txt", "xstdout.1.log"];
        let more = ["chunks.4.jsonl", "redact.4.jsonl", "meta.x.json", "stdin.4.log", "stdout.99999999999.log"];
        let files: Vec<(&str, &[u8])> = names.iter().chain(&more).map(|name| (*name, &b""[..])).collect();
        let recording = Recording::new(&files);
        let error = Folder::open(recording.path()).expect_err("no attempt");
        assert!(matches!(error.kind, EvidenceErrorKind::NoAttempt), "{error}");
    }

    #[test]
    fn missing_files_are_reported() {
        let recording = Recording::new(&[("stdout.1.log", b""), ("stdout.3.log", b"")]);
        let error = Folder::open(&recording.path().join("nowhere")).expect_err("no folder");
        assert!(matches!(error.kind, EvidenceErrorKind::NoFolder), "{error}");
        let error = recording.folder().attempt(AttemptNumber(2)).expect_err("no attempt 2");
        assert!(matches!(&error.kind, EvidenceErrorKind::NoSuchAttempt(2, known) if known == "1, 3"), "{error}");
    }

    #[test]
    fn the_folder_itself_may_be_given() {
        let recording = Recording::new(&[("stdout.1.log", b"x")]);
        let inner = Folder::open(&recording.path().join(".audit")).expect("a folder");
        assert_eq!(inner.run_id().expect("an id"), recording.folder().run_id().expect("an id"));
    }

    #[test]
    fn the_id_is_made_of_the_bytes() {
        let id = |files: &[(&str, &[u8])]| Recording::new(files).folder().run_id().expect("an id");
        let one = id(&[("stdout.1.log", b"x"), ("stderr.1.log", b"y")]);
        assert_eq!(id(&[("stderr.1.log", b"y"), ("stdout.1.log", b"x")]), one);
        let others = [
            id(&[("stdout.1.log", b"y"), ("stderr.1.log", b"x")]),
            id(&[("stdout.1.log", b"xy"), ("stderr.1.log", b"")]),
            id(&[("stdout.2.log", b"x"), ("stderr.2.log", b"y")]),
            id(&[("stdout.1.log", b"x"), ("pty-output.1.log", b"y")]),
            id(&[("stdout.1.log", b"x")]),
        ];
        assert!(others.iter().all(|other| *other != one));
    }

    #[test]
    fn the_id_of_a_run_record_prevails() {
        let recording = Recording::new(&[("stdout.1.log", b"x")]);
        let id = "0192f0c1-2d3e-7f40-8123-456789abcdef";
        recording.write("run.json", format!("{{\"run_id\":\"{id}\",\"request\":{{}}}}").as_bytes());
        assert_eq!(recording.folder().run_id().expect("an id").to_string(), id);
        recording.write("run.json", b"{}");
        let error = recording.folder().run_id().expect_err("no id in it");
        assert!(matches!(error.kind, EvidenceErrorKind::BadRunRecord(_)), "{error}");
    }

    /// Regression: a feed of an attempt that was still being written returned records of bytes that it did not know,
    /// and of secrets that it did not mask.
    #[test]
    fn a_feed_gives_what_had_a_record_when_it_was_opened() {
        let recording = Recording::new(&[]);
        let audit = recording.path().join(".audit");
        let mut recorder = Recorder::create(&audit, AttemptNumber(1), &[Stream::Stdout]).expect("new files");
        let mut put = |bytes: &[u8], hidden: Option<std::ops::Range<u64>>| {
            recorder.write(Stream::Stdout, bytes).expect("written");
            if let Some(range) = hidden {
                recorder.hide(Stream::Stdout, range).expect("hidden");
            }
            recorder.clear(Stream::Stdout, recorder.written(Stream::Stdout));
            recorder.announce(1).expect("announced");
        };
        put(b"one ", None);
        let mut feed = recording.attempt().feed().expect("readable");
        put(b"hunter22", Some(4..12));
        let mut given = Vec::new();
        while let Some(step) = feed.next_step().expect("readable") {
            if let crate::feed::StepKind::Bytes { bytes, .. } = step.kind {
                given.extend_from_slice(bytes);
            }
        }
        assert_eq!((given.as_slice(), feed.problems()), (&b"one "[..], vec![]));
    }
}
