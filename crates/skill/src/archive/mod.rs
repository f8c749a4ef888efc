//! Installed skills: install from a zip package or from a folder, list, remove.
//!
//! A package contains one skill: its files at the root, or all in one folder. It is hostile input. `plan` checks every
//! entry before a byte is written, `install` unpacks into a hidden folder next to the others and renames it when it is
//! complete. So a package is installed or not, even if the process is killed; the leftovers of a killed process are
//! hidden from every search and cleaned up by the next process that installs or removes.
//!
//! Left out, wherever they are: `.git`, and the files that macOS adds (`__MACOSX`, `.DS_Store`).

mod error;
mod folder;
mod inside;
mod install;
mod plan;
#[cfg(test)]
mod tests;

pub use error::{ArchiveError, ArchiveErrorKind, EntryProblem};
pub use folder::{installed, remove};
pub use inside::only_skill;
pub use install::{Existing, InstalledSkill, install, install_folder};
