//! Where things are.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("testkit lies in the repository").to_owned()
}

/// The binary `stand-in`, which cargo puts beside the program. Cargo builds it with the whole workspace only, so it is
/// missing where only the package `skillrun` was ever built.
pub fn stand_in(skillrun: &str) -> PathBuf {
    let path = Path::new(skillrun).with_file_name("stand-in");
    assert!(path.is_file(), "{} is missing: run cargo build --workspace", path.display());
    path
}

/// The project's own recordings.
pub fn corpus() -> PathBuf {
    workspace().join("testkit/corpus")
}

/// The output schema that recordings and corpus assume.
pub fn output_schema() -> PathBuf {
    corpus().join("output.schema.json")
}

/// Recordings of real engines; they lie beside the repository and not every machine has them.
pub fn recordings() -> Option<PathBuf> {
    let dir = workspace().parent()?.join("shared/recordings");
    dir.join("expectations.json").is_file().then_some(dir)
}
