//! FCMP `fcmp/1.0`: everything that a conversation frontend reads. Made from RASP by one pure function in `translate`.

pub mod data;
pub mod envelope;
pub mod schema;

pub use data::{FcmpData, FcmpType};
pub use envelope::{FcmpEvent, Meta, PROTOCOL_VERSION};
