//! The streams of an attempt that parsers read.

use crate::rasp::SourceStream;

/// A stream of one attempt that parsers are fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    Stdout,
    Stderr,
    /// The merged recording beside stdout and stderr.
    Pty,
}

impl Stream {
    pub const ALL: [Self; 3] = [Self::Stdout, Self::Stderr, Self::Pty];

    pub fn index(self) -> usize {
        match self {
            Self::Stdout => 0,
            Self::Stderr => 1,
            Self::Pty => 2,
        }
    }

    pub fn source(self) -> SourceStream {
        match self {
            Self::Stdout => SourceStream::Stdout,
            Self::Stderr => SourceStream::Stderr,
            Self::Pty => SourceStream::Pty,
        }
    }
}
