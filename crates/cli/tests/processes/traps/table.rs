//! `docs/traps.md` names every test of this folder, and nothing else.

use std::collections::BTreeSet;
use std::fs;

use testkit::paths;

/// Names of the tests in the files beside this one.
fn tests() -> BTreeSet<String> {
    let folder = paths::workspace().join("crates/cli/tests/processes/traps");
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut names = BTreeSet::new();
    for file in files.filter(|file| !file.ends_with("table.rs")) {
        let text = fs::read_to_string(&file).expect("source");
        for test in text.split("#[test]\n").skip(1) {
            let name = test.split_once("fn ").and_then(|(_, rest)| rest.split_once('(')).expect("a function").0;
            assert!(names.insert(name.to_owned()), "{name} is there twice");
        }
    }
    names
}

/// Names in the last cell of each row.
fn table() -> Vec<String> {
    let text = fs::read_to_string(paths::workspace().join("docs/traps.md")).expect("docs/traps.md");
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let names = rows.map(|row| row.rsplit('`').nth(1).unwrap_or_else(|| panic!("no name: {row}")).to_owned());
    names.collect()
}

#[test]
fn every_trap_has_a_test_and_every_test_is_in_the_table() {
    let (named, tests) = (table(), tests());
    let once: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(once.len(), named.len(), "a test stands there twice");
    assert!(tests.len() > 50, "only {} tests", tests.len());
    let missing: Vec<_> = tests.difference(&once).collect();
    let gone: Vec<_> = once.difference(&tests).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in the table: {missing:?}; no test: {gone:?}");
}
