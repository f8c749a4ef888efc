//! Patching: rules that are added to the copy of a skill, so that the agent knows where files go, whether it may ask,
//! and how to say that it is done.
//!
//! - `layers`: the texts. `block`: how they stand in `SKILL.md`. `apply`: putting them there. `view`: what came of it.

mod apply;
mod block;
mod layers;
mod view;

pub use apply::Patch;
pub(crate) use apply::has_block;
pub use layers::{Layer, Layers};
pub use view::{AddedLayer, LayerOrigin, PatchedText, patched_view};
