//! Copies of folders in which runs work apart from the folder of their parent, or of the user.
//!
//! - `walk`: what is copied, name by name, without following a link. `ignores`: `.gitignore` files. `repository`: a
//!   repository of git, and the `.git` of its copy. `index`: which files git tracks. `patch_file`: the patch of a copy.
//!
//! ```text
//! runs/RUN/workspace/   the copy          .git/objects/info/alternates   the objects of the repository, only read
//!                       artifacts/changes-RUN.patch   what the run changed in it, after each attempt
//! ```
//!
//! No program is started, and nothing of the repository decides what happens: hooks, configuration, filters and
//! alternates of a hostile repository are not part of a copy. In a repository the copy has what git would show: tracked
//! files as they are in the folder, and untracked files that are not ignored. Elsewhere it has every file.
//!
//! Never copied: `.git` of other repositories inside, `.audit`, the data folder, pipes, sockets and devices, links that
//! lead out of the folder, and settings of engines at the top that git does not track.

mod ignores;
mod index;
mod patch_file;
mod repository;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_evidence::OsText;
use skillrun_model::{Classified, ErrorClass, RunId, word_enum};

use crate::artifacts;
pub(crate) use ignores::IgnoredFiles;
pub use patch_file::write_patch;
use repository::Repository;
use walk::{Found, Kind, Walk};

/// Largest number of files, links and folders in a copy. Below the number of files that a snapshot hashes, so that each
/// change of a copy is known exactly.
const ENTRIES_MAX: u64 = 50_000;

/// Most bytes of the files of a copy; below those of a snapshot.
const BYTES_MAX: u64 = 1 << 30;

/// Entries without a place in the copy that are named.
const LEFT_OUT_NAMED: usize = 20;

/// How much is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyLimits {
    pub entries: u64,
    pub bytes: u64,
}

impl Default for CopyLimits {
    fn default() -> Self {
        Self { entries: ENTRIES_MAX, bytes: BYTES_MAX }
    }
}

word_enum! {
    /// What was copied.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub CopiedFrom {
        /// The top folder of a repository of git: without ignored files, and with a `.git` of its own.
        Repository = "repository",
        /// Another folder, with every file.
        Folder = "folder",
    }
}

/// A copy, as `run.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceCopy {
    /// The folder that was copied, absolute and without links.
    pub from: OsText,
    pub kind: CopiedFrom,
    /// Files and links.
    pub files: u64,
    pub bytes: u64,
    /// Entries that the copy lacks, other than ignored files; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// All of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_count: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// An entry that a copy lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    pub path: OsText,
    pub why: String,
}

/// Why a folder is not copied, in one sentence that names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{}", too_large(folder, &format!("more than {limit} files and folders")))]
    TooMany { folder: PathBuf, limit: u64 },
    #[error("{}", too_large(folder, &format!("more than {limit} bytes")))]
    TooLarge { folder: PathBuf, limit: u64 },
    #[error("{}: has folders that are nested too deep for a copy; use the workspace shared or own instead of copy", folder.display())]
    TooDeep { folder: PathBuf },
    #[error("{}: its repository cannot be copied, because {why}; use the workspace shared or own instead of copy", folder.display())]
    Repository { folder: PathBuf, why: String },
    #[error("{}: cannot be read ({error})", path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: cannot be written ({error})", path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

fn too_large(folder: &Path, what: &str) -> String {
    format!(
        "{}: has {what} that would be copied, which is too many for a copy; use the workspace shared, or own with what \
         the task needs in its prompt, instead of copy",
        folder.display()
    )
}

impl Classified for CopyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::TooMany { .. }
            | Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::Repository { .. }
            | Self::Read { .. } => ErrorClass::Usage,
            Self::Write { error, .. } => ErrorClass::of_io(error),
        }
    }
}

/// A folder to be copied.
#[derive(Debug, Clone, Copy)]
pub struct CopySource<'a> {
    /// Absolute and without links.
    pub folder: &'a Path,
    /// The data folder, which may be inside.
    pub data: &'a Path,
    pub limits: CopyLimits,
}

