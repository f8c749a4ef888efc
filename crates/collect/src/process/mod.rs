//! Processes: listing them, their tree, and how to terminate all of them.
//!
//! - `list`: processes as listed in `/proc`.
//! - `tree`: the descendants of the host; it adopts orphans, so no process escapes by losing its parent. `children`: how
//!   they are found without reading all of `/proc`.
//! - `cgroup`: a control group if the system permits it, for processes that fork faster than they can be listed.
//! - `leftovers`: processes that a killed host left behind, found by the tag in the environment.
//! - `usage`: their resource usage.

pub(crate) mod cgroup;
mod children;
pub(crate) mod leftovers;
pub(crate) mod list;
pub(crate) mod tree;
pub(crate) mod usage;
