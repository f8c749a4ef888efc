//! Where skills are searched for.
//!
//! 1. `.agents/skills`, then `.claude/skills`, of the current folder and of its parents, up to the root of the Git
//!    repository it is in. Outside of a repository only the current folder counts: files that strangers put into `/tmp`
//!    are not a project of the user. The home folder is not a project either; its skills belong to the user.
//! 2. The folders in the settings.
//! 3. `~/.agents/skills`, `~/.claude/skills`, and the folder of installed skills in the data folder.

use std::path::{Path, PathBuf};

use skillrun_skill::{SearchFolder, SearchPath, SkillOrigin};

use super::Settings;

const IN_FOLDER: [&str; 2] = [".agents/skills", ".claude/skills"];

impl Settings {
    /// For the working folder `cwd`, which is absolute.
    pub fn search_path(&self, cwd: &Path) -> SearchPath {
        let home = self.surroundings.home();
        let project = project_folders(cwd).into_iter().filter(|folder| Some(*folder) != home).flat_map(in_folder);
        let user = home.into_iter().flat_map(in_folder).chain([self.data.skills()]);
        let of = |origin: SkillOrigin| move |path: PathBuf| SearchFolder { path, origin };
        SearchPath::new(
            project
                .map(of(SkillOrigin::Project))
                .chain(self.skills.iter().cloned().map(of(SkillOrigin::Configured)))
                .chain(user.map(of(SkillOrigin::User)))
                .collect(),
        )
    }
}

fn in_folder(folder: &Path) -> impl Iterator<Item = PathBuf> {
    IN_FOLDER.map(|name| folder.join(name)).into_iter()
}

/// The nearest first.
fn project_folders(cwd: &Path) -> Vec<&Path> {
    // In a worktree `.git` is a file.
    let root = cwd.ancestors().position(|folder| folder.join(".git").exists());
    cwd.ancestors().take(root.unwrap_or(0) + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::settings;
    use std::fs;

    fn searched(folder: &Path, cwd: &str, config: &str) -> Vec<String> {
        let settings = settings(folder, config).unwrap();
        let path = settings.search_path(&folder.join(cwd));
        let relative = |found: &SearchFolder| {
            let path = found.path.strip_prefix(folder).unwrap().display().to_string();
            (format!("{:?}", found.origin).to_lowercase(), path)
        };
        path.folders().iter().map(relative).map(|(origin, path)| format!("{origin} {path}")).collect()
    }

    #[test]
    fn project_then_configured_then_user() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/repo/.git")).unwrap();
        let expected = [
            "project home/repo/inner/.agents/skills",
            "project home/repo/inner/.claude/skills",
            "project home/repo/.agents/skills",
            "project home/repo/.claude/skills",
            "configured team",
            "user home/.agents/skills",
            "user home/.claude/skills",
            "user home/.local/share/skillrun/skills",
        ];
        assert_eq!(searched(folder.path(), "home/repo/inner", "skills = ['team']"), expected);
    }

    #[test]
    fn outside_of_a_repository_parents_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let searched = searched(folder.path(), "a/b", "");
        assert_eq!(searched[..2], ["project a/b/.agents/skills", "project a/b/.claude/skills"]);
        assert!(searched[2].starts_with("user "), "{searched:?}");
    }

    #[test]
    fn the_home_folder_is_no_project_even_in_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.git")).unwrap();
        let searched = searched(folder.path(), "home", "");
        assert!(searched.iter().all(|one| one.starts_with("user ")), "{searched:?}");
    }
}
