//! What holds for the bytes of any engine, whatever they are and however they arrive.
//!
//! - [`coverage`]: every byte lies in the range of an event.
//! - [`arrival`]: reads of any size, and any order of the two streams.
//! - [`bad_input`]: input that no format allows for; ranges stay correct.
//! - [`echo`], [`conversation`]: RASP to FCMP.
//! - [`merged`]: a terminal's recording beside the two streams.
//! - [`questions`]: questions of the engine inside a turn.
//! - [`folder`]: the same folder gives the same bytes.
//! - [`replay`]: a recording that is followed, and one that is read as a whole.
//!
//! [`run`] reads attempts, [`lines`] generates them.

mod arrival;
mod bad_input;
mod conversation;
mod coverage;
mod echo;
mod folder;
mod lines;
mod merged;
mod questions;
mod replay;
mod run;
