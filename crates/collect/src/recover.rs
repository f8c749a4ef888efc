//! What is done about an attempt whose host is gone and left no record: the engine is ended, what is of no use is
//! removed, and the loss is noted. It may be done by several at once, and again and again.

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

/// Ends what a dead host left. Without a readable claim there is nothing to find it by.
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
        .map_err(|error| CollectError::file(audit, "that the host is gone cannot be noted", error))
}

/// Removes what a host that is gone would have removed or given its name. It may have been killed when its record was
/// written already.
pub(crate) fn tidy(audit: &Path, attempt: AttemptNumber, claim: &Claim) {
    remove_temporary(claim);
    // Texts of the workspace, which are of no use without the host and hide nothing.
    snapshot::forget_texts(audit, attempt);
    for entry in fs::read_dir(audit).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| claim.has_drafted(name)) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Removes the engine's folder for temporary files. The claim may lie where the engine can write, so it is only believed
/// if it names a folder that a host makes.
pub(crate) fn remove_temporary(claim: &Claim) {
    let path = claim.temporary.as_path();
    let is_named_so = path.file_name().is_some_and(|name| *name == *claim.temporary_name());
    let is_ours = fs::symlink_metadata(path)
        .is_ok_and(|folder| folder.is_dir() && folder.uid() == rustix::process::geteuid().as_raw());
    if is_named_so && is_ours {
        temporary::remove(path);
    }
}

/// Removes the room that a host kept for its end. It is named after the host's first attempt, which may be an earlier one.
fn remove_reserve(audit: &Path, claim: &Claim) {
    for number in Claim::all(audit).unwrap_or_default() {
        if let Ok(Claimed::By(other)) = Claim::read(audit, number)
            && other.nonce == claim.nonce
        {
            fs::remove_file(audit.join(names::reserve(number))).ok();
        }
    }
}
