//! FCMP of one run, translated once for all readers.
//!
//! The translation is stored in an unnamed file, so that a reader may lag by any distance and costs no memory; it is a
//! view, and is removed a minute after its last reader left. A run that is over has it as `fcmp.jsonl` already.
//!
//! The translation is a pure function of the events: repeating it gives the same result, seq by seq. So a cursor stays
//! valid across restarts.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Deserialize;
use skillrun_log::{Epoch, EventLog, FileLog, Head, Limits, LogError, LogErrorKind, Seq};
use skillrun_model::fcmp::FcmpEvent;
use skillrun_model::{RunId, Timestamp};
use skillrun_runs::RunFolder;
use skillrun_runs::conversation::{ConversationItem, ConversationRead, ConversationReader};
use skillrun_runtime::views;

use super::frames::{Ends, Rendering};
use super::position::Position;
use super::source::{StreamPosition, StreamRead};

/// Number of events between two remembered offsets.
const STRIDE: u64 = 64;

/// Longest line that is read back; an event is no longer than the one of the Log it was made from.
const LINE_MAX: usize = skillrun_log::MAX_LINE;

#[derive(Debug)]
pub(crate) struct Conversation {
    log: Arc<FileLog>,
    run: RunId,
    scratch: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    lines: File,
    size: u64,
    /// The seq of the last event.
    seq: u64,
    places: Vec<Place>,
    latest: Timestamp,
    ends: Ends,
    /// How far the Log was read. None for a view that was already complete.
    reader: Option<ConversationReader>,
    epoch: Epoch,
    stage: Stage,
}

/// Whether the state in memory matches the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Whole,
    /// An operation failed half way.
    HalfDone,
}

/// Where an event begins: those of seq 1, 1 + STRIDE, and so on.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    /// The latest moment of all events before it.
    before: Timestamp,
}

/// The events after a position.
#[derive(Debug)]
pub(crate) enum ConversationPage {
    Some(Ends),
    Nothing,
    Reset(Head),
}

impl ConversationPage {
    pub(crate) fn frames(self, rendering: Rendering) -> StreamRead {
        match self {
            Self::Some(ends) => StreamRead::Frames(rendering.done(ends)),
            Self::Nothing => StreamRead::Nothing,
            Self::Reset(head) => StreamRead::Reset(head),
        }
    }
}

/// Receives events from a conversation.
pub(crate) trait Taker {
    fn take(&mut self, seq: u64, json: &[u8]);
    fn begin(&mut self, position: Position);
}

impl Taker for Rendering {
    fn take(&mut self, seq: u64, json: &[u8]) {
        self.show(seq, json);
    }
    fn begin(&mut self, position: Position) {
        self.at(position);
    }
}

impl Conversation {
    /// `scratch` is a folder for unnamed files.
    pub(crate) fn open(log: Arc<FileLog>, run: RunId, folder: &RunFolder, scratch: &Path) -> Result<Self, LogError> {
        let epoch = log.head(run)?.epoch;
        // If the Log has lost events, the file may still contain them; for a waiting run it ends at the question.
        let is_kept = epoch == Epoch::FIRST && views::is_whole(&folder.fcmp());
        let finished = is_kept.then(|| Inner::of_finished(&folder.fcmp(), epoch));
        let inner = match finished {
            Some(Ok(Some(inner))) => inner,
            // It can be regenerated.
            Some(Ok(None) | Err(_)) | None => {
                Inner::empty(scratch, epoch).map_err(|error| failed(run, scratch, error))?
            }
        };
        Ok(Self { log, run, scratch: scratch.to_owned(), inner: Mutex::new(inner) })
    }

    /// The epoch of its events.
    pub(crate) fn epoch(&self) -> Result<Epoch, LogError> {
        self.lock().map(|inner| inner.epoch)
    }

