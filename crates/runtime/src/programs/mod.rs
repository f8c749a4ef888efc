//! Private installs of engines, carried out: one at a time, whole or not at all.
//!
//! `install` goes through the steps that `skillrun_engine::install` plans. `npm` runs npm, within its time limit.
//! `uninstall` removes versions that no process uses. `lock` keeps all of this to one process at a time.

mod error;
mod install;
mod lock;
mod npm;
#[cfg(test)]
mod tests;
mod uninstall;

pub use error::InstallError;
pub use install::{Install, InstallOutcome, InstallProgress};
pub use uninstall::{ProgramUser, Uninstall, Uninstalled, UsedVersion};
