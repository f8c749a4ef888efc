//! Why a Log could not be read or written, and what to do about it.

use std::io;

use skillrun_model::{Classified, ErrorClass, RunId};

use crate::cursor::Seq;

/// An error of the Log of a run.
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
    #[error("does not exist")]
    NotFound,
    #[error("was removed")]
    Gone,
    #[error("is not open for writing; open it first")]
    NotOpen,
    #[error("has another writer{}; wait for it to finish, or send the request to it", writer(*.pid))]
    Held { pid: Option<u32> },
    /// Another writer has appended since, or the caller did not check the end.
    #[error("the next seq is {actual}, not {expected}; read the new events and try again")]
    Stale { expected: Seq, actual: Seq },
    #[error("an event of the batch has seq {found}, expected {wanted}")]
    WrongSeq { found: Seq, wanted: Seq },
    #[error("an event of the batch belongs to run {found}")]
    WrongRun { found: RunId },
    #[error("the batch has more than {limit} bytes; append it in parts")]
    BatchTooLarge { limit: usize },
    #[error("{0}")]
    Damaged(Damage),
    #[error("{0}")]
    Newer(NewerEvent),
    #[error("no space left in {place}; nothing of the batch was written; free space and append again")]
    NoSpace { place: String, source: io::Error },
    #[error("failed to write {place} ({source}); give this user access, or choose another data folder")]
    ReadOnly { place: String, source: io::Error },
    /// After a failed sync the content of the disk is unknown.
    #[error("an earlier append could not be synced; release and open the Log again to see what was written")]
    Failed,
    #[error("{place}: {source}")]
    Io { place: String, source: io::Error },
}

fn writer(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(", process {pid}"))
}

impl Classified for LogError {
    fn class(&self) -> ErrorClass {
        match &self.kind {
            LogErrorKind::NotFound => ErrorClass::NotFound,
            LogErrorKind::Gone => ErrorClass::Gone,
            LogErrorKind::Held { .. } | LogErrorKind::Stale { .. } => ErrorClass::Busy,
            LogErrorKind::NoSpace { .. } => ErrorClass::StorageFull,
            LogErrorKind::Exists
            | LogErrorKind::NotOpen
            | LogErrorKind::WrongSeq { .. }
            | LogErrorKind::WrongRun { .. }
            | LogErrorKind::BatchTooLarge { .. }
            | LogErrorKind::Damaged(_)
            | LogErrorKind::Newer(_)
            | LogErrorKind::ReadOnly { .. }
            | LogErrorKind::Failed
            | LogErrorKind::Io { .. } => ErrorClass::Internal,
        }
    }
}

/// A whole line in its place that this version cannot parse as an event: a newer version wrote it. Views skip it, and
/// nothing is appended after it, because what it did to the run is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "has an event of a newer version of skillrun, {event_type} at seq {seq}; nothing can be appended by this version; \
     use the newer one for this run"
)]
pub struct NewerEvent {
    pub seq: Seq,
    /// The type that the line names, or `an event` where it names none.
    pub event_type: String,
}

/// A line that is not the expected event and has valid lines after it. Nothing is appended to such a Log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damaged at byte {offset}, where seq {seq} belongs: {kind}{}", kind.what_to_do())]
pub struct Damage {
    /// The expected event.
    pub seq: Seq,
    /// Where the line begins.
    pub offset: u64,
    pub kind: DamageKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    #[error("the line is not an event")]
    NotAnEvent,
    /// The remains of bytes that were not synced before a power failure: nothing after them was acknowledged as synced,
    /// so truncating the Log there loses only events that can be derived again.
    #[error("the line contains zeros, as after a power failure")]
    Zeros,
    #[error("its first event is incomplete, and no event is left; `skillrun recover` ends the run")]
    FirstEventCut,
    #[error("the line has seq {found}")]
    WrongSeq { found: Seq },
    #[error("the line belongs to run {found}")]
    WrongRun { found: RunId },
    #[error("the line is longer than {limit} bytes")]
    TooLong { limit: usize },
}

impl DamageKind {
    /// The advice after the kind; empty if the kind includes it.
    fn what_to_do(&self) -> &'static str {
        match self {
            Self::FirstEventCut => "",
            Self::NotAnEvent | Self::Zeros | Self::WrongSeq { .. } | Self::WrongRun { .. } | Self::TooLong { .. } => {
                "; events before it can be read, nothing can be appended; restore a good copy, or truncate it there with \
                 `skillrun recover --cut RUN`, which keeps the rest in another file"
            }
        }
    }
}

impl LogErrorKind {
    pub(crate) fn of(self, run: RunId) -> LogError {
        LogError { run, kind: self }
    }

    /// This error, or `other` if there is no Log.
    pub(crate) fn or_if_not_found(self, other: impl FnOnce() -> Self) -> Self {
        if matches!(self, Self::NotFound) { other() } else { self }
    }

    /// The kind of an I/O error. `place` is the file or folder.
    pub(crate) fn io(place: impl Into<String>, source: io::Error) -> Self {
        use io::ErrorKind as Io;
        let place = place.into();
        // The system has many more kinds than matter here; all others are passed on unchanged.
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
