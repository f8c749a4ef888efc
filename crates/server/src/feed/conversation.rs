//! FCMP of one run, translated once for all who read it.
//!
//! What was translated lies in a file without a name, so that a reader may be as far behind as it likes and costs no
//! memory; it is a view, and gone with its last reader. A run that is over has it as `fcmp.jsonl` already.
//!
//! The translation is a pure function of the events before it: whoever begins again gets the same, seq by seq. So a
//! cursor holds through restarts.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use skillrun_log::{Answer, Cursor, EventLog, FileLog, Head, Limits, LogError, LogErrorKind, Seq};
use skillrun_model::fcmp::FcmpEvent;
use skillrun_model::{RunId, Timestamp};
use skillrun_runtime::RunFolder;
use skillrun_translate::FcmpTranslator;

use super::frames::{Ends, Rendering};
use super::position::Position;
use super::source::{Read, Standing};

/// Every so many events their place is remembered.
const STRIDE: u64 = 64;

/// Longest line that is read back: a message of 4 MiB, escaped, and its envelope.
const LINE_MAX: usize = 32 << 20;

#[derive(Debug)]
pub(crate) struct Conversation {
    log: Arc<FileLog>,
    run: RunId,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    lines: File,
    size: u64,
    /// Of the last event.
    seq: u64,
    places: Vec<Place>,
    latest: Timestamp,
    ends: Ends,
    /// How far the Log was read. None for a view that was found complete.
    reading: Option<Reading>,
    epoch: skillrun_log::Epoch,
}

#[derive(Debug)]
struct Reading {
    cursor: Cursor,
    translator: FcmpTranslator,
}

/// Where an event begins: those of seq 1, 1 + STRIDE, and so on.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    /// The latest moment of all events before it.
    before: Timestamp,
}

/// What was found after a position.
#[derive(Debug)]
pub(crate) enum Found {
    Some(Ends),
    Nothing,
    Reset(Head),
}

impl Found {
    pub(crate) fn frames(self, rendering: Rendering) -> Read {
        match self {
            Self::Some(ends) => Read::Frames(rendering.done(ends)),
            Self::Nothing => Read::Nothing,
            Self::Reset(head) => Read::Reset(head),
        }
    }
}

/// What takes events out of a conversation.
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
    /// `scratch` is a folder for files without a name.
    pub(crate) fn open(log: Arc<FileLog>, run: RunId, folder: &RunFolder, scratch: &Path) -> Result<Self, LogError> {
        let epoch = log.head(run)?.epoch;
        // Of a Log that has lost events, the file may still tell them.
        let finished = (epoch == skillrun_log::Epoch::FIRST).then(|| Inner::of_finished(&folder.fcmp(), epoch));
        let inner = match finished {
            Some(Ok(Some(inner))) => inner,
            // It can be made again.
            Some(Ok(None) | Err(_)) | None => {
                Inner::empty(scratch, epoch).map_err(|error| failed(run, scratch, error))?
            }
        };
        Ok(Self { log, run, inner: Mutex::new(inner) })
    }

    pub(crate) fn standing(&self) -> Result<Standing, LogError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while self.translate_more(&mut inner)? {}
        Ok(Standing { head: inner.head(), ends: inner.ends })
    }

    /// Gives what comes after a position to `taker`, as much as the limits say.
    pub(crate) fn read(&self, position: Position, limits: Limits, taker: &mut impl Taker) -> Result<Found, LogError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while inner.seq <= position.after && self.translate_more(&mut inner)? {}
        let is_foreign = position.after > 0 && position.epoch != inner.epoch;
        if is_foreign || position.after > inner.seq {
            return Ok(Found::Reset(inner.head()));
        }
        if position.after == inner.seq {
            return Ok(Found::Nothing);
        }
        taker.begin(Position { epoch: inner.epoch, after: position.after });
        let last =
            inner.give(position.after, limits, taker).map_err(|error| failed(self.run, "a conversation", error))?;
        Ok(Found::Some(if last == inner.seq { inner.ends } else { Ends::NotYet }))
    }

    /// The seq before the first event that happened at a moment or later. Everything before it is older.
    pub(crate) fn before(&self, moment: Timestamp) -> Result<u64, LogError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while self.translate_more(&mut inner)? {}
        let at = inner.places.partition_point(|place| place.before < moment);
        Ok(at.saturating_sub(1) as u64 * STRIDE)
    }

    /// Translates one page of the Log; false when there is no more.
    fn translate_more(&self, inner: &mut Inner) -> Result<bool, LogError> {
        let Some(reading) = &mut inner.reading else { return Ok(false) };
        match self.log.read(self.run, reading.cursor, Limits::default())? {
            Answer::Page(page) if page.is_empty() => Ok(false),
            Answer::Page(page) => {
                let events = page.events()?;
                reading.cursor = page.cursor();
                let mut made = Vec::new();
                for event in events {
                    reading.translator.push(event, &mut |event| made.push(event));
                }
                inner.epoch = page.epoch();
                inner.add(&made).map_err(|error| failed(self.run, "a conversation", error))?;
                Ok(true)
            }
            Answer::Reset(head) => {
                inner.forget(head.epoch).map_err(|error| failed(self.run, "a conversation", error))?;
                Ok(true)
            }
        }
    }
}

