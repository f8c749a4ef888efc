use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::Workspace;

/// A path of up to three short names, and what is there: a file with one of two contents, or a folder. Names that sort
/// around `/` (0x2f) on both sides are what the order must get right.
fn tree() -> impl Strategy<Value = Vec<(String, Option<u8>)>> {
    let name = prop::sample::select(vec!["a", "a!", "a.", "a0", "b", "-", "é"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    prop::collection::vec((path, prop::option::of(0..2_u8)), 0..12)
}

/// Builds a tree as far as its paths allow: where two conflict, the first wins.
fn build(root: &Path, tree: &[(String, Option<u8>)]) {
    if root.exists() {
        fs::remove_dir_all(root).expect("removed");
    }
    fs::create_dir(root).expect("a folder");
    for (path, content) in tree {
        let path = root.join(path);
        let made = match content {
            Some(content) if !path.exists() => {
                path.parent().map(fs::create_dir_all).map(|made| made.and_then(|()| fs::write(&path, [b'0' + content])))
            }
            Some(_) => None,
            None => Some(fs::create_dir_all(&path)),
        };
        made.map(Result::ok);
    }
}

fn naive(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned();
            found.insert(name, fs::read(&path).ok());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

fn names(work: &Workspace, part: &str) -> Vec<String> {
    let diff = work.read("fs-diff.1.json");
    let lines = diff[part].as_array().expect("a list").iter();
    lines.map(|line| line["path"].as_str().expect("a text").to_owned()).collect()
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_by(|a, b| Path::new(a).cmp(Path::new(b)));
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_pass_finds_what_two_maps_find(old in tree(), new in tree()) {
        let work = Workspace::new();
        build(&work.root(), &old);
        let old = naive(&work.root());
        work.before();
        build(&work.root(), &new);
        let new = naive(&work.root());
        work.after();
        let keys = |map: &BTreeMap<String, Option<Vec<u8>>>, keep: &dyn Fn(&str) -> bool| {
            sorted(map.keys().filter(|path| keep(path)).cloned())
        };
        prop_assert_eq!(names(&work, "created"), keys(&new, &|path| !old.contains_key(path)));
        prop_assert_eq!(names(&work, "deleted"), keys(&old, &|path| !new.contains_key(path)));
        let differs = |path: &str| new.get(path).is_some_and(|now| *now != old[path]);
        prop_assert_eq!(names(&work, "modified"), keys(&old, &differs));
        let listed = work.paths("fs-after.1.json");
        prop_assert_eq!(listed, keys(&new, &|_| true));
    }
}
