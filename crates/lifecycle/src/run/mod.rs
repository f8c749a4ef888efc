//! The life of a run as two pure functions: [`decide`] turns what happens into events and effects, and
//! [`State::evolve`] folds events into the state. State is only ever that fold over the Log; code that shows a status
//! or recovers a run uses the same fold.
//!
//! One file per kind of input: `start`, `settled`, `reply`, `timeout`, `cancel`, `interrupt`, `close`,
//! `recover`, `children`, `checks`; `quota` plans the run that
//! follows one that ran out of quota. A decision's events are appended as one batch, and only then are its effects
//! carried out; `recover` derives an effect again that was lost with a process. `step` derives what follows from the
//! state alone.

mod cancel;
mod checks;
mod children;
mod close;
mod decision;
mod interrupt;
mod options;
mod quota;
mod recover;
mod reply;
mod settled;
mod start;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod timeout;

pub use checks::CheckProgress;
pub use children::{ChildProgress, ChildRun};
pub use decision::{Decision, Effect, Input, Opening, ProcessLeft, Refusal, SessionLeft, SettledAttempt, decide};
pub use options::RunOptions;
pub use quota::{QuotaWait, made_until};
pub use recover::{HostState, recover};
pub use start::message_event;
pub use state::{GivenReply, State};
pub use step::{RunStep, next_step};
