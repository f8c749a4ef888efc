//! Loading a skill. Only what makes it unusable is an error here; the rest is in its findings.

use std::path::{Path, PathBuf};

use serde_json::Value;
use skillrun_model::profile::EngineName;

use super::finding::{Finding, Findings, Severity};
use super::front_matter::{self, FrontMatter};
use super::hash::SkillHash;
use super::name;
use super::runner::{self, Runner, SchemaRole};
use crate::bounded;
use crate::error::{SkillError, SkillErrorKind};
use crate::schema::Schema;

pub const SKILL_FILE: &str = "SKILL.md";
pub const RUNNER_FILE: &str = "assets/runner.json";
/// Largest `SKILL.md`: far more than any model wants to read.
const SKILL_FILE_MAX: u64 = 1024 * 1024;
const RUNNER_FILE_MAX: u64 = 256 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub root: PathBuf,
    /// The name in the front matter where it keeps the rules, else the name of the folder.
    pub name: String,
    pub front_matter: FrontMatter,
    /// The defaults where there is no `runner.json`.
    pub runner: Runner,
    pub has_runner: bool,
    /// What is wrong with it. Whether something stands in the way of running it: [`Skill::check_usable`].
    pub findings: Vec<Finding>,
}

/// What a skill says about an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineSupport {
    Supported,
    /// `engines` names others.
    NotListed,
    Unsupported,
}

impl Skill {
    pub fn load(root: &Path) -> Result<Self, SkillError> {
        // "." has no name of its own, and a link has another than what it points to.
        let root = std::path::absolute(root).map_err(|e| SkillError::new(root, e))?;
        if !root.is_dir() {
            return Err(SkillError::no_folder(root));
        }
        let text = read_skill_file(&root)?;
        let mut findings = Vec::new();
        let front_matter = front_matter::read(&text, &root, &mut Findings::new(SKILL_FILE, &mut findings));
        let (runner, has_runner) = match read_runner(&root, &mut findings)? {
            Some(runner) => (runner, true),
            None => (Runner::default(), false),
        };
        // A path that ends in `..` has no name, and a name that is empty or leads elsewhere must never become a folder's.
        let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let real = || root.canonicalize().ok().and_then(|real| named(&real));
        let folder = || named(&root).or_else(real).unwrap_or_else(|| "skill".to_owned());
        let name = front_matter.name.clone().filter(|name| name::check(name).is_ok()).unwrap_or_else(folder);
        Ok(Self { name, front_matter, runner, has_runner, findings, root })
    }

    /// The text of `SKILL.md`.
    pub fn text(&self) -> Result<String, SkillError> {
        read_skill_file(&self.root)
    }

    pub fn description(&self) -> &str {
        let own = self.front_matter.description.as_deref();
        own.or(self.runner.description.as_deref()).unwrap_or_default()
    }

    /// The compiled schema for a role. None: the skill has none.
    pub fn schema(&self, role: SchemaRole) -> Result<Option<Schema>, SkillError> {
        Ok(self.schema_document(role)?.map(|(schema, _)| schema))
    }

    /// The same with its text as JSON.
    pub(crate) fn schema_document(&self, role: SchemaRole) -> Result<Option<(Schema, Value)>, SkillError> {
        let Some(path) = self.runner.schema(role) else { return Ok(None) };
        bounded::check_inside(&self.root, path.as_path())?;
        match Schema::read_document(&self.root.join(path.as_path())) {
            Ok(schema) => Ok(Some(schema)),
            Err(error) => Err(SkillError::new(error.path, SkillErrorKind::Schema(error.kind))),
        }
    }

    pub fn hash(&self) -> Result<SkillHash, SkillError> {
        SkillHash::of(&self.root)
    }

    pub fn supports(&self, engine: &EngineName) -> EngineSupport {
        if self.runner.unsupported_engines.contains(engine) {
            EngineSupport::Unsupported
        } else if self.runner.engines.is_empty() || self.runner.engines.contains(engine) {
            EngineSupport::Supported
        } else {
            EngineSupport::NotListed
        }
    }

    /// Says whether a run may start. The sentence is that of the first error.
    pub fn check_usable(&self) -> Result<(), SkillError> {
        match self.findings.iter().find(|finding| finding.severity == Severity::Error) {
            None => Ok(()),
            Some(finding) => {
                Err(SkillError::new(self.root.join(&finding.file), SkillErrorKind::Unusable(finding.message.clone())))
            }
        }
    }
}

pub(crate) fn read_skill_file(root: &Path) -> Result<String, SkillError> {
    bounded::read_text_inside(root, Path::new(SKILL_FILE), SKILL_FILE_MAX).map_err(|error| {
        let missing = matches!(error.kind, SkillErrorKind::Missing);
        if missing { SkillError::new(root, SkillErrorKind::NoSkillFile) } else { error }
    })
}

