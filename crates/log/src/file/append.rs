//! The writer of one Log.
//!
//! Appends of one run are serialized, including the sync: each states the seq it expects, so a second one could only be
//! valid after the first has returned. Runs do not wait for each other. Their syncs are issued concurrently, and the
//! journal of the file system commits concurrent ones together; that is the group commit. Readers wait for neither:
//! they use the published end, which moves when an append returns.

use std::any::Any;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use skillrun_base::sync::lock;
use skillrun_model::RunId;
use skillrun_model::rasp::Event;

use super::epoch;
use super::folder::{self, Folder, For, failed};
use super::index::IndexWriter;
use super::lock::Lock;
use super::recent::{self, Recent, RecentBatch};
use super::recover::Repaired;
use crate::chain::LineHash;
use crate::cursor::{Cursor, Epoch, Head, Seq};
use crate::error::{Damage, LogErrorKind};
use crate::event_log::Durability;
use crate::lines::Batch;
use crate::live_fold::{LiveFold, NewFold};
use crate::page::{Limits, LogRead};
use skillrun_model::IgnoredError;

#[derive(Debug)]
pub(super) struct Writer {
    run: RunId,
    shown: Mutex<Shown>,
    /// None after the release.
    state: Mutex<Option<State>>,
}

/// What readers in this process get without reading the file.
#[derive(Debug)]
struct Shown {
    end: Published,
    recent: Recent,
    /// Over everything that was published. None while the writer does not know what came before it.
    fold: Option<Box<dyn LiveFold>>,
}

/// What readers in this process may see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    pub(super) epoch: Epoch,
    pub(super) next: Seq,
    pub(super) len: u64,
}

#[derive(Debug)]
struct State {
    run: RunId,
    folder: Folder,
    /// Released when the state is dropped.
    _lock: Lock,
    /// Open while the run is busy; see [`Writer::close_file`].
    file: Option<File>,
    epoch: Epoch,
    len: u64,
    next: Seq,
    /// The hash of the last line.
    head: LineHash,
    index: IndexWriter,
    damage: Option<Damage>,
    /// A sync failed, or the file was changed by another process: the content of the disk is unknown.
    has_failed: bool,
    /// Lines were truncated that a reader in another process may have seen.
    needs_epoch: bool,
    /// The name of the file is on the disk.
    is_named: bool,
}

impl Writer {
    pub(super) fn new(run: RunId, folder: Folder, lock: Lock, repaired: Repaired, new_fold: Option<NewFold>) -> Self {
        let Head { epoch, next_seq: next } = repaired.recovered.head;
        let Repaired { recovered, len, head, index } = repaired;
        Self {
            run,
            shown: Mutex::new(Shown {
                end: Published { epoch, next, len },
                recent: Recent::default(),
                fold: new_fold.filter(|_| len == 0 && recovered.damage.is_none()).map(|new| new()),
            }),
            state: Mutex::new(Some(State {
                run,
                folder,
                _lock: lock,
                file: None,
                epoch,
                len,
                next,
                head,
                index,
                damage: recovered.damage,
                has_failed: false,
                needs_epoch: false,
                is_named: false,
            })),
        }
    }

    pub(super) fn published(&self) -> Published {
        lock(&self.shown).end
    }

    /// A copy of the fold, and how far it goes.
    pub(super) fn fold(&self) -> Option<(Box<dyn Any>, Published)> {
        let shown = lock(&self.shown);
        Some((shown.fold.as_ref()?.copy(), shown.end))
    }

    /// Continues a fold that was read, if it goes to the end of the Log.
    pub(super) fn continue_fold(&self, fold: Box<dyn LiveFold>, epoch: Epoch, bytes: u64) {
        let mut shown = lock(&self.shown);
        if shown.fold.is_none() && (shown.end.epoch, shown.end.len) == (epoch, bytes) {
            shown.fold = Some(fold);
        }
    }

    /// The events after the cursor, if they are in memory.
    pub(super) fn read(&self, cursor: Cursor, limits: Limits) -> Option<LogRead> {
        let shown = lock(&self.shown);
        let (end, batches) = (shown.end, shown.recent.after(cursor, limits));
        drop(shown);
        recent::read(self.run, end, cursor, limits, batches)
    }

    pub(super) fn append(
        &self,
        expected: Seq,
        events: &Arc<[Event]>,
        durability: Durability,
    ) -> Result<Seq, LogErrorKind> {
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(LogErrorKind::NotOpen)?;
        let offset = state.len;
        let appended = state.append(expected, events, durability);
        let end = Published { epoch: state.epoch, next: state.next, len: state.len };
        let (result, recent) = match appended {
            Ok(batch) if batch.lines.is_empty() => (Ok(end.next), None),
            Ok(batch) => (Ok(end.next), Some(RecentBatch::new(expected, offset, batch, events))),
            Err(error) => (Err(error), None),
        };
        let mut shown = lock(&self.shown);
        // After a failure too: it may have raised the epoch, and changes nothing else that readers see.
        shown.end = end;
        if let Some(batch) = recent {
            shown.fold = shown.fold.take().zip(batch.as_ref()).map(|(mut fold, batch)| {
                batch.events().iter().for_each(|event| fold.add(event));
                fold
            });
            shown.recent.add(batch);
        }
        result
    }

