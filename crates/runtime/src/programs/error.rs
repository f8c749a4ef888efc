//! Why an engine was not installed or removed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::uninstall::ProgramUser;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("there is no npm in PATH; install Node, which includes it, and try again")]
    NoNpm,
    #[error("npm failed to install {what} ({why}); its output is in {}", log.display())]
    Failed { what: String, why: String, log: PathBuf },
    #[error("npm did not install {what} within {} s; its output is in {}", limit.as_secs(), log.display())]
    TooSlow { what: String, limit: Duration, log: PathBuf },
    #[error("npm was asked for {what} and silently installed {got}, which it does when Node is too old for it")]
    OtherVersion { what: String, got: String },
    #[error("npm installed {what}, but it contains no executable {}", program.display())]
    NoProgram { what: String, program: PathBuf },
    #[error("npm installed {what}, but it does not report its version ({why}); a part of it may be missing")]
    Mute { what: String, why: String },
    #[error("another process is installing or removing an engine and has not finished within {} s", .0.as_secs())]
    Busy(Duration),
    #[error("stopped; nothing was changed")]
    Stopped,
    #[error("{what} is in use by {user}; wait until its run is over, or cancel the run")]
    InUse { what: String, user: ProgramUser },
    #[error("{}: cannot be {what} ({source})", path.display())]
    File { path: PathBuf, what: &'static str, source: io::Error },
}

impl InstallError {
    pub(super) fn file(path: impl Into<PathBuf>, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, what, source }
    }
}
