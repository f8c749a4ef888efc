//! An attempt that was claimed and never begun is nobody's again.
//!
//! The claim goes last. Whoever is killed on the way leaves a claim without a record, which is where it began; and while
//! the claim is there nobody else can begin the attempt and have files under these names.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use skillrun_evidence::{Stream, names};
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;
use crate::process::leftovers;
use crate::{recover, snapshot, start};

/// Gives up an attempt whose host is gone and was never told to start the process, so that it can be begun again. Only
/// its owner can know; but what has evidence or a record is refused, and so is an attempt whose host is alive.
pub fn withdraw(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
    // One at a time: the second would take away what was begun after the first.
    let folder = File::open(audit).map_err(failed("the folder cannot be opened"))?;
    flock(&folder, FlockOperation::LockExclusive)
        .map_err(|error| CollectError::file(audit, "the folder cannot be locked", error))?;
    let claim = match Claim::read(audit, attempt).map_err(failed("the claim cannot be read"))? {
        Claimed::By(claim) => Some(claim),
        Claimed::BySomebody => None,
        Claimed::ByNobody => {
            let numbers = start::recorded(audit).map_err(failed("the folder cannot be read"))?;
            return match numbers.contains(&attempt) {
                false => Ok(()),
                true => Err(CollectError::Refused(format!("attempt {attempt} was recorded without a claim"))),
            };
        }
    };
    if claim.as_ref().is_some_and(Claim::host_is_alive) {
        return Err(CollectError::Refused(format!("the host of attempt {attempt} is alive")));
    }
    if has_evidence(audit, attempt).map_err(failed("the evidence cannot be looked for"))? {
        return Err(CollectError::Refused(format!("attempt {attempt} was begun; its evidence is kept")));
    }
    if let Some(claim) = &claim {
        // There should be nobody. But whoever is there belongs to nobody else.
        leftovers::end(&claim.nonce);
    }
    give_up(audit, attempt, claim.as_ref()).map_err(failed("what the host left cannot be removed"))
}

/// A host makes these files when it starts the process, and its record when all is over.
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

/// Removes all that a host makes before it starts a process, the claim last. The socket is not among it: it may be
/// another host's by now.
pub(crate) fn give_up(audit: &Path, attempt: AttemptNumber, claim: Option<&Claim>) -> io::Result<()> {
    snapshot::remove_before(audit, attempt)?;
    if let Some(claim) = claim {
        recover::remove_temporary(claim);
        // Where a host was killed while it made them. A claim that somebody forged leads nowhere else.
        if claim.nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            remove(&claim.beside(audit))?;
            remove(&audit.join(names::socket_draft(&claim.nonce)))?;
        }
    }
    // The view may be there if somebody has noted that the host is gone.
    for name in [names::reserve(attempt), names::meta(attempt), names::claim(attempt)] {
        remove(&audit.join(name))?;
    }
    Ok(())
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        withdraw(dir.path(), TWO).expect("nobody began it");
        assert_eq!(left(&dir), others);
        withdraw(dir.path(), TWO).expect("and nobody has since");
        assert_eq!(left(&dir), others);
    }

    #[test]
    fn what_was_recorded_is_kept() {
        let evidence = ["host.2.json", "chunks.2.jsonl", "redact.2.jsonl", "stdin.2.log"];
        for name in evidence.into_iter().chain(["stdout.2.log", "stderr.2.log", "pty-output.2.log"]) {
            let dir = folder(&["claim.2", name]);
            let refused = withdraw(dir.path(), TWO).expect_err("it was begun").to_string();
            assert_eq!(
                (refused.as_str(), left(&dir).len()),
                ("attempt 2 was begun; its evidence is kept", 2),
                "{name}"
            );
        }
    }

    #[test]
    fn what_nobody_claimed_is_not_ours() {
        let dir = folder(&["stdout.2.log", "meta.2.json"]);
        let refused = withdraw(dir.path(), TWO).expect_err("somebody made it").to_string();
        assert_eq!((refused.as_str(), left(&dir).len()), ("attempt 2 was recorded without a claim", 2));
    }
}
