//! Recovers an attempt whose host is gone and left no record: the engine is terminated, leftover files are removed, and
//! the loss is noted. Several processes may do this at once, and it may be repeated.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use skillrun_evidence::host_record::{self, Survivor};
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;
use crate::process::leftovers;
use crate::{snapshot, temporary};
use skillrun_model::IgnoredError;

/// Terminates the processes that a dead host left. Without a readable claim they cannot be found.
pub(crate) fn recover(
    audit: &Path,
    attempt: AttemptNumber,
    claim: Option<&Claim>,
) -> Result<Vec<Survivor>, CollectError> {
    let survivors = claim.map(|claim| leftovers::end(&claim.nonce)).unwrap_or_default();
    if let Some(claim) = claim {
        tidy(audit, attempt, claim);
        remove_reserve(audit, claim);
    }
    host_record::write_lost_meta(audit, attempt, &survivors)
        .map_err(|error| CollectError::file(audit, "failed to note that the host is gone", error))
}

/// Removes the files that the dead host would have removed or renamed. It may have been killed after its record was
/// written.
pub(crate) fn tidy(audit: &Path, attempt: AttemptNumber, claim: &Claim) {
    remove_temporary(claim);
    // Texts of the workspace, which are useless without the host and unmasked.
    snapshot::forget_texts(audit, attempt);
    for entry in fs::read_dir(audit).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| claim.has_drafted(name)) {
            fs::remove_file(entry.path()).ignored();
        }
    }
}

/// Removes the engine's folder for temporary files. The engine may be able to write to the claim, so it is trusted only
/// if it names a folder that a host creates.
pub(crate) fn remove_temporary(claim: &Claim) {
    let path = claim.temporary.as_path();
    let is_named_so = path.file_name().is_some_and(|name| *name == *claim.temporary_name());
    let is_ours = fs::symlink_metadata(path)
        .is_ok_and(|folder| folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw());
    if is_named_so && is_ours {
        temporary::remove(path);
    }
}

/// Removes the space that a host reserved for its end. The file is named after the host's first attempt, which may be
/// an earlier one.
fn remove_reserve(audit: &Path, claim: &Claim) {
    for number in Claim::all(audit).unwrap_or_default() {
        if let Ok(Claimed::By(other)) = Claim::read(audit, number)
            && other.nonce == claim.nonce
        {
            fs::remove_file(audit.join(names::reserve(number))).ignored();
        }
    }
}
