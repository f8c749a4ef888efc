//! Patching: rules that are added to the copy of a skill, so that the agent knows where files go, whether it may ask,
//! and how to say that it is done.
//!
//! - `layers`: the texts. `block`: how they stand in `SKILL.md`. `apply`: putting them there.

mod apply;
mod block;
mod layers;

pub(crate) use apply::has_block;
pub use apply::{Patch, patched_view};
pub use layers::{Layer, Layers};
