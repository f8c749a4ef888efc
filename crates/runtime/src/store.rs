//! The Log of a run and the files that are written together with it, as the owner of the run uses them.

use std::fmt;
use std::fs;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate};
use skillrun_log::{Cursor, Durability, EventLog, FileLog, Limits, LineHash, LogError, LogRead, Page, Seq};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, IgnoredError, RunId};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::events::{changed, is_evidence, read_lines};
use skillrun_runs::record::RunRecord;
use skillrun_runs::result::{self, ResultFold, finished_result};

use crate::error::RuntimeError;
use crate::run::{Tools, check_variables};
use crate::workspace;

/// Disk space reserved for the last events of a run, in case the disk is full by then.
const RESERVE_BYTES: u64 = 64 * 1024;

/// Receives the events of a Log.
pub(crate) type TakeEvent<'a> = dyn FnMut(&Event, Option<LineHash>) -> Result<(), RuntimeError> + 'a;

/// Where a run is kept.
pub(crate) trait RunStore: Send + Sync + fmt::Debug {
    fn append(
        &self,
        run: RunId,
        expected_next: Seq,
        batch: &Arc<[Event]>,
        durability: Durability,
    ) -> Result<(), LogError>;

    /// The hash of the last line, once these events are appended.
    fn hash_after(&self, run: RunId, expected_next: Seq, batch: &[Event]) -> Option<LineHash>;

    /// Stops being the writer of the Log.
    fn release(&self, run: RunId);

    /// Reads the Log from its first event to its last, each with the hash of the line before it.
    fn read_all(&self, run: RunId, take: &mut TakeEvent<'_>) -> Result<(), RuntimeError>;

    /// The Log in files, along with which the owner writes views; none where there are no files.
    fn file_log(&self) -> Option<&FileLog>;

    /// The events of an attempt up to `until` that were made from evidence.
    fn logged_evidence(&self, run: RunId, attempt: AttemptNumber, until: Seq) -> Box<dyn LoggedEvidence>;

    /// The run ends with this result: does what must be done before the last events are in the Log.
    fn prepare_end(&self, folder: &RunFolder, record: &RunRecord, result: ResultFold);

    /// Reserves disk space for the end, if none is reserved yet: an earlier reserve may have been used up when the disk
    /// was full.
    fn keep_reserve(&self, run: RunId);

    fn free_reserve(&self, run: RunId);

    /// Whether this process has the variables that the run was made with.
    fn check_variables(&self, run: RunId) -> Result<(), RuntimeError>;
}

/// Events in the Log, one after the other.
pub(crate) trait LoggedEvidence: fmt::Debug {
    /// The next event, and its line.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Event)>, RuntimeError>;
}

impl RunStore for Tools {
    fn append(
        &self,
        run: RunId,
        expected_next: Seq,
        batch: &Arc<[Event]>,
        durability: Durability,
    ) -> Result<(), LogError> {
        self.log.append_shared(run, expected_next, batch, durability).map(drop)
    }

    fn hash_after(&self, run: RunId, expected_next: Seq, batch: &[Event]) -> Option<LineHash> {
        self.log.hash_after(run, expected_next, batch).ok()
    }

    fn release(&self, run: RunId) {
        self.log.release(run);
    }

    fn read_all(&self, run: RunId, take: &mut TakeEvent<'_>) -> Result<(), RuntimeError> {
        read_lines(&self.log, run, |line, event| take(&event, line.prev()))
    }

    fn file_log(&self) -> Option<&FileLog> {
        Some(&self.log)
    }

    fn logged_evidence(&self, run: RunId, attempt: AttemptNumber, until: Seq) -> Box<dyn LoggedEvidence> {
        let log = self.log.clone();
        Box::new(LoggedPages { log, run, attempt, until, page: None, at: 0, cursor: Cursor::BEGINNING })
    }

    fn prepare_end(&self, folder: &RunFolder, record: &RunRecord, result: ResultFold) {
        let mut artifacts = Vec::new();
        if let Some(result) = finished_result(result, record.run_id, folder) {
            // A view: the Log has everything in it, and the reserve is for the Log.
            result::write(folder, &result).ignored();
            artifacts = result.artifacts.into_iter().map(|artifact| artifact.path.into()).collect();
        }
        if let Ok(descriptor) = self.engines.get(&record.engine.name) {
            workspace::remove_spare(folder, record, descriptor, &artifacts);
        }
        // Before the last event, so that a process that finds the run over finds nothing left behind.
        workspace::remove_placed(folder, record);
        workspace::release(&self.data, record.run_id);
    }

    fn keep_reserve(&self, run: RunId) {
        let file = fs::File::create_new(self.data.run(run).reserve());
        let kept = file.map(|file| fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES));
        if let Ok(Err(_)) = kept {
            // Without it a full disk is only detected later.
            self.free_reserve(run);
        }
    }

    fn free_reserve(&self, run: RunId) {
        fs::remove_file(self.data.run(run).reserve()).ignored();
    }

    fn check_variables(&self, run: RunId) -> Result<(), RuntimeError> {
        check_variables(run, &self.data.run(run), &self.variables)
    }
}

/// Read page by page, as far as they are needed.
#[derive(Debug)]
struct LoggedPages {
    log: Arc<FileLog>,
    run: RunId,
    attempt: AttemptNumber,
    until: Seq,
    page: Option<Page>,
    at: usize,
    cursor: Cursor,
}

impl LoggedEvidence for LoggedPages {
    fn next(&mut self) -> Result<Option<(Vec<u8>, Event)>, RuntimeError> {
        loop {
            if let Some(current) = &self.page {
                for line in current.lines().skip(self.at) {
                    self.at += 1;
                    if line.seq > self.until {
                        return Ok(None);
                    }
                    let event = line.event()?;
                    if is_evidence(&event) && event.attempt_number == self.attempt {
                        return Ok(Some((line.json().to_vec(), event)));
                    }
                }
            }
            match self.log.read(self.run, self.cursor, Limits::default())? {
                LogRead::Page(next) if next.is_empty() => return Ok(None),
                LogRead::Page(next) => {
                    self.cursor = next.cursor();
                    self.at = 0;
                    self.page = Some(next);
                }
                LogRead::Reset(_) => return Err(changed(self.run).into()),
            }
        }
    }
}
