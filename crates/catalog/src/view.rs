//! The catalog as seen by callers: every query is answered, whatever happens to the file meanwhile.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use skillrun_model::RunId;

use super::fold::fold_new;
use super::refresh::{self, Refreshed};
use super::some::{self, Current, PartlyRead};
use super::store::{Known, Opened, Store};
use super::trouble::{CatalogError, CatalogProblem};
use skillrun_log::file::{Boot, FileLog};

/// Number of tries with the file before the catalog falls back to memory.
const TRIES: u32 = 3;

/// A view over all Logs of a folder. It shows their state at the last [`Catalog::refresh`], or later.
#[derive(Debug)]
pub struct Catalog {
    path: PathBuf,
    runs: PathBuf,
    boot: Boot,
    store: Store,
    news: Option<Opened>,
}

impl Catalog {
    /// Opens or creates the catalog at `path` over the Logs in `runs`. It may be empty or behind; see
    /// [`Catalog::refresh`].
    pub fn open(path: &Path, runs: &Path) -> Result<(Self, Opened), CatalogError> {
        Self::in_boot(path, runs, Boot::current())
    }

    pub(super) fn in_boot(path: &Path, runs: &Path, boot: Boot) -> Result<(Self, Opened), CatalogError> {
        let (store, opened) = Store::open(path, &boot, Known::Nothing)?;
        Ok((Self { path: path.to_owned(), runs: runs.to_owned(), boot, store, news: None }, opened))
    }

    /// What happened to the file since it was opened or since the last call, for a one-line message to the user.
    pub fn news(&mut self) -> Option<Opened> {
        self.news.take()
    }

    /// Brings every row up to date with its Log. `log` is of the folder the catalog was opened for.
    pub fn refresh(&mut self, log: &FileLog) -> Result<Refreshed, CatalogError> {
        fold_new(log);
        if !self.store.is_at(&self.path) {
            // Deleted: it is recreated with the same content.
            self.open_again(Known::Nothing)?;
        }
        let mut tried = 0;
        loop {
            match refresh::refresh(&mut self.store, log) {
                Ok(refreshed) => return Ok(refreshed),
                Err(trouble) => self.handle_trouble(trouble, tried)?,
            }
            tried += 1;
        }
    }

    /// Brings some rows up to date with their Logs, in the given order; the cost does not depend on the number of runs.
    pub fn refresh_some(&mut self, log: &FileLog, runs: &[RunId]) -> Result<Vec<Current>, CatalogError> {
        self.refresh_within(log, runs, u64::MAX).map(|(current, _)| current)
    }

    /// The same, but about `most` bytes of each Log are read at once; also returns the runs whose Logs have more. So a
    /// run that writes without a pause does not delay the others.
    pub fn refresh_within(
        &mut self,
        log: &FileLog,
        runs: &[RunId],
        most: u64,
    ) -> Result<(Vec<Current>, Vec<PartlyRead>), CatalogError> {
        fold_new(log);
        if !self.store.is_at(&self.path) {
            self.refresh(log)?;
        }
        let mut tried = 0;
        loop {
            match some::refresh(&mut self.store, log, runs, most) {
                Ok(current) => return Ok(current),
                Err(trouble) => self.handle_trouble(trouble, tried)?,
            }
            // The tables may be empty now, and the rows of all other runs must not remain missing.
            self.refresh(log)?;
            tried += 1;
        }
    }

    /// Queries the file. If that fails, or another process has rebuilt the tables, the catalog is refreshed first: no
    /// caller sees an empty list because of a repair by another process.
    pub(super) fn ask<T>(&mut self, ask: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, CatalogError> {
        let mut tried = 0;
        loop {
            match self.store.read(&ask) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => self.handle_trouble(trouble, tried)?,
            }
            self.refresh(&FileLog::new(&self.runs))?;
            tried += 1;
        }
    }

    /// Handles a trouble; an error if that is impossible.
    fn handle_trouble(&mut self, trouble: CatalogProblem, tried: u32) -> Result<(), CatalogError> {
        let is_last = self.store.is_in_memory();
        match trouble {
            CatalogProblem::Other(error) => Err(error),
            CatalogProblem::Damaged(error) | CatalogProblem::Unusable(error) if is_last => {
                Err(CatalogError::Memory(error.into()))
            }
            CatalogProblem::Changed if tried < TRIES => self.open_again(Known::Nothing),
            // Deleted while it was open, and its journal was not.
            CatalogProblem::Unusable(_) if tried < TRIES && !self.store.is_at(&self.path) => {
                self.open_again(Known::Nothing)
            }
            CatalogProblem::Damaged(error) if tried < TRIES => self.open_again(Known::Damage(error)),
            CatalogProblem::Changed => self.go_into_memory("another process keeps recreating the catalog".to_owned()),
            CatalogProblem::Damaged(error) | CatalogProblem::Unusable(error) => self.go_into_memory(error.to_string()),
        }
    }

    fn open_again(&mut self, known: Known) -> Result<(), CatalogError> {
        let (store, opened) = Store::open(&self.path, &self.boot, known)?;
        self.store = store;
        if opened != Opened::Good {
            self.news = Some(opened);
        }
        Ok(())
    }

    fn go_into_memory(&mut self, why: String) -> Result<(), CatalogError> {
        let (store, opened) = Store::in_memory(format!("{}: {why}", self.path.display()))?;
        self.store = store;
        self.news = Some(opened);
        Ok(())
    }
}
