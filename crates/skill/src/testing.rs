//! Folders for tests, removed when they go out of scope.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

pub(crate) const GOOD_HEAD: &str = "---\nname: demo\ndescription: Does a demonstration.\n---\n";

#[derive(Debug)]
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A skill without a fault in this folder; the last part of the path is its name.
    pub(crate) fn skill(path: &str) -> Self {
        Self::new().with_skill(path)
    }

    pub(crate) fn with_skill(self, path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: Does a demonstration.\n---\n# Steps\n\nDo it.\n");
        self.with(&format!("{path}/SKILL.md"), text)
    }

    pub(crate) fn with(self, path: &str, text: impl AsRef<str>) -> Self {
        self.with_bytes(path, text.as_ref().as_bytes())
    }

    pub(crate) fn with_bytes(self, path: &str, bytes: &[u8]) -> Self {
        let path = self.made(path);
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn with_link(self, path: &str, target: impl AsRef<Path>) -> Self {
        symlink(target, self.made(path)).unwrap();
        self
    }

    pub(crate) fn with_mode(self, path: &str, mode: u32) -> Self {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    fn made(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Everything in it: content of files, targets of links, and modes.
    pub(crate) fn photo(&self) -> BTreeMap<PathBuf, String> {
        photo(self.path())
    }
}

pub(crate) fn photo(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let mode = about.permissions().mode() & 0o7777;
            let what = if about.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if about.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if about.is_file() {
                format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            } else {
                "special".to_owned()
            };
            seen.insert(path.strip_prefix(root).unwrap().to_owned(), what);
        }
    }
    seen
}
