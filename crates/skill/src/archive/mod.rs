//! Zip packages of skills: install, list, remove.
//!
//! A package holds one skill: its files at the root, or all in one folder. It is hostile input. `plan` looks at every
//! entry before a byte is written, `install` unpacks into a hidden folder beside the others and renames it when it is
//! whole. So a package is installed or it is not, also when the process is killed; what a killed one left is hidden
//! from every search and put in order by the next that installs or removes.
//!
//! Left out, wherever they stand: `.git`, and what macOS adds (`__MACOSX`, `.DS_Store`).

mod error;
mod folder;
mod install;
mod plan;
#[cfg(test)]
mod tests;

pub use error::{ArchiveError, ArchiveErrorKind, EntryProblem};
pub use folder::{installed, remove};
pub use install::{Existing, Installed, install};
