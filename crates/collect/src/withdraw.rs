//! Withdraws an attempt that was claimed and never begun.
//!
//! The claim is removed last. A process that is killed on the way leaves a claim without a record, which is the initial
//! state; and while the claim exists no other host can begin the attempt and create files under these names.

use std::fs::File;
use std::io;
use std::path::Path;

use skillrun_base::file_lock;
use skillrun_base::files;
use skillrun_evidence::{Stream, names};
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;
use crate::process::leftovers;
use crate::{recover, snapshot, start};

/// Withdraws an attempt whose host is gone and never received the request to start the process, so that it can be begun
/// again. Only its owner can know that; but an attempt with evidence or a record is refused, and so is one whose host
/// is alive.
pub fn withdraw(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
    // One at a time: a second call would remove what was begun after the first.
    let folder = File::open(audit).map_err(failed("failed to open the folder"))?;
    file_lock::lock(&folder).map_err(failed("failed to lock the folder"))?;
    let claim = match Claim::read(audit, attempt).map_err(failed("failed to read the claim"))? {
        Claimed::By(claim) => Some(claim),
        Claimed::BySomebody => None,
        Claimed::ByNobody => {
            let numbers = start::recorded(audit).map_err(failed("failed to read the folder"))?;
            return match numbers.contains(&attempt) {
                false => Ok(()),
                true => Err(CollectError::Refused(format!("attempt {attempt} was recorded without a claim"))),
            };
        }
    };
    if claim.as_ref().is_some_and(Claim::host_is_alive) {
        return Err(CollectError::Refused(format!("the host of attempt {attempt} is alive")));
    }
    if has_evidence(audit, attempt).map_err(failed("failed to look for evidence"))? {
        return Err(CollectError::Refused(format!("attempt {attempt} was begun; its evidence is kept")));
    }
    if let Some(claim) = &claim {
        // There should be no process left. If there is one, it belongs to this attempt.
        leftovers::end(&claim.nonce);
    }
    give_up(audit, attempt, claim.as_ref()).map_err(failed("failed to remove the files of the host"))
}

/// A host creates these files when it starts the process, and its record at the end.
fn has_evidence(audit: &Path, attempt: AttemptNumber) -> io::Result<bool> {
    let of_streams = Stream::ALL.into_iter().map(|stream| names::log(stream, attempt));
    let others = [names::host(attempt), names::chunks(attempt), names::redact(attempt), names::stdin(attempt)];
    for name in of_streams.chain(others) {
        if audit.join(name).try_exists()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes everything that a host creates before it starts a process, the claim last. The socket is not removed: it may
/// belong to another host by now.
pub(crate) fn give_up(audit: &Path, attempt: AttemptNumber, claim: Option<&Claim>) -> io::Result<()> {
    snapshot::remove_before(audit, attempt)?;
    if let Some(claim) = claim {
        recover::remove_temporary(claim);
        // Left if a host was killed while it created them. A forged claim cannot point elsewhere.
        if claim.nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            files::remove_if_exists(&claim.beside(audit))?;
            files::remove_if_exists(&audit.join(names::socket_draft(&claim.nonce)))?;
        }
    }
    // The view may exist if a process has noted that the host is gone.
    for name in [names::reserve(attempt), names::meta(attempt), names::claim(attempt)] {
        files::remove_if_exists(&audit.join(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TWO: AttemptNumber = AttemptNumber(2);

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for name in names {
            fs::write(dir.path().join(name), "").expect("a file");
        }
        dir
    }

    fn left(dir: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(dir.path()).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_a_host_left_before_it_began_goes_and_nothing_else() {
        let others = ["claim.1", "claim.20", "fs-before.1.json", "host.1.json", "host.sock", "stdout.1.log"];
        let its_own = ["claim.2", "fs-before.2.json", "fs-before.2.json.tmp", "meta.2.json", "reserve.2"];
        let dir = folder(&[&others[..], &its_own[..]].concat());
        withdraw(dir.path(), TWO).expect("it has not begun");
        assert_eq!(left(&dir), others);
        withdraw(dir.path(), TWO).expect("it still has not begun");
        assert_eq!(left(&dir), others);
    }

    #[test]
    fn what_was_recorded_is_kept() {
        let evidence = ["host.2.json", "chunks.2.jsonl", "redact.2.jsonl", "stdin.2.log"];
        for name in evidence.into_iter().chain(["stdout.2.log", "stderr.2.log", "pty-output.2.log"]) {
            let dir = folder(&["claim.2", name]);
            let refused = withdraw(dir.path(), TWO).expect_err("it was begun").to_string();
            let expected = ("attempt 2 was begun; its evidence is kept", 2);
            assert_eq!((refused.as_str(), left(&dir).len()), expected, "{name}");
        }
    }

    #[test]
    fn an_unclaimed_attempt_is_refused() {
        let dir = folder(&["stdout.2.log", "meta.2.json"]);
        let refused = withdraw(dir.path(), TWO).expect_err("it has evidence").to_string();
        assert_eq!((refused.as_str(), left(&dir).len()), ("attempt 2 was recorded without a claim", 2));
    }
}
