//! Errors of the catalog, and their consequences.

use std::error::Error;
use std::io;

use rusqlite::{ErrorCode, ffi};
use skillrun_model::{Classified, ErrorClass};

/// Why the catalog could not answer a query. An error of its file alone is not a reason: see [`Opened`](super::Opened).
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("failed to list the runs in {place}: {source}")]
    Runs { place: String, source: io::Error },
    /// Not even in memory.
    #[error("failed to keep the catalog in memory: {0}")]
    Memory(#[source] Box<dyn Error + Send + Sync>),
}

impl Classified for CatalogError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Runs { .. } | Self::Memory(_) => ErrorClass::Internal,
        }
    }
}

/// What stopped a query or a refresh.
#[derive(Debug)]
pub(super) enum CatalogProblem {
    /// Another process has rebuilt the tables since the last query, or is doing so.
    Changed,
    /// The content of the file is not a catalog, or not a complete one.
    Damaged(rusqlite::Error),
    /// The file cannot be read or written at the moment: no permission, no space, or locked for too long.
    Unusable(rusqlite::Error),
    /// An error outside of the catalog.
    Other(CatalogError),
}

impl From<rusqlite::Error> for CatalogProblem {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { Self::Damaged(error) } else { Self::Unusable(error) }
    }
}

/// The file exists and its content is wrong.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let is_told = |code| matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase);
    error.sqlite_error_code().is_some_and(is_told)
        || is_misfit(error)
        || matches!(
            error,
            // A cell whose content is not what was stored.
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
        )
}

/// A table is missing, or has another definition.
pub(super) fn is_misfit(error: &rusqlite::Error) -> bool {
    // Reported with the position in the statement if SQLite knows it.
    let told =
        if let rusqlite::Error::SqlInputError { error, .. } = error { Some(error) } else { error.sqlite_error() };
    told.is_some_and(|error| error.extended_code & 0xff == ffi::SQLITE_ERROR)
}
