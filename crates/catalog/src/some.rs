//! A few rows, independent of the total number: refreshed, and compared with their earlier state.

use rusqlite::{Connection, OptionalExtension};
use skillrun_model::{RunId, RunStatus};

use super::folders::{Mark, Runs, Seen};
use super::refresh::{Reach, Rows, json, mark, run_id};
use super::row::Row;
use super::store::Store;
use super::trouble::{CatalogError, CatalogProblem};
use super::view::Catalog;
use super::watch::RunsWatch;
use skillrun_log::file::FileLog;

/// The state from which a row is made. Rows of one run with equal states are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowState {
    pub(super) mark: Mark,
    pub(super) damage: Option<Box<str>>,
    pub(super) status: Option<RunStatus>,
}

/// A run as its row shows it now.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    pub run_id: RunId,
    /// None when there is no such run.
    pub row: Option<(RowState, Row)>,
}

/// A run whose Log has more than was read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartlyRead {
    pub run_id: RunId,
    /// Number of bytes of its Log when it was checked.
    pub bytes: u64,
}

impl Catalog {
    /// The rows of some runs as they are, in the given order; nothing is refreshed.
    pub fn current(&mut self, runs: &[RunId]) -> Result<Vec<Current>, CatalogError> {
        self.ask(|db| current(db, runs))
    }

    /// A watch that knows the state of every row, without a refresh.
    pub fn watch(&mut self) -> Result<RunsWatch, CatalogError> {
        self.ask(watch)
    }
}

/// Brings the rows of some runs up to date with their Logs. At most about `most` bytes of each are read at once.
pub(super) fn refresh(
    store: &mut Store,
    log: &FileLog,
    wanted: &[RunId],
    most: u64,
) -> Result<(Vec<Current>, Vec<PartlyRead>), CatalogProblem> {
    let runs = Runs::open(log.runs()).map_err(CatalogProblem::Other)?;
    let behind = store.read(|db| {
        let mut marks = db.prepare("SELECT inode, epoch, bytes, damaged FROM runs WHERE run_id = ?1")?;
        let mut behind = Vec::new();
        for run in wanted {
            let kept =
                marks.query_row([run.to_string()], |row| Ok((mark(row, 0)?, row.get::<_, bool>(3)?))).optional()?;
            match (runs.inspect(*run), kept) {
                (Seen::Nothing, None) => {}
                (Seen::Log(seen), Some((mark, false))) if mark == seen => {}
                (Seen::Nothing | Seen::Log(_) | Seen::Unreadable(_), _) => behind.push(*run),
            }
        }
        Ok(behind)
    })?;
    let mut left = Vec::new();
    if !behind.is_empty() {
        left = store.write(|db| {
            let mut rows = Rows::prepare(db)?;
            let mut left = Vec::new();
            for run in &behind {
                match rows.bring_up(*run, &runs, log, most)?.1 {
                    Reach::End => {}
                    Reach::Limit(bytes) => left.push(PartlyRead { run_id: *run, bytes }),
                }
            }
            Ok(left)
        })?;
    }
    Ok((store.read(|db| current(db, wanted))?, left))
}

fn current(db: &Connection, wanted: &[RunId]) -> rusqlite::Result<Vec<Current>> {
    let sql = "SELECT inode, epoch, bytes, row FROM runs JOIN details USING (run_id) WHERE run_id = ?1";
    let mut find = db.prepare(sql)?;
    let rows = wanted.iter().map(|run| {
        let found = find.query_row([run.to_string()], |found| {
            let row: Row = json(found, 3)?;
            let damage = row.damage.as_deref().map(Into::into);
            Ok((RowState { mark: mark(found, 0)?, damage, status: row.status }, row))
        });
        Ok(Current { run_id: *run, row: found.optional()? })
    });
    rows.collect()
}

fn watch(db: &Connection) -> rusqlite::Result<RunsWatch> {
    // Only damaged rows are read: the description of the damage may change while the Log does not.
    let sql = "SELECT run_id, inode, epoch, bytes, status,
        CASE WHEN damaged THEN (SELECT json_extract(row, '$.damage') FROM details WHERE details.run_id = runs.run_id) END
        FROM runs ORDER BY run_id";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut watch = RunsWatch::default();
    while let Some(row) = rows.next()? {
        let (status, damage): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
        let status = status.and_then(|status| status.parse().ok());
        watch.set(run_id(row, 0)?, Some(RowState { mark: mark(row, 1)?, damage: damage.map(Into::into), status }));
    }
    Ok(watch)
}
