//! Sessions: their names, and the file that remembers how far each has come.
//!
//! Real engines keep a session's name over all its turns, so the number of the turn cannot be part of it. It is kept
//! in `SESSION.json` in the state folder: `{"turn": 2, "prompt": "…"}`, the last turn that was begun and what the user
//! said to the first one.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_model::ProfileId;

/// Where sessions are kept when nothing else is said, in the working folder.
pub(super) const FOLDER: &str = ".scripted";

const ID_MAX: usize = 200;

/// Whether it can be a session's name: one word for any engine, and one file's name.
pub(super) fn is_id(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len())
        && !id.starts_with('-')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

/// The name a script's session has when it gives none: the same for the same bytes, in the engine's own form.
pub(super) fn derived(profile: ProfileId, script: &[u8]) -> String {
    let hash = hash(script);
    match profile {
        ProfileId::CodexNdjson => uuid(7, hash),
        ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::ClaudeStreamJson
        | ProfileId::QwenStreamJson
        | ProfileId::PlainText
        | ProfileId::AcpJsonrpc => uuid(4, hash),
        ProfileId::OpencodeNdjson => format!("ses_{:026x}", hash >> 24),
        ProfileId::IflowText => format!("session-{}", uuid(4, hash)),
    }
}

fn uuid(version: u8, hash: u128) -> String {
    let part = |shift: u32, digits: u32| (hash >> shift) & ((1 << (4 * digits)) - 1);
    let (a, b, c, d, e) = (part(96, 8), part(80, 4), part(64, 3), part(48, 3), part(0, 12));
    format!("{a:08x}-{b:04x}-{version}{c:03x}-8{d:03x}-{e:012x}")
}

/// FNV-1a. It only has to distinguish scripts; there is nothing to gain from two that collide.
fn hash(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

/// How far a session has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The last turn that was begun, counted from 1.
    pub(super) turn: usize,
    /// What the user said to the first turn.
    pub(super) prompt: String,
}

/// The folder that remembers sessions.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.unwrap_or(Path::new(FOLDER)).to_owned() }
    }

    /// None when there is no such session.
    pub(super) fn load(&self, id: &str) -> io::Result<Option<Progress>> {
        if !is_id(id) {
            return Ok(None);
        }
        match fs::read(self.path(id)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Appears at once, whole: a turn may be killed at any time and must leave a session that can be resumed.
    pub(super) fn save(&self, id: &str, progress: &Progress) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        whole_file::replace_with(&self.path(id), &serde_json::to_vec(progress)?, SyncLevel::Nothing)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_script_and_fit_the_engine() {
        for profile in ProfileId::ALL {
            let name = derived(*profile, b"a script");
            assert!(is_id(&name), "{name}");
            assert_eq!(name, derived(*profile, b"a script"));
            assert_ne!(name, derived(*profile, b"another script"));
        }
        let codex = derived(ProfileId::CodexNdjson, b"");
        assert_eq!(codex.len(), 36);
        assert_eq!((&codex[14..15], &codex[19..20]), ("7", "8"));
        assert!(derived(ProfileId::OpencodeNdjson, b"x").starts_with("ses_"));
        assert!(derived(ProfileId::IflowText, b"x").starts_with("session-"));
    }

    #[test]
    fn a_name_is_one_word_and_one_file() {
        for good in ["a", "ses_1", "session-0192:x.y", "..."] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "-x", "a/b", "../a", "a b", "ä", &"x".repeat(201)] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn progress_is_kept_and_unknown_names_have_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(Some(&folder.path().join("new")));
        assert_eq!(store.load("s").expect("no trouble"), None);
        let progress = Progress { turn: 2, prompt: "do it".to_owned() };
        store.save("s", &progress).expect("a place to write");
        assert_eq!(store.load("s").expect("no trouble"), Some(progress));
        assert_eq!(store.load("../new/s").expect("no trouble"), None);
        fs::write(folder.path().join("new/s.json"), "torn").expect("a place to write");
        store.load("s").expect_err("a file that cannot be read");
    }
}
