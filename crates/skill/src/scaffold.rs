//! A new skill: small, complete and valid, with test cases and a script with which they pass.

use std::fs;
use std::path::{Path, PathBuf};

use crate::copy::{or_exists, write_new};
use crate::error::{SkillError, SkillErrorKind};
use crate::package::name;

const FOLDERS: [&str; 2] = ["assets", "tests"];

const FILES: [(&str, &str); 6] = [
    ("SKILL.md", include_str!("scaffold/SKILL.md")),
    ("assets/runner.json", include_str!("scaffold/runner.json")),
    ("assets/input.schema.json", include_str!("scaffold/input.schema.json")),
    ("assets/output.schema.json", include_str!("scaffold/output.schema.json")),
    ("assets/scripted.yaml", include_str!("scaffold/scripted.yaml")),
    ("tests/cases.yaml", include_str!("scaffold/cases.yaml")),
];

/// Writes a skill of this name into a new folder of this name in `dir`, and returns its path.
pub fn new(name: &str, dir: &Path) -> Result<PathBuf, SkillError> {
    name::check(name).map_err(|problem| SkillError::new(dir, SkillErrorKind::BadName(name.to_owned(), problem)))?;
    let root = dir.join(name);
    fs::create_dir_all(dir).map_err(|e| SkillError::new(dir, e))?;
    fs::create_dir(&root).map_err(|e| SkillError::new(&root, or_exists(e)))?;
    let written = write_all(name, &root);
    if written.is_err() {
        fs::remove_dir_all(&root).ok();
    }
    written.map(|()| root)
}

fn write_all(name: &str, root: &Path) -> Result<(), SkillError> {
    for folder in FOLDERS {
        let folder = root.join(folder);
        fs::create_dir(&folder).map_err(|e| SkillError::new(&folder, e))?;
    }
    for (path, text) in FILES {
        let path = root.join(path);
        let text = text.replace("NAME", name);
        write_new(&path, false, &mut text.as_bytes()).map_err(|e| SkillError::new(&path, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::Skill;
    use crate::package::runner::SchemaRole;
    use crate::testing::Folder;
    use crate::validate::validate;
    use serde_json::json;

    #[test]
    fn it_is_complete_and_without_a_fault() {
        let folder = Folder::new();
        let root = new("my-skill", &folder.at("skills")).unwrap();
        assert_eq!(root, folder.at("skills/my-skill"));
        assert_eq!(validate(&root).findings, []);
        let skill = Skill::load(&root).unwrap();
        assert_eq!(skill.name, "my-skill");
        assert!(skill.has_runner);
        let input = skill.schema(SchemaRole::Input).unwrap().unwrap();
        assert_eq!(input.problems(&json!({"text": "x"})), []);
        let schema = skill.schema(SchemaRole::Output).unwrap().unwrap();
        assert_eq!(schema.problems(&json!({"summary": "x", "files": []})), []);
        assert_eq!(schema.problems(&json!({})).len(), 1);
        assert!(!skill.text().unwrap().contains("NAME"));
    }

    #[test]
    fn nothing_that_exists_is_overwritten() {
        let folder = Folder::skill("my-skill");
        let before = folder.photo();
        assert!(matches!(new("my-skill", folder.path()).unwrap_err().kind, SkillErrorKind::Exists));
        assert_eq!(folder.photo(), before);
    }

    #[test]
    fn a_bad_name_makes_nothing() {
        let folder = Folder::new();
        for name in ["", "../x", "Big", "a b"] {
            let error = new(name, &folder.at("skills")).unwrap_err();
            assert!(matches!(error.kind, SkillErrorKind::BadName(..)), "{error}");
        }
        assert!(folder.photo().is_empty());
    }
}
