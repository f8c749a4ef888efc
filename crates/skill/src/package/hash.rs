//! One hash over the content of a skill: the same hash, the same skill, wherever it lies.
//!
//! BLAKE3 over all entries in the order of their paths: a letter for what it is (`f` file, `x` executable file, `l`
//! link, `s` anything else), the path, then content or target, each with its length in front. Links are recorded and
//! not followed. Folders count by what is in them; times, owners and other modes do not count.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::tree::{self, EntryKind};
use crate::error::SkillError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SkillHash([u8; 32]);

impl SkillHash {
    pub fn of(root: &Path) -> Result<Self, SkillError> {
        let mut hasher = blake3::Hasher::new();
        for entry in tree::walk(root)? {
            let path = root.join(&entry.path);
            let mut head = |letter: u8| {
                hasher.update(&[letter]);
                sized(&mut hasher, entry.path.as_os_str().as_bytes());
            };
            match entry.kind {
                EntryKind::Folder => {}
                EntryKind::File { executable, .. } => {
                    head(if executable { b'x' } else { b'f' });
                    let content = hash_file(&path).map_err(|e| SkillError::new(&path, e))?;
                    sized(&mut hasher, content.as_bytes());
                }
                EntryKind::Link { target } => {
                    head(b'l');
                    sized(&mut hasher, target.as_os_str().as_bytes());
                }
                EntryKind::Special => head(b's'),
            }
        }
        Ok(Self(*hasher.finalize().as_bytes()))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for SkillHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn sized(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// Each file by a hash of its own, so that its length need not be known before it is read.
fn hash_file(path: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    // The limit again: the file may have grown since it was counted.
    let mut file = File::open(path)?.take(tree::BYTES_MAX);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(&buffer[..read]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn hash(folder: &Folder) -> SkillHash {
        SkillHash::of(folder.path()).unwrap()
    }

    fn base() -> Folder {
        Folder::new().with("SKILL.md", "x").with("a/b", "y")
    }

    #[test]
    fn the_place_does_not_count() {
        assert_eq!(hash(&base()), hash(&base()));
        assert_eq!(hash(&base()).to_string().len(), 64);
    }

    #[test]
    fn everything_else_does() {
        let others = [
            base().with("SKILL.md", "xy"),
            base().with("a/c", "y"),
            base().with("a/b", ""),
            base().with_mode("a/b", 0o755),
            base().with_link("l", "a/b"),
            base().with_link("l", "a"),
            Folder::new().with("SKILL.md", "x").with("ab", "y"),
            Folder::new().with("SKILL.md", "xa/by"),
        ];
        let mut seen = vec![hash(&base())];
        for other in others {
            let hash = hash(&other);
            assert!(!seen.contains(&hash));
            seen.push(hash);
        }
    }

    #[test]
    fn where_a_path_ends_counts() {
        assert_ne!(hash(&base().with_link("l", "mn")), hash(&base().with_link("lm", "n")));
    }

    #[test]
    fn what_git_keeps_for_itself_does_not() {
        assert_eq!(hash(&base()), hash(&base().with(".git/HEAD", "x").with("a/.git", "gitdir: y")));
        assert_ne!(hash(&base()), hash(&base().with(".gitignore", "x")));
    }

    #[test]
    fn a_link_is_recorded_and_not_followed() {
        let outside = Folder::new().with("x", "1");
        let folder = base().with_link("l", outside.path().join("x"));
        let before = hash(&folder);
        let outside = outside.with("x", "2");
        assert_eq!(before, hash(&folder));
        drop(outside);
        assert_eq!(before, hash(&folder), "also when it points to nothing");
    }
}
