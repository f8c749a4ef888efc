//! Private installs of engines: where they lie, which one is taken, and how npm is told to make one.
//!
//! ```text
//! PROGRAMS/  <engine>/<version>/node_modules/…     what npm installed
//!            <engine>/<version>/installed.json     written last: with it the folder is complete
//!            node/<major>/node_modules/node/bin/node
//!            <engine>/.<version>.<pid>.new/        being made
//!            lock                                  held by whoever installs
//! ```
//!
//! Pure: `layout` names the places and chooses among versions, `plan` says what to run, `lock` pins what comes of it, `mark`
//! is `installed.json`.
//! The runtime carries it out.

mod layout;
mod lock;
mod mark;
mod plan;

pub use layout::{MARK, Programs, chosen, highest};
pub use lock::Lock;
pub use mark::{Mark, package_version};
pub use plan::{NODE, Step, is_package, is_version, plan};
