//! What is large in a folder: the files and folders that take most of its disk space.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillrun_collect::tree;

use crate::data_folder::RunFolder;

/// How deep a large file is searched.
const DEPTH_MAX: usize = 6;

/// What a part of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPart {
    Workspace,
    /// HOME of the engine.
    Home,
    Evidence,
    /// The Log, and views of it.
    Log,
    Skill,
    Inputs,
    /// Disk space for the last events.
    Reserve,
    Other,
}

/// A file, or a folder none of whose entries is more than half of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargePart {
    pub part: RunPart,
    /// Relative to the folder of the run.
    pub path: PathBuf,
    pub bytes: u64,
}

/// The parts of a run, the largest first. Links are not followed.
pub fn large_parts(folder: &RunFolder) -> io::Result<Vec<LargePart>> {
    let root = folder.root();
    let mut parts = Vec::new();
    for (path, bytes) in sized_entries(root)? {
        let part = part_of(folder, &path);
        let (path, bytes) = heaviest(path, bytes);
        let path = path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
        parts.push(LargePart { part, path, bytes });
    }
    parts.sort_by(|one, other| (Reverse(one.bytes), &one.path).cmp(&(Reverse(other.bytes), &other.path)));
    Ok(parts)
}

/// The largest entry of a folder, other than those that are left out, and its size.
pub fn largest_entry(folder: &Path, is_left_out: impl Fn(&OsStr) -> bool) -> io::Result<Option<(PathBuf, u64)>> {
    let entries = sized_entries(folder)?.into_iter();
    let counted = entries.filter(|(path, _)| !path.file_name().is_some_and(&is_left_out));
    let largest = counted.max_by(|one, other| (one.1, &other.0).cmp(&(other.1, &one.0)));
    Ok(largest.map(|(path, bytes)| (path.strip_prefix(folder).map(Path::to_owned).unwrap_or(path), bytes)))
}

fn part_of(folder: &RunFolder, path: &Path) -> RunPart {
    let parts = [
        (folder.workspace(), RunPart::Workspace),
        (folder.home(), RunPart::Home),
        (folder.audit(), RunPart::Evidence),
        (folder.events(), RunPart::Log),
        (folder.fcmp(), RunPart::Log),
        (folder.diagnostics(), RunPart::Log),
        (folder.skill(), RunPart::Skill),
        (folder.inputs(), RunPart::Inputs),
        (folder.reserve(), RunPart::Reserve),
    ];
    parts.into_iter().find(|(known, _)| known == path).map_or(RunPart::Other, |(_, part)| part)
}

/// Goes down while one entry is more than half of a folder.
fn heaviest(mut path: PathBuf, mut bytes: u64) -> (PathBuf, u64) {
    for _ in 0..DEPTH_MAX {
        let entries = sized_entries(&path).unwrap_or_default();
        let Some(largest) = entries.into_iter().max_by_key(|(_, bytes)| *bytes) else { break };
        if largest.1 <= bytes / 2 {
            break;
        }
        (path, bytes) = largest;
    }
    (path, bytes)
}

/// The entries of a folder, and their sizes; none of what is not a folder.
fn sized_entries(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Ok(Vec::new());
    }
    let mut sized = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let bytes = tree::disk_bytes(&path)?;
        sized.push((path, bytes));
    }
    Ok(sized)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, kilobytes: usize) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, vec![b'x'; kilobytes << 10]).expect("written");
    }

    #[test]
    fn the_largest_parts_are_named_with_what_they_are() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        write(root, "workspace/project/node_modules/big/blob", 900);
        write(root, "workspace/project/src/a", 64);
        write(root, ".audit/stdout.1.log", 500);
        write(root, ".audit/stderr.1.log", 16);
        write(root, "inputs/one", 50);
        write(root, "inputs/two", 50);
        for cache in 0..4 {
            write(root, &format!("home/.cache/{cache}"), 100);
        }
        write(root, "events.jsonl", 8);
        // What a link leads to is not a part of the run.
        std::os::unix::fs::symlink(root.join("workspace"), root.join("skill")).expect("a link");
        let parts = large_parts(&RunFolder::at(root)).expect("measured");
        let found: Vec<(RunPart, &str)> =
            parts.iter().take(4).map(|part| (part.part, part.path.to_str().expect("text"))).collect();
        let expected = [
            (RunPart::Workspace, "workspace/project/node_modules/big/blob"),
            (RunPart::Evidence, ".audit/stdout.1.log"),
            (RunPart::Home, "home/.cache"),
            // No file is more than half of it.
            (RunPart::Inputs, "inputs"),
        ];
        assert_eq!(found, expected);
        assert!(parts[0].bytes >= 900 << 10 && parts[2].bytes >= 400 << 10, "{parts:?}");
        assert!(parts.iter().any(|part| part.part == RunPart::Log));
        let other = largest_entry(root, |name| name == "workspace").expect("measured").expect("an entry");
        assert_eq!(other.0, Path::new(".audit"));
    }

    #[test]
    fn a_missing_folder_is_an_error_and_an_empty_one_has_no_parts() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(large_parts(&RunFolder::at(root.path())).expect("measured"), []);
        assert_eq!(largest_entry(root.path(), |_| false).expect("measured"), None);
        assert!(large_parts(&RunFolder::at(root.path().join("none"))).is_err());
    }
}