    /// A half-finished translation is restarted: the result is the same.
    fn lock(&self) -> Result<MutexGuard<'_, Inner>, LogError> {
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| {
            self.inner.clear_poison();
            poisoned.into_inner()
        });
        if inner.stage == Stage::HalfDone {
            self.restart(&mut inner)?;
        }
        Ok(inner)
    }

    fn restart(&self, inner: &mut Inner) -> Result<(), LogError> {
        let epoch = self.log.head(self.run)?.epoch;
        *inner = Inner::empty(&self.scratch, epoch).map_err(|error| failed(self.run, &self.scratch, error))?;
        Ok(())
    }

    pub(crate) fn standing(&self) -> Result<StreamPosition, LogError> {
        let mut inner = self.lock()?;
        while self.translate_more(&mut inner)? {}
        Ok(StreamPosition { head: inner.head(), ends: inner.ends })
    }

    /// Passes the events after a position to `taker`, up to the limits.
    pub(crate) fn read(
        &self,
        position: Position,
        limits: Limits,
        taker: &mut impl Taker,
    ) -> Result<ConversationPage, LogError> {
        let mut inner = self.lock()?;
        while inner.seq <= position.after && self.translate_more(&mut inner)? {}
        let is_foreign = position.after > 0 && position.epoch != inner.epoch;
        if is_foreign || position.after > inner.seq {
            return Ok(ConversationPage::Reset(inner.head()));
        }
        if position.after == inner.seq {
            return Ok(ConversationPage::Nothing);
        }
        taker.begin(Position { epoch: inner.epoch, after: position.after });
        let last = inner.give(position.after, limits, taker).map_err(|error| {
            // The file was changed, or the disk is faulty; the file is regenerated.
            inner.stage = Stage::HalfDone;
            failed(self.run, &self.scratch, error)
        })?;
        Ok(ConversationPage::Some(if last == inner.seq { inner.ends } else { Ends::NotYet }))
    }

    /// The seq before the first event at or after a time. All events before it are older.
    pub(crate) fn before(&self, moment: Timestamp) -> Result<u64, LogError> {
        let mut inner = self.lock()?;
        while self.translate_more(&mut inner)? {}
        let at = inner.places.partition_point(|place| place.before < moment);
        Ok(at.saturating_sub(1) as u64 * STRIDE)
    }

    /// Translates one page of the Log; false when there is no more.
    fn translate_more(&self, inner: &mut Inner) -> Result<bool, LogError> {
        let Some(reader) = &mut inner.reader else { return Ok(false) };
        let mut made = Vec::new();
        inner.stage = Stage::HalfDone;
        let read = reader.page(&self.log, self.run, |item| {
            made.extend(match item {
                ConversationItem::Said(event) => Some(event),
                ConversationItem::Event(_) => None,
            });
            Ok::<_, LogError>(())
        })?;
        match read {
            ConversationRead::Page { epoch, .. } => inner.epoch = epoch,
            ConversationRead::End => {}
            ConversationRead::Reset => return self.restart(inner).map(|()| true),
        }
        inner.add(&made).map_err(|error| failed(self.run, &self.scratch, error))?;
        inner.stage = Stage::Whole;
        Ok(read != ConversationRead::End)
    }
}

fn failed(run: RunId, place: impl AsRef<Path>, source: io::Error) -> LogError {
    let place = place.as_ref().display().to_string();
    let is_full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let kind = if is_full { LogErrorKind::NoSpace { place, source } } else { LogErrorKind::Io { place, source } };
    LogError { run, kind }
}

impl Inner {
    fn empty(scratch: &Path, epoch: Epoch) -> io::Result<Self> {
        Ok(Self::over(tempfile::tempfile_in(scratch)?, epoch, Some(ConversationReader::default())))
    }

    fn over(lines: File, epoch: Epoch, reader: Option<ConversationReader>) -> Self {
        let (ends, latest) = (Ends::NotYet, Timestamp::EPOCH);
        Self { lines, size: 0, seq: 0, places: Vec::new(), latest, ends, reader, epoch, stage: Stage::Whole }
    }

    /// From `fcmp.jsonl`, if that goes to the end of the conversation.
    fn of_finished(path: &Path, epoch: Epoch) -> io::Result<Option<Self>> {
        let mut inner = Self::over(File::open(path)?, epoch, None);
        let mut reader = BufReader::with_capacity(256 << 10, inner.lines.try_clone()?);
        let mut line = Vec::new();
        loop {
            line.clear();
            (&mut reader).take(LINE_MAX as u64).read_until(b'\n', &mut line)?;
            let Some(json) = line.strip_suffix(b"\n") else { break };
            let Some(head) = LineHead::of(json).filter(|head| head.seq == inner.seq + 1) else { return Ok(None) };
            inner.note(head, line.len());
        }
        // Possibly written by a process that was interrupted.
        let is_whole = line.is_empty() && inner.ends == Ends::Here;
        Ok(is_whole.then_some(inner))
    }

    /// Remembers an event that begins where the others end.
    fn note(&mut self, head: LineHead<'_>, length: usize) {
        if (head.seq - 1).is_multiple_of(STRIDE) {
            self.places.push(Place { offset: self.size, before: self.latest });
        }
        self.latest = self.latest.max(head.ts);
        self.seq = head.seq;
        self.size += length as u64;
        self.ends = head.ends();
    }

