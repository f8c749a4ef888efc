//! Private installs of engines: where they are stored, which one is taken, and how npm is called to make one.
//!
//! ```text
//! PROGRAMS/  <engine>/<version>/node_modules/…     what npm installed
//!            <engine>/<version>/installed.json     written last: with it the folder is complete
//!            node/<major>/node_modules/node/bin/node
//!            <engine>/.<version>.<pid>.new/        being made
//!            <engine>/.<version>.<pid>.npm.new/    HOME and cache of npm meanwhile
//!            <engine>/.<version>.<pid>.old.new/    being removed
//!            lock                                  held by the process that installs
//! ```
//!
//! Pure: `layout` names the places and chooses among versions, `plan` lists the steps, `lock` pins the packages, `mark`
//! is `installed.json`. The runtime carries it out.

mod layout;
mod lock;
mod mark;
mod plan;

pub use layout::{MARK, Programs, chosen, highest, is_older};
pub use lock::Lock;
pub use mark::{Mark, package_version};
pub use plan::{InstallStep, NODE, is_package, is_version, plan};
