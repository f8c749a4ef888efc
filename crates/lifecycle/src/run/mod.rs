//! The life of a run as two pure functions: [`decide`] turns what happens into events and effects, and [`State::evolve`]
//! folds events into what is known. State is only ever that fold over the Log; whoever shows a status or recovers a run
//! uses the same one.
//!
//! One file per thing that can happen: `start`, `settled`, `reply`, `timeout`, `cancel`, `recover`; `quota` plans the run
//! that comes after one that ran out of it. A decision's events
//! are appended as one batch, and only then are its effects carried out; an effect that was lost with a process is found
//! again by `recover`.

mod cancel;
mod decision;
mod options;
mod quota;
mod recover;
mod reply;
mod settled;
mod start;
mod state;
#[cfg(test)]
mod tests;
mod timeout;

pub use decision::{Decision, Effect, Input, Opening, ProcessLeft, Refusal, SessionLeft, SettledAttempt, decide};
pub use options::RunOptions;
pub use quota::{QuotaWait, made_until};
pub use recover::{Found, recover};
pub use state::{GivenReply, State};
