//! Names that can be searched for: a type name leads to one place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use testkit::paths;

use super::files;

/// Most crates that may have a public type of the same name.
const CRATES_MAX: usize = 2;

/// What every file has in scope without an import.
const PRELUDE: &str = "AsMut AsRef Box Clone Copy Default Drop Eq Err Extend Fn From Into Iterator None Ok Option \
    Ord PartialEq PartialOrd Result Send Sized Some String Sync ToOwned ToString TryFrom TryInto Vec";

fn sources() -> Vec<PathBuf> {
    let mut found = files("crates", "rs");
    found.retain(|path| path.components().any(|part| part.as_os_str() == "src"));
    found
}

fn crate_of(path: &Path) -> String {
    let inside = path.strip_prefix(paths::workspace().join("crates")).expect("a file of a crate");
    inside.components().next().expect("a crate").as_os_str().to_string_lossy().into_owned()
}

/// The name of the type that a line defines, and whether code outside of its module can see it.
fn defined(line: &str) -> Option<(&str, bool)> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    let is_visible = word == "pub" || word == "pub(crate)";
    if word.starts_with("pub") {
        word = words.next()?;
    }
    if !["struct", "enum", "trait", "type", "union"].contains(&word) {
        return None;
    }
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    Some((name, is_visible))
}

/// The name of the constant that a line defines.
fn constant(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    matches!(words.next()?, "const" | "static").then_some(())?;
    words.next()?.strip_suffix(':')
}

#[test]
fn a_public_type_name_is_in_at_most_two_crates() {
    let mut places: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("readable");
        for (number, line) in text.lines().enumerate() {
            if let Some((name, true)) = defined(line) {
                let place = format!("{}:{}", path.display(), number + 1);
                places.entry(name.to_owned()).or_default().insert(crate_of(&path), place);
            }
        }
    }
    places.retain(|_, crates| crates.len() > CRATES_MAX);
    assert!(places.is_empty(), "type names in more than {CRATES_MAX} crates; qualify them: {places:#?}");
}

#[test]
fn no_type_has_a_name_of_the_prelude() {
    let mut found = BTreeSet::new();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("readable");
        // An associated type is indented.
        let types = text.lines().filter(|line| !line.starts_with(' ') || !line.trim_start().starts_with("type "));
        let types = types.filter_map(defined);
        found.extend(
            types
                .filter(|(name, _)| PRELUDE.split(' ').any(|known| known == *name))
                .map(|(name, _)| format!("{}: {name}", path.display())),
        );
    }
    assert!(found.is_empty(), "types that shadow the prelude: {found:#?}");
}

#[test]
fn timeouts_are_named_after_what_they_bound() {
    let mut found = BTreeSet::new();
    for dir in ["crates", "bench", "e2e", "testkit"] {
        for path in files(dir, "rs") {
            let text = fs::read_to_string(&path).expect("readable");
            let vague = |name: &&str| name.ends_with("PATIENCE") || name.ends_with("LOOK");
            found.extend(
                text.lines().filter_map(constant).filter(vague).map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert!(found.is_empty(), "constants that do not say what they bound: {found:#?}");
}

#[test]
fn definitions_are_found() {
    assert_eq!(defined("pub(crate) struct HostState<'a> {"), Some(("HostState", true)));
    assert_eq!(defined("    pub(super) enum Left {"), Some(("Left", false)));
    assert_eq!(defined("type Pairs = Vec<u8>;"), Some(("Pairs", false)));
    assert_eq!(defined("pub fn type_of() {"), None);
    assert_eq!(constant("pub(crate) const PATIENCE: Duration = X;"), Some("PATIENCE"));
    assert_eq!(constant("let x = 1;"), None);
}
