//! What changes begin with: the recordings of the project, and those beside the repository where there are some.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use skillrun_evidence::Folder;
use skillrun_model::{EngineName, ProfileId};
use testkit::paths;

/// Longer recordings are cut here; what is special about one stands in its first lines or its last.
const LONGEST: usize = 8 << 10;

/// What an engine wrote to one stream, and how it is read.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) profile: ProfileId,
    pub(crate) bytes: Vec<u8>,
}

/// The streams of all recordings.
pub(crate) fn recordings() -> &'static [Recorded] {
    static READ: OnceLock<Vec<Recorded>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut all = of_folder(&paths::corpus());
        all.extend(paths::recordings().iter().flat_map(|folder| of_folder(folder)));
        assert!(all.len() > 100, "the corpus has streams, not {}", all.len());
        all
    })
}

fn of_folder(folder: &Path) -> Vec<Recorded> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|entry| of_recording(&entry.path())).collect()
}

fn of_recording(folder: &Path) -> Vec<Recorded> {
    let Ok(recording) = Folder::open(folder) else { return Vec::new() };
    let attempts = recording.attempts().into_iter().filter_map(|number| recording.attempt(number).ok());
    attempts
        .flat_map(|attempt| {
            let profile = ProfileId::for_engine(&EngineName::new(attempt.meta.engine.as_deref().unwrap_or("unknown")));
            let names = ["stdout", "stderr"].map(|stream| format!(".audit/{stream}.{}.log", attempt.number));
            let streams = names.into_iter().filter_map(|name| fs::read(folder.join(name)).ok());
            streams
                .filter(|bytes| !bytes.is_empty())
                .map(move |bytes| Recorded { profile, bytes: cut(bytes) })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn cut(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > LONGEST {
        bytes.drain(LONGEST / 2..bytes.len() - LONGEST / 2);
    }
    bytes
}

/// Files of the repository whose name ends so, in one of its folders.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![paths::workspace().join(folder)];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.extend(fs::read(path));
            }
        }
    }
    assert!(!found.is_empty(), "no {ending} in {folder}");
    found.sort();
    found
}
