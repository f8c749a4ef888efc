//! The catalog, and what was told about it. One at a time uses it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use skillrun_log::FileLog;
use skillrun_log::catalog::{Catalog, CatalogError, Current, Query, Row, RowState};
use skillrun_model::{RunId, RunStatus};

use super::changes::Changes;
use super::epoch::Epoch;

/// So many runs, the newest, are in a snapshot.
const SNAPSHOT: usize = 200;

/// So many older ones that wait for an answer are in it too: a question must not be forgotten because it is old.
const WAITING: usize = 1_000;

/// So many changes are given at once; whoever gets so many asks again.
const PAGE: usize = 500;

/// So many bytes of a Log are read before somebody else has a turn.
const GLANCE: u64 = 1 << 20;

/// What happened after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum Since {
    /// What the reader has is of no use: it begins anew with these, the newest first, and this number.
    Reset { snapshot: Vec<Row>, number: u64 },
    /// In the order of their numbers, each run once. Not necessarily all: ask again until there are none.
    Changes(Vec<(u64, Change)>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Row(Box<Row>),
    Removed(RunId),
}

#[derive(Debug)]
pub(super) struct Book {
    log: Arc<FileLog>,
    pub(super) catalog: Catalog,
    epoch: Epoch,
    /// When all runs were looked at.
    pub(super) looked: Instant,
    /// What every row said when it was last looked at.
    known: HashMap<RunId, RowState>,
    changes: Changes,
}

impl Book {
    /// `catalog` is the file of the catalog.
    pub(super) fn open(log: Arc<FileLog>, catalog: &Path, epoch: Epoch) -> Result<Self, CatalogError> {
        let looked = Instant::now();
        let (mut catalog, _) = Catalog::open(catalog, log.runs())?;
        catalog.refresh(&log)?;
        let known = catalog.states()?;
        Ok(Self { log, catalog, epoch, looked, known, changes: Changes::default() })
    }

    /// The last number that was given out.
    pub(super) fn last(&self) -> u64 {
        self.changes.last()
    }

    /// Looks at the next part of a run; it is not done as long as it is given back.
    pub(super) fn look_at_part(&mut self, run: RunId) -> Result<(Option<Row>, Vec<RunId>), CatalogError> {
        let (current, behind) = self.catalog.refresh_within(&self.log, &[run], GLANCE)?;
        Ok((self.are_now(current).pop().flatten(), behind))
    }

    /// Looks at some runs, of one that writes much only the next part. Gives those that are not done.
    pub(super) fn glance_at(&mut self, runs: &[RunId]) -> Result<Vec<RunId>, CatalogError> {
        let (current, behind) = self.catalog.refresh_within(&self.log, runs, GLANCE)?;
        self.are_now(current);
        Ok(behind)
    }

    fn are_now(&mut self, current: Vec<Current>) -> Vec<Option<Row>> {
        let rows = current.into_iter().map(|current| {
            let (state, row) = current.row.unzip();
            self.is_now(current.run_id, state);
            row
        });
        rows.collect()
    }

    /// Looks at all runs, those of other processes too.
    /// Of one that writes much only the next part; gives those that are not done.
    pub(super) fn look_at_all(&mut self) -> Result<Vec<RunId>, CatalogError> {
        let began = Instant::now();
        let (_, behind) = self.catalog.refresh_all_within(&self.log, GLANCE)?;
        // Another process may have brought the rows up to date, so it does not matter which of them we changed.
        let states = self.catalog.states()?;
        let gone = self.known.keys().filter(|run| !states.contains_key(run)).map(|run| (*run, None));
        let mut changed: Vec<(RunId, Option<RowState>)> = gone.collect();
        changed.extend(
            states.into_iter().filter(|(run, state)| self.known.get(run) != Some(state)).map(|(run, s)| (run, Some(s))),
        );
        changed.sort_by_cached_key(|(run, _)| run.to_string());
        changed.into_iter().for_each(|(run, state)| self.is_now(run, state));
        self.looked = began;
        Ok(behind)
    }

    /// A run was seen so; a change if it was another way before.
    fn is_now(&mut self, run: RunId, state: Option<RowState>) {
        let has_changed = self.known.get(&run) != state.as_ref();
        match state {
            Some(state) if has_changed => drop(self.known.insert(run, state)),
            None => drop(self.known.remove(&run)),
            Some(_) => {}
        }
        if has_changed {
            self.changes.note(run);
        }
    }

    /// The newest runs, and older ones that wait for somebody.
    fn snapshot(&mut self) -> Result<Vec<Row>, CatalogError> {
        let mut rows = self.catalog.list(&Query { limit: Some(SNAPSHOT), ..Query::default() })?;
        if let Some(oldest) = rows.last().map(|row| row.run_id).filter(|_| rows.len() == SNAPSHOT) {
            let statuses = vec![RunStatus::WaitingUser];
            let waiting = Query { statuses, after: Some(oldest), limit: Some(WAITING), ..Query::default() };
            rows.extend(self.catalog.list(&waiting)?);
        }
        Ok(rows)
    }

    pub(super) fn since(&mut self, cursor: Option<(Epoch, u64)>) -> Result<Since, CatalogError> {
        let number = cursor.filter(|(epoch, _)| *epoch == self.epoch).map(|(_, number)| number);
        let Some(changes) = number.and_then(|number| self.changes.since(number, PAGE)) else {
            return Ok(Since::Reset { snapshot: self.snapshot()?, number: self.last() });
        };
        let runs: Vec<RunId> = changes.iter().map(|(_, run)| *run).collect();
        let rows = self.catalog.current(&runs)?;
        let changes = changes.into_iter().zip(rows).map(|((number, run), current)| {
            let row = current.row.map(|(_, row)| Change::Row(Box::new(row)));
            (number, row.unwrap_or(Change::Removed(run)))
        });
        Ok(Since::Changes(changes.collect()))
    }
}
