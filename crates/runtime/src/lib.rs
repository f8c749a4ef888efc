//! Carries out what `lifecycle` decides. The only place where all parts meet; no state is held only in memory.
//!
//! ```text
//! request ─▶ accept ─▶ run.json, first events ─▶ queue ─▶ worker ─▶ host, evidence ─▶ events ─▶ settled ─▶ result.json
//!                                                   ▲        │ ▲
//!                                        timers ────┘        │ └── mailbox: replies, cancels
//!                                             ▲──── waits ───┘
//! ```
//!
//! What runs have on disk is in the crate `runs`.
//!
//! - `limits`, `clock`: passed in by the caller. `consent`: engines that the user has agreed to.
//! - `accept`: a request becomes a run. `requests`: only once, however often it is sent. `workspace`: where its engine
//!   works.
//! - `runtime`: the owner of runs in one process. `queue`: which run is next. `mailbox`: replies and cancels for a run
//!   that is being worked on.
//! - `owners`: how other processes talk to an owner. `delegation`: how the process of a run asks for other runs.
//! - `workflows`: the file of a workflow becomes a request. `conductor`: the values of steps, the runs that become their children, and what these leave.
//! - `run`: one run and its Log. `store`: where both are kept. `worker`: works on it. `attempt`: starts and reads one
//!   attempt.
//! - `views`: the files that are made from the Log. `retry`: a new request made from an old run.
//! - `variables`: the variables that a run was made with, which its attempts must have.
//! - `top_level`: runs of a user, as the tools for agents ask for them.
//! - `engines`: the known engines, and their state on this machine. `programs`: private installs of engines.
//! - `simulation`: workers in virtual time, with everything else in memory; for tests.

/// A fault that the simulation plants to check that it finds it. The product has none of them.
#[cfg(test)]
macro_rules! planted {
    ($fault:ident => $act:block) => {
        if $crate::simulation::faults::is_planted($crate::simulation::faults::Fault::$fault) $act
    };
}
#[cfg(not(test))]
macro_rules! planted {
    ($fault:ident => $act:block) => {};
}

pub mod accept;
mod attempt;
pub mod clock;
mod conductor;
pub mod consent;
pub mod delegation;
pub mod engines;
pub mod error;
pub mod limits;
mod mailbox;
pub mod owners;
pub mod programs;
mod queue;
pub mod requests;
pub mod retry;
mod run;
pub mod runtime;
#[cfg(test)]
mod simulation;
mod store;
pub mod top_level;
pub mod variables;
pub mod views;
mod worker;
pub mod workflows;
mod workspace;

pub use accept::limits::parts as limit_parts;
pub use accept::{AcceptError, NewRun, Options, RunTask, SkillPart, reply_files};
pub use clock::{Clock, SystemClock};
pub use error::RuntimeError;
pub use limits::SlotLimits;
pub use mailbox::Reply;
pub use requests::{SubmitError, Submitted, WasNew};
pub use runtime::{DelegatedChild, Delivery, Runtime, RuntimeSetup, Stats};
pub use variables::OwnerRole;
