//! Fetches a repository with git, bounded in time and size, without running anything that is in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::files;
use skillrun_base::text::shortened;
use skillrun_model::{Classified, ErrorClass};

use super::npm::{end, find};

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often the size of the repository is determined.
const SIZE_INTERVAL: Duration = Duration::from_millis(500);
/// Most bytes of a repository, with its history of one commit.
const BYTES_MAX: u64 = 512 << 20;
/// Most files and folders of a repository.
const FILES_MAX: usize = 100_000;
/// Most of the output of git that is read.
const OUTPUT_MAX: u64 = 64 * 1024;

/// Settings of git under which a checkout starts no other program: no hooks, no filters of large files.
const HARMLESS: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
];

/// Variables that would make git work on another repository.
const LEFT_OUT: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_TEMPLATE_DIR"];

/// A repository to fetch.
pub struct GitClone<'a> {
    pub url: &'a str,
    /// The folder of the checkout, which must not exist, in a folder that the caller removes.
    pub into: &'a Path,
    pub environment: &'a [(OsString, OsString)],
    pub timeout: Duration,
    /// Whether the user has canceled.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for GitClone<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may contain secrets.
        f.debug_struct("GitClone").field("url", &self.url).field("into", &self.into).finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed; install it, or give a folder or a zip file")]
    NotInstalled,
    #[error("git could not be started ({0})")]
    NotStarted(std::io::Error),
    #[error("git could not fetch {url} ({why})")]
    Failed { url: String, why: String },
    #[error("git did not fetch {url} within {} s", limit.as_secs())]
    TooSlow { url: String, limit: Duration },
    #[error("{url} is larger than {BYTES_MAX} bytes or has more than {FILES_MAX} files")]
    TooLarge { url: String },
    #[error("interrupted; nothing was installed")]
    Stopped,
}

impl Classified for GitError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Failed { .. } | Self::TooLarge { .. } => ErrorClass::Usage,
            Self::NotInstalled | Self::NotStarted(_) | Self::TooSlow { .. } | Self::Stopped => ErrorClass::Internal,
        }
    }
}

