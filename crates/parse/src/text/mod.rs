//! What an agent's text holds: JSON objects, the done marker, code fences.
//!
//! Pure functions over decoded text. All of them take time linear in the text, because the text comes from a model and
//! may be made to hurt.
//!
//! - [`objects`] finds the root JSON objects of a text that is mostly something else.
//! - [`json`] decodes one of them, lone surrogates included.
//! - [`fences`] finds Markdown code fences.
//! - [`broken`] tells where an object that is not JSON breaks.
//! - [`marker`] puts them together and looks for the done marker.

pub mod broken;
pub mod fences;
pub mod json;
pub mod marker;
pub mod objects;
