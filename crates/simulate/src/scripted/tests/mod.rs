//! What the formats write, read back by our own parsers and judged by the gate; and the engine as a real process.
//!
//! - [`stage`]: plays turns in memory and judges them.
//! - [`judged`]: every act through every format.
//! - [`process`]: what only a process can show: streams, signals, files, sessions, stdin.

mod judged;
mod process;
mod stage;
