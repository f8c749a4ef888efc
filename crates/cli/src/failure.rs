//! How a command tells that it could not do what it was asked: one clear sentence on stderr, and an exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Bad usage, or input that cannot be read.
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Evidence(#[from] skillrun_evidence::EvidenceError),
    #[error(transparent)]
    Schema(#[from] skillrun_skill::SchemaError),
    #[error("{path}: cannot be written ({})", reason(error))]
    Write { path: String, error: io::Error },
}

/// Why something cannot be written, in words of ours where the operating system's do not help.
pub(crate) fn reason(error: &io::Error) -> String {
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

/// Whoever reads our output went away; that is their right and no failure.
fn reader_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

impl Failure {
    pub(crate) fn report(&self) -> ExitCode {
        if let Self::Write { error, .. } = self
            && reader_left(error)
        {
            return ExitCode::SUCCESS;
        }
        // Nothing is left to do if stderr is gone too.
        let _ = writeln!(io::stderr(), "error: {self}");
        ExitCode::from(2)
    }
}
