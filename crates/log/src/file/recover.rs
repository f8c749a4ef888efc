//! Opens a Log for writing: checks its end, and repairs it.
//!
//! Only the part after the last record of the index is read, so opening costs the same for a long Log as for a short
//! one. A damage before that is found by a reader that reaches it, or by [`check`].
//!
//! A bad line with no event of the run after it is a torn end: it is moved aside, and the Log continues before it. A
//! bad line with events after it is a damage, and is not repaired without a request: those events may be the only
//! record of what happened.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use skillrun_model::RunId;

use super::epoch;
use super::folder::{self, Folder, For, failed};
use super::index::{IndexWriter, Place};
use super::scan::{Item, Scan, read_at};
use crate::chain::LineHash;
use crate::cursor::{Head, Seq};
use crate::error::{Damage, DamageKind, LogErrorKind};
use crate::event_log::{IndexState, Recovered, Torn};
use crate::lines::{LineReader, MAX_LINE, Millis};
use skillrun_model::IgnoredError;

/// Maximum number of index records held in memory.
const RECORDS_AT_ONCE: usize = 1_024;

/// What to do with a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDamage {
    Report,
    /// Everything from there on is moved aside, at the request of a user. All lines are read.
    Cut,
}

/// A Log as a writer needs to know it.
#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) recovered: Recovered,
    /// Where it ends, or where the damage begins.
    pub(super) len: u64,
    /// The hash of its last line.
    pub(super) head: LineHash,
    pub(super) index: IndexWriter,
}

/// The first line that is not the expected one.
#[derive(Debug)]
struct Bad {
    damage: Damage,
    /// It has a terminator, so a reader may have seen it.
    is_line: bool,
    /// Events of the run come after it.
    has_events_after: bool,
}

/// The result of reading a Log to its end.
struct Reading {
    next: Seq,
    /// Where the last good line begins, if one was read.
    last: Option<u64>,
    /// Where the good lines end.
    end: u64,
    bad: Option<Bad>,
}

/// Repairs the Log. The caller holds the lock.
pub(super) fn repair(
    folder: &Folder,
    run: RunId,
    is_same_boot: bool,
    on_damage: OnDamage,
) -> Result<Repaired, LogErrorKind> {
    let path = folder.events();
    let log = folder::open(&path, For::Mending).map_err(|error| failed(&path, error))?;
    let size = log.metadata().map_err(|error| failed(&path, error))?.len();
    let (mut index, from) = match on_damage {
        OnDamage::Report => IndexWriter::resume(folder, &log, size),
        OnDamage::Cut => (IndexWriter::empty(folder), Place::BEGINNING),
    };
    let mut records = 0;
    let found = read(&log, run, from, size, |seq, offset, line, moment| {
        index.add(seq, offset, line, moment);
        if index.waiting() >= RECORDS_AT_ONCE {
            records += index.waiting();
            index.write(folder);
        }
    })
    .map_err(|error| failed(&path, error))?;
    if index.waiting() > 0 {
        records += index.waiting();
        index.write(folder);
    }

    let last_line = last_hash(&log, run, &found).map_err(|error| failed(&path, error))?;
    let (torn, damage) = match found.bad {
        None => (None, None),
        Some(bad) if on_damage == OnDamage::Report && bad.has_events_after => (None, Some(bad.damage)),
        Some(bad) => (Some(bad), None),
    };
    // Before anything is truncated. A line without a terminator was never shown to a reader, one with a terminator may
    // have been valid once; and after a power failure events may be lost without a trace.
    let is_power_failure = !is_same_boot && size > 0;
    let is_new_epoch = is_power_failure || torn.as_ref().is_some_and(|bad| bad.is_line);
    let epoch = if is_new_epoch { epoch::raise(folder)? } else { epoch::read(folder)? };
    let torn = match torn {
        Some(_) => Some(cut(folder, &log, found.end, size)?),
        None => None,
    };
    let index_state = match records {
        0 => IndexState::Good,
        _ => IndexState::Completed { bytes: found.end - from.offset },
    };
    let head = Head { epoch, next_seq: found.next };
    let recovered = Recovered { head, torn, damage, is_new_epoch, index: index_state };
    Ok(Repaired { recovered, len: found.end, head: last_line, index })
}

