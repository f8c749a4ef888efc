//! The user's login in the HOME of a run, which is the one thing of the user's that a run may change.
//!
//! ```text
//! take       before an attempt: what the user has is copied or linked into the HOME of the run, for its owner alone
//! give_back  after it: a file that the engine has refreshed goes back, whole; then the copy is removed
//! ```
//!
//! `note` is what is known of a login that is out: the run, and the hash of every file as it was copied. It is on disk
//! before the copies are, in `logins/` of the data folder, and goes when they are gone. So a login that nobody gave back
//! because its owner died is found: by the next owner of the run, or by the next run that takes a login along.
//!
//! A file goes back only if the user's is still the one that was copied. If both were changed, the user's stays, and a
//! warning says so.

mod give_back;
mod note;
mod place;
mod take;
#[cfg(test)]
mod tests;

pub(crate) use give_back::{give_back, give_back_left};
pub(crate) use take::{found, take};
