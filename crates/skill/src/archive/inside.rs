//! The skill in a folder that may contain more than a skill, as repositories do.

use std::path::{Path, PathBuf};

use super::error::{ArchiveError, ArchiveErrorKind};
use crate::error::SkillError;
use crate::package::SKILL_FILE;
use crate::search::skill_folders;

/// Folders of a repository in which skills are looked for.
const PLACES: [&str; 4] = ["", "skills", ".agents/skills", ".claude/skills"];

/// The folder itself if it is a skill, else the only skill in it.
pub fn only_skill(folder: &Path) -> Result<PathBuf, ArchiveError> {
    if folder.join(SKILL_FILE).symlink_metadata().is_ok() {
        return Ok(folder.to_owned());
    }
    let real = folder.canonicalize().map_err(|error| ArchiveError::new(folder, error))?;
    // A link could lead anywhere.
    let is_inside =
        |path: &PathBuf| !path.is_symlink() && path.canonicalize().is_ok_and(|path| path.starts_with(&real));
    let mut found = Vec::new();
    for place in PLACES {
        let folders = skill_folders(&folder.join(place));
        let bad = |error: SkillError| ArchiveError::new(error.path, ArchiveErrorKind::BadSkill(error.kind.into()));
        found.extend(folders.map_err(bad)?.into_iter().filter(is_inside));
    }
    match found.as_slice() {
        [] => Err(ArchiveError::new(folder, ArchiveErrorKind::NoSkillInside)),
        [skill] => Ok(skill.clone()),
        [..] => {
            let inner = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
            Err(ArchiveError::new(folder, ArchiveErrorKind::Several(found.iter().map(inner).collect())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn told(folder: &Folder) -> String {
        only_skill(&folder.at("r")).expect_err("no skill").kind.to_string()
    }

    #[test]
    fn the_only_skill_of_a_repository_is_found() {
        for place in ["r", "r/a", "r/skills/a", "r/.claude/skills/a", "r/.agents/skills/a"] {
            let folder = Folder::skill(place).with("r/README.md", "").with("r/docs/x", "");
            assert_eq!(only_skill(&folder.at("r")).expect("a skill"), folder.at(place));
        }
        let both = Folder::skill("r").with_skill("r/skills/a");
        assert_eq!(only_skill(&both.at("r")).expect("a skill"), both.at("r"), "a skill may contain others");
    }

    #[test]
    fn none_and_several_are_refused_and_links_are_not_followed() {
        let none = "has no skill: there is no SKILL.md in it, in its folders or in a folder \"skills\" of it";
        assert_eq!(told(&Folder::new().with("r/README.md", "")), none);
        let outside = Folder::skill("a");
        let links = Folder::new().with_link("r/a", outside.at("a")).with_link("r/skills", outside.path());
        let links = links.with_skill("x/skills/a").with_link("r/.claude", "../x");
        assert_eq!(told(&links), none);
        let two = Folder::skill("r/a").with_skill("r/skills/b");
        assert_eq!(told(&two), "has 2 skills; name the folder of one: a, skills/b");
        let many = (0..12).fold(Folder::new(), |folder, n| folder.with_skill(&format!("r/s{n:02}")));
        assert!(told(&many).ends_with("s08, s09, …"), "{}", told(&many));
    }
}
