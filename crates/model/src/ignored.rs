//! Errors that are ignored on purpose. Each leaves a log line, so that a race or a full disk can be seen afterwards.

use std::fmt::Display;
use std::panic::Location;

/// Ends the way of an error that changes nothing for the caller.
pub trait IgnoredError {
    /// Drops the result. An error is logged at debug level, with the place that ignored it.
    fn ignored(self);
}

impl<T, E: Display> IgnoredError for Result<T, E> {
    #[track_caller]
    fn ignored(self) {
        if let Err(error) = self {
            let place = Location::caller();
            tracing::debug!(%error, place = %format_args!("{}:{}", place.file(), place.line()), "ignored an error");
        }
    }
}
