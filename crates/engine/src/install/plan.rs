//! The calls of npm, step by step.

use std::path::{Path, PathBuf};

use super::{Lock, Programs};
use crate::descriptor::Install;

/// The name of Node among the engines' folders, and at npm.
pub const NODE: &str = "node";

/// One package to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallStep {
    /// Of the folder: an engine, or Node.
    pub name: String,
    pub package: String,
    /// The version that is requested, and the name of the folder.
    pub version: String,
    /// The Node that npm runs with: a folder that comes first in npm's PATH.
    pub node: Option<(u32, PathBuf)>,
    /// Must exist afterwards, relative to the folder.
    pub program: PathBuf,
    /// All packages behind it; none for a version that was never tested.
    pub lock: Option<Lock>,
}

/// The packages that must be installed, in order; the caller skips those that are already there.
///
/// When its Node is too old for the requested version, npm silently installs another version. So the right Node comes
/// first.
pub fn plan(name: &str, install: &Install, version: Option<&str>, programs: Programs<'_>) -> Vec<InstallStep> {
    let node_version = |major: u32| major.to_string();
    let node = install.node.map(|major| InstallStep {
        name: NODE.to_owned(),
        package: NODE.to_owned(),
        version: node_version(major),
        node: None,
        program: Programs::node_program().to_owned(),
        lock: Lock::of(NODE, &node_version(major), std::env::consts::ARCH),
    });
    let folder = |major: u32| {
        let program = programs.version(NODE, &node_version(major)).join(Programs::node_program());
        (major, program.parent().unwrap_or(Path::new("/")).to_owned())
    };
    let version = version.unwrap_or(&install.version);
    let engine = InstallStep {
        name: install.folder(name).to_owned(),
        package: install.package.clone(),
        version: version.to_owned(),
        node: install.node.map(folder),
        program: install.program.clone(),
        lock: Lock::of(&install.package, version, std::env::consts::ARCH),
    };
    node.into_iter().chain([engine]).collect()
}

impl InstallStep {
    /// The arguments of `npm`. Everything that npm stores is kept in the folder and in a cache that is removed
    /// afterwards, so that nothing of the user's is changed.
    pub fn words(&self, prefix: &Path, cache: &Path) -> Vec<std::ffi::OsString> {
        let command = if self.lock.is_some() { "ci" } else { "install" };
        let quiet = [command, "--no-audit", "--no-fund", "--no-update-notifier", "--save-exact"];
        // Whatever the user's npmrc says: into this folder, and with the native programs, which are optional.
        let ours = ["--global=false", "--include=optional", "--logs-max=0"];
        // Installed code runs when a run starts it, and not before.
        let scripts = self.runs_no_scripts().then_some("--ignore-scripts");
        let all = quiet.into_iter().chain(ours).chain(scripts);
        let mut words: Vec<std::ffi::OsString> = all.map(Into::into).collect();
        words.extend(["--cache".into(), cache.into(), "--prefix".into(), prefix.into()]);
        if self.lock.is_none() {
            words.push("--".into());
            words.push(format!("{}@{}", self.package, self.version).into());
        }
        words
    }

    /// The package called node consists only of a script that fetches the program. Where its tree is pinned, that
    /// package is not used; every engine works without the scripts of its packages.
    fn runs_no_scripts(&self) -> bool {
        self.lock.is_some() || self.name != NODE
    }

    /// The manifest in which npm records what it installed, relative to the folder.
    pub fn manifest(&self) -> PathBuf {
        Path::new("node_modules").join(&self.package).join("package.json")
    }

    /// Whether npm installed what was requested: that version, or one of that major version.
    pub fn accepts(&self, version: &str) -> bool {
        version == self.version || version.strip_prefix(&self.version).is_some_and(|rest| rest.starts_with('.'))
    }
}

/// A package at npm, possibly with a scope; nothing that npm could take for an option, a path or an address.
pub fn is_package(name: &str) -> bool {
    let is_word = |word: &str| {
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
        !word.is_empty() && !word.starts_with(['.', '-', '_']) && word.bytes().all(is_letter)
    };
    name.len() <= 200
        && match name.strip_prefix('@') {
            Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_word(scope) && is_word(name)),
            None => is_word(name),
        }
}

