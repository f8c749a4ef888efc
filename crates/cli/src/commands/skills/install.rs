//! `skillrun skills install`: from a folder, a zip file or a repository on GitHub.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use skillrun_model::Classified;
use skillrun_runtime::programs::{GitClone, GitError};
use skillrun_skill::archive::{self, ArchiveError};
use skillrun_skill::{Existing, InstalledSkill};

use super::findings_text;
use crate::args::{Global, OutputForm};
use crate::commands::engines::stop_on_signals;
use crate::failure::Failure;
use crate::output::{Output, plain, print, print_json};
use crate::settings::Settings;

const HOST: &str = "https://github.com";

pub(super) fn run(
    global: &Global,
    source: &str,
    existing: Existing,
    timeout: Duration,
    form: OutputForm,
) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let path = settings.cwd().join(source);
    let skills = settings.data.skills();
    // What exists here is meant, whatever it looks like.
    let installed = match (fs::metadata(&path), Repository::parse(source)) {
        (Ok(about), _) if about.is_dir() => from_folder(Path::new(source), &skills, existing)?,
        (Err(_), Some(repository)) => from_repository(&settings, &repository, existing, timeout)?,
        (Ok(_), _) | (Err(_), None) => archive::install(Path::new(source), &skills, existing)?,
    };
    let skill = &installed.skill;
    match form {
        OutputForm::Json => print_json(&json!({
            "name": skill.name,
            "folder": skill.root.to_string_lossy(),
            "replaced": installed.replaced,
            "findings": skill.findings,
        })),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            let what = if installed.replaced { "is replaced" } else { "is installed" };
            let findings = findings_text(&skill.root, &skill.findings, &output);
            print(&format!("{findings}{} {what} in {}\n", plain(&skill.name), plain(&skill.root.to_string_lossy())))
        }
    }
}

fn from_folder(folder: &Path, skills: &Path, existing: Existing) -> Result<InstalledSkill, ArchiveError> {
    archive::install_folder(&archive::only_skill(folder)?, skills, existing)
}

fn from_repository(
    settings: &Settings,
    repository: &Repository<'_>,
    existing: Existing,
    timeout: Duration,
) -> Result<InstalledSkill, Failure> {
    let is_stopped = stop_on_signals()?;
    let uploads = settings.data.uploads();
    let failed = |error: std::io::Error| {
        let path = uploads.to_string_lossy().into_owned();
        Failure::Write { path, error }
    };
    fs::create_dir_all(&uploads).map_err(failed)?;
    // Removed at the end, whatever happens.
    let place = tempfile::Builder::new().prefix("skill-").tempdir_in(&uploads).map_err(failed)?;
    // The name of the repository is the name of a skill that gives itself none.
    let into = place.path().join(repository.name);
    let (url, environment) = (repository.url(), &settings.surroundings.environment);
    let clone = GitClone { url: &url, into: &into, environment, timeout, is_stopped: &is_stopped };
    clone.run().map_err(|error: GitError| {
        let sentence = format!("\"{}\" is not a folder or a zip file here, and {error}", repository.written);
        match error {
            GitError::Failed { .. } => Failure::caused(error.class(), sentence, error),
            GitError::NotInstalled
            | GitError::NotStarted(_)
            | GitError::TooSlow { .. }
            | GitError::TooLarge { .. }
            | GitError::Stopped => Failure::of_class(error.class(), error),
        }
    })?;
    let folder = repository.folder.map_or_else(|| into.clone(), |folder| into.join(folder));
    // The temporary path says nothing to the user.
    let shown = |error: ArchiveError| {
        let inner = error
            .path
            .strip_prefix(&into)
            .ok()
            .map(|inner| Path::new(repository.owner).join(repository.name).join(inner));
        let path: PathBuf = inner.map_or_else(|| error.path.clone(), |inner| inner.components().collect());
        Failure::from(ArchiveError { path, ..error })
    };
    from_folder(&folder, &settings.data.skills(), existing).map_err(shown)
}

/// `OWNER/REPO`, or `OWNER/REPO/FOLDER`.
#[derive(Debug, PartialEq, Eq)]
struct Repository<'a> {
    written: &'a str,
    owner: &'a str,
    name: &'a str,
    folder: Option<&'a str>,
}

impl<'a> Repository<'a> {
    /// None when it does not look like one.
    fn parse(written: &'a str) -> Option<Self> {
        let mut parts = written.splitn(3, '/');
        let (owner, name, folder) = (parts.next()?, parts.next()?, parts.next());
        let is_name = |name: &str, more: &str| {
            (1..=100).contains(&name.len())
                && name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let is_inside = |folder: &str| {
            folder.len() <= 1_000 && folder.split('/').all(|part| !["", ".", "..", ".git"].contains(&part))
        };
        let is_zip = written.to_ascii_lowercase().ends_with(".zip");
        let is_one = is_name(owner, "-") && is_name(name, "-_.") && folder.is_none_or(is_inside) && !is_zip;
        is_one.then_some(Self { written, owner, name, folder })
    }

    fn url(&self) -> String {
        format!("{HOST}/{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        let found = Repository::parse("some-one/my.skill_s").expect("a repository");
        assert_eq!(found.url(), "https://github.com/some-one/my.skill_s");
        assert_eq!(found.folder, None);
        let inner = Repository::parse("a/b/skills/pdf").expect("a repository");
        assert_eq!((inner.url(), inner.folder), ("https://github.com/a/b".to_owned(), Some("skills/pdf")));
        for other in [
            "",
            "a",
            "a/",
            "/a/b",
            "./a",
            "../a",
            "a/..",
            "-u/b",
            "a/-b",
            "a/b/",
            "a/b/../c",
            "a/b//c",
            "a/b/.git/c",
            "a/b.zip",
            "a/b/c.ZIP",
            "https://x/y",
            "a b/c",
            "a/b c",
            "ext::sh/x",
            "~/x",
            "a_b/c",
        ] {
            assert_eq!(Repository::parse(other), None, "{other}");
        }
    }
}
