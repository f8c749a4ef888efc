//! Where private installs are stored, and which of several versions is taken.

use std::path::{Path, PathBuf};

use skillrun_model::profile::EngineVersion;

use crate::version::is_prerelease;

/// With this file a folder is complete.
pub const MARK: &str = "installed.json";

/// The folder of all private installs.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    pub root: &'a Path,
}

impl Programs<'_> {
    /// All versions of an engine, or of Node.
    pub fn of(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn version(&self, name: &str, version: &str) -> PathBuf {
        self.of(name).join(version)
    }

    /// Where a version is built before it is moved to its place.
    pub fn beside(&self, name: &str, version: &str, process: u32) -> PathBuf {
        self.of(name).join(format!(".{version}.{process}.new"))
    }

    /// HOME and cache of npm while it builds a version.
    pub fn npm_home(&self, name: &str, version: &str, process: u32) -> PathBuf {
        self.of(name).join(format!(".{version}.{process}.npm.new"))
    }

    /// Where a version is moved to before it is removed, so that no new process finds it.
    pub fn hidden(&self, name: &str, version: &str, process: u32) -> PathBuf {
        self.of(name).join(format!(".{version}.{process}.old.new"))
    }

    pub fn log(&self, name: &str, version: &str) -> PathBuf {
        self.of(name).join(format!("{version}.log"))
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Relative to the folder of a version of Node.
    pub fn node_program() -> &'static Path {
        Path::new("node_modules/node/bin/node")
    }
}

/// A release comes after its prereleases with the same numbers.
fn order(text: &str) -> Option<(EngineVersion, bool)> {
    Some((EngineVersion::parse(text)?, !is_prerelease(text)))
}

/// Whether a version comes before another. False if one of them is not a version.
pub fn is_older(version: &str, other: &str) -> bool {
    order(version).zip(order(other)).is_some_and(|(version, other)| version < other)
}

/// The version to start: the highest of those that were tested, otherwise the highest.
pub fn chosen(versions: &[String], is_tested: impl Fn(&str) -> bool) -> Option<&str> {
    let known = || versions.iter().filter_map(|text| Some((order(text)?, text.as_str())));
    let best = known().filter(|(_, text)| is_tested(text)).max();
    best.or_else(|| known().max()).map(|(_, text)| text)
}

/// The highest version of a major one. A folder may be named after the major version alone.
pub fn highest(versions: &[String], major: u32) -> Option<&str> {
    let numbers = |text: &str| -> Option<Vec<u32>> { text.split('.').map(|word| word.parse().ok()).collect() };
    let fitting = versions.iter().filter_map(|text| Some((numbers(text)?, text.as_str())));
    fitting.filter(|(numbers, _)| numbers.first() == Some(&major)).max().map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_tested_version_is_taken_and_else_the_highest() {
        let versions = ["0.9.0", "0.166.0", "0.17.3", "0.200.0", "not one"].map(str::to_owned);
        assert_eq!(chosen(&versions, |version| version.starts_with("0.1")), Some("0.166.0"));
        assert_eq!(chosen(&versions, |_| false), Some("0.200.0"));
        assert_eq!(chosen(&versions, |_| true), Some("0.200.0"));
        assert_eq!(chosen(&["x".to_owned()], |_| true), None);
    }

    /// Regression: the longer text was taken, which is that of the earlier version.
    #[test]
    fn a_release_comes_after_what_was_released_before_it() {
        let versions = ["0.166.0-alpha.2", "0.166.0", "0.165.0"].map(str::to_owned);
        assert_eq!(chosen(&versions, |_| true), Some("0.166.0"));
        assert_eq!(chosen(&versions, |_| false), Some("0.166.0"));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_older("0.9.0", "0.166.0") && is_older("0.166.0-alpha.2", "0.166.0"));
        assert!(!is_older("0.166.0", "0.166.0") && !is_older("0.166.0", "0.9.0") && !is_older("x", "0.9.0"));
    }

    #[test]
    fn node_is_chosen_by_its_major_version() {
        let versions = ["22", "22.9.0", "22.11.0", "2", "24.0.0"].map(str::to_owned);
        assert_eq!(highest(&versions, 22), Some("22.11.0"));
        assert_eq!(highest(&versions[..1], 22), Some("22"));
        assert_eq!(highest(&versions, 20), None);
    }
}
