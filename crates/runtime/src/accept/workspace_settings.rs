//! What files of the workspace could start, and names in it that look like credentials: looked for before a run starts,
//! so that its agent has written none of them.
//!
//! Bounded, because the files may be anybody's: few folders, small files, no special files.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use skillrun_engine::Descriptor;
use skillrun_engine::workspace::{HomeOwner, Outcome, PlaceContent};
use skillrun_model::workspace_settings::{StartKind, WorkspaceSettings, WorkspaceStart};
use skillrun_runs::record::{HomeChoice, Workspace};

use super::error::AcceptError;
use super::options::Filled;

/// Larger files are not read; settings are small.
const SETTINGS_MAX: u64 = 1 << 20;

/// Folders above the workspace in which engines look for settings, at most.
const ABOVE_MAX: usize = 16;

/// How deep, at how many entries, and for how many names the search for credentials goes.
const DEPTH_MAX: usize = 3;
const ENTRIES_MAX: usize = 5000;
const NAMES_MAX: usize = 20;

/// Names of folders that have many files, and none of the user's own.
const SKIPPED: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];

/// What was found in the workspace of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundInWorkspace {
    pub(super) starts: Vec<WorkspaceStart>,
    pub(super) credentials: Vec<String>,
}

/// Looks at the workspace. Refuses the run if the engine would start something that no switch prevents.
pub(super) fn look(
    descriptor: &Descriptor,
    options: &Filled,
    workspace: &Workspace,
) -> Result<FoundInWorkspace, AcceptError> {
    let folder = match workspace {
        Workspace::Own => return Ok(FoundInWorkspace::default()),
        Workspace::Folder { path, .. } => path.as_path(),
        Workspace::Copy(copy) => copy.from.as_path(),
    };
    let starts = match options.workspace_settings {
        WorkspaceSettings::Allow => Vec::new(),
        WorkspaceSettings::Ignore => starts(descriptor, options.home, folder)?,
    };
    Ok(FoundInWorkspace { starts, credentials: credentials(folder) })
}

