//! What a caller can do about an error. The exit code of a command and the HTTP problem of a request follow from it.

use std::error::Error;
use std::io;

/// The classes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The input cannot be used. The caller corrects it.
    Usage,
    /// Nothing has the given name. The caller chooses another name.
    NotFound,
    /// It existed and was removed. The caller stops asking for it.
    Gone,
    /// The state does not allow it. The caller reads the current state before it decides what to do.
    Conflict,
    /// Another process has it, or a limit is reached. The caller retries later.
    Busy,
    /// The disk is full. The caller retries after the operator has freed space.
    StorageFull,
    /// It failed on the way, and not because of the request. The operator reads the message and the log.
    Internal,
}

impl ErrorClass {
    pub const ALL: &'static [Self] =
        &[Self::Usage, Self::NotFound, Self::Gone, Self::Conflict, Self::Busy, Self::StorageFull, Self::Internal];

    /// The class of an I/O error on a file of the program. A file that the caller names is input: see [`Self::Usage`].
    pub fn of_io(error: &io::Error) -> Self {
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if is_full { Self::StorageFull } else { Self::Internal }
    }
}

/// Why a file cannot be read or written; replaces messages of the operating system that do not help.
pub fn file_error_reason(error: &io::Error) -> String {
    const WORDS: &[(io::ErrorKind, &str)] = &[
        (io::ErrorKind::AlreadyExists, "a file is in the way"),
        (io::ErrorKind::NotADirectory, "a file is in the way"),
        (io::ErrorKind::NotFound, "there is no such folder"),
        (io::ErrorKind::PermissionDenied, "permission denied"),
        (io::ErrorKind::StorageFull, "the disk is full"),
    ];
    let ours = WORDS.iter().find(|(kind, _)| *kind == error.kind());
    ours.map_or_else(|| error.to_string(), |(_, words)| (*words).to_owned())
}

/// An error that has a class.
pub trait Classified: Error {
    fn class(&self) -> ErrorClass;
}

/// The texts of the sources of an error, the nearest first. A text that repeats the one before it is left out: a wrapper
/// often has the text of its source.
pub fn source_texts(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(source) = next {
        texts.push(source.to_string());
        next = source.source();
    }
    texts.dedup();
    texts.remove(0);
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    fn chain(texts: &[&'static str]) -> Link {
        let (first, rest) = texts.split_first().expect("a text");
        Link { text: first, source: (!rest.is_empty()).then(|| Box::new(chain(rest))) }
    }

    #[test]
    fn sources_are_listed_without_repetition() {
        for (texts, listed) in [
            (&["run: cannot be read"][..], &[][..]),
            (&["run: cannot be read", "cannot be read", "denied"], &["cannot be read", "denied"]),
            (&["denied", "denied"], &[]),
            (&["a", "a", "b", "b"], &["b"]),
        ] {
            assert_eq!(source_texts(&chain(texts)), listed, "{texts:?}");
        }
    }

    #[test]
    fn a_full_disk_has_its_own_class() {
        for (kind, class) in [
            (io::ErrorKind::StorageFull, ErrorClass::StorageFull),
            (io::ErrorKind::QuotaExceeded, ErrorClass::StorageFull),
            (io::ErrorKind::PermissionDenied, ErrorClass::Internal),
            (io::ErrorKind::NotFound, ErrorClass::Internal),
        ] {
            assert_eq!(ErrorClass::of_io(&kind.into()), class);
        }
    }
}
