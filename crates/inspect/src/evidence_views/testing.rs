//! A run for tests: its folder, its record, its Log, and evidence as a host records it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use serde_json::json;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::host_record::{Bytes, Capture};
use skillrun_evidence::{Folder, HostRecord, Patterns, Recorder};
use skillrun_log::{Durability, EventLog, FileLog, Seq};
use skillrun_model::profile::EngineName;
use skillrun_model::rasp::data::{AttemptEnded, Exit, MessageFinal, RunCompleted};
use skillrun_model::rasp::{
    ControlData, Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SourceStream, SpanRef,
};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{
    AttemptNumber, Code, CompletionState, ProfileId, RunId, RunStatus, Stream, Timestamp, TurnState, Wiring,
};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::RunRecord;
use tempfile::TempDir;

pub(super) const ONE: AttemptNumber = AttemptNumber(1);

pub(super) fn run_id() -> RunId {
    RunId::new(1, [1; 10])
}

/// A moment this many milliseconds after a fixed one in 2025.
pub(super) fn moment(millis: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos((1_763_164_800_000 + millis) * 1_000_000)
}

#[derive(Debug)]
pub(super) struct World {
    _dir: TempDir,
    pub(super) folder: RunFolder,
    pub(super) record: RunRecord,
    pub(super) log: FileLog,
}

impl World {
    pub(super) fn new(patterns: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::at(dir.path().join(run_id().to_string()));
        fs::create_dir_all(folder.audit()).expect("a folder");
        let log = FileLog::new(dir.path());
        log.create(run_id()).expect("a Log");
        let mut record = record();
        record.redact_patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Self { _dir: dir, folder, record, log }
    }

    pub(super) fn audit(&self, name: &str) -> PathBuf {
        self.folder.audit().join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.audit(name), bytes).expect("a file");
    }

    pub(super) fn append(&self, events: &[Event]) {
        let next = Seq(events.first().map_or(1, |event| event.seq));
        self.log.append(run_id(), next, events, Durability::Derived).expect("appended");
    }

    pub(super) fn recorder(&self, attempt: AttemptNumber, streams: &[Stream]) -> Recorder {
        self.write(&format!("claim.{attempt}"), b"");
        Recorder::create(&self.folder.audit(), attempt, streams).expect("new files")
    }

    /// The host's final record.
    pub(super) fn seal(&self, recorder: Recorder, wiring: Wiring, started_at: Timestamp) {
        let bytes = Bytes {
            stdout: recorder.recorded(Stream::Stdout),
            stderr: recorder.recorded(Stream::Stderr),
            pty: recorder.recorded(Stream::Pty),
            stdin: recorder.stdin_len(),
        };
        let (attempt_number, batches) = (recorder.number(), recorder.batches());
        let sealed = recorder.seal().expect("sealed");
        let hashes: BTreeMap<_, _> = sealed.into_iter().map(|file| (file.name, file.hash)).collect();
        let record = json!({
            "format": 1, "run_id": run_id(), "attempt_number": attempt_number, "wiring": wiring, "stdin": "null",
            "argv": [], "cwd": "x", "env_names": [], "secret_names": [], "host_pid": 1, "pid": 2,
            "started_at": started_at, "exit_code": 0, "survivors": [], "survivors_total": 0, "bytes": bytes,
            "hashes": hashes, "capture": Capture { batches, ..Capture::default() }, "warnings": [],
            "process_continues": false,
        });
        let record: HostRecord = serde_json::from_value(record).expect("a record");
        record.write(&self.folder.audit()).expect("written");
    }

    /// What every other reader sees of an attempt.
    pub(super) fn fed(&self, attempt: AttemptNumber) -> [Vec<u8>; 3] {
        let patterns = Patterns::new(&self.record.redact_patterns).expect("patterns");
        let folder = Folder::open(self.folder.root()).expect("evidence").hiding(&patterns);
        let mut feed = folder.attempt(attempt).expect("an attempt").feed().expect("a feed");
        let mut seen = [const { Vec::new() }; 3];
        while let Some(step) = feed.next_step().expect("a step") {
            if let StepKind::Bytes { stream, bytes } = step.kind {
                seen[stream.index()].extend_from_slice(bytes);
            }
        }
        seen
    }
}

/// Adds bytes that can be read at once.
pub(super) fn put(recorder: &mut Recorder, t_ns: u64, stream: Stream, bytes: &[u8], hidden: Option<Range<u64>>) {
    recorder.write(stream, bytes).expect("written");
    if let Some(range) = hidden {
        recorder.hide(stream, range).expect("hidden");
    }
    recorder.clear(stream, u64::MAX);
    recorder.announce(t_ns).expect("announced");
}

/// An event made from bytes.
pub(super) fn event(seq: u64, attempt: u32, raw_ref: RawRef, spans: Vec<SpanRef>) -> Event {
    let data = MessageFinal { spans, ..MessageFinal::new("m", "\"raw_ref\":{ and \"attempt_number\":9") };
    let stream = SourceStream::Stdout;
    let source =
        Source { engine: EngineName::new("scripted"), stream, parser: Some(ProfileId::PlainText), confidence: 1.0 };
    Event {
        run_id: run_id(),
        seq,
        ts: moment(seq),
        attempt_number: AttemptNumber(attempt),
        source,
        level: Level::Info,
        data: Data::Evidence(EvidenceData::MessageFinal(data)),
        correlation: Correlation::default(),
        raw_ref,
    }
}

pub(super) fn control(seq: u64, attempt: u32, at: Timestamp, data: ControlData) -> Event {
    let event = Event::control(run_id(), seq, at, EngineName::new("scripted"), data);
    Event { attempt_number: AttemptNumber(attempt), ..event }
}

pub(super) fn ended(code: Option<i32>) -> ControlData {
    let (turn, completion) = (TurnState::ALL[0], CompletionState::ALL[0]);
    let verdict = Verdict::new(Rule::ALL[0], turn, completion, Code::ALL[0], RunStatus::Running);
    let exit = Exit { code, signal: None, ended_by: None };
    ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit)))
}

pub(super) fn completed() -> ControlData {
    ControlData::RunCompleted(RunCompleted::new(Code::ALL[0]))
}

fn record() -> RunRecord {
    let record = serde_json::from_value(testkit::run_files::run_record(&run_id().to_string()));
    RunRecord { created_at: moment(0), ..record.expect("a record") }
}
