//! The attempt host.

mod secrets;
mod snapshot;
