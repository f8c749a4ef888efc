//! The version in a program's output.

use crate::descriptor::{Descriptor, VersionRule};
use skillrun_model::profile::EngineVersion;

/// The version in the output of the program: after the word that the rule names, otherwise the first word that looks
/// like a version. None when there is no such word.
pub fn parse_version(output: &str, rule: &VersionRule) -> Option<String> {
    let words = |text: &str| text.split_whitespace().find_map(version_word);
    match &rule.after {
        None => words(output),
        Some(after) => output.lines().find_map(|line| {
            let rest = line.trim_start().strip_prefix(after.as_str())?;
            rest.split_whitespace().next().and_then(version_word)
        }),
    }
}

/// `1.2` or `v1.2.3-beta.4`, perhaps in brackets or before a comma.
fn version_word(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | ':' | '"' | '\'' | '.'));
    let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let (major, rest) = word.split_once('.')?;
    let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = is_number && rest.starts_with(|c: char| c.is_ascii_digit());
    // Hostile output cannot produce a long version.
    (is_version && word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_graphic())).then(|| word.to_owned())
}

/// `1.2.3-beta.4`: it comes before 1.2.3, and is not what was tested under that number.
pub(crate) fn is_prerelease(version: &str) -> bool {
    version.contains('-')
}

impl Descriptor {
    /// Outside of the tested versions, or not readable as a version.
    pub fn version_is_untested(&self, version: &str) -> bool {
        let is_installed = || self.install.as_ref().is_some_and(|install| install.version == version);
        match (self.tested_versions(), EngineVersion::parse(version)) {
            (Some(_), Some(_)) if is_prerelease(version) && !is_installed() => true,
            (Some((from, to)), Some(version)) => version < from || version > to,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(output: &str, after: Option<&str>) -> Option<String> {
        parse_version(output, &VersionRule { argv: Vec::new(), after: after.map(str::to_owned), tested: None })
    }

    #[test]
    fn what_the_programs_print() {
        for (output, after, expected) in [
            ("codex-cli 0.166.0\n", Some("codex-cli"), Some("0.166.0")),
            ("WARNING: 1.0 is old\ncodex-cli 0.166.0-alpha.2\n", Some("codex-cli"), Some("0.166.0-alpha.2")),
            ("2.1.325 (Claude Code)\n", None, Some("2.1.325")),
            ("0.61.0\n", None, Some("0.61.0")),
            ("1.18.33", None, Some("1.18.33")),
            ("(node:4711) [DEP0040] DeprecationWarning: punycode\n0.24.4\n", None, Some("0.24.4")),
            ("tool version v3.1, built today", None, Some("3.1")),
            ("", None, None),
            ("no version here. 12 of them", None, None),
            ("other 1.2.3", Some("codex-cli"), None),
            ("codex-cli", Some("codex-cli"), None),
            ("codex-cli soon 1.2", Some("codex-cli"), None),
        ] {
            assert_eq!(parse(output, after).as_deref(), expected, "{output}");
        }
        assert_eq!(parse(&format!("1.{}", "9".repeat(1000)), None), None);
    }
}
