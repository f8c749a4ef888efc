//! What a run changed in its workspace, as a patch that `git apply` accepts. It is made from the lists of changes; the
//! content of files that the run created is read from the workspace, and only if it is what the run left there.
//!
//! Attempts come one after the other, as they happened. A file that the run created has only its last content in the
//! patch: no earlier one is stored. In the copy of a repository, created files that git ignores are not in the patch.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use skillrun_evidence::OsText;
use skillrun_model::{AttemptNumber, Classified, ErrorClass};

use crate::artifacts::open_unchanged;
use crate::changes::{ChangeKind, Changes, ChangesError, FileKind, FileVersion, WorkspaceChange};
use crate::copy::IgnoredFiles;
use crate::data_folder::RunFolder;
use crate::record::RunRecord;

/// Changes of all attempts together. The paths of created files are held in memory.
pub(crate) const CHANGES_MAX: usize = 100_000;

/// Largest created file in a patch.
const CREATED_MAX: u64 = 16 << 20;

/// Most bytes of all created files in a patch. The differences of the others are bounded by the snapshots.
const ALL_CREATED_MAX: u64 = 64 << 20;

/// Why the content of a file is not known.
pub(crate) const NO_HASH: &str = "its content was beyond the limits of the snapshot";

/// What a patch has.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PatchReport {
    /// Attempts with a list of changes.
    pub attempts: usize,
    /// Changes in the patch.
    pub files: usize,
    /// Changes that are not in the patch.
    pub omitted: Vec<OmittedChange>,
    /// Files that the run created in the copy of a repository, and that git ignores there. They are not in the patch.
    pub ignored: usize,
}

/// A change that is not in the patch.
#[derive(Debug, PartialEq, Eq)]
pub struct OmittedChange {
    pub path: OsText,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    #[error(transparent)]
    Changes(#[from] ChangesError),
    #[error("the run made more than {CHANGES_MAX} changes, which is too many for a patch; `skillrun diff` lists them")]
    TooMany,
    #[error("the patch cannot be written ({0})")]
    Write(#[from] io::Error),
}

impl Classified for PatchError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Changes(_) => ErrorClass::Internal,
            Self::TooMany | Self::Write(_) => ErrorClass::Usage,
        }
    }
}

/// Writes the patch of some attempts.
pub fn write(run: &RunFolder, attempts: RangeInclusive<u32>, out: &mut impl Write) -> Result<PatchReport, PatchError> {
    let mut created = created(run, attempts.clone())?;
    let mut patch = Patch { out, workspace: &run.workspace(), left: ALL_CREATED_MAX, report: PatchReport::default() };
    if let Some(mut ignored) = ignored_files(run) {
        for (path, file) in &mut created {
            // Without its last state, no earlier one is written either.
            file.is_written = ignored.contains(path);
            patch.report.ignored += usize::from(file.is_written);
        }
    }
    for number in attempts.map(AttemptNumber) {
        let Some(mut changes) = Changes::open(run, number)? else { continue };
        patch.report.attempts += 1;
        while let Some(change) = changes.next_change()? {
            match (created.get_mut(change.path.as_bytes()), change.change) {
                // The last state of the file is in the patch already.
                (Some(Created { is_written: true, .. }), _) => {}
                (Some(file), ChangeKind::Created) => {
                    file.is_written = true;
                    if let Some(version) = &file.last {
                        patch.created(&change.path, version)?;
                    }
                }
                (Some(_) | None, ChangeKind::Modified) => patch.modified(&change)?,
                (Some(_) | None, ChangeKind::Deleted) => patch.deleted(&change)?,
                // Every created file is in the list.
                (None, ChangeKind::Created) => {}
            }
        }
    }
    Ok(patch.report)
}

/// The files that git ignores in the copy of a repository; none for another run.
pub(crate) fn ignored_files(run: &RunFolder) -> Option<IgnoredFiles> {
    let record = RunRecord::read(&run.record()).ok()?;
    let is_repository = record.request.workspace.is_copy_of_repository();
    is_repository.then(|| IgnoredFiles::of(&run.workspace()).ok()).flatten()
}

/// A file that was created in one of the attempts.
struct Created {
    /// None if it was deleted again.
    last: Option<FileVersion>,
    is_written: bool,
}

