//! The patch of a copy, as an artifact of the run: what all its attempts changed so far.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use skillrun_base::files::{PRIVATE_FILE, PRIVATE_FOLDER};
use skillrun_model::rasp::data::{ArtifactCreated, ArtifactIndexed, FileChange};
use skillrun_model::{AttemptNumber, RunId};

use super::{PATCH_ROLE, patch_path};
use crate::artifacts;
use crate::data_folder::RunFolder;
use crate::patch::{self, PatchError, PatchReport};

/// Changes that the patch lacks and names.
const OMITTED_NAMED: usize = 100;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Writes the patch of a copy after an attempt, and returns its artifact. None: nothing was changed. The workspace is
/// the engine's, so that no link in it is followed.
pub fn write_patch(
    run: &RunFolder,
    run_id: RunId,
    last: AttemptNumber,
) -> Result<Option<(ArtifactCreated, ArtifactIndexed)>, PatchError> {
    let path = patch_path(run_id);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let part = format!(".{name}.part");
    let root = rustix::fs::open(run.workspace(), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let root = root.map_err(io::Error::from)?;
    match mkdirat(&root, artifacts::FOLDER, Mode::from_raw_mode(PRIVATE_FOLDER)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(io::Error::from(errno).into()),
    }
    let folder = openat(&root, artifacts::FOLDER, FOLDER, Mode::empty()).map_err(io::Error::from)?;
    let remove = |name: &str| match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(io::Error::from(errno)),
    };
    // Left by an owner that was killed.
    remove(&part)?;
    let file =
        File::from(openat(&folder, part.as_str(), NEW, Mode::from_raw_mode(PRIVATE_FILE)).map_err(io::Error::from)?);
    let mut out = Hashed { out: io::BufWriter::new(file), hasher: blake3::Hasher::new(), size: 0 };
    let written = patch::write(run, 1..=last.0, &mut out).and_then(|report| {
        write_omitted(&report, &mut out)?;
        out.flush()?;
        Ok(report)
    });
    match written {
        Ok(report) if report.files > 0 || !report.omitted.is_empty() => {}
        Ok(_) => {
            remove(&part)?;
            return Ok(None);
        }
        Err(error) => {
            remove(&part)?;
            return Err(error);
        }
    }
    renameat(&folder, part.as_str(), &folder, name).map_err(io::Error::from)?;
    let change = if last.0 > 1 { FileChange::Modified } else { FileChange::Created };
    let indexed = ArtifactIndexed {
        path: path.clone(),
        size: out.size,
        hash: out.hasher.finalize().to_hex().to_string(),
        media_type: "text/x-diff".to_owned(),
        role: Some(PATCH_ROLE.to_owned()),
    };
    Ok(Some((ArtifactCreated { path, change }, indexed)))
}

/// Names the changes that the patch lacks behind it, where git does not read them.
fn write_omitted(report: &PatchReport, out: &mut impl Write) -> io::Result<()> {
    if report.omitted.is_empty() {
        return Ok(());
    }
    writeln!(out, "# Not in this patch; `skillrun apply` applies those that are files:")?;
    for omitted in report.omitted.iter().take(OMITTED_NAMED) {
        let line = format!("{}: {}", omitted.path.as_path().display(), omitted.why);
        let line: String = line.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
        writeln!(out, "#   {line}")?;
    }
    match report.omitted.len().saturating_sub(OMITTED_NAMED) {
        0 => Ok(()),
        more => writeln!(out, "#   and {more} more"),
    }
}

/// A file, its size and its hash.
struct Hashed {
    out: io::BufWriter<File>,
    hasher: blake3::Hasher,
    size: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
