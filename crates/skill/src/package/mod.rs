//! A skill as it lies in its folder.
//!
//! - `front_matter`: the head of `SKILL.md`. `runner`: `assets/runner.json`. `name`, `paths`: what they may say.
//! - `finding`: what is wrong. `tree`, `hash`: the files, and one hash over them.

pub mod finding;
pub mod front_matter;
pub mod hash;
pub mod name;
pub mod paths;
pub mod runner;
mod skill;
pub(crate) mod tree;

pub(crate) use skill::read_skill_file;
pub use skill::{EngineSupport, RUNNER_FILE, SKILL_FILE, Skill};
