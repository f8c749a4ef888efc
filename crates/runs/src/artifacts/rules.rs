//! The rules of `runner.json`: which files a skill declares, and what they are.
//!
//! A pattern is relative to `artifacts/`, or to the workspace. `*` and `?` stay within one name, `**` does not; a
//! pattern without them that is the name of a folder means everything in it.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use skillrun_skill::package::runner::ArtifactRule;

use super::FOLDER;
use super::diff::Was;
use super::inside::{Is, Root};

pub(super) struct Rules {
    rules: Vec<Rule>,
}

struct Rule {
    pattern: String,
    role: Option<String>,
    media_type: Option<String>,
    need: Need,
    /// None when the pattern is not valid.
    matcher: Option<Gitignore>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    None,
    /// A file must match, and none was seen so far.
    Wanted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Wildcards,
}

impl Rules {
    pub(super) fn new(rules: &[ArtifactRule]) -> Self {
        Self { rules: rules.iter().map(Rule::new).collect() }
    }

    /// Patterns that cannot be used.
    pub(super) fn problems(&self) -> Vec<String> {
        let unusable = self.rules.iter().filter(|rule| rule.matcher.is_none());
        unusable.map(|rule| format!("\"{}\" is not a valid pattern for artifacts", rule.pattern)).collect()
    }

    /// Whether a rule matches the path; records that a file matches.
    pub(super) fn note(&mut self, path: &str, now: Was) -> bool {
        let mut fits = false;
        for rule in self.rules.iter_mut().filter(|rule| rule.fits(path)) {
            fits = true;
            if now == Was::File {
                rule.need = Need::None;
            }
        }
        fits
    }

    /// Type and role of a file, by the first rule that matches.
    pub(super) fn labels(&self, path: &str) -> (Option<String>, Option<String>) {
        let rule = self.rules.iter().find(|rule| rule.fits(path));
        rule.map_or((None, None), |rule| (rule.media_type.clone(), rule.role.clone()))
    }

    /// Patterns of required files that do not exist. A file that did not change in this attempt counts: an earlier
    /// attempt may have made it.
    pub(super) fn missing(&mut self, root: &Root) -> Vec<String> {
        let is_wanted = |rule: &&mut Rule| rule.need == Need::Wanted;
        for rule in self.rules.iter_mut().filter(is_wanted).filter(|rule| rule.kind == Kind::Plain) {
            if root.artifact(Path::new(&rule.pattern)).is_ok() {
                rule.need = Need::None;
            }
        }
        if self.rules.iter().any(|rule| rule.need == Need::Wanted) {
            root.each_file(Path::new(FOLDER), &mut |path, is| {
                if let (Is::File, Some(path)) = (is, path.to_str()) {
                    self.note(path, Was::File);
                }
            });
        }
        let missing = self.rules.iter().filter(|rule| rule.need == Need::Wanted);
        missing.map(|rule| rule.pattern.clone()).collect()
    }
}

impl Rule {
    fn new(rule: &ArtifactRule) -> Self {
        let ArtifactRule { pattern, role, media_type, required } = rule.clone();
        let mut builder = GitignoreBuilder::new("");
        // From the root, so that `*.md` does not mean the same as `**/*.md`.
        let anchored = format!("/{}", pattern.trim_start_matches("./"));
        let matcher = match builder.add_line(None, &anchored) {
            Ok(_) => builder.build().ok(),
            Err(_) => None,
        };
        let kind = if pattern.contains(['*', '?', '[', '{']) { Kind::Wildcards } else { Kind::Plain };
        let need = if required { Need::Wanted } else { Need::None };
        Self { pattern, role, media_type, need, matcher, kind }
    }

    fn fits(&self, path: &str) -> bool {
        let below = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
        below.is_some_and(|path| self.fits_from(path)) || self.fits_from(path)
    }

    fn fits_from(&self, path: &str) -> bool {
        let Some(matcher) = &self.matcher else { return false };
        match self.kind {
            Kind::Wildcards => matcher.matched(path, false).is_ignore(),
            Kind::Plain => matcher.matched_path_or_any_parents(path, false).is_ignore(),
        }
    }
}