impl GitClone<'_> {
    /// Fetches the latest commit of the default branch.
    pub fn run(&self) -> Result<(), GitError> {
        let git = find("git", self.environment).ok_or(GitError::NotInstalled)?;
        let log = self.into.with_extension("log");
        let output = File::create(&log).map_err(GitError::NotStarted)?;
        let mut command = Command::new(git);
        command.args(HARMLESS.iter().flat_map(|setting| ["-c", setting]));
        // An empty template: a template of the user may contain hooks.
        command.args(["clone", "--quiet", "--depth=1", "--single-branch", "--no-tags", "--no-recurse-submodules"]);
        command.args(["--template=", "--"]).arg(self.url).arg(self.into);
        let is_kept = |name: &OsStr| !LEFT_OUT.iter().any(|left_out| name == *left_out);
        command.env_clear().envs(self.environment.iter().filter(|(name, _)| is_kept(name)).map(|(n, v)| (n, v)));
        // Never a question to a terminal, and no transport that starts a program of the address.
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ALLOW_PROTOCOL", "https:ssh:git:file").env("LC_ALL", "C");
        if !self.environment.iter().any(|(name, _)| name == "GIT_SSH_COMMAND") {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        // A separate process group, so that it can be terminated with the processes it started.
        let mut child = command.process_group(0).spawn().map_err(GitError::NotStarted)?;
        let ended = self.wait(&mut child);
        if ended.is_err() {
            end(&mut child);
        }
        match ended? {
            true => Ok(()),
            false => Err(GitError::Failed { url: self.url.to_owned(), why: reason(&log) }),
        }
    }

    /// Whether it succeeded.
    fn wait(&self, child: &mut Child) -> Result<bool, GitError> {
        let (begun, url) = (Instant::now(), || self.url.to_owned());
        let mut sized = begun;
        loop {
            let ended = child.try_wait().map_err(GitError::NotStarted)?;
            if ended.is_some() || sized.elapsed() >= SIZE_INTERVAL {
                sized = Instant::now();
                if !fits(self.into) {
                    return Err(GitError::TooLarge { url: url() });
                }
            }
            if let Some(status) = ended {
                return Ok(status.success());
            }
            if (self.is_stopped)() {
                return Err(GitError::Stopped);
            }
            if begun.elapsed() >= self.timeout {
                return Err(GitError::TooSlow { url: url(), limit: self.timeout });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Whether a folder is within the limits. What disappears in the meantime does not count.
fn fits(folder: &Path) -> bool {
    let (mut bytes, mut files) = (0_u64, 0_usize);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            files += 1;
            bytes = bytes.saturating_add(about.len());
            if files > FILES_MAX || bytes > BYTES_MAX {
                return false;
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    true
}

/// What git said at the end, in one line.
fn reason(log: &Path) -> String {
    let text = files::read_text(log, OUTPUT_MAX).unwrap_or_default();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().filter_map(|line| line.strip_prefix("fatal: ")).next_back();
    let said = fatal.or_else(|| lines().next_back()).unwrap_or("it gave no reason");
    shortened(said.trim_end_matches('.'), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(into: &Path, program: &Path, timeout: Duration, is_stopped: bool) -> Result<(), String> {
        let environment = [("PATH".into(), program.as_os_str().to_owned()), ("GIT_DIR".into(), "/nowhere".into())];
        let is_stopped = || is_stopped;
        let url = "https://example.invalid/a/b";
        let clone = GitClone { url, into, environment: &environment, timeout, is_stopped: &is_stopped };
        clone.run().map_err(|error| error.to_string())
    }

    /// A program called git that does this.
    fn fake(script: &str) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join("git");
        fs::write(&git, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(git, fs::Permissions::from_mode(0o755)).expect("executable");
        folder
    }

    #[test]
    fn a_failure_of_git_is_one_sentence() {
        let place = tempfile::tempdir().expect("a folder");
        let into = place.path().join("repo");
        let long = Duration::from_secs(60);
        let told = |script: &str| fetch(&into, fake(script).path(), long, false).expect_err("no repository");
        let said = "echo 'Cloning...' >&2; echo 'fatal: repository not found.' >&2; echo hint >&2; exit 128";
        assert_eq!(told(said), "git could not fetch https://example.invalid/a/b (repository not found)");
        assert_eq!(told("exit 1"), "git could not fetch https://example.invalid/a/b (it gave no reason)");
        let none = fetch(&into, place.path(), long, false).expect_err("no git");
        assert_eq!(none, "git is not installed; install it, or give a folder or a zip file");
        // The variables of another repository are not passed on.
        assert_eq!(told("test -z \"$GIT_DIR\" && echo fatal: unset >&2; exit 1"), told("echo unset >&2; exit 1"));
    }

    #[test]
    fn git_is_terminated_at_the_timeout_and_when_the_user_cancels() {
        let place = tempfile::tempdir().expect("a folder");
        let into = place.path().join("repo");
        let hangs = fake("/bin/sleep 600");
        let slow = fetch(&into, hangs.path(), Duration::from_millis(100), false).expect_err("too slow");
        assert_eq!(slow, "git did not fetch https://example.invalid/a/b within 0 s");
        let stopped = fetch(&into, hangs.path(), Duration::from_secs(600), true).expect_err("stopped");
        assert_eq!(stopped, "interrupted; nothing was installed");
    }

    #[test]
    fn a_repository_that_is_too_large_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let into = place.path().join("repo");
        // A file with a hole, so that it takes no space.
        let script = format!("/bin/mkdir {0}; exec /usr/bin/truncate -s 600M {0}/pack", into.display());
        let large = fetch(&into, fake(&script).path(), Duration::from_secs(60), false).expect_err("too large");
        assert!(large.starts_with("https://example.invalid/a/b is larger than 536870912 bytes"), "{large}");
    }
}
