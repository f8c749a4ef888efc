//! Errors outside of the attempt itself. Errors in it are in its record.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("{}: {doing} ({error})", path.display())]
    File {
        path: PathBuf,
        doing: &'static str,
        #[source]
        error: io::Error,
    },
    #[error("{0}")]
    Refused(String),
    /// Another host has the attempt, or had it; attaching shows which one.
    #[error("{0}")]
    Taken(String),
    #[error("failed to start the host process ({0})")]
    NoHost(#[source] io::Error),
    #[error("the host process exited before it could begin; nothing was recorded")]
    HostGone,
    #[error("the host process does not respond ({0})")]
    Silent(#[source] io::Error),
    #[error("the host process uses version {0} of the protocol, and this program uses version {ours}; its files can still be read", ours = crate::protocol::VERSION)]
    Version(u32),
    #[error("another process is attached to this attempt")]
    Owned,
}

impl CollectError {
    pub(crate) fn file(path: impl Into<PathBuf>, doing: &'static str, error: impl Into<io::Error>) -> Self {
        Self::File { path: path.into(), doing, error: error.into() }
    }
}
