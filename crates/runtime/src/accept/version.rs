//! The version of an engine: the program is asked once, and the answer is kept while the program is the same file. A
//! private install has its version in its path.
//!
//! Some programs write into HOME even then, so they are asked with an empty one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_engine::descriptor::Executable;
use skillrun_engine::version::parse_version;
use skillrun_engine::{Descriptor, EngineProgram};

use crate::engines::asked;
use crate::runtime::RuntimeConfig;
use skillrun_model::IgnoredError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    size: u64,
    modified: i64,
    version: Option<String>,
}

type Memory = BTreeMap<PathBuf, Known>;

/// None when it does not report a version.
pub(super) fn of(config: &RuntimeConfig, descriptor: &Descriptor, found: &EngineProgram) -> Option<String> {
    if let Some(version) = &found.version {
        return Some(version.clone());
    }
    let program = found.program.as_path();
    if matches!(descriptor.executable, Executable::Own) {
        return Some(env!("CARGO_PKG_VERSION").to_owned());
    }
    let rule = descriptor.version.as_ref()?;
    let file = fs::metadata(program).ok()?;
    let (size, modified) = (file.len(), file.mtime());
    let file = config.tools.data.versions();
    let mut memory: Memory =
        fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if let Some(known) = memory.get(program)
        && (known.size, known.modified) == (size, modified)
    {
        return known.version.clone();
    }
    let version = ask(config, program, &rule.argv).and_then(|output| parse_version(&output, rule));
    memory.insert(program.to_owned(), Known { size, modified, version: version.clone() });
    // A view; if it is lost, the program is asked again.
    if let Ok(text) = serde_json::to_vec(&memory) {
        whole_file::replace_with(&file, &text, SyncLevel::Nothing).ignored();
    }
    version
}

/// Its stdout, then its stderr.
fn ask(config: &RuntimeConfig, program: &Path, argv: &[String]) -> Option<String> {
    asked(&[program], argv, &config.environment, &config.temporary).ok()
}
