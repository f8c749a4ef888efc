//! What can be wrong with the catalog, and what follows from it.

use std::error::Error;
use std::io;

use rusqlite::{ErrorCode, ffi};

/// Why the catalog could not answer. What is wrong with its file alone is no reason: see [`Opened`](super::Opened).
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("the runs in {place} cannot be listed: {source}")]
    Runs { place: String, source: io::Error },
    /// Not even in memory.
    #[error("the catalog cannot be kept in memory: {0}")]
    Memory(#[source] Box<dyn Error + Send + Sync>),
}

/// What stopped a question or a refresh.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Somebody made the tables anew since we looked, or is doing so.
    Changed,
    /// What is in the file is no catalog, or not a whole one.
    Damaged(rusqlite::Error),
    /// The file cannot be read or written here and now: no permission, no space, no turn.
    Unusable(rusqlite::Error),
    /// Not the catalog's fault.
    Other(CatalogError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { Self::Damaged(error) } else { Self::Unusable(error) }
    }
}

/// The file is there and what is in it is wrong.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let is_told = |code| matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase);
    error.sqlite_error_code().is_some_and(is_told)
        || is_misfit(error)
        || matches!(
            error,
            // A cell that is not what was put into it.
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
        )
}

/// A table is not there, or not as we make it.
pub(super) fn is_misfit(error: &rusqlite::Error) -> bool {
    // Told with the place in the statement where SQLite knows it.
    let told =
        if let rusqlite::Error::SqlInputError { error, .. } = error { Some(error) } else { error.sqlite_error() };
    told.is_some_and(|error| error.extended_code & 0xff == ffi::SQLITE_ERROR)
}
