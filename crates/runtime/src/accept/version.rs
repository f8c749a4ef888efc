//! The version of an engine: asked once per program, and remembered while the program is the same file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skillrun_engine::Descriptor;
use skillrun_engine::descriptor::Executable;
use skillrun_engine::version::parse_version;
use skillrun_evidence::whole_file;

use crate::runtime::Surroundings;

/// How long an engine may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
const OUTPUT_MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    size: u64,
    modified: i64,
    version: Option<String>,
}

type Memory = BTreeMap<PathBuf, Known>;

/// None when it does not tell.
pub(super) fn of(surroundings: &Surroundings, descriptor: &Descriptor, program: &Path) -> Option<String> {
    if matches!(descriptor.executable, Executable::Own) {
        return Some(env!("CARGO_PKG_VERSION").to_owned());
    }
    let rule = descriptor.version.as_ref()?;
    let found = fs::metadata(program).ok()?;
    let (size, modified) = (found.len(), found.mtime());
    let file = surroundings.tools.data.versions();
    let mut memory: Memory =
        fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if let Some(known) = memory.get(program)
        && (known.size, known.modified) == (size, modified)
    {
        return known.version.clone();
    }
    let version = ask(surroundings, program, &rule.argv).and_then(|output| parse_version(&output, rule));
    memory.insert(program.to_owned(), Known { size, modified, version: version.clone() });
    // A view; it is asked again if this is lost.
    if let Ok(text) = serde_json::to_vec(&memory) {
        whole_file::replace_view(&file, &text).ok();
    }
    version
}

fn ask(surroundings: &Surroundings, program: &Path, argv: &[String]) -> Option<String> {
    let mut child = Command::new(program)
        .args(argv)
        .env_clear()
        .envs(surroundings.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (told, heard) = channel();
    // A child of its own may hold the stream open for ever; then nobody waits for this thread.
    thread::spawn(move || {
        let mut text = Vec::new();
        stdout.take(OUTPUT_MAX).read_to_end(&mut text).ok();
        told.send(String::from_utf8_lossy(&text).into_owned()).ok();
    });
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return heard.recv_timeout(PATIENCE.saturating_sub(begin.elapsed())).ok(),
            Ok(None) if begin.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                child.kill().and_then(|()| child.wait()).ok();
                return None;
            }
        }
    }
}
