//! Which parts of a workspace are excluded.
//!
//! - `.git` and `.audit`, file or folder, at any depth: the work of git and of the host, not the engine's.
//! - At the root, the folders in which engines keep their own settings, sessions and skills ([`ENGINE_FOLDERS`]).
//! - What the rules of the user match. They are lines as in a `.gitignore` at the root; a rule with `!` cancels rules
//!   before it, but none of the two above.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Engine housekeeping: one folder for each engine with a profile, and the one that several read skills from.
const ENGINE_FOLDERS: [&[u8]; 7] = [b".codex", b".gemini", b".opencode", b".claude", b".qwen", b".iflow", b".agents"];

#[derive(Debug)]
pub(crate) struct Rules {
    /// None without rules of the user: building an empty matcher costs more than the whole walk of a small workspace.
    user: Option<Gitignore>,
}

/// The names of folders in which engines keep their settings, at the root of a workspace.
pub fn engine_folders() -> impl Iterator<Item = &'static [u8]> {
    ENGINE_FOLDERS.into_iter()
}

/// Whether engines keep their settings in a folder of this name at the root of a workspace.
pub fn is_engine_folder(name: &[u8]) -> bool {
    ENGINE_FOLDERS.contains(&name)
}

/// A rule of the user that is not a valid pattern.
#[derive(Debug, thiserror::Error)]
#[error("not a pattern: {rule} ({why})")]
pub(crate) struct BadRule {
    pub(crate) rule: String,
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Folder,
    Other,
}

impl Rules {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, BadRule> {
        if patterns.is_empty() {
            return Ok(Self { user: None });
        }
        let mut builder = GitignoreBuilder::new("");
        for rule in patterns {
            let bad = |why: &dyn ToString| BadRule { rule: rule.clone(), why: why.to_string() };
            if rule.contains('\n') {
                return Err(bad(&"it has more than one line"));
            }
            builder.add_line(None, rule).map_err(|error| bad(&error))?;
        }
        // Every line is valid by itself; the only remaining error is that together they are too large.
        let user = builder.build().map_err(|error| BadRule { rule: patterns.join(" "), why: error.to_string() })?;
        Ok(Self { user: Some(user) })
    }

    /// By name only, before the file system is queried. `depth`: how many folders below the root it is.
    pub(super) fn leaves_out_name(&self, name: &[u8], depth: usize) -> bool {
        name == b".git" || name == b".audit" || (depth == 0 && is_engine_folder(name))
    }

    /// By the rules of the user. Must not be called for the content of an excluded folder: the walk does not enter it.
    pub(super) fn leaves_out(&self, path: &Path, is: Is) -> bool {
        self.user.as_ref().is_some_and(|user| user.matched(path, is == Is::Folder).is_ignore())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> Rules {
        Rules::new(&patterns.iter().map(ToString::to_string).collect::<Vec<_>>()).expect("patterns")
    }

    #[test]
    fn housekeeping_is_left_out_by_name() {
        let rules = rules(&[]);
        for name in [".git", ".audit"] {
            assert!(rules.leaves_out_name(name.as_bytes(), 0) && rules.leaves_out_name(name.as_bytes(), 1));
        }
        for name in [".codex", ".gemini", ".opencode", ".claude", ".qwen", ".iflow", ".agents"] {
            assert!(rules.leaves_out_name(name.as_bytes(), 0), "{name}");
            assert!(!rules.leaves_out_name(name.as_bytes(), 1), "{name} below the root is somebody's work");
        }
        for name in [".gitignore", "git", ".github", ".env"] {
            assert!(!rules.leaves_out_name(name.as_bytes(), 0), "{name}");
        }
    }

    #[test]
    fn the_users_rules_are_those_of_gitignore() {
        let rules = rules(&["# installed", "", "node_modules/", "*.log", "!keep.log", "/only-root"]);
        let out = |path: &str, is| rules.leaves_out(Path::new(path), is);
        assert!(out("node_modules", Is::Folder) && out("a/node_modules", Is::Folder));
        assert!(!out("node_modules", Is::Other), "a rule that ends in a slash is for folders");
        assert!(out("a/b.log", Is::Other) && !out("a/keep.log", Is::Other));
        assert!(out("only-root", Is::Other) && !out("a/only-root", Is::Other));
    }

    #[test]
    fn an_invalid_pattern_is_refused_and_named() {
        for bad in ["a{b", "x\ny"] {
            let error = Rules::new(&["ok".into(), bad.into()]).expect_err(bad);
            assert_eq!(error.rule, bad, "{error}");
        }
    }
}
