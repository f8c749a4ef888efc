//! Finds the rows that are behind their Logs, and refreshes them.
//!
//! First a check without any lock: every Log has a row, and every Log is as its row states. Mostly that is all.
//! Otherwise the outdated rows are refreshed one by one in one transaction, each from the content of the file at that
//! time: of several processes that refresh at once, one does the work, and no row ever goes back.

use std::collections::HashMap;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Statement, params};
use skillrun_lifecycle::run::made_until;
use skillrun_model::RunId;
use skillrun_model::interaction::Scope;

use super::fold::{Fold, Folded, Gone, read_on};
use super::folders::{Mark, Runs, Seen};
use super::row::{Row, asks_until};
use super::store::Store;
use super::trouble::CatalogProblem;
use super::words;
use skillrun_log::cursor::Epoch;
use skillrun_log::error::DamageKind;
use skillrun_log::file::FileLog;

/// What a refresh found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Folders of runs that contain a Log.
    pub runs: usize,
    /// Rows that were added or changed.
    pub changed: usize,
    /// Rows whose Log is gone.
    pub removed: usize,
}

pub(super) fn refresh(store: &mut Store, log: &FileLog) -> Result<Refreshed, CatalogProblem> {
    let runs = Runs::open(log.runs()).map_err(CatalogProblem::Other)?;
    let mut marks = store.read(marks)?;
    let mut refreshed = Refreshed::default();
    let mut behind = Vec::new();
    let looked = runs.each(|run, seen| {
        let row = marks.remove(&run);
        match seen {
            Seen::Nothing if row.is_none() => {}
            Seen::Log(seen) if row.flatten() == Some(seen) => refreshed.runs += 1,
            Seen::Nothing | Seen::Log(_) | Seen::Unreadable(_) => behind.push(run),
        }
    });
    looked.map_err(CatalogProblem::Other)?;
    // Rows without a folder.
    behind.extend(marks.into_keys());
    if behind.is_empty() {
        return Ok(refreshed);
    }
    // In the order of the tables, so that pages are filled one after the other.
    behind.sort_by_cached_key(RunId::to_string);
    store.write(|db| {
        let mut rows = Rows::prepare(db)?;
        for run in behind {
            match rows.bring_up(run, &runs, log, u64::MAX)?.0 {
                Change::Row => (refreshed.runs, refreshed.changed) = (refreshed.runs + 1, refreshed.changed + 1),
                Change::None => refreshed.runs += 1,
                Change::Removed => refreshed.removed += 1,
                Change::NoRun => {}
            }
        }
        Ok(refreshed)
    })
}

/// How far each row goes. A damaged row is never considered current.
fn marks(db: &Connection) -> rusqlite::Result<HashMap<RunId, Option<Mark>>> {
    let mut statement = db.prepare("SELECT run_id, inode, epoch, bytes, damaged FROM runs")?;
    let mut rows = statement.query([])?;
    let mut marks = HashMap::new();
    while let Some(row) = rows.next()? {
        let mark = mark(row, 1)?;
        let is_damaged: bool = row.get(4)?;
        marks.insert(run_id(row, 0)?, Some(mark).filter(|_| !is_damaged));
    }
    Ok(marks)
}

pub(super) fn run_id(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error| wrong(column, error))
}

/// Three columns from this one on. Inodes may exceed the integers of SQLite; only the bits matter.
pub(super) fn mark(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Mark> {
    let bytes: i64 = row.get(first + 2)?;
    Ok(Mark {
        inode: row.get::<_, i64>(first)?.cast_unsigned(),
        epoch: Epoch(row.get(first + 1)?),
        bytes: u64::try_from(bytes).map_err(|error| wrong(first + 2, error))?,
    })
}

/// JSON in a cell.
pub(super) fn json<T: serde::de::DeserializeOwned>(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| wrong(column, error))
}

fn wrong(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

fn as_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Whether a row goes as far as its Log did when the Log was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    End,
    /// There is more than is read at once; the Log had this many bytes.
    Limit(u64),
}

/// The outcome for a row.
pub(super) enum Change {
    Row,
    /// The row is unchanged.
    None,
    Removed,
    /// There is no row, and none is needed.
    NoRun,
}

/// The rows, to be changed.
pub(super) struct Rows<'db> {
    find: Statement<'db>,
    put_run: Statement<'db>,
    put_details: Statement<'db>,
    remove_run: Statement<'db>,
    remove_details: Statement<'db>,
}

/// A row as it was found.
struct Kept {
    folded: Folded,
    row: Row,
}

