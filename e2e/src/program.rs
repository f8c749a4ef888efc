//! The program that is tried: skillrun itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::problem::Problem;

#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
}

impl Program {
    /// The program at hand, or a fresh build.
    pub(crate) fn build(given: Option<&Path>) -> Result<Self, Problem> {
        if let Some(path) = given {
            return Ok(Self { path: path.canonicalize()? });
        }
        let built = Command::new("cargo").args(["build", "--locked", "--quiet", "-p", "skillrun"]).status()?;
        if !built.success() {
            return Err(Problem("failed to build skillrun".to_owned()));
        }
        // Both are built by cargo with the same profile, so they lie side by side.
        Ok(Self { path: std::env::current_exe()?.with_file_name("skillrun") })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
