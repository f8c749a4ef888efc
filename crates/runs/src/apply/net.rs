//! What a run changed altogether: for each path what was there before the first attempt, and after the last one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use skillrun_evidence::OsText;
use skillrun_model::{AttemptNumber, RunId};

use super::{ApplyError, NotApplied};
use crate::changes::{ChangeKind, Changes, FileKind, FileVersion};
use crate::copy::patch_path;
use crate::data_folder::RunFolder;
use crate::patch::{CHANGES_MAX, NO_HASH, ignored_files, target};

/// What is at a path, as far as it can be applied. Permissions are those that git knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Nothing,
    File { size: u64, hash: String, is_executable: bool },
    Link { target: Vec<u8> },
    Folder,
}

#[derive(Debug)]
pub(super) struct NetChange {
    /// Relative to the workspace, of ordinary names alone.
    pub(super) path: Vec<u8>,
    pub(super) before: Content,
    pub(super) after: Content,
}

impl NetChange {
    pub(super) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// A file or link that becomes a folder, or the other way round.
    pub(super) fn is_of_another_kind(&self) -> bool {
        let is_folder = |content: &Content| match content {
            Content::Nothing => None,
            Content::File { .. } | Content::Link { .. } => Some(false),
            Content::Folder => Some(true),
        };
        matches!((is_folder(&self.before), is_folder(&self.after)), (Some(before), Some(after)) if before != after)
    }

    pub(super) fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (Content::Nothing, _) => ChangeKind::Created,
            (_, Content::Nothing) => ChangeKind::Deleted,
            (_, _) => ChangeKind::Modified,
        }
    }
}

#[derive(Debug)]
pub(super) struct NetChanges {
    /// By path, so that a folder is before its content.
    pub(super) changes: Vec<NetChange>,
    pub(super) left_out: Vec<NotApplied>,
}

pub(super) fn read(run: &RunFolder, run_id: RunId, last: u32) -> Result<NetChanges, ApplyError> {
    let mut found: BTreeMap<Vec<u8>, (Option<FileVersion>, Option<FileVersion>)> = BTreeMap::new();
    let mut attempts = 0;
    for number in (1..=last).map(AttemptNumber) {
        let Some(mut changes) = Changes::open(run, number)? else { continue };
        attempts += 1;
        while let Some(change) = changes.next_change()? {
            let entry = found.entry(change.path.as_bytes().to_vec());
            entry.or_insert((change.before, None)).1 = change.after;
            if found.len() > CHANGES_MAX {
                return Err(ApplyError::TooMany);
            }
        }
    }
    if attempts == 0 && last > 0 {
        return Err(ApplyError::NoChanges { run: run_id });
    }
    let mut ignored = ignored_files(run);
    let (mut changes, mut left_out) = (Vec::new(), Vec::new());
    let patch = patch_path(run_id).into_bytes();
    for (path, (before, after)) in found {
        let is_ignored = before.is_none() && ignored.as_mut().is_some_and(|ignored| ignored.contains(&path));
        if is_ignored || path == patch {
            continue;
        }
        let contents = is_plain(&path).then_some(()).ok_or_else(|| "it is not a path that can be applied".to_owned());
        let contents = contents.and_then(|()| Ok((content(before.as_ref())?, content(after.as_ref())?)));
        match contents {
            Ok((before, after)) if before == after => {}
            Ok((before, after)) => changes.push(NetChange { path, before, after }),
            Err(why) => left_out.push(NotApplied { path: OsText::from(OsStr::from_bytes(&path)), why }),
        }
    }
    Ok(NetChanges { changes, left_out })
}

/// Whether a path stays in the folder, and out of the files of git. Lists of changes have no other paths.
fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|name| {
        !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git") && !name.contains(&0)
    })
}

fn content(version: Option<&FileVersion>) -> Result<Content, String> {
    let Some(version) = version else { return Ok(Content::Nothing) };
    if let Some(error) = &version.error {
        return Err(format!("it could not be read ({error})"));
    }
    match version.kind {
        FileKind::File => {
            let (Some(size), Some(hash)) = (version.size, version.hash.clone()) else {
                return Err(NO_HASH.to_owned());
            };
            let mode = version.mode.as_deref().and_then(|mode| u32::from_str_radix(mode, 8).ok()).unwrap_or(0o644);
            Ok(Content::File { size, hash, is_executable: mode & 0o111 != 0 })
        }
        FileKind::Symlink => Ok(Content::Link { target: target(version)? }),
        FileKind::Folder => Ok(Content::Folder),
        FileKind::Pipe | FileKind::Socket | FileKind::CharDevice | FileKind::BlockDevice | FileKind::Unknown => {
            Err(format!("it is a {}", version.kind))
        }
    }
}