    /// The hash that the last line would have after these events.
    pub(super) fn hash_after(&self, expected: Seq, events: &[Event]) -> Result<LineHash, LogErrorKind> {
        let state = lock(&self.state);
        let state = state.as_ref().ok_or(LogErrorKind::NotOpen)?;
        if expected != state.next {
            return Err(LogErrorKind::Stale { expected, actual: state.next });
        }
        Batch::new(state.run, expected, state.head, events).map(|batch| batch.head)
    }

    /// Waits for an append that is under way; later ones are refused. The lock is released.
    pub(super) fn release(&self) {
        drop(lock(&self.state).take());
    }

    /// Closes the descriptor until the next append, and frees the memory of recent events. False when the run is busy.
    pub(super) fn close_file(&self) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        if let Some(state) = state.as_mut() {
            state.file = None;
        }
        lock(&self.shown).recent.clear();
        true
    }

    #[cfg(test)]
    pub(super) fn has_file(&self) -> bool {
        lock(&self.state).as_ref().is_some_and(|state| state.file.is_some())
    }
}

impl State {
    /// Returns the lines that were appended.
    fn append(&mut self, expected: Seq, events: &[Event], durability: Durability) -> Result<Batch, LogErrorKind> {
        if let Some(damage) = &self.damage {
            return Err(LogErrorKind::Damaged(damage.clone()));
        }
        if self.has_failed {
            return Err(LogErrorKind::Failed);
        }
        if expected != self.next {
            return Err(LogErrorKind::Stale { expected, actual: self.next });
        }
        let batch = Batch::new(self.run, expected, self.head, events)?;
        if batch.lines.is_empty() && durability == Durability::Derived {
            return Ok(batch);
        }
        self.raise_epoch()?;
        self.open_file()?;
        self.write(&batch)?;
        if durability == Durability::Synced {
            self.sync()?;
        }
        let mut start = 0;
        for (line, i) in batch.lines.iter().zip(0..) {
            let bytes = &batch.bytes[start..line.end];
            self.index.add(expected.plus(i), self.len + start as u64, bytes, line.moment);
            start = line.end;
        }
        if self.index.waiting() > 0 {
            self.index.write(&self.folder);
        }
        self.len += batch.bytes.len() as u64;
        self.next = expected.plus(batch.lines.len() as u64);
        self.head = batch.head;
        Ok(batch)
    }

    fn open_file(&mut self) -> Result<(), LogErrorKind> {
        let path = self.folder.events();
        let log = match &mut self.file {
            Some(file) => file,
            closed @ None => {
                let file = folder::open(&path, For::Adding)
                    .map_err(|error| failed(&path, error).or_if_not_found(|| LogErrorKind::Gone))?;
                closed.insert(file)
            }
        };
        let found = log.metadata().map_err(|error| failed(&path, error))?;
        if found.nlink() == 0 {
            return Err(LogErrorKind::Gone);
        }
        if found.len() != self.len {
            self.has_failed = true;
            return Err(failed(&path, io::Error::other("was changed by another process; open it again")));
        }
        Ok(())
    }

    /// The whole batch, or nothing of it.
    fn write(&mut self, batch: &Batch) -> Result<(), LogErrorKind> {
        let Some(log) = &mut self.file else { return Err(LogErrorKind::NotOpen) };
        let Err((error, written)) = write_all(log, &batch.bytes) else { return Ok(()) };
        if log.set_len(self.len).is_err() {
            self.has_failed = true;
        }
        // A reader in another process may have seen a line before it was truncated.
        self.needs_epoch = memchr::memchr(b'\n', &batch.bytes[..written]).is_some();
        let error = failed(&self.folder.events(), error);
        // Tried now, for the readers; if there is no space for it, the next append retries it first.
        self.raise_epoch().ignored();
        Err(error)
    }

    fn raise_epoch(&mut self) -> Result<(), LogErrorKind> {
        if self.needs_epoch {
            self.epoch = epoch::raise(&self.folder)?;
            self.needs_epoch = false;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogErrorKind> {
        let Some(log) = &self.file else { return Err(LogErrorKind::NotOpen) };
        let synced = log.sync_data().map_err(|error| failed(&self.folder.events(), error));
        // The name comes second: most systems have it on the disk by then, and this costs little.
        let synced = match synced {
            Ok(()) if !self.is_named => self.folder.sync(),
            other => other,
        };
        self.has_failed = synced.is_err();
        self.is_named |= synced.is_ok();
        synced
    }
}

/// On an error, also returns how much was written before it.
fn write_all(file: &mut File, bytes: &[u8]) -> Result<(), (io::Error, usize)> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return Err((io::ErrorKind::WriteZero.into(), done)),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((error, done)),
        }
    }
    Ok(())
}
