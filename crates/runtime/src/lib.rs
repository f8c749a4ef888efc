//! Carries out what `lifecycle` decides. The only place where all parts meet; no state is held only in memory.
//!
//! ```text
//! request ─▶ accept ─▶ run.json, first events ─▶ queue ─▶ worker ─▶ host, evidence ─▶ events ─▶ settled ─▶ result.json
//!                                                   ▲        │ ▲
//!                                        timers ────┘        │ └── mailbox: replies, cancels
//!                                             ▲──── waits ───┘
//! ```
//!
//! - `data_folder`: where everything is stored. `record`: `run.json`. `limits`, `clock`: passed in by the caller.
//! - `consent`: engines that the user has agreed to.
//! - `accept`: a request becomes a run. `requests`: only once, however often it is sent. `workspace`: where its engine
//!   works.
//! - `runtime`: the owner of runs in one process. `queue`: which run is next. `mailbox`: replies and cancels for a run
//!   that is being worked on.
//! - `owners`: how other processes talk to an owner.
//! - `run`: one run and its Log. `worker`: works on it. `attempt`: starts and reads one attempt. `judge`: its verdict.
//! - `result`, `artifacts`, `bundle`, `views`, `blobs`: what a run leaves. `cache`: results that can be used again.
//! - `variables`: the variables that a run was made with, which its attempts must have.
//! - `login`: the user's login in the HOME of a run. `programs`: private installs of engines.
//! - `retention`: what is removed.
//! - `evidence_views`: parts of the evidence on request: bytes, events of a byte, a recording.
//! - `verify`: everything derived again and compared. `diagnose`: why a run is in its state.
//! - `inspect`: other information about runs and engines, for commands and the service.

pub mod accept;
pub mod artifacts;
mod attempt;
pub mod blobs;
pub mod bundle;
pub mod cache;
pub mod clock;
pub mod consent;
pub mod data_folder;
pub mod diagnose;
pub mod error;
pub mod evidence_views;
pub mod inspect;
mod judge;
pub mod limits;
mod login;
mod mailbox;
pub mod owners;
pub mod programs;
mod queue;
pub mod record;
pub mod requests;
pub mod result;
pub mod retention;
mod run;
pub mod runtime;
pub mod variables;
pub mod verify;
pub mod views;
mod worker;
mod workspace;

pub use accept::{AcceptError, NewRun, Options, reply_files};
pub use clock::{Clock, SystemClock};
pub use data_folder::{DataFolder, RunFolder};
pub use error::RuntimeError;
pub use limits::{Keep, Retention, SlotLimits};
pub use mailbox::Reply;
pub use record::{RecordError, RunRecord};
pub use requests::{RequestKey, SubmitError, Submitted, WasNew};
pub use runtime::{Delivery, Runtime, RuntimeSetup, Stats};
pub use variables::OwnerRole;