fn failed(run: RunId, place: impl AsRef<Path>, source: io::Error) -> LogError {
    LogError { run, kind: LogErrorKind::Io { place: place.as_ref().display().to_string(), source } }
}

impl Inner {
    fn empty(scratch: &Path, epoch: skillrun_log::Epoch) -> io::Result<Self> {
        let reading = Reading { cursor: Cursor::BEGINNING, translator: FcmpTranslator::default() };
        Ok(Self::over(tempfile::tempfile_in(scratch)?, epoch, Some(reading)))
    }

    fn over(lines: File, epoch: skillrun_log::Epoch, reading: Option<Reading>) -> Self {
        let (ends, latest) = (Ends::NotYet, Timestamp::EPOCH);
        Self { lines, size: 0, seq: 0, places: Vec::new(), latest, ends, reading, epoch }
    }

    /// From `fcmp.jsonl`, if that goes to the end of the conversation.
    fn of_finished(path: &Path, epoch: skillrun_log::Epoch) -> io::Result<Option<Self>> {
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
        // Written by somebody who was interrupted, perhaps.
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

    fn forget(&mut self, epoch: skillrun_log::Epoch) -> io::Result<()> {
        let reading = Reading { cursor: Cursor::BEGINNING, translator: FcmpTranslator::default() };
        self.lines.set_len(0)?;
        let lines = self.lines.try_clone()?;
        *self = Self::over(lines, epoch, Some(reading));
        Ok(())
    }

    fn head(&self) -> Head {
        Head { epoch: self.epoch, next_seq: Seq(self.seq + 1) }
    }

    /// Gives events after `after`, and says which was the last.
    fn give(&self, after: u64, limits: Limits, taker: &mut impl Taker) -> io::Result<u64> {
        let place = usize::try_from(after / STRIDE).ok().and_then(|at| self.places.get(at));
        let mut seq = after / STRIDE * STRIDE;
        let from = place.map_or(0, |place| place.offset);
        let mut reader = BufReader::with_capacity(64 << 10, At { file: &self.lines, offset: from, end: self.size });
        let (mut line, mut given, mut bytes) = (Vec::new(), 0, 0);
        while given < limits.events && bytes < limits.bytes {
            line.clear();
            (&mut reader).take(LINE_MAX as u64).read_until(b'\n', &mut line)?;
            let Some(json) = line.strip_suffix(b"\n") else { break };
            seq += 1;
            if seq > after {
                taker.take(seq, json);
                (given, bytes) = (given + 1, bytes + json.len());
            }
        }
        Ok(seq)
    }
}

/// Reads a file from an offset, whatever others do with it.
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

/// What places are made of.
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
