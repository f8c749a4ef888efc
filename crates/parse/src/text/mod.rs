//! The content of an agent's text: JSON objects, the done marker, code fences.
//!
//! Pure functions over decoded text. All of them take time linear in the text, because the text comes from a model and
//! may be hostile.
//!
//! - [`objects`] finds the root JSON objects of a text that is mostly something else.
//! - [`json`] decodes one of them, lone surrogates included.
//! - [`fences`] finds Markdown code fences.
//! - [`broken`] finds where an object that is not JSON breaks.
//! - [`marker`] combines them and searches for the done marker.

pub mod broken;
pub mod fences;
pub mod json;
pub mod marker;
pub mod objects;
