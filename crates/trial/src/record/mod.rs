//! A fixture from a real engine: a run with a scripted model, and of its evidence what a recording needs, with nothing of
//! the machine in it.
//!
//! ```text
//! DIR/<engine>-<scenario>/.audit/  stdout.N.log stderr.N.log chunks.N.jsonl meta.N.json
//! DIR/README.md                    one line per recording: versions and date
//! ```
//!
//! `recording`: the run, and what is made of it. `scenario`: how each is run. `clean`: what is replaced, and where
//! everything is afterwards. `write`: the files.

mod clean;
mod recording;
mod scenario;
mod write;

pub use clean::{CleanError, Cleaned, Cleaner, Machine, RunPlace};
pub use recording::{Recorded, RecordingError, record};
pub use scenario::recordable;
