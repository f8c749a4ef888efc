//! The copy of a skill inside a run. It alone is patched, and only through [`SkillCopy`].
//!
//! Files keep their content and their executable bit. A link is copied as a link if it stays inside the skill by its
//! text and by its target, and refused otherwise: in the copy it would lead somewhere else, or out to files that the
//! skill's author never had. Nothing that exists is overwritten, and a copy that fails leaves nothing behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use crate::error::{SkillError, SkillErrorKind};
use crate::package::tree::{self, BYTES_MAX, Entry, EntryKind};

/// The file of a skill that is patched in a copy.
const SKILL_FILE: &str = "SKILL.md";

/// Number of bytes of a file that are compared at once.
const COMPARED_AT_ONCE: u64 = 64 * 1024;

/// A copy of a skill that may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCopy {
    root: PathBuf,
}

impl SkillCopy {
    /// Copies the skill in `source` to `target`, which must not exist.
    pub fn make(source: &Path, target: &Path) -> Result<Self, SkillError> {
        let entries = tree::walk(source)?;
        check(source, &entries)?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|e| SkillError::new(parent, e))?;
        }
        // The folder is new: `create_dir` fails for anything that exists, even a dangling link.
        fs::create_dir(target).map_err(|e| SkillError::new(target, or_exists(e)))?;
        let copied = copy_all(source, target, &entries);
        if copied.is_err() {
            fs::remove_dir_all(target).ok();
        }
        copied.map(|()| Self { root: target.to_owned() })
    }

    /// The copy that an earlier process made here.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the files that are the same in `source`, of which this is a copy, and folders that are empty then.
    /// `SKILL.md` stays, because it is patched, and so does everything that was changed or added.
    pub fn remove_unchanged(&self, source: &Path) -> Result<(), SkillError> {
        // An engine may have put a link in the place of a folder; what it leads to is not a part of the copy.
        let mut folders = vec![PathBuf::new()];
        for Entry { path, kind } in tree::walk(source)? {
            if path == Path::new(SKILL_FILE) || path.parent().is_none_or(|parent| !folders.iter().any(|f| f == parent))
            {
                continue;
            }
            let copy = self.root.join(&path);
            let Ok(found) = fs::symlink_metadata(&copy) else { continue };
            let is_same = match &kind {
                EntryKind::Folder => {
                    if found.is_dir() {
                        folders.push(path);
                    }
                    false
                }
                EntryKind::File { size, .. } => {
                    found.is_file() && found.len() == *size && have_same_bytes(&copy, &source.join(&path))
                }
                EntryKind::Link { target } => fs::read_link(&copy).is_ok_and(|found| found == *target),
                EntryKind::Special => false,
            };
            if is_same {
                fs::remove_file(&copy).map_err(|error| SkillError::new(&copy, error))?;
            }
        }
        for folder in folders.iter().skip(1).rev() {
            // One that is not empty stays.
            fs::remove_dir(self.root.join(folder)).ok();
        }
        Ok(())
    }
}

/// Whether two files have the same content. One that cannot be read has not.
fn have_same_bytes(one: &Path, other: &Path) -> bool {
    let same = || -> io::Result<bool> {
        let (mut one, mut other) = (File::open(one)?, File::open(other)?);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        loop {
            (&mut one).take(COMPARED_AT_ONCE).read_to_end(&mut left)?;
            (&mut other).take(COMPARED_AT_ONCE).read_to_end(&mut right)?;
            if left != right || left.is_empty() {
                return Ok(left == right);
            }
            left.clear();
            right.clear();
        }
    };
    same().unwrap_or(false)
}

/// Checks whether a skill can be copied.
pub fn check_copyable(source: &Path) -> Result<(), SkillError> {
    check(source, &tree::walk(source)?)
}

fn check(source: &Path, entries: &[Entry]) -> Result<(), SkillError> {
    for entry in entries {
        let failed = |kind| Err(SkillError::new(source.join(&entry.path), kind));
        match &entry.kind {
            EntryKind::Folder | EntryKind::File { .. } => {}
            EntryKind::Special => return failed(SkillErrorKind::Special),
            EntryKind::Link { target } => match where_to(source, &entry.path, target) {
                Leads::Inside => {}
                Leads::Out => return failed(SkillErrorKind::LinkOut(target.clone())),
                Leads::Nowhere => return failed(SkillErrorKind::LinkBroken(target.clone())),
            },
        }
    }
    Ok(())
}

enum Leads {
    Inside,
    Out,
    Nowhere,
}