fn created(run: &RunFolder, attempts: RangeInclusive<u32>) -> Result<BTreeMap<Vec<u8>, Created>, PatchError> {
    let mut created: BTreeMap<Vec<u8>, Created> = BTreeMap::new();
    let mut count = 0;
    for number in attempts.map(AttemptNumber) {
        let Some(mut changes) = Changes::open(run, number)? else { continue };
        while let Some(WorkspaceChange { change, path, after, .. }) = changes.next_change()? {
            count += 1;
            if count > CHANGES_MAX {
                return Err(PatchError::TooMany);
            }
            let path = path.as_bytes();
            match change {
                ChangeKind::Created => {
                    created.insert(path.to_vec(), Created { last: after, is_written: false });
                }
                ChangeKind::Modified | ChangeKind::Deleted => {
                    if let Some(file) = created.get_mut(path) {
                        file.last = after;
                    }
                }
            }
        }
    }
    Ok(created)
}

struct Patch<'a, W> {
    out: &'a mut W,
    workspace: &'a Path,
    /// Bytes of created files that still fit.
    left: u64,
    report: PatchReport,
}

impl<W: Write> Patch<'_, W> {
    fn created(&mut self, path: &OsText, version: &FileVersion) -> Result<(), PatchError> {
        let content = match version.kind {
            FileKind::File => self.content(path, version),
            FileKind::Symlink => target(version),
            // Git has no folders.
            FileKind::Folder => return Ok(()),
            FileKind::Pipe | FileKind::Socket | FileKind::CharDevice | FileKind::BlockDevice | FileKind::Unknown => {
                Err(special(version))
            }
        };
        match content {
            Err(why) => self.omit(path, why),
            Ok(content) => {
                let mode = git_mode(version);
                let head = format!("new file mode {mode}\n");
                self.file(path, &head, Side::None, Side::Path, &whole(&content, b'+'))?;
            }
        }
        Ok(())
    }

    /// The content of a created file, if the workspace still has it.
    fn content(&mut self, path: &OsText, version: &FileVersion) -> Result<Vec<u8>, String> {
        let (Some(size), Some(hash)) = (version.size, &version.hash) else {
            return Err(NO_HASH.to_owned());
        };
        if size > CREATED_MAX {
            return Err(format!("it has more than {CREATED_MAX} bytes"));
        }
        if size > self.left {
            return Err(format!("all created files have more than {ALL_CREATED_MAX} bytes"));
        }
        let unchanged = open_unchanged(self.workspace, path.as_path(), size, hash).map_err(|why| why.to_string())?;
        let mut content = Vec::new();
        unchanged.file.take(size).read_to_end(&mut content).map_err(|error| error.to_string())?;
        match blake3::hash(&content).to_hex().as_str() == hash {
            true if content.contains(&0) => Err("it is binary".to_owned()),
            true => {
                self.left -= size;
                Ok(content)
            }
            false => Err("it has changed since the run made it".to_owned()),
        }
    }

    fn modified(&mut self, change: &WorkspaceChange) -> Result<(), PatchError> {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(()) };
        let (old_mode, new_mode) = (git_mode(before), git_mode(after));
        let modes =
            if old_mode == new_mode { String::new() } else { format!("old mode {old_mode}\nnew mode {new_mode}\n") };
        match (before.kind, after.kind) {
            (FileKind::Folder, FileKind::Folder) => Ok(()),
            (FileKind::File, FileKind::File) => match text_of(change) {
                Ok(None) if modes.is_empty() => Ok(()),
                Ok(None) => self.file(&change.path, &modes, Side::Path, Side::Path, b""),
                Ok(Some(text)) => self.file(&change.path, &modes, Side::Path, Side::Path, text.as_bytes()),
                Err(why) => {
                    self.omit(&change.path, why);
                    Ok(())
                }
            },
            (FileKind::Symlink, FileKind::Symlink) => match (target(before), target(after)) {
                (Ok(old), Ok(new)) => {
                    let mut hunk = b"@@ -1 +1 @@\n".to_vec();
                    for (sign, target) in [(b'-', old), (b'+', new)] {
                        hunk.extend(lines(&target, sign));
                    }
                    self.file(&change.path, "", Side::Path, Side::Path, &hunk)
                }
                (Err(why), _) | (_, Err(why)) => {
                    self.omit(&change.path, why);
                    Ok(())
                }
            },
            (before, after) => {
                self.omit(&change.path, format!("it was a {before} and is a {after} now"));
                Ok(())
            }
        }
    }

    fn deleted(&mut self, change: &WorkspaceChange) -> Result<(), PatchError> {
        let Some(before) = &change.before else { return Ok(()) };
        let hunk = match before.kind {
            FileKind::Folder => return Ok(()),
            FileKind::File if before.size == Some(0) => Ok(Vec::new()),
            FileKind::File => match text_of(change) {
                Ok(Some(text)) => Ok(text.as_bytes().to_vec()),
                Ok(None) => Err("its old content was not recorded".to_owned()),
                Err(why) => Err(why),
            },
            FileKind::Symlink => target(before).map(|target| whole(&target, b'-')),
            FileKind::Pipe | FileKind::Socket | FileKind::CharDevice | FileKind::BlockDevice | FileKind::Unknown => {
                Err(special(before))
            }
        };
        match hunk {
            Ok(hunk) => {
                let head = format!("deleted file mode {}\n", git_mode(before));
                self.file(&change.path, &head, Side::Path, Side::None, &hunk)?;
            }
            Err(why) => self.omit(&change.path, why),
        }
        Ok(())
    }

    /// One file of the patch. Without a hunk only the mode changes, or the file is empty.
    fn file(&mut self, path: &OsText, head: &str, old: Side, new: Side, hunk: &[u8]) -> Result<(), PatchError> {
        let (a, b) = (quoted(b"a/", path.as_bytes()), quoted(b"b/", path.as_bytes()));
        write!(self.out, "diff --git {a} {b}\n{head}")?;
        if !hunk.is_empty() {
            let side = |side: Side, path: &str| match side {
                Side::Path => path.to_owned(),
                Side::None => "/dev/null".to_owned(),
            };
            write!(self.out, "--- {}\n+++ {}\n", side(old, &a), side(new, &b))?;
            self.out.write_all(hunk)?;
        }
        self.report.files += 1;
        Ok(())
    }

    fn omit(&mut self, path: &OsText, why: String) {
        self.report.omitted.push(OmittedChange { path: path.clone(), why });
    }
}

