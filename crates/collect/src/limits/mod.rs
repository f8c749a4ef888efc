//! What the processes of an attempt use, and whether that is more than the run allows.
//!
//! ```text
//! before the start   groups: a control group with the limits of memory and processes, if the system permits one
//! several times      look ──▶ processes, memory, processor time ┐
//! a second           disk ──▶ growth of the folders             ├─▶ watch: the first limit that is reached
//!                    groups ──▶ what the kernel has refused     ┘
//! ```
//!
//! - `watch`: all of it, for the loop of the host. `groups`: control groups, version 1 and 2. `look`: figures of
//!   processes from `/proc`. `cpu`: processor time of processes that come and go; pure. `disk`: the growth of folders;
//!   `walk`: one measurement of a folder, in small steps.
//! - [`ability()`]: what this machine can do.
//!
//! Limits of single processes (`setrlimit`) are not used: engines reserve far more address space than memory, and the
//! number of processes of a user counts those of other programs, and does not bind root.

mod ability;
mod cpu;
mod disk;
pub(crate) mod groups;
mod look;
mod walk;
pub(crate) mod watch;

pub use ability::{LimitAbility, ability};
pub(crate) use cpu::Ticks;