fn where_to(root: &Path, link: &Path, target: &Path) -> Leads {
    // By its text: a path that leads out and back in again leads out.
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(name) if name == ".git" => return Leads::Out,
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return Leads::Out,
            },
            Component::RootDir | Component::Prefix(_) => return Leads::Out,
        }
    }
    // And by its target: the path may go through other links.
    match (root.canonicalize(), root.join(link).canonicalize()) {
        (Ok(root), Ok(end)) if end.starts_with(&root) => Leads::Inside,
        (Ok(_), Ok(_)) => Leads::Out,
        (Ok(_) | Err(_), Err(_)) | (Err(_), Ok(_)) => Leads::Nowhere,
    }
}

fn copy_all(source: &Path, target: &Path, entries: &[Entry]) -> Result<(), SkillError> {
    let mut left = BYTES_MAX;
    for entry in entries {
        let to = target.join(&entry.path);
        let failed = |error: io::Error| SkillError::new(&to, or_exists(error));
        match &entry.kind {
            EntryKind::Folder => fs::create_dir(&to).map_err(failed)?,
            EntryKind::Link { target } => symlink(target, &to).map_err(failed)?,
            EntryKind::File { executable, .. } => {
                let from = source.join(&entry.path);
                let file = File::open(&from).map_err(|e| SkillError::new(&from, e))?;
                // It may have grown since it was counted.
                let copied = write_new(&to, *executable, &mut file.take(left + 1)).map_err(failed)?;
                left = left
                    .checked_sub(copied)
                    .ok_or_else(|| SkillError::new(source, SkillErrorKind::TooMuchData(BYTES_MAX)))?;
            }
            EntryKind::Special => return Err(SkillError::new(source.join(&entry.path), SkillErrorKind::Special)),
        }
    }
    Ok(())
}

/// Writes a file that must not exist.
pub(crate) fn write_new(path: &Path, executable: bool, from: &mut impl Read) -> io::Result<u64> {
    let mode = if executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let copied = io::copy(from, &mut file)?;
    file.flush()?;
    Ok(copied)
}

