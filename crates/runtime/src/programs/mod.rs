//! Other programs that are run to install something. Private installs of engines: one at a time, whole or not at all.
//!
//! `install` goes through the steps that `skillrun_engine::install` plans. `npm` runs npm, within its time limit.
//! `uninstall` removes versions that no process uses. `lock` keeps all of this to one process at a time.
//! `git` fetches a repository that contains a skill.

mod error;
mod git;
mod install;
mod lock;
mod npm;
#[cfg(test)]
mod tests;
mod uninstall;

pub use error::InstallError;
pub use git::{GitClone, GitError};
pub use install::{Install, InstallOutcome, InstallProgress};
pub use uninstall::{ProgramUser, Uninstall, Uninstalled, UsedVersion};