impl<'db> Rows<'db> {
    pub(super) fn prepare(db: &'db Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: db.prepare(
                "SELECT inode, epoch, bytes, row, fold FROM runs JOIN details USING (run_id) WHERE run_id = ?1",
            )?,
            put_run: db.prepare(
                "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?,
            put_details: db
                .prepare("INSERT OR REPLACE INTO details (run_id, row, fold, words) VALUES (?1, ?2, ?3, ?4)")?,
            remove_run: db.prepare("DELETE FROM runs WHERE run_id = ?1")?,
            remove_details: db.prepare("DELETE FROM details WHERE run_id = ?1")?,
        })
    }

    /// Reads at most about `most` bytes of the Log.
    pub(super) fn bring_up(
        &mut self,
        run: RunId,
        runs: &Runs,
        log: &FileLog,
        most: u64,
    ) -> Result<(Change, Reach), CatalogProblem> {
        let kept = self.find(run)?;
        let mut reach = Reach::End;
        let folded = match runs.inspect(run) {
            Seen::Nothing => return self.remove(run).map(|change| (change, reach)),
            Seen::Log(seen) => {
                let before = kept.as_ref().map_or_else(|| Folded::nothing(seen), |kept| kept.folded.clone());
                let begin = if before.resumes_in(seen) { before.mark.bytes } else { 0 };
                let to = seen.bytes.min(begin.saturating_add(most));
                match read_on(log, run, before, Mark { bytes: to, ..seen }) {
                    Ok(mut folded) => {
                        // The beginning of a first line, not an event. Its writer announces it when it is complete.
                        if folded.fold.state.last_seq == 0 && folded.damage.is_none() && !log.has_writer(run) {
                            folded.damage = Some(format!("damaged: {}", DamageKind::FirstEventCut));
                        }
                        // No progress means a torn end, and there is nothing more to read.
                        let has_more = folded.mark.bytes < seen.bytes && folded.mark.bytes > begin;
                        if to < seen.bytes && has_more && folded.damage.is_none() {
                            reach = Reach::Limit(seen.bytes);
                        }
                        folded
                    }
                    Err(Gone) => return self.remove(run).map(|change| (change, reach)),
                }
            }
            Seen::Unreadable(damage) => {
                // The known state is kept.
                let unknown = Mark { inode: 0, epoch: Epoch(0), bytes: 0 };
                let before = kept.as_ref().map_or_else(|| Folded::nothing(unknown), |kept| kept.folded.clone());
                Folded { damage: Some(damage), ..before }
            }
        };
        if folded.fold.state.last_seq == 0 && folded.damage.is_none() {
            // Its first event is being written here.
            return self.remove(run).map(|change| (change, reach));
        }
        let row = Row::of(run, &folded);
        if kept.is_some_and(|kept| kept.row == row && kept.folded.mark == folded.mark) {
            return Ok((Change::None, reach));
        }
        self.put(&row, &folded)?;
        Ok((Change::Row, reach))
    }

    fn find(&mut self, run: RunId) -> rusqlite::Result<Option<Kept>> {
        let found = self.find.query_row([run.to_string()], |row| {
            let shown: Row = json(row, 3)?;
            let mark = mark(row, 0)?;
            // A fold that cannot be deserialized, whatever the reason, is rebuilt from the beginning.
            let folded = match json::<Fold>(row, 4) {
                Ok(fold) => Folded { fold, mark, damage: shown.damage.clone() },
                Err(_) => Folded::nothing(mark),
            };
            Ok(Kept { folded, row: shown })
        });
        found.optional()
    }

    fn put(&mut self, row: &Row, folded: &Folded) -> rusqlite::Result<()> {
        let id = row.run_id.to_string();
        self.put_run.execute(params![
            id,
            folded.mark.inode.cast_signed(),
            folded.mark.epoch.0,
            i64::try_from(folded.mark.bytes).unwrap_or(i64::MAX),
            row.status.map(|status| status.as_str()),
            row.skill,
            row.engine,
            row.created_at.map(|moment| moment.to_string()),
            // A run that waits for the next prompt asks nothing, and is not in the list of questions.
            row.question.as_ref().filter(|it| it.scope != Scope::Prompt).map(|it| asks_until(it.deadline)),
            row.damage.is_some(),
            row.retried_as.map(|run| run.to_string()),
            folded.fold.state.retry.map(|retry| made_until(retry).to_string()),
            row.parent.as_ref().map(|link| link.run_id.to_string()),
            row.parent.as_ref().map(|link| link.root.to_string()),
        ])?;
        let words = words::of(row, folded.fold.state.question.as_ref());
        self.put_details.execute(params![id, as_json(row)?, as_json(&folded.fold)?, words])?;
        Ok(())
    }

    fn remove(&mut self, run: RunId) -> Result<Change, CatalogProblem> {
        let id = run.to_string();
        self.remove_details.execute([&id])?;
        Ok(if self.remove_run.execute([&id])? > 0 { Change::Removed } else { Change::NoRun })
    }
}
