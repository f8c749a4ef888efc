//! Why an engine was not installed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("there is no npm in PATH; install Node, which brings it, and try again")]
    NoNpm,
    #[error("npm could not install {what} ({why}); what it said is in {}", log.display())]
    Failed { what: String, why: String, log: PathBuf },
    #[error("npm did not install {what} within {} s; what it said is in {}", limit.as_secs(), log.display())]
    TooSlow { what: String, limit: Duration, log: PathBuf },
    #[error("npm was asked for {what} and installed {got} without a word, which it does when Node is too old for it")]
    OtherVersion { what: String, got: String },
    #[error("npm installed {what}, and there is no {} in it that can be started", program.display())]
    NoProgram { what: String, program: PathBuf },
    #[error(
        "npm installed {what}, and it does not tell its version when it is asked ({why}); a part of it may be missing"
    )]
    Mute { what: String, why: String },
    #[error("another process installs something, and has not finished within {} s", .0.as_secs())]
    Busy(Duration),
    #[error("stopped; nothing was installed")]
    Stopped,
    #[error("{}: cannot be {what} ({source})", path.display())]
    File { path: PathBuf, what: &'static str, source: io::Error },
}

impl InstallError {
    pub(super) fn file(path: impl Into<PathBuf>, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, what, source }
    }
}
