//! The client side of the Agent Client Protocol: JSON-RPC, one message per line, over an agent's stdin and stdout.
//!
//! - [`opening`]: what a process is started for; a file of the run, so that every owner has the same.
//! - [`driver`]: what has to be sent next, a fold over the agent's output. It remembers nothing that cannot be read
//!   again, so a later owner sends exactly what the earlier owner sent or would have sent, and the host refuses what
//!   was written before.
//! - [`lines`]: the messages that skillrun writes. [`answer`]: the replies to an agent's questions.
//!
//! ```text
//! agent ◀── "initialize" ────────────────────────────── at the start of a process
//!       ◀── "session …": session/new, resume or load ── after the answer to "initialize"
//!       ◀── "past.1", "past.2", … ───────────────────── after session/load, until no history came before an answer
//!       ◀── "now" ───────────────────────────────────── after the last of them
//!       ◀── "prompt.N": session/prompt ──────────────── after the answer to the last, and with each later answer
//!       ◀── an error ────────────────────────────────── for every request that is not a question to the user
//! ```
//!
//! An agent may answer `session/load` first and replay the history then (gemini does), as fast as its pipe takes it. So
//! no prompt is sent until one such request is answered without any history before the answer; `now` shows a reader who
//! has only the answers that this was the last one.
//!
//! Permission requests and elicitations are questions inside the turn; they come through the parser like those of any
//! other engine, and are answered in the same way.

pub mod answer;
pub mod driver;
pub mod lines;
pub mod opening;
#[cfg(test)]
mod tests;

pub use answer::{ExpectedAnswer, OptionKind};
pub use driver::{AgentInput, Driver, Loads};
pub use opening::{Opening, Session};
