//! `/openapi.json`, OpenAPI 3.1, made from the routes and from the types they take and give.
//!
//! - `operation`: what is told about one route. `document`: all of it put together. `bounds`: of integers.

mod bounds;
mod document;
mod operation;
#[cfg(test)]
mod tests;

pub use document::{document, text};
pub(crate) use operation::Operation;
