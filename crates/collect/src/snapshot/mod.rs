//! Which files of its workspace an attempt changed: a listing before, a listing after, and the difference.
//!
//! - [`take`]: the two calls, and the single pass that both use.
//! - [`walk`]: the tree in order, never through a symbolic link. [`rules`]: what is excluded. [`limits`]: limits.
//! - [`entry`]: one line of a listing, the order of paths, when two entries differ. [`listing`]: the file of them.
//! - [`hash`]: reading a file, and when an earlier hash is still valid.
//! - [`diff`]: the file of changes. [`text`]: differences of texts. [`pack`]: the old texts, kept until then.
//!
//! ```text
//! .audit/  fs-before.N.json    the listing before attempt N
//!          fs-after.N.json     the listing after it
//!          fs-diff.N.json      created, modified, deleted
//!          blobs/text.N.pack   texts of the first listing one after the other, unmasked; gone when the diff is made
//! ```
//!
//! Each is a JSON document written with one entry to a line, so that neither writing nor reading ever holds a whole
//! tree; mode 0600; written atomically (`NAME.tmp`, then renamed; the caller syncs).
//!
//! A listing:
//!
//! ```text
//! {"attempt":1,"taken_ns":1731650322123456789,"entries":[
//! {"path":"src","kind":"folder","mode":"0755"},
//! {"path":"src/a.rs","kind":"file","mode":"0644","size":2,"mtime_ns":…,"ctime_ns":…,"ino":7,"hash":"…","text_at":0},
//! {"path":{"hex":"ff"},"kind":"symlink","mode":"0777","mtime_ns":…,"target":"../outside"}
//! ],"taken":{"files":1,"bytes":2,"unreadable":0,"limited":false,"truncated":false}}
//! ```
//!
//! - Order: a folder before its content, names within a folder by their bytes. Comparing paths name by name gives the
//!   same order whatever kind the entries have, so two listings can be joined in one pass.
//! - `kind`: `file folder symlink pipe socket char_device block_device unknown`. `mode`: permission bits, octal.
//! - `hash`: blake3. None for a file beyond the limits (`taken.limited`), or one with an `error`.
//! - `error`: why a file or folder could not be read, as text. Nothing is known of the content of such a folder; a
//!   folder beyond the limit of entries also has an error (`taken.truncated`).
//! - `text_at`: the offset of its text in the pack. `binary`: it is not a text. Both only before an attempt.
//! - Excluded: see [`rules`]. Entries that vanish during the walk are excluded too, and so are entries with a secret in
//!   their path (counted in `taken.hidden`).
//!
//! The diff:
//!
//! ```text
//! {"attempt":1,"created":[
//! {"path":"new","kind":"file","mode":"0644","size":3,"mtime_ns":…,"hash":"…"}
//! ],"modified":[
//! {"path":"src/a.rs","before":{"kind":"file",…,"hash":"…"},"after":{…},"diff":"@@ -1 +1 @@\n-a\n+b\n"},
//! {"path":"logo","before":{…},"after":{…},"diff_omitted":"binary"}
//! ],"deleted":[
//! ],"counts":{"created":1,"modified":2,"deleted":0},"limited":false,"truncated":false}
//! ```
//!
//! `diff` and `diff_omitted` are present only if the content of a file changed, and for deleted files: see
//! [`text::Omitted`] for the values. `diff_masked` is true if a part of the difference is masked.
//! Texts and targets of links are masked; paths need not be, since none with a secret in it is listed.

mod diff;
mod entry;
mod error;
mod hash;
mod limits;
mod listing;
mod pack;
mod private_file;
mod rules;
mod take;
#[cfg(test)]
mod tests;
mod text;
mod walk;

pub(crate) use error::SnapshotError;
pub(crate) use limits::SnapshotLimits;
pub(crate) use listing::Taken;
pub(crate) use rules::Rules;
pub use rules::{engine_folders, is_engine_folder};
pub(crate) use take::{Snapshots, forget_texts, remove_before};
