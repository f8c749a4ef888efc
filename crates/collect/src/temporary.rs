//! Removes the engine's folder for temporary files.

use std::path::Path;

use crate::tree;
use skillrun_model::IgnoredError;

/// Removes the folder and its content. Whatever cannot be removed is in a folder for temporary files anyway.
pub(crate) fn remove(folder: &Path) {
    tree::remove(folder).ignored();
}
