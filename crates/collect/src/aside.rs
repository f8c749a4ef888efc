//! What a sticky process left when it ended between two attempts is put aside, so that another process can have the
//! attempt that it had opened and never begun.
//!
//! Nothing of it is in the Log, because nobody had said anything to it yet; but why a process died may stand in what it
//! wrote last. So it is kept, in `aside.N/`, under the names it had.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use skillrun_evidence::{names, whole_file};
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;

/// Puts the files of an attempt aside whose host is gone. Said again it goes on where it was interrupted: as long as the
/// host's record is there, the attempt is one that ended.
pub fn put_aside(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
    let folder = File::open(audit).map_err(failed("the folder cannot be opened"))?;
    flock(&folder, FlockOperation::LockExclusive)
        .map_err(|error| CollectError::file(audit, "the folder cannot be locked", error))?;
    match Claim::read(audit, attempt).map_err(failed("the claim cannot be read"))? {
        Claimed::By(claim) if claim.host_is_alive() => {
            return Err(CollectError::Refused(format!("the host of attempt {attempt} is alive")));
        }
        Claimed::By(_) | Claimed::BySomebody | Claimed::ByNobody => {}
    }
    let aside = audit.join(format!("aside.{attempt}"));
    if aside.join(names::host(attempt)).exists() {
        return Err(CollectError::Refused(format!("attempt {attempt} was put aside before")));
    }
    move_all(audit, &aside, attempt).map_err(failed("what a process left cannot be put aside"))
}

fn move_all(audit: &Path, aside: &Path, attempt: AttemptNumber) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let record = names::host(attempt);
    for entry in fs::read_dir(audit)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_of_it = name.to_str().is_some_and(|name| belongs(name, attempt) && name != record);
        if is_of_it && entry.file_type()?.is_file() {
            fs::rename(entry.path(), aside.join(&name))?;
        }
    }
    whole_file::sync_folder(aside)?;
    match fs::rename(audit.join(&record), aside.join(&record)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    whole_file::sync_folder(audit)
}

/// Files of a snapshot have names of their own.
fn belongs(name: &str, attempt: AttemptNumber) -> bool {
    let of_snapshot = ["fs-before", "fs-after", "fs-diff"];
    let is_snapshot = || of_snapshot.iter().any(|word| name.starts_with(&format!("{word}.{attempt}.")));
    names::attempt_in(name) == Some(attempt) || is_snapshot()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_the_attempt_goes_and_nothing_else() {
        let audit = tempfile::tempdir().expect("a folder");
        let its_own =
            ["stdout.2.log", "stderr.2.log", "chunks.2.jsonl", "fs-before.2.json", "host.2.json", "meta.2.json"];
        let others = ["stdout.1.log", "stdout.20.log", "host.1.json", "host.sock", "fs-before.1.json", "claim.1"];
        for name in its_own.iter().chain(&others) {
            fs::write(audit.path().join(name), name).expect("written");
        }
        put_aside(audit.path(), AttemptNumber(2)).expect("put aside");
        for name in its_own {
            assert!(!audit.path().join(name).exists(), "{name}");
            let kept = fs::read_to_string(audit.path().join("aside.2").join(name)).expect("kept");
            assert_eq!(kept, name);
        }
        for name in others {
            assert!(audit.path().join(name).exists(), "{name}");
        }
        put_aside(audit.path(), AttemptNumber(2)).expect_err("it is there already");
    }
}