impl CopySource<'_> {
    /// Whether the folder can be copied, and how much it is. Reads no content and writes nothing.
    pub fn measure(&self) -> Result<WorkspaceCopy, CopyError> {
        let repository = Repository::find(self.folder)?;
        let mut bytes = 0_u64;
        let (files, mut copy) = self.walk(repository.as_ref(), &mut |found| {
            if let Kind::File { size, .. } = found.kind {
                bytes = bytes.saturating_add(size);
            }
            if bytes > self.limits.bytes { Err(self.too_large()) } else { Ok(Taken::Yes) }
        })?;
        (copy.files, copy.bytes) = (files, bytes);
        Ok(copy)
    }

    /// Copies the folder into one that does not exist, or is empty. Everything is on disk when this returns.
    pub fn make(&self, into: &Path) -> Result<WorkspaceCopy, CopyError> {
        let repository = Repository::find(self.folder)?;
        fs::create_dir_all(into).map_err(written(into))?;
        if let Some(repository) = &repository {
            repository.clone_into(into)?;
        }
        let (mut bytes, mut left_out) = (0_u64, Vec::new());
        let (files, mut copy) = self.walk(repository.as_ref(), &mut |found| {
            let to = into.join(found.path);
            match &found.kind {
                Kind::Folder { mode } => {
                    fs::create_dir(&to).map_err(written(&to))?;
                    // Its owner must be able to write into it.
                    fs::set_permissions(&to, Permissions::from_mode(mode & 0o777 | 0o700)).map_err(written(&to))?;
                }
                Kind::Link { target } => symlink(target, &to).map_err(written(&to))?,
                Kind::File { .. } => match found.open() {
                    Ok(file) => {
                        bytes += copy_file(file, &to, self.limits.bytes - bytes)?.ok_or_else(|| self.too_large())?;
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Taken::No),
                    Err(error) => {
                        left_out.push(LeftOut {
                            path: OsText::from(found.path),
                            why: format!("it cannot be read ({error})"),
                        });
                        return Ok(Taken::No);
                    }
                },
            }
            Ok(Taken::Yes)
        })?;
        sync(into).map_err(written(into))?;
        (copy.files, copy.bytes) = (files, bytes);
        copy.left_out_count += left_out.len() as u64;
        copy.left_out.extend(left_out);
        copy.left_out.truncate(LEFT_OUT_NAMED);
        Ok(copy)
    }

    /// The number of files and links, and what is known without their content.
    fn walk(
        &self,
        repository: Option<&Repository>,
        each: &mut dyn FnMut(Found<'_>) -> Result<Taken, CopyError>,
    ) -> Result<(u64, WorkspaceCopy), CopyError> {
        let mut files = 0;
        let mut walk = Walk::new(self, repository);
        walk.all(&mut |found| {
            let is_file = matches!(found.kind, Kind::File { .. } | Kind::Link { .. });
            if each(found)? == Taken::Yes && is_file {
                files += 1;
            }
            Ok(())
        })?;
        let (mut left_out, left_out_count) = walk.left_out();
        left_out.truncate(LEFT_OUT_NAMED);
        let kind = if repository.is_some() { CopiedFrom::Repository } else { CopiedFrom::Folder };
        let from = OsText::from(self.folder);
        Ok((files, WorkspaceCopy { from, kind, files: 0, bytes: 0, left_out, left_out_count }))
    }

    fn too_large(&self) -> CopyError {
        CopyError::TooLarge { folder: self.folder.to_owned(), limit: self.limits.bytes }
    }
}

/// Whether an entry is in the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

fn written(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |error| CopyError::Write { path, error }
}

/// The number of bytes. None: there are more than `left`, whatever its size was before.
fn copy_file(from: File, to: &Path, left: u64) -> Result<Option<u64>, CopyError> {
    let found = from.metadata().map_err(|error| CopyError::Read { path: to.to_owned(), error })?;
    let mut options = File::options();
    let mut copy = options.write(true).create_new(true).open(to).map_err(written(to))?;
    let bytes = io::copy(&mut (&from).take(left.saturating_add(1)), &mut copy).map_err(written(to))?;
    if bytes > left {
        return Ok(None);
    }
    let mode = found.permissions().mode() & 0o777 | 0o600;
    copy.set_permissions(Permissions::from_mode(mode)).map_err(written(to))?;
    // Build tools compare times.
    if let Ok(modified) = found.modified() {
        copy.set_modified(modified).map_err(written(to))?;
    }
    Ok(Some(bytes))
}

/// One call for the whole file system: a copy has many small files.
fn sync(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// The patches of all runs, as a rule of git.
const PATCHES: &str = "artifacts/changes-*.patch";

/// The role of the patch of a copy, among the artifacts of its run.
pub const PATCH_ROLE: &str = "patch";

/// The path of the patch with the changes of a copy, in its workspace. No other run has a file of that name.
pub fn patch_path(run: RunId) -> String {
    let id = run.to_string();
    format!("{}/changes-{}.patch", artifacts::FOLDER, id.rsplit('-').next().unwrap_or(&id))
}