    fn add(&mut self, events: &[FcmpEvent]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        self.lines.seek(SeekFrom::Start(self.size))?;
        let mut text = Vec::new();
        for event in events {
            let line = event.to_json();
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
            let head = LineHead { seq: event.seq, ts: event.ts, r#type: event.data.fcmp_type().as_str() };
            self.note(head, line.len() + 1);
        }
        self.lines.write_all(&text)
    }

    fn head(&self) -> Head {
        Head { epoch: self.epoch, next_seq: Seq(self.seq + 1) }
    }

    /// Passes on the events after `after`, and returns the last seq.
    fn give(&self, after: u64, limits: Limits, taker: &mut impl Taker) -> io::Result<u64> {
        let place = usize::try_from(after / STRIDE).ok().and_then(|at| self.places.get(at));
        let mut seq = after / STRIDE * STRIDE;
        let from = place.map_or(0, |place| place.offset);
        let mut reader = BufReader::with_capacity(64 << 10, At { file: &self.lines, offset: from, end: self.size });
        let (mut line, mut given, mut bytes) = (Vec::new(), 0, 0);
        while given < limits.events && bytes < limits.bytes {
            line.clear();
            (&mut reader).take(LINE_MAX as u64).read_until(b'\n', &mut line)?;
            let Some(json) = line.strip_suffix(b"\n") else {
                // As many lines as events were expected.
                if seq < self.seq {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                break;
            };
            seq += 1;
            if seq > after {
                taker.take(seq, json);
                (given, bytes) = (given + 1, bytes + json.len());
            }
        }
        Ok(seq)
    }
}

/// Reads a file from an offset, independently of other readers.
struct At<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
}

impl io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..left], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// The fields needed for the index.
#[derive(Deserialize)]
struct LineHead<'a> {
    seq: u64,
    ts: Timestamp,
    r#type: &'a str,
}

impl<'a> LineHead<'a> {
    fn of(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    fn ends(&self) -> Ends {
        use skillrun_model::fcmp::data::FcmpType;
        match self.r#type.parse() {
            Ok(FcmpType::ConversationCompleted | FcmpType::ConversationFailed | FcmpType::ConversationCanceled) => {
                Ends::Here
            }
            Ok(_) | Err(_) => Ends::NotYet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_log::Durability;
    use skillrun_model::rasp::{ControlData, Event};
    use skillrun_model::{EngineName, RunStatus};
    use skillrun_runs::DataFolder;

    fn event(run: RunId, seq: u64) -> Event {
        let ts = Timestamp::EPOCH.plus_nanos(seq * 1_000_000);
        Event::control(run, seq, ts, EngineName::new("scripted"), ControlData::status(RunStatus::Running))
    }

    #[derive(Default)]
    struct Taken(Vec<(u64, String)>);

    impl Taker for Taken {
        fn take(&mut self, seq: u64, json: &[u8]) {
            self.0.push((seq, String::from_utf8(json.to_vec()).unwrap()));
        }
        fn begin(&mut self, _: Position) {}
    }

    fn all(conversation: &Conversation) -> Vec<(u64, String)> {
        let mut taken = Taken::default();
        let mut at = Position::BEGINNING;
        while let ConversationPage::Some(_) =
            conversation.read(at, Limits { events: 50, bytes: 1 << 20 }, &mut taken).unwrap()
        {
            at.after = taken.0.last().unwrap().0;
        }
        taken.0
    }

    #[test]
    fn what_was_left_half_done_is_made_again_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::new(folder.path());
        let log = Arc::new(FileLog::new(data.runs()));
        let run = RunId::new(1, [7; 10]);
        log.create(run).unwrap();
        let events: Vec<Event> = (1..=200).map(|seq| event(run, seq)).collect();
        log.append(run, Seq(1), &events[..150], Durability::Derived).unwrap();
        let conversation = Conversation::open(log.clone(), run, &data.run(run), folder.path()).unwrap();
        let before = all(&conversation);
        assert_eq!(before.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (1..=150).collect::<Vec<_>>());
        // A full disk: the state is in memory, but only half of it is in the file.
        {
            let mut inner = conversation.inner.lock().unwrap();
            inner.stage = Stage::HalfDone;
            inner.seq += 3;
            inner.size += 1000;
        }
        assert_eq!(all(&conversation), before);
        // A truncated file: reported once, and then regenerated.
        conversation.inner.lock().unwrap().lines.set_len(100).unwrap();
        let again =
            conversation.read(Position { after: 140, ..Position::BEGINNING }, Limits::default(), &mut Taken::default());
        assert!(again.is_err());
        assert_eq!(all(&conversation), before);
        // A fault in the middle of it.
        let fault = std::thread::scope(|scope| {
            let fault = || {
                let mut inner = conversation.inner.lock().unwrap();
                inner.stage = Stage::HalfDone;
                inner.places.clear();
                panic!("on purpose");
            };
            scope.spawn(fault).join()
        });
        assert!(fault.is_err());
        log.append(run, Seq(151), &events[150..], Durability::Derived).unwrap();
        let after = all(&conversation);
        assert_eq!((after.len(), &after[..150]), (200, &before[..]));
    }
}
