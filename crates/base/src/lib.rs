//! Tools that have nothing to do with runs and that many crates need. Each exists once, here.
//!
//! - [`whole_file`]: files that exist completely or not at all. [`suggest`]: "did you mean".

pub mod suggest;
pub mod whole_file;
