//! Which file has the cases of a skill.

use std::path::{Path, PathBuf};

/// Where a skill keeps its cases; the first that is there counts.
pub const PLACES: &[&str] = &["tests/cases.yaml", "tests/cases.json"];

/// The file of a skill's own. None: it has none.
pub fn find(root: &Path) -> Option<PathBuf> {
    // A link that leads nowhere is meant to be something; reading it says what is wrong.
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    PLACES.iter().map(|place| root.join(place)).find(is_there)
}
