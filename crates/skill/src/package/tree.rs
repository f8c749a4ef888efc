//! The files of a skill, in one order, without following links.
//!
//! `.git` is left out everywhere: it changes with every fetch, and in a copy it would make the workspace look like
//! another repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{SkillError, SkillErrorKind};

/// Most files and folders of a skill.
pub(crate) const FILES_MAX: usize = 10_000;
/// Most bytes of all files of a skill.
pub(crate) const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Deepest nesting of folders.
pub(crate) const DEPTH_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Relative to the root of the skill.
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    File { executable: bool, size: u64 },
    Link { target: PathBuf },
    Special,
}

/// Everything below the root, sorted by path, folders before what is in them.
pub(crate) fn walk(root: &Path) -> Result<Vec<Entry>, SkillError> {
    if !root.is_dir() {
        return Err(SkillError::no_folder(root));
    }
    let mut entries = Vec::new();
    let mut bytes = 0u64;
    let mut folders = vec![(PathBuf::new(), 0usize)];
    while let Some((folder, depth)) = folders.pop() {
        let here = root.join(&folder);
        for entry in fs::read_dir(&here).map_err(|e| SkillError::new(&here, e))? {
            let entry = entry.map_err(|e| SkillError::new(&here, e))?;
            if entry.file_name() == ".git" {
                continue;
            }
            let path = folder.join(entry.file_name());
            let kind = kind_of(&entry).map_err(|e| SkillError::new(entry.path(), e))?;
            match &kind {
                EntryKind::Folder if depth >= DEPTH_MAX => {
                    return Err(SkillError::new(root, SkillErrorKind::TooDeep(DEPTH_MAX)));
                }
                EntryKind::Folder => folders.push((path.clone(), depth + 1)),
                EntryKind::File { size, .. } => bytes = bytes.saturating_add(*size),
                EntryKind::Link { .. } | EntryKind::Special => {}
            }
            entries.push(Entry { path, kind });
            if entries.len() > FILES_MAX {
                return Err(SkillError::new(root, SkillErrorKind::TooManyFiles(FILES_MAX)));
            }
            if bytes > BYTES_MAX {
                return Err(SkillError::new(root, SkillErrorKind::TooMuchData(BYTES_MAX)));
            }
        }
    }
    // By components, so that a folder comes before its files whatever its neighbours are called.
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn kind_of(entry: &fs::DirEntry) -> std::io::Result<EntryKind> {
    let kind = entry.file_type()?;
    Ok(if kind.is_symlink() {
        EntryKind::Link { target: fs::read_link(entry.path())? }
    } else if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_file() {
        let about = entry.metadata()?;
        EntryKind::File { executable: about.permissions().mode() & 0o111 != 0, size: about.len() }
    } else {
        EntryKind::Special
    })
}
