//! The user's login in the HOME of a run: the only thing of the user's that a run may change.
//!
//! ```text
//! take       before an attempt: the user's login is copied or linked into the HOME of the run, for its owner alone
//! give_back  after it: a file that the engine has refreshed is copied back, whole; then the copy is removed
//! ```
//!
//! `note` records a login in use: the run, and the hash of every file as it was copied. It is on disk before the copies
//! are, in `logins/` of the data folder, and is removed when they are gone. So a login that was not given back, because
//! its owner died or the user's file could not be written, is found: by the next owner of the run, by the next run that
//! takes a login along (`left` checks whether it is still in use), or when the run is removed.
//!
//! A file is copied back only if the user's file is still the one that was copied, if nothing of the login is missing
//! in it, and if it is for the same account (`account`); the run reports that it was copied back. Otherwise the user's
//! file stays, a warning reports it, and the other one is kept in `logins/`: only one of them may still be valid.
//!
//! `users` writes the user's file, `place` those of a run. `unseen` keeps logins out of snapshots and bundles.

mod account;
mod give_back;
mod left;
mod note;
mod place;
mod take;
#[cfg(test)]
mod tests;
mod unseen;
mod users;

pub(crate) use give_back::give_up;
pub use give_back::{give_back, give_back_left};
pub use left::is_left;
pub(crate) use note::KEPT;
pub use take::{found, take};
pub use unseen::{is_login, rule, rules};
