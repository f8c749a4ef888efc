//! `skillrun capture` and the attempt host, with real processes: the engine is `stand-in steps`, which does
//! what its words say.
//!
//! `lab` is what the tests stand on; the other files are named after what they show.

mod bad_cases;
mod before_exec;
mod bytes;
mod changes;
mod deadlines;
mod full_disk;
mod held_up;
mod hold;
mod kill;
mod recovery;
mod secrets;
mod socket;
mod sticky;
mod tree;
