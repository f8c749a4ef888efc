//! The box around the process of an attempt: what it reaches, and by what that is enforced.
//!
//! ```text
//! request + abilities of the machine ──▶ report (pure) ──▶ the Log, `run.json`
//! plan: folders that are let in      ──▶ layout (mounts) or rules (Landlock) ──▶ start
//!
//! host ── fork ──▶ starter ── unshare, fork ──▶ box init (pid 1 of the box: makes the mounts, reaps orphans)
//!   ▲                 └── clone(CLONE_PARENT) ──▶ engine (pid 2 of the box), a child of the host
//!   └───────────── exit status, signals, usage ──────┘
//! ```
//!
//! - [`BoxPlan`]: which folders are let in. [`report`](mod@report): which parts hold, from a request and the
//!   [`Abilities`] of a machine; pure. `abilities`: tries them in a short-lived process.
//! - `layout`: the mounts of a box, in order; pure but for links in source paths. `mounts`: makes them. `rules`: the
//!   same folders as rules of Landlock. `harden`: what a process gives up before its exec.
//! - [`network`]: the network of a box that reaches only some hosts.
//! - [`start`](mod@start): the processes above. `sys`: the calls of the kernel without a safe interface; the only
//!   `unsafe` code here.
//!
//! The engine stays a child of the host, so its exit status, signals and figures are those of a process without a box.
//! A box that cannot be made is an error before the engine is started: no process starts without the box of its plan.

mod abilities;
mod harden;
mod layout;
mod mounts;
pub mod network;
mod plan;
pub mod report;
mod rules;
pub mod start;
mod sys;

pub use abilities::{Abilities, ProbeScope, probe};
pub use network::BoxNetwork;
pub use plan::{BoxPlan, NetworkPlan};
pub use report::{BoxRequest, report};
pub use start::{BoxInit, Prepared, StartError, Started};