fn starts(descriptor: &Descriptor, home: HomeChoice, workspace: &Path) -> Result<Vec<WorkspaceStart>, AcceptError> {
    let home = match home {
        HomeChoice::Run => HomeOwner::Run,
        HomeChoice::User => HomeOwner::User,
    };
    let mut found = Vec::new();
    for (above, folder) in searched(workspace).into_iter().enumerate() {
        for rule in &descriptor.workspace.starts {
            let Some(kind) = named(&folder.join(&rule.file), |content| rule.found(content)) else { continue };
            let file = "../".repeat(above) + &rule.file.to_string_lossy();
            match rule.by.outcome(home) {
                Outcome::Found(state) => found.push(WorkspaceStart { file, kind, state }),
                Outcome::Refused => {
                    return Err(AcceptError::WorkspaceStarts { engine: descriptor.name.to_string(), file, kind });
                }
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The workspace, and the folders above it up to the root of its repository, in which engines look too.
fn searched(workspace: &Path) -> Vec<PathBuf> {
    let folders: Vec<_> = workspace.ancestors().take(ABOVE_MAX).map(Path::to_owned).collect();
    let root = folders.iter().position(|folder| folder.join(".git").exists());
    folders.into_iter().take(root.unwrap_or_default() + 1).collect()
}

/// What is at a place, in the words of `say`. None: nothing is there.
fn named(path: &Path, say: impl Fn(PlaceContent<'_>) -> Option<StartKind>) -> Option<StartKind> {
    let about = fs::metadata(path).ok()?;
    if about.is_dir() {
        return match fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
            Ok(false) => None,
            Ok(true) => say(PlaceContent::Folder),
            Err(_) => say(PlaceContent::Unreadable),
        };
    }
    if !about.is_file() || about.len() > SETTINGS_MAX {
        return say(PlaceContent::Unreadable);
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(SETTINGS_MAX).read_to_string(&mut text));
    say(read.map_or(PlaceContent::Unreadable, |_| PlaceContent::Text(&text)))
}

/// Names in the upper folders of the workspace, in order. The files are not opened.
fn credentials(workspace: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = ENTRIES_MAX;
    let mut folders = vec![(workspace.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if left == 0 {
                break;
            }
            left -= 1;
            let (name, path) = (entry.file_name(), entry.path());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEPTH_MAX && !SKIPPED.iter().any(|skipped| name == *skipped) {
                    folders.push((path, depth + 1));
                }
            } else if let Ok(inside) = path.strip_prefix(workspace)
                && looks_like_credentials(inside)
            {
                names.push(inside.to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    names.truncate(NAMES_MAX);
    names
}

/// Whether a path has the name of a file that usually has a key, a password or a token in it.
fn looks_like_credentials(path: &Path) -> bool {
    const NAMES: &[&str] = &[
        ".env",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "credentials.json",
        "service-account.json",
        "service_account.json",
        "secrets.json",
        "secrets.yaml",
        "secrets.yml",
        "secrets.toml",
    ];
    const PATHS: &[&str] =
        &[".aws/credentials", ".docker/config.json", ".kube/config", ".config/gcloud/credentials.db"];
    const ENDS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore"];
    const EXAMPLES: &[&str] = &["example", "sample", "template", "dist"];
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()) else { return false };
    let is_env = name.strip_prefix(".env.").is_some_and(|rest| !EXAMPLES.contains(&rest));
    NAMES.contains(&name.as_str())
        || is_env
        || ENDS.iter().any(|end| name.len() > end.len() && name.ends_with(end))
        || PATHS.iter().any(|known| path.ends_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_name() {
        for path in [".env", "a/.env.local", "deploy/key.pem", ".aws/credentials", "x/id_rsa", ".NPMRC"] {
            assert!(looks_like_credentials(Path::new(path)), "{path}");
        }
        for path in [".env.example", "environment", "id_rsa.pub", "credentials", "src/key.rs", ".pem", "config.json"] {
            assert!(!looks_like_credentials(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_search_is_bounded_and_follows_no_links() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("a/b/c/d");
        fs::create_dir_all(&deep).expect("folders");
        fs::write(deep.join(".env"), "").expect("a file");
        fs::write(root.path().join("a/b/c/.env"), "").expect("a file");
        fs::create_dir_all(root.path().join("node_modules/x")).expect("a folder");
        fs::write(root.path().join("node_modules/x/.npmrc"), "").expect("a file");
        std::os::unix::fs::symlink("/", root.path().join("out")).expect("a link");
        for number in 0..NAMES_MAX + 5 {
            fs::write(root.path().join(format!("{number:03}.pem")), "").expect("a file");
        }
        let names = credentials(root.path());
        assert_eq!((names.len(), names[0].as_str()), (NAMES_MAX, "000.pem"));
        for number in 0..NAMES_MAX + 5 {
            fs::remove_file(root.path().join(format!("{number:03}.pem"))).expect("removed");
        }
        assert_eq!(credentials(root.path()), ["a/b/c/.env"]);
    }

    #[test]
    fn engines_look_up_to_the_root_of_the_repository() {
        let root = tempfile::tempdir().expect("a folder");
        let inner = root.path().join("repository/crates/one");
        fs::create_dir_all(&inner).expect("folders");
        assert_eq!(searched(&inner), std::slice::from_ref(&inner));
        fs::create_dir(root.path().join("repository/.git")).expect("a folder");
        assert_eq!(searched(&inner).last(), Some(&root.path().join("repository")));
        assert_eq!(searched(&inner).len(), 3);
    }

    #[test]
    fn special_and_large_files_are_not_opened() {
        let root = tempfile::tempdir().expect("a folder");
        let large = root.path().join("large");
        File::create(&large).and_then(|file| file.set_len(SETTINGS_MAX + 1)).expect("a file");
        let kind =
            |path: &Path| named(path, |content| (content == PlaceContent::Unreadable).then_some(StartKind::Unknown));
        assert_eq!(kind(&large), Some(StartKind::Unknown));
        assert_eq!(kind(Path::new("/dev/zero")), Some(StartKind::Unknown));
        assert_eq!(kind(&root.path().join("none")), None);
    }
}
