//! Unpacks a package that was found harmless, or copies a folder.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use zip::ZipReadOptions;

use super::error::{ArchiveError, ArchiveErrorKind, EntryProblem};
use super::folder::Held;
use super::plan::{Archive, Plan, PlannedFile, plan};
use crate::copy::{SkillCopy, write_new};
use crate::error::SkillError;
use crate::package::{Skill, name};

/// What to do if a skill of the same name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Replace,
}

#[derive(Debug)]
pub struct InstalledSkill {
    pub skill: Skill,
    pub replaced: bool,
}

/// Installs the skill in a zip file into a folder of skills, which is created if it is missing.
pub fn install(package: &Path, folder: &Path, existing: Existing) -> Result<InstalledSkill, ArchiveError> {
    let mut plan = plan(package).map_err(|kind| ArchiveError::new(package, kind))?;
    let top = plan.top.clone();
    install_from(package, top.as_deref(), folder, existing, |new| {
        unpack(&mut plan, new).map_err(|kind| ArchiveError::new(package, kind))
    })
}

/// Installs a copy of the skill in a folder. Nothing in it is run.
pub fn install_folder(source: &Path, folder: &Path, existing: Existing) -> Result<InstalledSkill, ArchiveError> {
    let bad = |error: SkillError| ArchiveError::new(error.path, ArchiveErrorKind::BadSkill(error.kind.into()));
    // Before anything is created. A path such as "." has a name only when it is resolved.
    Skill::load(source).map_err(bad)?;
    let real = source.canonicalize().map_err(|error| ArchiveError::new(source, error))?;
    let name = real.file_name().and_then(|name| name.to_str());
    install_from(source, name, folder, existing, |new| SkillCopy::make(&real, new).map(drop).map_err(bad))
}

/// `name`: the name of the skill if it gives itself none. `write` makes the folder that becomes the skill.
fn install_from(
    source: &Path,
    name: Option<&str>,
    folder: &Path,
    existing: Existing,
    write: impl FnOnce(&Path) -> Result<(), ArchiveError>,
) -> Result<InstalledSkill, ArchiveError> {
    let made = !folder.exists();
    let in_folder = |error: io::Error| ArchiveError::new(folder, error);
    fs::create_dir_all(folder).map_err(in_folder)?;
    let held = Held::take(folder).map_err(in_folder)?;
    let installed = write(&held.new_folder()).and_then(|()| place(&held, source, name, folder, existing));
    if installed.is_err() {
        fs::remove_dir_all(held.new_folder()).ok();
        if made {
            // Fails if the folder is not empty, which is intended.
            fs::remove_dir(folder).ok();
        }
    }
    installed
}

/// Checks the skill that was written, and moves it to its place.
fn place(
    held: &Held,
    source: &Path,
    name: Option<&str>,
    folder: &Path,
    existing: Existing,
) -> Result<InstalledSkill, ArchiveError> {
    let refused = |kind| ArchiveError::new(source, kind);
    let new = held.new_folder();
    let skill = Skill::load(&new).map_err(|error| {
        let file = error.path.strip_prefix(&new).unwrap_or(&error.path).to_owned();
        refused(ArchiveErrorKind::BadSkill(SkillError::new(file, error.kind).into()))
    })?;
    let own = skill.front_matter.name.as_deref();
    let usable = [own, name].into_iter().flatten().find(|name| name::check(name).is_ok());
    let name = usable.ok_or_else(|| refused(ArchiveErrorKind::NoName))?;
    let place = folder.join(name);
    let replaced = match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(ArchiveError::new(place, error)),
        Ok(about) => match existing {
            Existing::Refuse => return Err(ArchiveError::new(folder, ArchiveErrorKind::Exists(name.to_owned()))),
            Existing::Replace if about.is_dir() => true,
            Existing::Replace => {
                return Err(ArchiveError::new(folder, ArchiveErrorKind::InTheWay(name.to_owned())));
            }
        },
    };
    let root = held.place(name).map_err(|e| ArchiveError::new(&place, e))?;
    // Again, because only now it has the name that is checked.
    let skill = Skill::load(&root)
        .map_err(|error| ArchiveError::new(error.path, ArchiveErrorKind::BadSkill(error.kind.into())))?;
    Ok(InstalledSkill { skill, replaced })
}

fn unpack(plan: &mut Plan, target: &Path) -> Result<(), ArchiveErrorKind> {
    fs::create_dir(target)?;
    for folder in &plan.folders {
        fs::create_dir(target.join(folder))?;
    }
    for (path, file) in &plan.files {
        unpack_file(&mut plan.archive, path, file, target)?;
    }
    Ok(())
}

fn unpack_file(archive: &mut Archive, path: &Path, file: &PlannedFile, target: &Path) -> Result<(), ArchiveErrorKind> {
    let failed = |problem| ArchiveErrorKind::Entry { name: path.display().to_string(), problem };
    let damaged = |error: &dyn std::fmt::Display| failed(EntryProblem::Damaged(error.to_string()));
    // An entry has two headers, and a file with different values in them is meant to be read in different ways.
    let options = ZipReadOptions::new().enforce_header_consistency(true);
    let entry = archive.by_index_with_options(file.index, options).map_err(|e| damaged(&e))?;
    // The declared size was checked, so no more than that is written.
    let mut content = Watched { inner: entry.take(file.size + 1), read: 0, failed: None };
    let written = write_new(&target.join(path), file.executable, &mut content);
    if let Some(error) = content.failed {
        return Err(damaged(&error));
    }
    written?;
    if content.read == file.size { Ok(()) } else { Err(damaged(&"its size is not the declared size")) }
}

/// Keeps the errors of reading apart from those of writing: one is the package's fault, the other the disk's.
struct Watched<R> {
    inner: R,
    read: u64,
    failed: Option<String>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(read) => {
                self.read += read as u64;
                Ok(read)
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.failed = Some(error.to_string());
                }
                Err(error)
            }
        }
    }
}
