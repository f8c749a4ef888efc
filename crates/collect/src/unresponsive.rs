//! An unresponsive host: alive, but stopped by a signal or blocked by a file system. An owner that wants its process
//! terminated cannot ask it, and kills the host itself; the host then counts as gone, as after a crash.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;
use crate::host::NAME;
use crate::process::leftovers;
use crate::process::list::Process;

/// Time limit for a killed host to exit.
const HOST_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Kills the host of an attempt with its engine process and everything that it has started. Does nothing if the host is
/// gone.
pub fn end_host(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let claim = match Claim::read(audit, attempt)
        .map_err(|error| CollectError::file(audit, "failed to read the claim", error))?
    {
        Claimed::By(claim) => claim,
        Claimed::BySomebody | Claimed::ByNobody => return Ok(()),
    };
    let begin = Instant::now();
    while let Some(host) = claim.host() {
        if !is_host_of(&host, audit) {
            return Err(CollectError::Refused(format!("process {} is not the host of attempt {attempt}", host.pid)));
        }
        if begin.elapsed() >= HOST_EXIT_TIMEOUT {
            return Err(CollectError::Refused(format!("failed to kill the host of attempt {attempt}")));
        }
        host.send(Signal::KILL);
        std::thread::sleep(Duration::from_millis(2));
    }
    leftovers::end(&claim.nonce);
    Ok(())
}

/// The engine may be able to write to the claim, and must not make it name another process to be killed: a host is
/// recognized by its process name and by the folder that it holds open.
fn is_host_of(process: &Process, audit: &Path) -> bool {
    let Ok(audit) = fs::canonicalize(audit) else { return false };
    let held = fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let holds = |place: &Path| fs::read_link(place).is_ok_and(|held| held == audit);
    let is_named_so = NAME.to_bytes() == process.name.as_bytes();
    // A host that is exiting holds nothing open any more.
    is_named_so && (held.map(|entry| entry.path()).any(|place| holds(&place)) || has_gone(process))
}

fn has_gone(process: &Process) -> bool {
    Process::read(process.pid).is_none_or(|now| now.began != process.began || now.is_over)
}
