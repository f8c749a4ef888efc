//! What the planner knows of skills, files and schemas: each is read once, however many steps use it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use super::plan::{PlannedFile, SkillFinder};
use crate::error::SkillError;
use crate::package::Skill;
use crate::package::runner::SchemaRole;
use crate::schema::{Schema, SchemaErrorKind};
use crate::search::FindError;

/// A skill with what concerns its steps.
#[derive(Debug)]
pub(super) struct KnownSkill {
    pub(super) source: String,
    pub(super) hash: String,
    pub(super) input: Option<(Schema, Value)>,
    pub(super) output: Option<Rc<Value>>,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// By the name in the file, and the folder to which a path is relative.
    pub(super) skills: HashMap<(String, Option<PathBuf>), Rc<KnownSkill>>,
    /// By the text of the schema.
    schemas: HashMap<String, Rc<Schema>>,
    /// By the path inside of the folder.
    pub(super) files: HashMap<PathBuf, Rc<PlannedFile>>,
}

impl KnownSkill {
    pub(super) fn load(skill: &Skill) -> Result<Self, SkillError> {
        skill.check_usable()?;
        Ok(Self {
            source: skill.root.display().to_string(),
            hash: skill.hash()?.to_string(),
            input: skill.schema_document(SchemaRole::Input)?,
            output: skill.schema_document(SchemaRole::Output)?.map(|(_, document)| Rc::new(document)),
        })
    }
}

impl Cache {
    pub(super) fn skill(
        &mut self,
        name: &str,
        folder: Option<&Path>,
        find: &mut SkillFinder<'_>,
    ) -> Result<Rc<KnownSkill>, FindError> {
        let is_path = is_path(name);
        let key = (name.to_owned(), folder.filter(|_| is_path).map(Path::to_owned));
        if let Some(known) = self.skills.get(&key) {
            return Ok(Rc::clone(known));
        }
        let known = Rc::new(KnownSkill::load(&find(name, folder)?)?);
        self.skills.insert(key, Rc::clone(&known));
        Ok(known)
    }

    pub(super) fn schema(&mut self, document: &Value) -> Result<Rc<Schema>, SchemaErrorKind> {
        let text = document.to_string();
        if let Some(known) = self.schemas.get(&text) {
            return Ok(Rc::clone(known));
        }
        let schema = Rc::new(Schema::compile(document)?);
        self.schemas.insert(text, Rc::clone(&schema));
        Ok(schema)
    }
}

/// As skills are named everywhere: anything with a slash, and `.` and `..`.
pub(super) fn is_path(name: &str) -> bool {
    name.contains('/') || name == "." || name == ".."
}
