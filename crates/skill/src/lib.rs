//! Skill packages. Here, so far: the output schema, which the gate asks about through
//! [`skillrun_lifecycle::OutputValidator`].

pub mod schema;

pub use schema::{OutputSchema, SchemaError};