fn read_runner(root: &Path, findings: &mut Vec<Finding>) -> Result<Option<Runner>, SkillError> {
    let text = match bounded::read_text_inside(root, Path::new(RUNNER_FILE), RUNNER_FILE_MAX) {
        Ok(text) => text,
        // A link that points to nothing is meant to be something.
        Err(SkillError { kind: SkillErrorKind::Missing, path }) if !path.is_symlink() => return Ok(None),
        Err(error) => return Err(error),
    };
    runner::read(&text, root, &mut Findings::new(RUNNER_FILE, findings))
        .map(Some)
        .map_err(|why| SkillError::new(root.join(RUNNER_FILE), SkillErrorKind::BadRunner(why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::finding::FindingKind;
    use crate::testing::{Folder, GOOD_HEAD};
    use skillrun_model::ExecutionMode;

    fn kinds(skill: &Skill) -> Vec<FindingKind> {
        skill.findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn a_skill_without_runner_json_has_the_defaults() {
        let folder = Folder::skill("demo");
        let skill = Skill::load(&folder.at("demo")).unwrap();
        assert_eq!(kinds(&skill), []);
        assert_eq!(skill.name, "demo");
        assert_eq!(skill.description(), "Does a demonstration.");
        assert!(!skill.has_runner);
        assert_eq!(skill.runner.default_mode(), ExecutionMode::Auto);
        assert!(skill.schema(SchemaRole::Output).unwrap().is_none());
        assert!(skill.check_usable().is_ok());
    }

    #[test]
    fn a_byte_order_mark_is_no_fault() {
        let folder = Folder::new()
            .with("demo/SKILL.md", format!("\u{feff}{GOOD_HEAD}Do it.\n"))
            .with("demo/assets/runner.json", "\u{feff}{\"max_attempt\": 2}");
        let skill = Skill::load(&folder.at("demo")).unwrap();
        assert_eq!(kinds(&skill), []);
        assert_eq!(skill.runner.max_attempt.map(|n| n.get()), Some(2));
    }

    #[test]
    fn a_bad_name_gives_way_to_the_name_of_the_folder() {
        let folder = Folder::new().with("demo/SKILL.md", "---\nname: ../../Evil\ndescription: D.\n---\nx");
        let skill = Skill::load(&folder.at("demo")).unwrap();
        assert_eq!((skill.name.as_str(), kinds(&skill)), ("demo", vec![FindingKind::NameInvalid]));
    }

    #[test]
    fn what_makes_it_unusable_is_said_with_the_file() {
        let big = "x".repeat(SKILL_FILE_MAX as usize + 1);
        let outside = Folder::new().with("SKILL.md", "x");
        let cases: &[(Folder, &str)] = &[
            (Folder::new(), "d: there is no such folder"),
            (Folder::new().with("d", ""), "d: is not a folder"),
            (Folder::new().with("d/README.md", ""), "d: is not a skill: it has no SKILL.md"),
            (Folder::new().with("d/SKILL.md/x", ""), "SKILL.md: is not an ordinary file"),
            (Folder::new().with_bytes("d/SKILL.md", b"\xff\xfe"), "SKILL.md: is not UTF-8 text"),
            (Folder::new().with("d/SKILL.md", big), "SKILL.md: is larger than 1048576 bytes"),
            (
                Folder::new().with_link("d/SKILL.md", outside.path().join("SKILL.md")),
                "SKILL.md: is outside of the skill's folder",
            ),
            (
                Folder::skill("d").with("d/assets/runner.json", "{,}"),
                "runner.json: is not usable: it is not JSON (key must be a string at line 1 column 2)",
            ),
            (Folder::skill("d").with_bytes("d/assets/runner.json", b"\xff"), "runner.json: is not UTF-8 text"),
            (Folder::skill("d").with_link("d/assets/runner.json", "none"), "runner.json: there is no such file"),
        ];
        for (folder, expected) in cases {
            let error = Skill::load(&folder.at("d")).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}\n{expected}");
        }
    }

    #[test]
    fn an_error_in_the_findings_stands_in_the_way() {
        let folder = Folder::skill("demo").with("demo/assets/runner.json", r#"{"id": [], "max_attempt": 0}"#);
        let skill = Skill::load(&folder.at("demo")).unwrap();
        let error = skill.check_usable().unwrap_err().to_string();
        assert!(
            error.ends_with("runner.json: cannot be run as it is: max_attempt must be a whole number from 1, not 0"),
            "{error}"
        );
    }

    #[test]
    fn engines() {
        let folder = Folder::skill("demo")
            .with("demo/assets/runner.json", r#"{"engines": ["codex", "iflow"], "unsupported_engines": ["iflow"]}"#);
        let skill = Skill::load(&folder.at("demo")).unwrap();
        assert_eq!(skill.supports(&EngineName::new("codex")), EngineSupport::Supported);
        assert_eq!(skill.supports(&EngineName::new("qwen")), EngineSupport::NotListed);
        assert_eq!(skill.supports(&EngineName::new("iflow")), EngineSupport::Unsupported);
    }

    #[test]
    fn a_schema_that_is_none_is_said_with_its_file() {
        let folder = Folder::skill("demo")
            .with("demo/assets/runner.json", r#"{"schemas": {"output": "assets/o.json"}}"#)
            .with("demo/assets/o.json", r#"{"type": "mystery"}"#);
        let error = Skill::load(&folder.at("demo")).unwrap().schema(SchemaRole::Output).unwrap_err().to_string();
        assert!(error.contains("assets/o.json: this is not a JSON Schema"), "{error}");
    }

    /// People keep skills in a repository and link the folder into the search path.
    #[test]
    fn the_folder_itself_may_be_a_link() {
        let folder = Folder::skill("real/demo").with_link("skills/demo", "../real/demo");
        assert_eq!(kinds(&Skill::load(&folder.at("skills/demo")).unwrap()), []);
    }
}
