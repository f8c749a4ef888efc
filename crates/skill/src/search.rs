//! Finding skills: an ordered list of folders, each with skills in it. The first with a name wins; that others have the
//! same name is reported, not hidden.
//!
//! Which folders are looked at, and in which order, is for the caller to say: `.agents/skills` and `.claude/skills` of
//! the project, configured folders, the user's own. A missing folder is not an error.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_model::{Classified, ErrorClass};

use crate::error::{SkillError, SkillErrorKind};
use crate::package::Skill;

/// Most entries of one folder that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// Most names that are suggested if there is no skill with the given name.
const OFFERED_MAX: usize = 20;

/// Whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SkillOrigin")]
pub enum SkillOrigin {
    Project,
    Configured,
    User,
    /// Named by its path.
    Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFolder {
    pub path: PathBuf,
    pub origin: SkillOrigin,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<SearchFolder>,
}

/// A folder with a `SKILL.md`, whether it can be read or not.
#[derive(Debug)]
pub struct FoundSkill {
    pub name: String,
    pub root: PathBuf,
    pub origin: SkillOrigin,
    pub skill: Result<Skill, SkillError>,
    /// The skill of the same name that comes before it.
    pub shadowed_by: Option<PathBuf>,
}

#[derive(Debug, Default)]
pub struct Listing {
    /// In the order of the folders, by name in each.
    pub skills: Vec<FoundSkill>,
    /// Folders that are there and cannot be looked into.
    pub unreadable: Vec<SkillError>,
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("there is no skill \"{name}\"; {}", offer(.known, .searched))]
    NotFound { name: String, known: Vec<String>, searched: Vec<PathBuf> },
    #[error(transparent)]
    Unusable(#[from] SkillError),
}

impl Classified for FindError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound { .. }
            | Self::Unusable(SkillError { kind: SkillErrorKind::NoFolder | SkillErrorKind::MissingFolder, .. }) => {
                ErrorClass::NotFound
            }
            Self::Unusable(error) => error.class(),
        }
    }
}

fn offer(known: &[String], searched: &[PathBuf]) -> String {
    if known.is_empty() {
        let searched = searched.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        return format!("no skill was found in: {searched}");
    }
    let more = if known.len() > OFFERED_MAX { ", …" } else { "" };
    format!("the known skills are: {}{more}", known[..known.len().min(OFFERED_MAX)].join(", "))
}

impl SearchPath {
    /// `folders`: the first wins.
    pub fn new(folders: Vec<SearchFolder>) -> Self {
        Self { folders }
    }

    pub fn folders(&self) -> &[SearchFolder] {
        &self.folders
    }

    /// All skills, those that are shadowed too.
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        let mut first: HashMap<String, PathBuf> = HashMap::new();
        // A folder may be reached in two ways, by a link or by being listed twice. That is not a second skill.
        let mut seen: HashSet<PathBuf> = HashSet::new();
        for folder in &self.folders {
            let roots = match skill_folders(&folder.path) {
                Ok(roots) => roots,
                Err(error) => {
                    listing.unreadable.push(error);
                    continue;
                }
            };
            for root in roots {
                if !seen.insert(root.canonicalize().unwrap_or_else(|_| root.clone())) {
                    continue;
                }
                let mut found = FoundSkill::load(root, folder.origin);
                found.shadowed_by = first.get(&found.name).cloned();
                first.entry(found.name.clone()).or_insert_with(|| found.root.clone());
                listing.skills.push(found);
            }
        }
        listing
    }

    /// The skill that a name stands for. A first one that cannot be read is an error: taking the next would run another
    /// skill than the one that is meant.
    pub fn find(&self, name: &str) -> Result<Skill, FindError> {
        let mut known = Vec::new();
        for found in self.list().skills {
            if found.name == name {
                return Ok(found.skill?);
            }
            if found.shadowed_by.is_none() {
                known.push(found.name);
            }
        }
        known.sort_unstable();
        let searched = self.folders.iter().map(|folder| folder.path.clone()).collect();
        Err(FindError::NotFound { name: name.to_owned(), known, searched })
    }

    /// The folder of the skill that a name stands for, whether the skill can be read or not.
    pub fn root_of(&self, name: &str) -> Result<PathBuf, FindError> {
        match self.find(name) {
            Ok(skill) => Ok(skill.root),
            Err(FindError::Unusable(error)) => {
                let root = self.list().skills.into_iter().find(|found| found.name == name).map(|found| found.root);
                root.ok_or(FindError::Unusable(error))
            }
            Err(error @ FindError::NotFound { .. }) => Err(error),
        }
    }

    /// A name, or a path: anything that contains a slash, and `.` and `..`. Relative paths start at `base`.
    pub fn resolve(&self, wanted: &str, base: &Path) -> Result<Skill, FindError> {
        if wanted.contains('/') || wanted == "." || wanted == ".." {
            Ok(Skill::load(&base.join(wanted))?)
        } else {
            self.find(wanted)
        }
    }
}

impl FoundSkill {
    fn load(root: PathBuf, origin: SkillOrigin) -> Self {
        let skill = Skill::load(&root);
        let folder = || root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = skill.as_ref().map_or_else(|_| folder(), |skill| skill.name.clone());
        Self { name, root, origin, skill, shadowed_by: None }
    }
}