/// Whether a file exists on one side of a patch.
#[derive(Debug, Clone, Copy)]
enum Side {
    Path,
    None,
}

/// The recorded difference. None if the content did not change.
fn text_of(change: &WorkspaceChange) -> Result<Option<&str>, String> {
    match (&change.diff, &change.diff_omitted) {
        (Some(_), _) if change.diff_masked => Err("it has a secret in it, which is masked".to_owned()),
        (Some(text), _) => Ok(Some(text)),
        (None, Some(why)) => Err(format!("its text was not recorded: {}", why.replace('_', " "))),
        (None, None) => Ok(None),
    }
}

pub(crate) fn target(version: &FileVersion) -> Result<Vec<u8>, String> {
    let target = version.target.as_ref().ok_or_else(|| "it is a link whose target could not be read".to_owned())?;
    Ok(target.as_path().as_os_str().as_bytes().to_vec())
}

fn special(version: &FileVersion) -> String {
    format!("it is a {}", version.kind)
}

/// Git knows files that can be executed, files that cannot, and links.
fn git_mode(version: &FileVersion) -> &'static str {
    let bits = version.mode.as_deref().and_then(|mode| u32::from_str_radix(mode, 8).ok()).unwrap_or(0o644);
    match version.kind {
        FileKind::Symlink => "120000",
        FileKind::File
        | FileKind::Folder
        | FileKind::Pipe
        | FileKind::Socket
        | FileKind::CharDevice
        | FileKind::BlockDevice
        | FileKind::Unknown => {
            if bits & 0o111 == 0 {
                "100644"
            } else {
                "100755"
            }
        }
    }
}

/// The hunk that adds or removes a whole content; empty for an empty one.
fn whole(content: &[u8], sign: u8) -> Vec<u8> {
    if content.is_empty() {
        return Vec::new();
    }
    let count = content.split_inclusive(|byte| *byte == b'\n').count();
    let range = if count == 1 { "1".to_owned() } else { format!("1,{count}") };
    let mut hunk = match sign {
        b'+' => format!("@@ -0,0 +{range} @@\n"),
        _ => format!("@@ -{range} +0,0 @@\n"),
    }
    .into_bytes();
    hunk.extend(lines(content, sign));
    hunk
}

fn lines(content: &[u8], sign: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(content.len() + 64);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        text.push(sign);
        text.extend_from_slice(line);
    }
    if !content.ends_with(b"\n") {
        text.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    text
}

/// A path as git writes it: with a byte that is not plain, the whole name is quoted as in C.
fn quoted(prefix: &[u8], path: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@%=,:~".contains(byte);
    let name = [prefix, path].concat();
    if path.iter().all(is_plain) {
        return String::from_utf8_lossy(&name).into_owned();
    }
    let mut text = String::from("\"");
    for byte in name {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}