pub(crate) fn or_exists(error: io::Error) -> SkillErrorKind {
    if error.kind() == ErrorKind::AlreadyExists { SkillErrorKind::Exists } else { SkillErrorKind::Io(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, photo};
    use std::os::unix::net::UnixListener;

    fn copy(folder: &Folder) -> Result<SkillCopy, SkillError> {
        SkillCopy::make(&folder.at("demo"), &folder.at("run/skills/demo"))
    }

    #[test]
    fn everything_is_copied() {
        let folder = Folder::skill("demo")
            .with("demo/scripts/go.sh", "#!/bin/sh\n")
            .with_mode("demo/scripts/go.sh", 0o755)
            .with("demo/readonly", "x")
            .with_mode("demo/readonly", 0o644)
            .with_link("demo/link", "scripts/go.sh")
            .with_link("demo/scripts/up", "../SKILL.md")
            .with_link("demo/folder", "scripts")
            .with("demo/.git/HEAD", "x");
        fs::create_dir(folder.at("demo/empty")).unwrap();
        let mut expected = photo(&folder.at("demo"));
        expected.retain(|path, _| !path.starts_with(".git"));
        let copy = copy(&folder).unwrap();
        assert_eq!(photo(copy.root()), expected);
    }

    #[test]
    fn a_copy_of_a_read_only_skill_is_writable() {
        let folder = Folder::skill("demo").with_mode("demo/SKILL.md", 0o444);
        let copy = copy(&folder).unwrap();
        assert!(!copy.root().join("SKILL.md").metadata().unwrap().permissions().readonly());
    }

    #[test]
    fn what_leads_out_is_refused_and_nothing_is_left() {
        let outside = Folder::new().with("secret", "x");
        let cases: Vec<(Folder, &str)> = vec![
            (
                Folder::skill("demo").with_link("demo/l", "/etc/passwd"),
                "demo/l: is a link to /etc/passwd, which is out",
            ),
            (Folder::skill("demo").with_link("demo/l", outside.path()), "which is outside"),
            (Folder::skill("demo").with_link("demo/a/l", "../../demo/SKILL.md"), "which is outside"),
            (Folder::skill("demo").with("other", "").with_link("demo/l", "../other"), "which is outside"),
            // Inside by its words, but what it goes through is a link to the top, and from there it is one up.
            (
                Folder::skill("demo")
                    .with("other", "")
                    .with_link("demo/a/b/c/top", "../../..")
                    .with_link("demo/l", "a/b/c/top/../other"),
                "demo/l: is a link to a/b/c/top/../other, which is outside",
            ),
            (Folder::skill("demo").with_link("demo/l", "none"), "demo/l: is a link to none, which does not exist"),
            (Folder::skill("demo").with_link("demo/l", "l"), "which does not exist"),
            (Folder::skill("demo").with("demo/.git/x", "").with_link("demo/l", ".git/x"), "which is outside"),
        ];
        for (folder, expected) in cases {
            let error = copy(&folder).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\n{expected}");
            assert!(!folder.at("run").exists(), "{expected}");
            assert!(check_copyable(&folder.at("demo")).is_err());
        }
    }

    #[test]
    fn what_is_neither_file_nor_folder_is_refused() {
        let folder = Folder::skill("demo");
        let _listener = UnixListener::bind(folder.at("demo/socket")).unwrap();
        let error = copy(&folder).unwrap_err();
        assert!(matches!(error.kind, SkillErrorKind::Special), "{error}");
    }

    #[test]
    fn nothing_that_exists_is_touched() {
        let folder = Folder::skill("demo").with("run/skills/demo/mine.txt", "mine").with_link("nowhere", "gone");
        let before = folder.photo();
        assert!(matches!(copy(&folder).unwrap_err().kind, SkillErrorKind::Exists));
        let over_a_link = SkillCopy::make(&folder.at("demo"), &folder.at("nowhere")).unwrap_err();
        assert!(matches!(over_a_link.kind, SkillErrorKind::Exists));
        assert_eq!(folder.photo(), before);
    }

    #[test]
    fn files_that_a_run_has_elsewhere_are_removed_from_a_copy() {
        let folder = Folder::skill("demo")
            .with("demo/assets/same", "same")
            .with("demo/assets/changed", "before")
            .with("demo/only/same", "same")
            .with("demo/linked/same", "same")
            .with_link("demo/link", "assets/same")
            .with("elsewhere/same", "same");
        let copy = copy(&folder).unwrap();
        fs::write(copy.root().join("SKILL.md"), "patched").unwrap();
        fs::write(copy.root().join("assets/changed"), "behind").unwrap();
        fs::write(copy.root().join("added"), "added").unwrap();
        fs::remove_dir_all(copy.root().join("linked")).unwrap();
        symlink(folder.at("elsewhere"), copy.root().join("linked")).unwrap();
        copy.remove_unchanged(&folder.at("demo")).unwrap();
        let mut left: Vec<_> = tree::walk(copy.root()).unwrap().into_iter().map(|entry| entry.path).collect();
        left.retain(|path| !copy.root().join(path).is_dir() || path == Path::new("linked"));
        let kept = ["SKILL.md", "added", "assets/changed", "linked"].map(PathBuf::from);
        assert_eq!(left, kept);
        assert!(!copy.root().join("only").exists(), "it was empty");
        assert!(folder.at("elsewhere/same").exists(), "a link is not followed");
    }

    #[test]
    fn too_much_is_refused() {
        let mut folder = Folder::skill("demo");
        let deep = format!("demo/{}x", "d/".repeat(tree::DEPTH_MAX + 1));
        folder = folder.with(&deep, "");
        assert!(matches!(copy(&folder).unwrap_err().kind, SkillErrorKind::TooDeep(_)));

        let folder = Folder::skill("demo");
        File::create(folder.at("demo/big")).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert!(matches!(copy(&folder).unwrap_err().kind, SkillErrorKind::TooMuchData(_)));

        let folder = Folder::skill("demo");
        for n in 0..=tree::FILES_MAX {
            File::create(folder.at(&format!("demo/{n}"))).unwrap();
        }
        assert!(matches!(copy(&folder).unwrap_err().kind, SkillErrorKind::TooManyFiles(_)));
    }

    /// Found out half-way: in the copy a path would be longer than the system allows.
    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let folder = Folder::skill("demo")
            .with(&format!("demo/{}/x", "z".repeat(250)), "x")
            .with(&format!("demo/{0}/{0}", "z".repeat(250)), "x");
        let target = folder.at(&format!("{}copy", format!("{}/", "d".repeat(200)).repeat(19)));
        let error = SkillCopy::make(&folder.at("demo"), &target).unwrap_err();
        assert!(matches!(error.kind, SkillErrorKind::Io(_)), "{error}");
        assert!(target.parent().unwrap().exists());
        assert!(!target.exists());
    }
}