/// Reads every line; nothing is changed. None when all are good. A torn end is not a damage, unless nothing is before
/// it.
pub(super) fn check(folder: &Folder, run: RunId, end: u64) -> Result<Option<Damage>, LogErrorKind> {
    let path = folder.events();
    let log = folder::open(&path, For::Reading).map_err(|error| failed(&path, error))?;
    let found = read(&log, run, Place::BEGINNING, end, |_, _, _, _| {}).map_err(|error| failed(&path, error))?;
    Ok(found.bad.filter(|bad| bad.is_line || bad.damage.offset == 0).map(|bad| bad.damage))
}

fn read(
    log: &File,
    run: RunId,
    from: Place,
    size: u64,
    mut each: impl FnMut(Seq, u64, &[u8], Millis),
) -> io::Result<Reading> {
    let reader = LineReader::new(run);
    let mut scan = Scan::new(log, from.offset, size);
    let mut next = from.seq;
    let mut last = None;
    let (offset, kind) = loop {
        match scan.next()? {
            Item::Line { offset, line } => {
                let checked = reader.check(&line[..line.len() - 1], next);
                match checked.and_then(|head| head.ts().ok_or(DamageKind::NotAnEvent)) {
                    Ok(ts) => {
                        each(next, offset, line, ts.into());
                        last = Some(offset);
                        next = next.plus(1);
                    }
                    Err(kind) => break (offset, kind),
                }
            }
            Item::TooLong { offset } => break (offset, DamageKind::TooLong { limit: MAX_LINE }),
            Item::Rest { offset } => {
                let kind = if offset == 0 { DamageKind::FirstEventCut } else { DamageKind::NotAnEvent };
                let damage = Damage { seq: next, offset, kind };
                let bad = (offset < size).then_some(Bad { damage, is_line: false, has_events_after: false });
                return Ok(Reading { next, last, end: offset, bad });
            }
        }
    };
    let has_events_after = scan.has_event(&reader)?;
    let bad = Bad { damage: Damage { seq: next, offset, kind }, is_line: true, has_events_after };
    Ok(Reading { next, last, end: offset, bad: Some(bad) })
}

/// The hash of the last good line, which the next line will carry.
fn last_hash(log: &File, run: RunId, found: &Reading) -> io::Result<LineHash> {
    let last = match found.last {
        Some(last) => Some(last),
        None if found.end == 0 => None,
        // The line that the last record of the index points to was truncated: the line before it is found by reading
        // everything.
        None => read(log, run, Place::BEGINNING, found.end, |_, _, _, _| {})?.last,
    };
    let Some(last) = last else { return Ok(LineHash::before_first(run)) };
    // No valid line is longer than one read.
    let mut line = vec![0; usize::try_from(found.end - last).unwrap_or(MAX_LINE)];
    let length = read_at(log, &mut line, last)?;
    let line = &line[..length];
    Ok(LineHash::of(line.strip_suffix(b"\n").unwrap_or(line)))
}

/// Moves the end of the Log aside: first the copy is on the disk, then the Log is shorter.
fn cut(folder: &Folder, log: &File, from: u64, size: u64) -> Result<Torn, LogErrorKind> {
    let (path, mut aside) = next_torn(folder)?;
    let copied = (|| {
        let mut source = log;
        source.seek(SeekFrom::Start(from))?;
        let bytes = io::copy(&mut source.take(size - from), &mut aside)?;
        aside.sync_all()?;
        Ok(bytes)
    })();
    let bytes = copied.map_err(|error| {
        // Half a copy is useless, and takes space on a full disk.
        std::fs::remove_file(&path).ignored();
        failed(&path, error)
    })?;
    folder.sync()?;
    let events = folder.events();
    log.set_len(from).and_then(|()| log.sync_data()).map_err(|error| failed(&events, error))?;
    let kept_as = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Torn { kept_as, offset: from, bytes })
}

fn next_torn(folder: &Folder) -> Result<(PathBuf, File), LogErrorKind> {
    let mut number = 1;
    loop {
        let path = folder.torn(number);
        match folder::open(&path, For::Making) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(failed(&path, error)),
        }
    }
}
