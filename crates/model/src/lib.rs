//! The types that every other crate shares.
//!
//! - `stream`: stdout, stderr and the terminal's copy.
//! - `ids`, `time`: run ids, sequence numbers, timestamps, as types.
//! - `status`: what a run, a turn and a completion can be, and how a process ended.
//! - `profile`: the parser profiles and what is known about the engines they read.
//! - `checks`: commands that skillrun runs before a run succeeds.
//! - `codes`: every code the program can report; each has a page in `codes/`.
//! - `confinement`: the box around the process of an attempt: what was asked for, and what holds.
//! - `continues`: what a run knows of the run that it continues.
//! - `cost`: what a run has cost, from the figures that engines report.
//! - `delegation`: runs that other runs have asked for.
//! - `error_class`: what a caller can do about an error.
//! - `integers`: integers in requests, which JSON may spell with a decimal point.
//! - `interaction`: questions to the user.
//! - `mcp`: the MCP servers that a run gives to its engine.
//! - `presenters`: how each presenter shows each state.
//! - `verdict`: what the gate decided, and from which evidence; what checks an output for it.
//! - `ignored`: errors that are ignored on purpose, with a log line.
//! - `workspace_settings`: what settings of a workspace could start.
//! - `workflow`: declared orders of runs: their plan, the events in their Log, and what is shown of them.
//! - `wire`: JSON lines as the program writes them.
//! - `rasp`, `fcmp`: the two event protocols, with JSON Schemas made from the types.
//!
//! No I/O, no clock, no async runtime.

pub mod checks;
pub mod codes;
pub mod confinement;
pub mod continues;
pub mod cost;
pub mod delegation;
pub mod error_class;
pub mod fcmp;
pub mod ids;
pub mod ignored;
pub mod integers;
pub mod interaction;
pub mod limits;
pub mod mcp;
pub mod presenters;
pub mod profile;
pub mod rasp;
pub mod status;
pub mod stream;
pub mod time;
pub mod verdict;
pub mod wire;
pub mod workflow;
pub mod workspace_settings;

pub use codes::Code;
pub use error_class::{Classified, ErrorClass};
pub use ids::{AttemptNumber, InteractionId, RunId};
pub use ignored::IgnoredError;
pub use profile::{EngineName, ProfileId};
pub use status::{CompletionState, EndedBy, ExecutionMode, RunStatus, StdinKind, TurnState, Wiring};
pub use stream::Stream;
pub use time::Timestamp;