/// Folders that have a `SKILL.md`, by name. Hidden ones are not looked at; unfinished installations are such.
pub(crate) fn skill_folders(folder: &Path) -> Result<Vec<PathBuf>, SkillError> {
    let failed = |error: std::io::Error| SkillError::new(folder, error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(SkillError::new(folder, SkillErrorKind::NoFolder));
        }
        Err(error) => return Err(failed(error)),
    };
    let mut roots = Vec::new();
    for (count, entry) in entries.enumerate() {
        if count >= ENTRIES_MAX {
            return Err(SkillError::new(folder, SkillErrorKind::TooManyFiles(ENTRIES_MAX)));
        }
        let entry = entry.map_err(failed)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let root = entry.path();
        // `symlink_metadata`: a link that points nowhere is a broken skill, not none.
        if !hidden && root.join("SKILL.md").symlink_metadata().is_ok() {
            roots.push(root);
        }
    }
    roots.sort_unstable();
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn search(folder: &Folder, names: &[&str]) -> SearchPath {
        let folders = names.iter().map(|name| SearchFolder { path: folder.at(name), origin: SkillOrigin::Project });
        SearchPath::new(folders.collect())
    }

    #[test]
    fn the_first_wins_and_the_others_are_reported() {
        let folder = Folder::skill("one/a").with_skill("two/a").with_skill("two/b").with_skill("three/a");
        let path = search(&folder, &["one", "two", "three", "none"]);
        let listing = path.list();
        let seen: Vec<_> = listing.skills.iter().map(|f| (f.root.clone(), f.shadowed_by.clone())).collect();
        let first = Some(folder.at("one/a"));
        let expected = [
            (folder.at("one/a"), None),
            (folder.at("two/a"), first.clone()),
            (folder.at("two/b"), None),
            (folder.at("three/a"), first),
        ];
        assert_eq!(seen, expected);
        assert!(listing.unreadable.is_empty());
        assert_eq!(path.find("a").unwrap().root, folder.at("one/a"));
        assert_eq!(search(&folder, &["three", "one"]).find("a").unwrap().root, folder.at("three/a"));
    }

    #[test]
    fn what_is_no_skill_is_passed_over() {
        let folder = Folder::skill("s/a").with("s/notes/README.md", "").with("s/file", "").with_skill("s/.hidden");
        let names: Vec<_> = search(&folder, &["s"]).list().skills.into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn a_broken_skill_is_listed_and_hides_none_behind_it() {
        let folder = Folder::skill("two/a").with_bytes("one/a/SKILL.md", b"\xff").with_skill("one/b");
        let path = search(&folder, &["one", "two"]);
        let listing = path.list();
        assert!(listing.skills[0].skill.is_err());
        assert_eq!(listing.skills.len(), 3);
        assert!(matches!(path.find("a"), Err(FindError::Unusable(_))), "the one that is meant is broken");
        assert_eq!(path.root_of("a").unwrap(), folder.at("one/a"));
        assert!(matches!(path.root_of("c"), Err(FindError::NotFound { .. })));
        assert!(path.find("b").is_ok());
    }

    #[test]
    fn one_folder_on_two_ways_is_one_skill() {
        let folder = Folder::skill("one/a").with_link("two", "one").with_link("three/a", "../one/a");
        let listing = search(&folder, &["one", "two", "three", "one"]).list();
        assert_eq!(listing.skills.len(), 1);
    }

    #[test]
    fn the_name_in_the_front_matter_is_the_name() {
        let folder = Folder::new().with("s/folder/SKILL.md", "---\nname: real\ndescription: D.\n---\nx");
        let path = search(&folder, &["s"]);
        assert!(path.find("real").is_ok());
        assert!(path.find("folder").is_err());
    }

    #[test]
    fn a_name_that_is_not_there_gets_an_offer() {
        let folder = Folder::skill("s/b").with_skill("s/a");
        let told = |folders: &[&str]| search(&folder, folders).find("c").unwrap_err().to_string();
        assert_eq!(told(&["s"]), "there is no skill \"c\"; the known skills are: a, b");
        assert!(told(&["none"]).starts_with("there is no skill \"c\"; no skill was found in: /"));
    }

    #[test]
    fn a_folder_that_is_a_file_is_reported() {
        let folder = Folder::skill("s/a").with("f", "");
        let listing = search(&folder, &["f", "s"]).list();
        assert_eq!((listing.skills.len(), listing.unreadable.len()), (1, 1));
        assert!(listing.unreadable[0].to_string().ends_with("f: is not a folder"));
    }

    #[test]
    fn names_and_paths() {
        let folder = Folder::skill("s/a").with_skill("a");
        let path = search(&folder, &["s"]);
        assert_eq!(path.resolve("a", folder.path()).unwrap().root, folder.at("s/a"));
        assert_eq!(path.resolve("./a", folder.path()).unwrap().name, "a");
        assert!(path.resolve("./a", folder.path()).unwrap().root.ends_with("a"));
        assert!(path.resolve(folder.at("a").to_str().unwrap(), Path::new("/")).is_ok());
        assert_eq!(path.resolve(".", &folder.at("a")).unwrap().findings, []);
        assert!(path.resolve("./none", folder.path()).is_err());
    }
}
