//! Why a snapshot could not be made.

use std::io;
use std::path::PathBuf;

/// The file or folder that caused the error, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub(crate) struct SnapshotError {
    pub(crate) path: PathBuf,
    #[source]
    pub(crate) kind: SnapshotErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotErrorKind {
    #[error("cannot be read ({0})")]
    Read(#[source] io::Error),
    #[error("cannot be written ({0})")]
    Write(#[source] io::Error),
    #[error("is not a listing of files ({0})")]
    BadListing(String),
}

impl SnapshotError {
    pub(crate) fn read(path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        Self { path: path.into(), kind: SnapshotErrorKind::Read(error.into()) }
    }

    pub(crate) fn write(path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        Self { path: path.into(), kind: SnapshotErrorKind::Write(error.into()) }
    }

    pub(crate) fn bad_listing(path: impl Into<PathBuf>, why: impl ToString) -> Self {
        Self { path: path.into(), kind: SnapshotErrorKind::BadListing(why.to_string()) }
    }
}
