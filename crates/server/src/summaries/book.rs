//! The catalog, and the changes reported so far. Used by one thread at a time.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use skillrun_catalog::{Catalog, CatalogError, Current, Query, Row, RunsWatch};
use skillrun_log::FileLog;
use skillrun_model::{RunId, RunStatus};

use super::changes::Changes;
use super::epoch::Epoch;

/// Number of runs in a snapshot, the newest.
const SNAPSHOT: usize = 200;

/// Number of older runs waiting for an answer that are also in a snapshot: a question must not be missed because it is
/// old.
const WAITING: usize = 1_000;

/// Maximum number of changes in one result; a reader that gets this many asks again.
const PAGE: usize = 500;

/// Number of bytes of a Log that are read before another thread has a turn.
const GLANCE: u64 = 1 << 20;

/// The changes after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum Since {
    /// The cursor is not valid: the reader restarts with these runs, newest first, and this number.
    Reset { snapshot: Vec<Row>, number: u64 },
    /// In the order of their numbers, each run once. Not necessarily all: ask again until there are none.
    Changes(Vec<(u64, RowChange)>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RowChange {
    Row(Box<Row>),
    Removed(RunId),
}

/// A run after a part of its Log was read; the size of its Log if it has more.
pub(super) type RunPart = (Option<Row>, Option<u64>);

#[derive(Debug)]
pub(super) struct Book {
    log: Arc<FileLog>,
    pub(super) catalog: Catalog,
    epoch: Epoch,
    /// When changes by other processes were looked for.
    pub(super) looked: Instant,
    /// What was reported of every run.
    watch: RunsWatch,
    changes: Changes,
}

impl Book {
    /// `catalog` is the file of the catalog.
    pub(super) fn open(log: Arc<FileLog>, catalog: &Path, epoch: Epoch) -> Result<Self, CatalogError> {
        let looked = Instant::now();
        let (mut catalog, _) = Catalog::open(catalog, log.runs())?;
        catalog.refresh(&log)?;
        let watch = catalog.watch()?;
        Ok(Self { log, catalog, epoch, looked, watch, changes: Changes::default() })
    }

    /// The last number that was assigned.
    pub(super) fn last(&self) -> u64 {
        self.changes.last()
    }

    /// Reads the next part of a run; also returns the size of its Log while it has more.
    pub(super) fn refresh_part(&mut self, run: RunId) -> Result<RunPart, CatalogError> {
        let (current, mut left) = self.catalog.refresh_within(&self.log, &[run], GLANCE)?;
        Ok((self.are_now(current).pop().flatten(), left.pop().map(|left| left.bytes)))
    }

    /// Refreshes some runs; for one that writes much, only the next part. Returns those that are not done.
    pub(super) fn glance_at(&mut self, runs: &[RunId]) -> Result<Vec<RunId>, CatalogError> {
        let (current, left) = self.catalog.refresh_within(&self.log, runs, GLANCE)?;
        self.are_now(current);
        Ok(left.into_iter().map(|left| left.run_id).collect())
    }

    /// Records the states of runs; a change if one differs from the previous one.
    fn are_now(&mut self, current: Vec<Current>) -> Vec<Option<Row>> {
        let rows = current.into_iter().map(|current| {
            let (state, row) = current.row.unzip();
            if self.watch.set(current.run_id, state) {
                self.changes.note(current.run_id);
            }
            row
        });
        rows.collect()
    }

    /// Refreshes the runs that have changed, including those of other processes. For one that writes much, only the
    /// next part; returns those that are not done.
    pub(super) fn refresh_all(&mut self) -> Result<Vec<RunId>, CatalogError> {
        let began = Instant::now();
        // Compared with what was reported, not with the rows: another process may have refreshed these.
        let behind = self.watch.look(self.log.runs(), began)?.behind;
        let left = self.glance_at(&behind)?;
        self.looked = began;
        Ok(left)
    }

    /// The newest runs, and older ones that wait for an answer.
    fn snapshot(&mut self) -> Result<Vec<Row>, CatalogError> {
        let mut rows = self.catalog.list(&Query { limit: Some(SNAPSHOT), ..Query::default() })?;
        if let Some(oldest) = rows.last().map(|row| row.run_id).filter(|_| rows.len() == SNAPSHOT) {
            let statuses = vec![RunStatus::WaitingUser];
            let waiting = Query { statuses, after: Some(oldest), limit: Some(WAITING), ..Query::default() };
            rows.extend(self.catalog.list(&waiting)?);
        }
        // Another process may have added rows that were not reported yet. They are from now on, so that their removal is
        // reported too.
        let runs: Vec<RunId> = rows.iter().map(|row| row.run_id).collect();
        let current = self.catalog.current(&runs)?;
        Ok(self.are_now(current).into_iter().flatten().collect())
    }

    pub(super) fn since(&mut self, cursor: Option<(Epoch, u64)>) -> Result<Since, CatalogError> {
        let number = cursor.filter(|(epoch, _)| *epoch == self.epoch).map(|(_, number)| number);
        let Some(changes) = number.and_then(|number| self.changes.since(number, PAGE)) else {
            return Ok(Since::Reset { snapshot: self.snapshot()?, number: self.last() });
        };
        let runs: Vec<RunId> = changes.iter().map(|(_, run)| *run).collect();
        let rows = self.catalog.current(&runs)?;
        let changes = changes.into_iter().zip(rows).map(|((number, run), current)| {
            let row = current.row.map(|(_, row)| RowChange::Row(Box::new(row)));
            (number, row.unwrap_or(RowChange::Removed(run)))
        });
        Ok(Since::Changes(changes.collect()))
    }
}
