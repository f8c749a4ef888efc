//! The attempt host.

mod os_text;
mod secrets;
mod snapshot;
