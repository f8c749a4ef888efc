//! What runs have on disk: where it is, how it is read and written, and when it is removed.
//!
//! ```text
//! DATA/runs/RUN/   run.json (record)   events.jsonl (events)   result.json (result)   workspace/ (artifacts)
//!                  .audit/ (changes, blobs, settled_meta)      inputs/, skill/ (inputs)
//! DATA/            cache/   logins/ (login)   owners/ (owner_sockets)   requests/ (request_entries)
//! ```
//!
//! - `data_folder`: where everything is stored. `record`: `run.json`. `events`: reads a Log.
//!   `conversation`: translates it.
//! - `result`, `artifacts`, `blobs`: what a run leaves. `changes`: which files an attempt changed. `patch`: the same as
//!   a patch. `copy`: a copy of a folder in which a run works. `apply`: the changes of a run in another folder.
//!   `settled_meta`: `meta.N.json`. `cache`: results that can be used again.
//! - `children`: how the children of a run ended, from their own Logs.
//! - `inputs`: whether a run still has what was accepted. `hidden`: the parts of a request that are not shown.
//! - `prompt`: the text of a run without a skill.
//! - `checks`: how a command that was run after the turn ended.
//! - `judge`: the verdict of an attempt, from what the run has.
//! - `login`: the user's login in the HOME of a run.
//! - `owner_sockets`: which owners died. `request_entries`: keys of requests, and their runs.
//! - `retention`: what is removed.

pub mod apply;
pub mod artifacts;
pub mod blobs;
pub mod cache;
pub mod changes;
pub mod checks;
pub mod children;
pub mod conversation;
pub mod copy;
pub mod data_folder;
pub mod events;
pub mod hidden;
pub mod inputs;
pub mod judge;
pub mod login;
pub mod owner_sockets;
pub mod patch;
pub mod prompt;
pub mod record;
pub mod request_entries;
pub mod result;
pub mod retention;
pub mod settled_meta;

pub use data_folder::{DataFolder, RunFolder};
pub use record::{RecordError, RunRecord};
