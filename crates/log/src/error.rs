//! Why a Log could not be read or written, and what to do about it.

use std::io;

use skillrun_model::RunId;

use crate::cursor::Seq;

/// What went wrong with the Log of a run.
#[derive(Debug, thiserror::Error)]
#[error("the Log of run {run}: {kind}")]
pub struct LogError {
    pub run: RunId,
    #[source]
    pub kind: LogErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum LogErrorKind {
    #[error("exists already")]
    Exists,
    #[error("there is none")]
    NotFound,
    #[error("was removed")]
    Gone,
    #[error("is not open for writing; open it first")]
    NotOpen,
    #[error("has another writer{}; let it finish, or ask it to act", writer(*.pid))]
    Held { pid: Option<u32> },
    /// Somebody appended since the writer looked, or the writer did not look.
    #[error("the next seq is {actual}, not {expected}; read what is new and decide again")]
    Stale { expected: Seq, actual: Seq },
    #[error("an event of the batch has seq {found} where {wanted} belongs")]
    WrongSeq { found: Seq, wanted: Seq },
    #[error("an event of the batch belongs to run {found}")]
    WrongRun { found: RunId },
    #[error("a batch of more than {limit} bytes; append it in parts")]
    BatchTooLarge { limit: usize },
    #[error("{0}")]
    Damaged(Damage),
    #[error("no space left in {place}; nothing of the batch was kept; free some and append again")]
    NoSpace { place: String, source: io::Error },
    #[error("{place} cannot be written ({source}); give it to this user, or choose another data folder")]
    ReadOnly { place: String, source: io::Error },
    /// After a failed sync nobody knows what is on the disk.
    #[error("an earlier append failed on the way to the disk; release and open it again to see what was kept")]
    Failed,
    #[error("{place}: {source}")]
    Io { place: String, source: io::Error },
}

fn writer(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(", process {pid}"))
}

/// A line with good lines after it that is not the event that belongs there. Nothing is appended to such a Log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damaged at byte {offset}, where seq {seq} belongs: {kind}{}", kind.what_to_do())]
pub struct Damage {
    /// The event that belongs there.
    pub seq: Seq,
    /// Where the line begins.
    pub offset: u64,
    pub kind: DamageKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    #[error("the line is no event")]
    NotAnEvent,
    /// What a power failure leaves of bytes that were never synced: nothing after them was acknowledged as synced, so
    /// cutting the Log there loses only what can be derived again.
    #[error("the line has zeros in it, as after a power failure")]
    Zeros,
    #[error("its first event is cut, and no event is left; `skillrun recover` ends the run")]
    FirstEventCut,
    #[error("the line has seq {found}")]
    WrongSeq { found: Seq },
    #[error("the line belongs to run {found}")]
    WrongRun { found: RunId },
    #[error("the line is longer than {limit} bytes")]
    TooLong { limit: usize },
}

impl DamageKind {
    /// Follows the kind in a sentence; nothing where the kind says it itself.
    fn what_to_do(&self) -> &'static str {
        match self {
            Self::FirstEventCut => "",
            Self::NotAnEvent | Self::Zeros | Self::WrongSeq { .. } | Self::WrongRun { .. } | Self::TooLong { .. } => {
                "; what is before can be read, nothing can be appended; put a good copy in its place, or cut it there \
                 with `skillrun recover --cut RUN`, which keeps the rest aside"
            }
        }
    }
}

impl LogErrorKind {
    pub(crate) fn of(self, run: RunId) -> LogError {
        LogError { run, kind: self }
    }

    /// This, or `other` where there is no Log.
    pub(crate) fn or_if_not_found(self, other: impl FnOnce() -> Self) -> Self {
        if matches!(self, Self::NotFound) { other() } else { self }
    }

    /// The kind an error of the system stands for. `place` is the file or folder.
    pub(crate) fn io(place: impl Into<String>, source: io::Error) -> Self {
        use io::ErrorKind as Io;
        let place = place.into();
        // The system has far more kinds than matter here; all others are told as they are.
        if matches!(source.kind(), Io::NotFound) {
            Self::NotFound
        } else if matches!(source.kind(), Io::AlreadyExists) {
            Self::Exists
        } else if matches!(source.kind(), Io::StorageFull | Io::QuotaExceeded) {
            Self::NoSpace { place, source }
        } else if matches!(source.kind(), Io::ReadOnlyFilesystem | Io::PermissionDenied) {
            Self::ReadOnly { place, source }
        } else {
            Self::Io { place, source }
        }
    }
}
