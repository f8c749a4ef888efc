//! The files of the web page, as Vite has built them in `web/dist`.
//!
//! A release build embeds them, so that a single file is installed. Other builds read the folder at each request: a
//! developer builds the page and reloads, and no test waits for the program to be linked again.

use std::fs;
use std::path::{Component, Path};

use rust_embed::RustEmbed;

use super::web::File;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Embedded;

/// One file by its path, such as `assets/index-1a2b.js`; none if the page was not built.
pub(super) fn file(path: &str) -> Option<File> {
    if cfg!(debug_assertions) { in_folder(Path::new(FOLDER), path) } else { embedded(path) }
}

fn embedded(path: &str) -> Option<File> {
    let found = Embedded::get(path)?;
    Some(File { bytes: found.data, hash: found.metadata.sha256_hash() })
}

/// Not by [`Embedded`], which finds nothing in a folder that was created after the program was built.
fn in_folder(folder: &Path, path: &str) -> Option<File> {
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let bytes = fs::read(folder.join(path)).ok()?;
    let hash = *blake3::hash(&bytes).as_bytes();
    Some(File { bytes: bytes.into(), hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_own_files_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let dist = root.path().join("dist");
        assert!(in_folder(&dist, "index.html").is_none(), "not built");
        fs::create_dir_all(dist.join("assets")).unwrap();
        fs::write(root.path().join("secret.txt"), "no").unwrap();
        for path in ["index.html", "assets/a.js"] {
            fs::write(dist.join(path), path).unwrap();
            assert_eq!(in_folder(&dist, path).map(|file| file.bytes.into_owned()), Some(path.into()));
        }
        let before = in_folder(&dist, "index.html").unwrap().hash;
        fs::write(dist.join("index.html"), "other").unwrap();
        assert_ne!(in_folder(&dist, "index.html").unwrap().hash, before, "built again");
        let outside = root.path().join("secret.txt");
        let outside = outside.to_str().unwrap();
        for path in ["", ".", "assets", "../secret.txt", "assets/../index.html", "assets/../../secret.txt", outside] {
            assert!(in_folder(&dist, path).is_none(), "{path}");
        }
    }
}
