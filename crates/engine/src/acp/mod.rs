//! The Agent Client Protocol, our side of it: JSON-RPC, one message to a line, over an agent's stdin and stdout.
//!
//! - [`opening`]: what a process is started for; a file of the run, so that every owner has the same.
//! - [`driver`]: what has to be said next, a fold over what the agent wrote. It remembers nothing that cannot be read
//!   again, so an owner that comes later says exactly what the one before said or would have said, and the host
//!   refuses what was written before.
//! - [`lines`]: the messages we write. [`answer`]: what we say to an agent's questions.
//!
//! ```text
//! agent ◀── "initialize" ────────────────────────────── at the start of a process
//!       ◀── "session …": session/new, resume or load ── after the answer to "initialize"
//!       ◀── "past.1", "past.2", … ───────────────────── after session/load, until nothing was told before an answer
//!       ◀── "now" ───────────────────────────────────── after the last of them
//!       ◀── "prompt.N": session/prompt ──────────────── after the answer to the last, and with each later answer
//!       ◀── an error ────────────────────────────────── for every request that is no question to a person
//! ```
//!
//! An agent may answer `session/load` and tell the past then (gemini does), as long as its pipe takes it. So it is asked
//! for nothing until one such request is answered without a word of the past before it; `now` tells whoever reads the
//! answers alone that this was the last.
//!
//! Permission requests and elicitations are questions inside the turn; they come through the parser like any other
//! engine's, and are answered by whoever answers questions.

pub mod answer;
pub mod driver;
pub mod lines;
pub mod opening;
#[cfg(test)]
mod tests;

pub use answer::{Asked, OptionKind};
pub use driver::{Driver, Loads, Send};
pub use opening::{Opening, Session};
