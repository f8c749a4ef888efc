//! Files that git ignores: the rules of `.git/info/exclude`, and of the `.gitignore` in each folder.
//!
//! The last rule of the deepest file decides, and nothing below an ignored folder is looked at. Files of rules are
//! bounded: they may come from anywhere.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skillrun_base::files::{self, SymbolicLinks};

use crate::artifacts::Root;

/// Largest file of rules.
pub(super) const RULES_MAX: u64 = 64 << 10;

/// Folders whose rules are kept.
const FOLDERS_MAX: usize = 10_000;

/// The rules of one folder.
#[derive(Debug)]
pub(super) struct Rules {
    /// The length of the path of the folder.
    folder_len: usize,
    rules: Gitignore,
}

impl Rules {
    /// `folder_len`: the length of the path of the folder that has them. A line that is not a pattern has no effect, as
    /// in git.
    pub(super) fn new(folder_len: usize, text: &[u8]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(text).lines() {
            builder.add_line(None, line).ok();
        }
        Self { folder_len, rules: builder.build().unwrap_or_else(|_| Gitignore::empty()) }
    }
}

/// Whether the last rule for a path ignores it. `rules`: those of the folders above it, from the top.
pub(super) fn is_ignored<'a>(rules: impl DoubleEndedIterator<Item = &'a Rules>, path: &[u8], is_folder: bool) -> bool {
    for level in rules.rev() {
        let begin = if level.folder_len == 0 { 0 } else { level.folder_len + 1 };
        let Some(below) = path.get(begin..) else { continue };
        match level.rules.matched(Path::new(OsStr::from_bytes(below)), is_folder) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}

/// The ignored files of a copy, path by path.
#[derive(Debug)]
pub(crate) struct IgnoredFiles {
    root: Root,
    /// Those of `info/exclude` first.
    exclude: Rules,
    /// By the path of their folder; none without a file.
    folders: BTreeMap<Vec<u8>, Option<Rules>>,
}

impl IgnoredFiles {
    pub(crate) fn of(workspace: &Path) -> io::Result<Self> {
        let exclude = files::open(&workspace.join(".git/info/exclude"), SymbolicLinks::Refused)
            .and_then(|file| files::read_open(&file, RULES_MAX))
            .unwrap_or_default();
        let root = Root::open(workspace)?;
        Ok(Self { root, exclude: Rules::new(0, &exclude), folders: BTreeMap::new() })
    }

    /// Whether git ignores a file or link that it does not track.
    pub(crate) fn contains(&mut self, path: &[u8]) -> bool {
        let ends: Vec<usize> = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).collect();
        let mut above: Vec<Vec<u8>> = vec![Vec::new()];
        self.load(&[]);
        for end in ends.into_iter().chain([path.len()]) {
            let part = &path[..end];
            let levels = above.iter().filter_map(|folder| self.folders.get(folder)?.as_ref());
            let levels: Vec<&Rules> = [&self.exclude].into_iter().chain(levels).collect();
            if is_ignored(levels.into_iter(), part, end < path.len()) {
                return true;
            }
            if end < path.len() {
                self.load(part);
                above.push(part.to_vec());
            }
        }
        false
    }

    fn load(&mut self, folder: &[u8]) {
        if self.folders.contains_key(folder) {
            return;
        }
        if self.folders.len() >= FOLDERS_MAX {
            self.folders.clear();
        }
        let file = Path::new(OsStr::from_bytes(folder)).join(".gitignore");
        let text = self.root.file(&file).ok().and_then(|file| files::read_open(&file, RULES_MAX).ok());
        self.folders.insert(folder.to_vec(), text.map(|text| Rules::new(folder.len(), &text)));
    }
}
