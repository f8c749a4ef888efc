//! Starts a host: a process of its own, which outlives the one that starts it.

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
use crate::plan::Plan;
use crate::spawn::inherit_nothing;

/// What a host tells its starter, once, on standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ready {
    /// The attempt is claimed; `host.sock` is there.
    Listening,
    /// Nothing was begun.
    Refused(String),
    /// Nothing was begun: somebody else has the attempt.
    Taken(String),
}

/// Creates the `.audit` folder of `dir`.
pub fn prepare_folder(dir: &Path) -> Result<std::path::PathBuf, CollectError> {
    let audit = dir.join(".audit");
    fs::create_dir_all(dir)
        .and_then(|()| DirBuilder::new().recursive(true).mode(0o700).create(&audit))
        .map_err(|error| CollectError::file(&audit, "the folder cannot be made", error))?;
    // One that was there may be open to others. If it is not ours, what we write into it is not either way.
    fs::set_permissions(&audit, fs::Permissions::from_mode(0o700)).ok();
    fs::canonicalize(&audit).map_err(|error| CollectError::file(&audit, "the folder cannot be found", error))
}

/// The number after the last attempt that was begun in a folder.
pub fn next_number(audit: &Path) -> Result<AttemptNumber, CollectError> {
    // After the largest number there is none; whoever asks for it again is told so.
    last_number(audit).map(|last| AttemptNumber(last.0.saturating_add(1)))
}

/// The last attempt that was begun in a folder.
pub fn last_number(audit: &Path) -> Result<AttemptNumber, CollectError> {
    let numbers = recorded(audit).map_err(|error| CollectError::file(audit, "the folder cannot be read", error))?;
    Ok(numbers.last().copied().unwrap_or(AttemptNumber::BEFORE_FIRST))
}

/// Attempts that a folder has any file of, whoever made it.
pub(crate) fn recorded(audit: &Path) -> io::Result<BTreeSet<AttemptNumber>> {
    let mut numbers = BTreeSet::new();
    for entry in fs::read_dir(audit)? {
        numbers.extend(entry?.file_name().to_str().and_then(names::attempt_in));
    }
    Ok(numbers)
}

/// Starts a host with `command`, which runs [`crate::host::main`], and hands it the plan. When this returns, the host
/// has the attempt and can be attached to. It need not be waited for, except by a starter that lives long and does not
/// want to collect the dead.
pub fn start(mut command: Command, plan: &Plan) -> Result<Child, CollectError> {
    let plan = serde_json::to_vec(plan).map_err(|error| CollectError::NoHost(error.into()))?;
    // A host lives longer than its starter: whoever waits for the end of a pipe that the starter has must not wait for it.
    inherit_nothing(&mut command);
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
            // Nothing may begin any more that nobody knows of.
            host.kill().and_then(|()| host.wait()).ok();
            return Err(CollectError::Silent(error));
        }
    };
    match serde_json::from_slice(&answer) {
        Ok(Ready::Listening) => Ok(host),
        Ok(Ready::Refused(reason)) => {
            host.wait().ok();
            Err(CollectError::Refused(reason))
        }
        Ok(Ready::Taken(reason)) => {
            host.wait().ok();
            Err(CollectError::Taken(reason))
        }
        Err(_) => {
            host.wait().ok();
            Err(CollectError::HostGone)
        }
    }
}

/// How long a host may take to claim an attempt. It does nothing long before; only a file system that hangs holds it up,
/// or somebody who has stopped it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Most bytes of an answer.
const ANSWER_MAX: usize = 64 * 1024;

/// Hands over the plan and hears the answer, to its end.
fn converse(host: &mut Child, plan: &[u8]) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    match host.stdin.take().map(|stdin| write_all(&stdin, plan, until)) {
        Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
        // A host that ends at once tells why below; that it did not take the plan does not matter then.
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

/// A plan may be larger than a pipe, and a host that was stopped takes none of it.
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

/// Random, for [`Plan::nonce`].
pub fn random_nonce() -> io::Result<String> {
    let mut bytes = [0; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(skillrun_evidence::os_text::to_hex(&bytes))
}
