//! Processes: who is there, who is whose, how to end them all.
//!
//! - `list`: what `/proc` tells about processes.
//! - `tree`: the descendants of the host; it adopts orphans, so nobody gets away by losing a parent.
//! - `cgroup`: a group of their own where the system lets us, for those who fork faster than one can look.
//! - `leftovers`: what a host that was killed left behind, found by the tag in the environment.
//! - `usage`: what they cost.

pub(crate) mod cgroup;
pub(crate) mod leftovers;
pub(crate) mod list;
pub(crate) mod tree;
pub(crate) mod usage;
