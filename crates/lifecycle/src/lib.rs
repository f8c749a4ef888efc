//! Decisions. Pure: no clock, no file, no second fold.
//!
//! - `settle`: the completion gate: how an attempt ended, from evidence alone.
//! - `closing`: the events that end an attempt and a run.
//! - `control`: the inputs of the gate in addition to the engine's output.
//! - `reading`: the answer, its marker, its question, as the gate reads them.
//! - `output`: which object of the answer is the output.
//! - `ask_user`: the question an agent may put in its answer.
//! - `pending`: the question as it is put to the user.
//! - `advice`: the texts of errors, and what to do next.
//! - `run`: the life of a run: `decide`, `evolve`, `recover`.
//! - `workflow`: the life of a workflow, whose steps are runs: `next`, `judged`, `outcome`.

pub mod advice;
pub mod ask_user;
pub mod closing;
pub mod control;
pub mod output;
mod pending;
mod reading;
pub mod run;
pub mod settle;
pub mod workflow;

pub use control::{CompletionLayer, Control, ProcessExit};
pub use reading::GateNotice;
pub use settle::{Settled, settle};
pub use skillrun_model::verdict::OutputValidator;
