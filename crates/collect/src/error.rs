//! What can go wrong outside of the attempt itself. What goes wrong in it is in its record.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("{}: {doing} ({error})", path.display())]
    File { path: PathBuf, doing: &'static str, error: io::Error },
    #[error("{0}")]
    Refused(String),
    /// Somebody else has the attempt, or had it; who that is can be found out by attaching.
    #[error("{0}")]
    Taken(String),
    #[error("the host could not be started ({0})")]
    NoHost(io::Error),
    #[error("the host ended before it could begin; nothing was recorded")]
    HostGone,
    #[error("the host does not answer ({0})")]
    Silent(io::Error),
    #[error("the host speaks version {0} of the protocol, and this program version {ours}; its files can still be read", ours = crate::protocol::VERSION)]
    Version(u32),
    #[error("somebody else is attached to this attempt")]
    Owned,
}

impl CollectError {
    pub(crate) fn file(path: impl Into<PathBuf>, doing: &'static str, error: impl Into<io::Error>) -> Self {
        Self::File { path: path.into(), doing, error: error.into() }
    }
}
