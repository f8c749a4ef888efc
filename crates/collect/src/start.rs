//! Starts a host: a separate process, which outlives the one that starts it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;

use crate::error::CollectError;
use crate::plan::HostPlan;
use skillrun_model::IgnoredError;

/// The answer of a host to its starter, once, on standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ready {
    /// The attempt is claimed; `host.sock` exists.
    Listening,
    /// Nothing was started.
    Refused(String),
    /// Nothing was started: another host has the attempt.
    Taken(String),
}

/// Creates the `.audit` folder of `dir`.
pub fn prepare_folder(dir: &Path) -> Result<std::path::PathBuf, CollectError> {
    let audit = dir.join(".audit");
    fs::create_dir_all(dir)
        .and_then(|()| DirBuilder::new().recursive(true).mode(0o700).create(&audit))
        .map_err(|error| CollectError::file(&audit, "failed to create the folder", error))?;
    // An existing one may be accessible to other users. If it belongs to another user, so does whatever is written into
    // it.
    fs::set_permissions(&audit, fs::Permissions::from_mode(0o700)).ignored();
    fs::canonicalize(&audit).map_err(|error| CollectError::file(&audit, "failed to resolve the folder", error))
}

/// The number after the last attempt that was begun in a folder.
pub fn next_number(audit: &Path) -> Result<AttemptNumber, CollectError> {
    // There is none after the largest number; a claim for it fails.
    last_number(audit).map(|last| AttemptNumber(last.0.saturating_add(1)))
}

/// The last attempt that was begun in a folder.
pub fn last_number(audit: &Path) -> Result<AttemptNumber, CollectError> {
    let numbers = recorded(audit).map_err(|error| CollectError::file(audit, "failed to read the folder", error))?;
    Ok(numbers.last().copied().unwrap_or(AttemptNumber::BEFORE_FIRST))
}

/// Attempts of which a folder has any file, whichever program created it.
pub(crate) fn recorded(audit: &Path) -> io::Result<BTreeSet<AttemptNumber>> {
    let mut numbers = BTreeSet::new();
    for entry in fs::read_dir(audit)? {
        numbers.extend(entry?.file_name().to_str().and_then(names::attempt_in));
    }
    Ok(numbers)
}

/// Starts a host with `command`, which runs [`crate::host::main`], and hands it the plan. When this returns, the host
/// has the attempt and can be attached to. It need not be reaped, except by a long-lived starter that must not
/// accumulate zombies.
pub fn start(mut command: Command, plan: &HostPlan) -> Result<Child, CollectError> {
    let plan = serde_json::to_vec(plan).map_err(|error| CollectError::NoHost(error.into()))?;
    // Variables for the engine are in the plan; the host itself needs none.
    let mut host = command
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(CollectError::NoHost)?;
    let answer = match converse(&mut host, &plan) {
        Ok(answer) => answer,
        Err(error) => {
            // No process may start any more that has no owner.
            host.kill().and_then(|()| host.wait()).ignored();
            return Err(CollectError::Silent(error));
        }
    };
    match serde_json::from_slice(&answer) {
        Ok(Ready::Listening) => Ok(host),
        Ok(Ready::Refused(reason)) => {
            host.wait().ignored();
            Err(CollectError::Refused(reason))
        }
        Ok(Ready::Taken(reason)) => {
            host.wait().ignored();
            Err(CollectError::Taken(reason))
        }
        Err(_) => {
            host.wait().ignored();
            Err(CollectError::HostGone)
        }
    }
}

/// Time limit for a host to claim an attempt. It does little before; only a hanging file system delays it, or a stop
/// signal.
const HOST_CLAIM_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of an answer.
const ANSWER_MAX: usize = 64 * 1024;

/// Sends the plan and reads the complete answer.
fn converse(host: &mut Child, plan: &[u8]) -> io::Result<Vec<u8>> {
    let until = Instant::now() + HOST_CLAIM_TIMEOUT;
    match host.stdin.take().map(|stdin| write_all(&stdin, plan, until)) {
        Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
        // A host that exits at once reports the reason below; that it did not read the plan does not matter then.
        Some(Ok(()) | Err(_)) | None => {}
    }
    let mut answer = Vec::new();
    let Some(mut stdout) = host.stdout.take() else { return Ok(answer) };
    let mut buffer = [0; 4096];
    while answer.len() < ANSWER_MAX {
        wait_for(&stdout, PollFlags::IN, until)?;
        match stdout.read(&mut buffer)? {
            0 => break,
            read => answer.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(answer)
}

/// A plan may be larger than a pipe, and a stopped host reads none of it.
fn write_all(stdin: &ChildStdin, plan: &[u8], until: Instant) -> io::Result<()> {
    rustix::io::ioctl_fionbio(stdin, true)?;
    let mut rest = plan;
    while !rest.is_empty() {
        match rustix::io::write(stdin, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::AGAIN) => wait_for(stdin, PollFlags::OUT, until)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait_for(pipe: &impl AsFd, what: PollFlags, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(pipe, what)], Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Random, for [`HostPlan::nonce`].
pub fn random_nonce() -> io::Result<String> {
    let mut bytes = [0; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(skillrun_evidence::os_text::to_hex(&bytes))
}
