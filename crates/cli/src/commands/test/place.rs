//! The data folder of a test's runs, separate from the user's, so that they do not mix with real runs.

use std::fs;
use std::path::Path;

use skillrun_runs::DataFolder;
use skillrun_skill::{Skill, SkillCopy};
use skillrun_trial::report::Overall;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::settings::Settings;
use skillrun_model::IgnoredError;

#[derive(Debug)]
pub(super) enum Place {
    /// Removed if all tests passed.
    Temporary(TempDir),
    /// The user's.
    Kept(DataFolder),
}

impl Place {
    pub(super) fn make(settings: &Settings, keep: Option<&Path>) -> Result<Self, Failure> {
        if let Some(folder) = keep {
            return Ok(Self::Kept(DataFolder::new(settings.surroundings.absolute_path(folder))));
        }
        let parent = settings.data.tests();
        let failed = |error| Failure::Write { path: parent.to_string_lossy().into_owned(), error };
        fs::create_dir_all(&parent).map_err(failed)?;
        tempfile::Builder::new().prefix("test-").tempdir_in(&parent).map(Self::Temporary).map_err(failed)
    }

    pub(super) fn data(&self) -> DataFolder {
        match self {
            Self::Temporary(folder) => DataFolder::new(folder.path()),
            Self::Kept(data) => data.clone(),
        }
    }

    /// The skill as engines receive it: without the cases, because they contain the answers.
    pub(super) fn skill(&self, skill: &Skill, cases: Option<&Path>) -> Result<Skill, Failure> {
        let real = |path: &Path| path.canonicalize().ok();
        let inside = cases.and_then(real).zip(real(&skill.root));
        let Some(inside) = inside.and_then(|(file, root)| file.strip_prefix(root).ok().map(Path::to_owned)) else {
            return Ok(skill.clone());
        };
        let folder = tempfile::Builder::new().prefix("skill-").tempdir_in(self.made()?);
        let failed = |path: &Path, error| Failure::Write { path: path.to_string_lossy().into_owned(), error };
        let folder = folder.map_err(|error| failed(self.data().root(), error))?.keep();
        let name = skill.root.file_name().unwrap_or(skill.name.as_ref());
        let copy = SkillCopy::make(&skill.root, &folder.join(name))?;
        let file = copy.root().join(inside);
        fs::remove_file(&file).map_err(|error| failed(&file, error))?;
        Ok(Skill::load(copy.root())?)
    }

    fn made(&self) -> Result<std::path::PathBuf, Failure> {
        let root = self.data().root().to_owned();
        fs::create_dir_all(&root)
            .map_err(|error| Failure::Write { path: root.to_string_lossy().into_owned(), error })?;
        Ok(root)
    }

    /// Where the runs are kept; none if they were removed.
    pub(super) fn end(self, verdict: Overall) -> Option<String> {
        let path = match (self, verdict) {
            // Leftovers that cannot be removed do no harm.
            (Self::Temporary(folder), Overall::Passed) => {
                folder.close().ignored();
                return None;
            }
            (Self::Temporary(folder), Overall::Failed | Overall::Interrupted) => folder.keep(),
            (Self::Kept(data), _) => data.root().to_owned(),
        };
        Some(path.to_string_lossy().into_owned())
    }
}
