//! A host that lives and does not hear, because somebody has stopped it or a file system holds it for good. Whoever wants
//! its process ended cannot ask it any more, and ends the host itself; then it is one that is gone, as after a crash.

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

/// How long a host that was killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends the host of an attempt with its process and everything that has started. Nothing happens if it is gone.
pub fn end_host(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let claim = match Claim::read(audit, attempt)
        .map_err(|error| CollectError::file(audit, "the claim cannot be read", error))?
    {
        Claimed::By(claim) => claim,
        Claimed::BySomebody | Claimed::ByNobody => return Ok(()),
    };
    let begin = Instant::now();
    while let Some(host) = claim.host() {
        if !is_host_of(&host, audit) {
            return Err(CollectError::Refused(format!("process {} is not the host of attempt {attempt}", host.pid)));
        }
        if begin.elapsed() >= PATIENCE {
            return Err(CollectError::Refused(format!("the host of attempt {attempt} cannot be ended")));
        }
        host.send(Signal::KILL);
        std::thread::sleep(Duration::from_millis(2));
    }
    leftovers::end(&claim.nonce);
    Ok(())
}

/// A claim may lie where the engine can write, and must not name somebody else to be killed: a host is called so, and
/// holds the folder it writes to.
fn is_host_of(process: &Process, audit: &Path) -> bool {
    let Ok(audit) = fs::canonicalize(audit) else { return false };
    let held = fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let holds = |place: &Path| fs::read_link(place).is_ok_and(|held| held == audit);
    let is_named_so = NAME.to_bytes() == process.name.as_bytes();
    // One that is on its way out holds nothing any more.
    is_named_so && (held.map(|entry| entry.path()).any(|place| holds(&place)) || has_gone(process))
}

fn has_gone(process: &Process) -> bool {
    Process::read(process.pid).is_none_or(|now| now.began != process.began || now.is_over)
}