/// A whole version: three numbers, and after a dash the words of a prerelease. A build name cannot be requested: npm
/// treats it as the same version, and the package reports its version without it.
pub fn is_version(text: &str) -> bool {
    let (numbers, before) = text.split_once('-').map_or((text, None), |(numbers, words)| (numbers, Some(words)));
    let has_no_zero = |number: &str| number == "0" || !number.starts_with('0');
    let is_number = |number: &str| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u32>().is_ok() && has_no_zero(number)
    };
    let is_word = |word: &str| {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let is_numeric = word.bytes().all(|byte| byte.is_ascii_digit());
        !word.is_empty() && is_plain && (!is_numeric || has_no_zero(word))
    };
    text.len() <= 64
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && before.is_none_or(|words| words.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(node: Option<u32>) -> Install {
        let program = PathBuf::from("node_modules/.bin/x");
        Install { package: "@a/x".to_owned(), version: "1.2.3".to_owned(), node, program, shares: None }
    }

    #[test]
    fn the_right_node_comes_first_and_npm_runs_with_it() {
        let programs = Programs { root: Path::new("/p") };
        let steps = plan("x", &install(Some(22)), None, programs);
        let [node, engine] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!((node.package.as_str(), node.version.as_str(), &node.node), ("node", "22", &None));
        assert_eq!(engine.node, Some((22, PathBuf::from("/p/node/22/node_modules/node/bin"))));
        assert_eq!(engine.version, "1.2.3");
        let steps = plan("x", &install(None), Some("2.0.0"), programs);
        let [engine] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!((engine.version.as_str(), &engine.node), ("2.0.0", &None));
        let words = engine.words(Path::new("/p/x/.new"), Path::new("/c"));
        assert!(words.contains(&"--ignore-scripts".into()), "scripts of packages run nowhere");
        assert_eq!(words.last().and_then(|word| word.to_str()), Some("@a/x@2.0.0"));
        for word in ["--global=false", "--include=optional"] {
            assert!(words.contains(&word.into()), "{word}");
        }
    }

    /// Found by an attack: dependencies of an engine were installed in the latest version, and ran their scripts.
    #[test]
    fn what_was_tested_is_installed_to_the_byte_and_runs_no_scripts() {
        let tested =
            Install { package: "@openai/codex".to_owned(), version: "0.166.0".to_owned(), ..install(Some(22)) };
        let steps = plan("codex", &tested, None, Programs { root: Path::new("/p") });
        let has_lock = |step: &InstallStep| step.lock.is_some();
        assert!(has_lock(&steps[1]));
        if has_lock(&steps[0]) {
            assert!(
                steps
                    .iter()
                    .all(|step| step.words(Path::new("/x"), Path::new("/c")).contains(&"--ignore-scripts".into()))
            );
        }
        let words = steps[1].words(Path::new("/x"), Path::new("/c"));
        assert_eq!((words[0].to_str(), words.last().and_then(|word| word.to_str())), (Some("ci"), Some("/x")));
        let other = plan("codex", &tested, Some("0.167.0"), Programs { root: Path::new("/p") });
        assert_eq!(
            (has_lock(&other[1]), other[1].words(Path::new("/x"), Path::new("/c"))[0].to_str()),
            (false, Some("install"))
        );
    }

    #[test]
    fn another_version_than_the_one_asked_for_is_not_accepted() {
        let step = &plan("x", &install(Some(22)), None, Programs { root: Path::new("/p") });
        assert!(step[0].accepts("22.23.3") && !step[0].accepts("2.2.0") && !step[0].accepts("220.0.0"));
        assert!(step[1].accepts("1.2.3") && !step[1].accepts("1.2.30") && !step[1].accepts("1.2.2"));
    }

    #[test]
    fn names_that_npm_could_misread_are_refused() {
        for name in ["opencode-ai", "@openai/codex", "node"] {
            assert!(is_package(name), "{name}");
        }
        for name in ["", "-g", "../x", "a/b", "@a", "@a/", "@/b", "@a/b/c", "http://x", "a b", "a@1", "git+x:y"] {
            assert!(!is_package(name), "{name}");
        }
        for version in ["1.2.3", "0.166.0-alpha.2", "0.0.0-2026-11-15", "1.0.0-0"] {
            assert!(is_version(version), "{version}");
        }
        for version in ["1.2.3-", "1.2.3+x", "1.2.3-a+x", "1.2.3-a..b", "1.2.3-.", "01.2.3", "1.2.3-01", "+1.2.3"] {
            assert!(!is_version(version), "{version}");
        }
        for version in ["", "latest", "1.2", "1.2.3.4", "^1.2.3", "1.2.3 || 2", "1.2.x", "file:.", "-1.2.3", "1.2.3/.."]
        {
            assert!(!is_version(version), "{version}");
        }
    }
}
