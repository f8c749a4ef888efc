//! Why a file of ours cannot be used. None of these sentences holds a secret.

use std::io;
use std::path::PathBuf;

use super::token::TokenName;

#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("{}: cannot be {doing} ({error})", path.display())]
    File { path: PathBuf, doing: &'static str, error: io::Error },
    #[error("{}: is not an ordinary file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{}: others may read or change it (mode {mode:03o}); run `chmod {wanted:o}` on it", path.display())]
    NotPrivate { path: PathBuf, mode: u32, wanted: u32 },
    #[error("{}: is larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: Problem },
    #[error("{}: another process is changing it for too long; try again", path.display())]
    Busy { path: PathBuf },
    #[error("there is a token \"{0}\" already; revoke it first, or take another name")]
    NameTaken(TokenName),
    #[error("there is no token \"{0}\"; `skillrun token list` shows them")]
    NoSuchToken(TokenName),
    #[error("there are {limit} tokens already; revoke one first")]
    TooManyTokens { limit: usize },
    #[error("{limit} one-time links are waiting to be used already; try again in ten minutes")]
    TooManyLinks { limit: usize },
    #[error("the machine gives no random bytes ({0})")]
    NoRandom(io::Error),
}

/// What is wrong inside of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("has no token in it; remove it and start again to get a new one")]
    Empty,
    #[error("its token is shorter than {0} characters; put a longer one there, or remove the file")]
    TooShort(usize),
    #[error("its token is longer than {0} characters; put a shorter one there, or remove the file")]
    TooLong(usize),
    #[error("its token has a space or a character that no header can hold; put another one there")]
    NotPrintable,
    #[error("is not a key of {0} bytes; remove it, and the next start makes a new one")]
    NotAKey(usize),
    #[error("is damaged ({0}); put it right, or remove it and create the tokens anew")]
    Damaged(String),
    #[error("is damaged ({0}); remove it, and browsers have to come by a link again")]
    DamagedSessions(String),
    #[error("is damaged ({0}); remove it, and start the server again if it runs")]
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
