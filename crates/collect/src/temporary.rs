//! The engine's folder for temporary files goes with it.

use std::path::Path;

use crate::tree;

/// Removes the folder and all that is in it. What cannot be removed stays in a folder for temporary files.
pub(crate) fn remove(folder: &Path) {
    tree::remove(folder).ok();
}
