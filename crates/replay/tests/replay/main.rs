//! The fold and the renderers: cases one by one, and laws over generated Logs.

mod cases;
mod laws;
mod log;
