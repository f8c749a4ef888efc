//! The attempt host: runs one engine process and records exactly what it does.
//!
//! ```text
//!  starter ── plan ──▶ host (a separate process) ── fork, exec ──▶ engine
//!     │                 │  ▲ stdout, stderr, terminal                 │
//!     └── owner ◀─ host.sock ┘  │                                      └─ its children: found and terminated
//!         progress, input,      ▼
//!         cancel, next attempt  .audit/
//! ```
//!
//! - [`plan`], [`environment`], [`signals`]: what to run and how, as sent by the starter; from the crate `skillrun-plan`.
//! - [`mod@start`]: starts a host. [`owner`]: attaches to one, or finds that it is gone. [`protocol`]: their messages.
//! - [`host`]: the host itself, one thread, one loop. Its record outlives every process. [`withdraw()`]: releases an
//!   attempt that was claimed and never begun. [`put_aside()`]: moves the files of a process aside that exited between
//!   two attempts. [`end_host()`]: kills an unresponsive host. [`input_given()`]: whether a process that is gone
//!   received an answer.
//! - `wiring`, `spawn`: pipes and terminals, fork and exec. `process`: signals, the tree, leftovers of a dead host.
//! - [`limits`]: what the processes use, and whether that is more than allowed.
//! - [`memory`]: how a long-lived process returns memory to the system.
//! - `secrets`: finds values that must be masked. `snapshot`: which files an attempt changed. `temporary`: removes
//!   temporary files.
//! - [`tree`]: measures and removes whole folders, however deep.
//!
//! Nothing here interprets what an engine writes.

mod aside;
mod claim;
pub mod error;
mod given;
pub mod host;
pub mod limits;
mod lines;
pub mod memory;
pub mod owner;
mod process;
mod recover;
mod secrets;
mod snapshot;
mod spawn;
pub mod start;
mod temporary;
pub mod tree;
mod unresponsive;
mod wiring;
mod withdraw;

pub use aside::{put_aside, take_back};
pub use claim::host_is_alive;
pub use error::CollectError;
pub use given::{InputGiven, input_given};
pub use owner::{Attached, HostConnection, HostResponse, attach, attach_within, host_responds};
pub use secrets::Secrets;
pub use skillrun_plan::{self as plan, HostPlan, environment, protocol, signals};
pub use snapshot::{engine_folders, is_engine_folder};
pub use start::start;
pub use unresponsive::end_host;
pub use withdraw::withdraw;
