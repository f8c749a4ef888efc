//! What a folder holds, to see that nothing was changed or left in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thing {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    Pipe,
    Other,
}

/// Things by their path.
pub(crate) type Photo = BTreeMap<PathBuf, Thing>;

/// Everything below a folder, by its path from there; links are not followed.
pub(crate) fn photo(root: &Path) -> Photo {
    let mut things = Photo::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let thing = thing(&path);
            if thing == Thing::Folder {
                folders.push(path.clone());
            }
            things.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), thing);
        }
    }
    things
}

fn thing(path: &Path) -> Thing {
    let Ok(about) = fs::symlink_metadata(path) else { return Thing::Other };
    let kind = about.file_type();
    if kind.is_dir() {
        Thing::Folder
    } else if kind.is_file() {
        Thing::File(fs::read(path).unwrap_or_default())
    } else if kind.is_symlink() {
        Thing::Link(fs::read_link(path).unwrap_or_default())
    } else if kind.is_fifo() {
        Thing::Pipe
    } else {
        Thing::Other
    }
}

/// Bytes of all files in a photo.
pub(crate) fn size(photo: &Photo) -> u64 {
    let bytes = |thing: &Thing| match thing {
        Thing::File(bytes) => bytes.len() as u64,
        Thing::Folder | Thing::Link(_) | Thing::Pipe | Thing::Other => 0,
    };
    photo.values().map(bytes).sum()
}

/// One sentence, of a readable length. Quoted text is cleaned by the code that shows it.
#[track_caller]
pub(crate) fn assert_sentence(words: &str) {
    assert!(!words.trim().is_empty(), "no word");
    let (count, begin) = (words.chars().count(), words.chars().take(200).collect::<String>());
    assert!(count < 3000, "{count} characters: {begin}");
}
