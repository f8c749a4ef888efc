//! `/openapi.json`, OpenAPI 3.1, generated from the routes and from their request and response types.
//!
//! - `operation`: the description of one route. `document`: the whole document. `bounds`: bounds of integers.

mod bounds;
mod document;
mod operation;
#[cfg(test)]
mod tests;

pub use document::{document, text};
pub(crate) use operation::Operation;
