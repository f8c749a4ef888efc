//! Skills as folders: links, pipes, odd names, folders where files should be.
//!
//! Laws: read or refused in one sentence; no read blocks on a pipe; the source stays as it is; a copy lies where it was
//! asked for, holds no way out, and nothing else is written.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use skillrun_skill::{Skill, SkillCopy, validate};

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Material};
use crate::seeds;
use crate::tree::{self, Thing, assert_sentence};
use crate::words::{self, list};

#[derive(Debug, Clone)]
enum Made {
    File(Bytes),
    Link(String),
    Pipe,
    Folder,
}

#[derive(Debug, Clone)]
struct Tree(Vec<(Vec<u8>, Made)>);

impl Input for Tree {
    fn bytes(&self) -> Vec<u8> {
        format!("{self:#?}").into_bytes()
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let mut texts = seeds::files("examples", "SKILL.md");
    texts.extend(seeds::files("examples", "runner.json"));
    let material = Material::new(texts, words::YAML);
    let targets = "SKILL.md .. ../outside.txt /etc/passwd loop . nowhere a ../../../../../../etc \
        assets/../../outside.txt /dev/zero /proc/self/fd";
    let target = select(list(targets));
    let made = prop_oneof![
        5 => mutate::bytes(&material).prop_map(Made::File),
        3 => target.prop_map(|target| Made::Link(target.to_owned())),
        1 => Just(Made::Pipe),
        1 => Just(Made::Folder),
    ];
    let part =
        select(vec!["SKILL.md", "assets", "runner.json", "a", "b", "loop", "o.json", ".git", "é\u{301}", "-rf", " "]);
    let named = vec(part, 1..4).prop_map(|parts| parts.join("/").into_bytes());
    let name = prop_oneof![
        3 => Just(b"SKILL.md".to_vec()),
        3 => Just(b"assets/runner.json".to_vec()),
        6 => named,
        1 => vec(1..255u8, 1..9),
        1 => (1..80usize).prop_map(|depth| vec!["d"; depth].join("/").into_bytes()),
    ];
    vec((name, made), 0..8).prop_map(Tree)
}

/// Makes what can be made; what is in the way of something stays.
fn make(root: &Path, tree: &Tree) {
    fs::create_dir_all(root).expect("a folder");
    for (name, made) in &tree.0 {
        let relative = PathBuf::from(OsString::from_vec(name.clone()));
        // The code that creates the folder is not part of what is tested: it stays inside.
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) || leads_out(root, &relative) {
            continue;
        }
        let path = root.join(&relative);
        path.parent().map(fs::create_dir_all).and_then(Result::ok);
        match made {
            Made::File(bytes) if path.symlink_metadata().is_err() => drop(fs::write(path, &bytes.0)),
            Made::File(_) => {}
            Made::Link(target) => drop(symlink(target, path)),
            Made::Pipe => drop(mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)),
            Made::Folder => drop(fs::create_dir(path)),
        }
    }
}

fn leads_out(root: &Path, relative: &Path) -> bool {
    let mut parents = relative.ancestors().skip(1);
    parents.any(|parent| root.join(parent).symlink_metadata().is_ok_and(|about| about.is_symlink()))
}

fn check(tree: &Tree) {
    let place = tempfile::tempdir().expect("a folder");
    let (source, copy) = (place.path().join("demo"), place.path().join("copies/demo"));
    fs::write(place.path().join("outside.txt"), "not yours").expect("written");
    make(&source, tree);
    let before = tree::photo(place.path());
    match Skill::load(&source) {
        Ok(skill) => {
            skill.findings.iter().for_each(|finding| assert_sentence(&finding.message));
            skill.hash().map(drop).unwrap_or_else(|error| assert_sentence(&error.to_string()));
            skill.check_usable().unwrap_or_else(|error| assert_sentence(&error.to_string()));
        }
        Err(error) => assert_sentence(&error.to_string()),
    }
    validate::validate(&source).findings.iter().for_each(|finding| assert_sentence(&finding.message));
    assert!(tree::photo(place.path()) == before, "looking at a skill changed something");
    match SkillCopy::make(&source, &copy) {
        Err(error) => {
            assert_sentence(&error.to_string());
            assert!(!copy.exists(), "half a copy");
        }
        Ok(copied) => {
            assert_eq!(copied.root(), copy);
            for (path, thing) in tree::photo(&copy) {
                let is_inside = match &thing {
                    Thing::Folder | Thing::File(_) => true,
                    Thing::Link(_) => {
                        copy.join(&path).canonicalize().is_ok_and(|real| real.starts_with(real_path(&copy)))
                    }
                    Thing::Pipe | Thing::Other => false,
                };
                assert!(is_inside, "{} is {thing:?}", path.display());
            }
        }
    }
    let after: tree::Photo =
        tree::photo(place.path()).into_iter().filter(|(path, _)| !path.starts_with("copies")).collect();
    assert!(after == before, "copying a skill changed something else");
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().expect("a folder")
}

#[test]
fn folders() {
    fuzz("folders", trees(), check);
}
