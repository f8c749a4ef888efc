//! The attempt host: runs one engine process and records it truthfully.
//!
//! ```text
//!  starter ── plan ──▶ host (a process of its own) ── fork, exec ──▶ engine
//!     │                 │  ▲ stdout, stderr, terminal                 │
//!     └── owner ◀─ host.sock ┘  │                                      └─ its children: found and ended
//!         progress, input,      ▼
//!         cancel, next attempt  .audit/
//! ```
//!
//! - [`plan`]: what to run and how, as the starter hands it over. [`environment`]: which variables an engine gets.
//! - [`mod@start`]: starts a host. [`owner`]: attaches to one, or finds that it is gone. [`protocol`]: what they say.
//! - [`host`]: the host itself, one thread, one loop. Its record outlives everybody. [`withdraw()`]: an attempt that was
//!   claimed and never begun is nobody's again. [`put_aside()`]: what a process left that ended between two attempts.
//!   [`end_host()`]: a host that hears nobody any more is ended. [`input_given()`]: whether a process that is gone was
//!   given an answer.
//! - `wiring`, `spawn`: pipes and terminals, fork and exec. `process`: signals, the tree, leftovers of a dead host.
//! - [`memory`]: how a process that lives long gives memory back.
//! - `secrets`: finds values that must be masked. `snapshot`: which files an attempt changed. `temporary`: its own go.
//! - [`tree`]: whole folders, however deep, are measured and removed.
//!
//! Nothing here interprets what an engine writes.

mod aside;
mod claim;
mod deaf;
pub mod environment;
pub mod error;
mod given;
pub mod host;
mod lines;
pub mod memory;
pub mod owner;
pub mod plan;
mod process;
pub mod protocol;
mod recover;
mod secrets;
pub mod signals;
mod snapshot;
mod spawn;
pub mod start;
mod temporary;
pub mod tree;
mod wiring;
mod withdraw;

pub use aside::{put_aside, take_back};
pub use claim::host_is_alive;
pub use deaf::end_host;
pub use error::CollectError;
pub use given::{InputGiven, input_given};
pub use owner::{Attached, Hears, Owner, attach, attach_within, hears};
pub use plan::Plan;
pub use secrets::Secrets;
pub use start::start;
pub use withdraw::withdraw;
