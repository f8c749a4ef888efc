//! Why a file of the server cannot be used. None of these texts contains a secret.

use std::io;
use std::path::PathBuf;

use skillrun_base::files::FileProblem;
use skillrun_model::{Classified, ErrorClass};

use super::token::TokenName;

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("{}: cannot be {doing} ({error})", path.display())]
    File {
        path: PathBuf,
        doing: &'static str,
        #[source]
        error: io::Error,
    },
    #[error("{}: {problem}", path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        problem: FileProblem,
    },
    #[error("{}: other users may read or change it (mode {mode:03o}); run `chmod {wanted:o}` on it", path.display())]
    NotPrivate { path: PathBuf, mode: u32, wanted: u32 },
    #[error("{}: {problem}", path.display())]
    Content {
        path: PathBuf,
        #[source]
        problem: TokenFileProblem,
    },
    #[error("{}: another process has held its lock for too long; try again", path.display())]
    Busy { path: PathBuf },
    #[error("there is a token \"{0}\" already; revoke it first, or take another name")]
    NameTaken(TokenName),
    #[error("there is no token \"{0}\"; `skillrun token list` shows them")]
    NoSuchToken(TokenName),
    #[error("the limit of {limit} tokens is reached; revoke one first")]
    TooManyTokens { limit: usize },
    #[error("the limit of {limit} unused one-time links is reached; try again in ten minutes")]
    TooManyLinks { limit: usize },
    #[error("failed to get random bytes from the system ({0})")]
    NoRandom(#[source] io::Error),
}

impl Classified for AuthError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::NoSuchToken(_) => ErrorClass::NotFound,
            Self::NameTaken(_) | Self::TooManyTokens { .. } => ErrorClass::Conflict,
            Self::Busy { .. } | Self::TooManyLinks { .. } => ErrorClass::Busy,
            Self::File { error, .. } => ErrorClass::of_io(error),
            Self::Unusable { .. } | Self::NotPrivate { .. } | Self::Content { .. } | Self::NoRandom(_) => {
                ErrorClass::Internal
            }
        }
    }
}

/// What is wrong with the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenFileProblem {
    #[error("contains no token; remove it and start the server again to get a new one")]
    Empty,
    #[error("its token is shorter than {0} characters; use a longer one, or remove the file")]
    TooShort(usize),
    #[error("its token is longer than {0} characters; use a shorter one, or remove the file")]
    TooLong(usize),
    #[error("its token has a space or a character that is not allowed in a header; use another one")]
    NotPrintable,
    #[error("is not a key of {0} bytes; remove it, and the next start creates a new one")]
    NotAKey(usize),
    #[error("is damaged ({0}); fix it, or remove it and recreate the tokens")]
    Damaged(String),
    #[error("is damaged ({0}); remove it, and browsers have to log in with a new link")]
    DamagedSessions(String),
    #[error("is damaged ({0}); remove it, and restart the server if it is running")]
    DamagedNote(String),
    #[error("was written by a newer skillrun")]
    Newer,
}

impl AuthError {
    pub(super) fn file(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, doing, error }
    }
}
