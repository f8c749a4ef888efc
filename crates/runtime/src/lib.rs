//! Carries out what `lifecycle` decides. The only place where things meet; no truth is held in memory alone.
//!
//! ```text
//! request ─▶ accept ─▶ run.json, first events ─▶ queue ─▶ worker ─▶ host, evidence ─▶ events ─▶ settled ─▶ result.json
//!                                                   ▲        │ ▲
//!                                        timers ────┘        │ └── mailbox: replies, cancels
//!                                             ▲──── waits ───┘
//! ```
//!
//! - `data_folder`: where everything lies. `record`: `run.json`. `limits`, `clock`: what is handed in.
//! - `accept`: a request becomes a run. `workspace`: where its engine works.
//! - `runtime`: the owner of runs in one process. `queue`: who is next. `mailbox`: what is said to a run meanwhile.
//! - `owners`: how other processes talk to an owner.
//! - `run`: one run and its Log. `worker`: works on it. `attempt`: starts and reads one attempt. `judge`: its verdict.
//! - `result`, `artifacts`, `bundle`, `views`, `blobs`: what a run leaves. `cache`: results that can be used again.
//! - `retention`: what is removed.
//! - `verify`: everything derived again and compared. `diagnose`: why a run is as it is.

pub mod accept;
pub mod artifacts;
mod attempt;
pub mod blobs;
pub mod bundle;
pub mod cache;
pub mod clock;
pub mod data_folder;
pub mod diagnose;
pub mod error;
mod judge;
pub mod limits;
mod mailbox;
pub mod owners;
mod queue;
pub mod record;
pub mod result;
pub mod retention;
mod run;
pub mod runtime;
pub mod verify;
mod views;
mod worker;
mod workspace;

pub use accept::{AcceptError, NewRun, Options, reply_files};
pub use clock::{Clock, SystemClock};
pub use data_folder::{DataFolder, RunFolder};
pub use error::RuntimeError;
pub use limits::{Keep, Retention, SlotLimits};
pub use mailbox::Reply;
pub use record::{RecordError, RunRecord};
pub use runtime::{Runtime, Setup};
