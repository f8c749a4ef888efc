//! Moves aside the files of a sticky process that exited between two attempts, so that another process can have the
//! attempt that it had opened but never begun.
//!
//! Nothing of it is in the Log, because the process had not received any input yet; but its last output may show why it
//! died. So the files are kept, in `aside.N/`, under their names. If that happens again to the next process, they are
//! kept in `aside.N.1/`, and so on.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use skillrun_base::file_lock;
use skillrun_base::whole_file;
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;

/// How often one attempt can be put aside. Each time requires a machine or two processes to die at a bad moment.
const TIMES: usize = 100;

/// Moves the files of an attempt aside whose host is gone. A repeated call resumes where the first was interrupted:
/// while the host's record exists, the attempt counts as ended.
pub fn put_aside(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
    let folder = File::open(audit).map_err(failed("failed to open the folder"))?;
    file_lock::lock(&folder).map_err(failed("failed to lock the folder"))?;
    match Claim::read(audit, attempt).map_err(failed("failed to read the claim"))? {
        Claimed::By(claim) if claim.host_is_alive() => {
            return Err(CollectError::Refused(format!("the host of attempt {attempt} is alive")));
        }
        Claimed::By(_) | Claimed::BySomebody | Claimed::ByNobody => {}
    }
    let files = files(audit, attempt).map_err(failed("failed to read the folder"))?;
    let Some(aside) = place(audit, attempt, &files) else {
        return Err(CollectError::Refused(format!("attempt {attempt} was put aside {TIMES} times")));
    };
    move_all(audit, &aside, attempt, &files).map_err(failed("failed to move the files of an ended process aside"))
}

/// Restores what was moved aside last: no other process got the attempt, so it ended as those files say. Does nothing
/// if the attempt has any files.
pub fn take_back(audit: &Path, attempt: AttemptNumber) -> Result<(), CollectError> {
    let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
    if !files(audit, attempt).map_err(failed("failed to read the folder"))?.is_empty() {
        return Ok(());
    }
    let Some(aside) = places(audit, attempt).take_while(|folder| folder.exists()).last() else { return Ok(()) };
    let names = files(&aside, attempt).map_err(failed("failed to read the folder"))?;
    // The record last: until it exists, the host counts as lost.
    names
        .iter()
        .chain([&names::host(attempt)])
        .try_for_each(|name| match fs::rename(aside.join(name), audit.join(name)) {
            // A killed host has left none.
            Err(error) if error.kind() == io::ErrorKind::NotFound && *name == names::host(attempt) => Ok(()),
            other => other,
        })
        .map_err(failed("failed to restore the files that were moved aside"))
}

/// The files of the attempt, without the record of its host.
fn files(audit: &Path, attempt: AttemptNumber) -> io::Result<Vec<String>> {
    let record = names::host(attempt);
    let mut files = Vec::new();
    for entry in fs::read_dir(audit)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if belongs(&name, attempt) && name != record && entry.file_type()?.is_file() {
            files.push(name);
        }
    }
    Ok(files)
}

/// A folder in which nothing is overwritten and which is not complete yet: it is complete once it contains the record.
fn place(audit: &Path, attempt: AttemptNumber, files: &[String]) -> Option<PathBuf> {
    let record = names::host(attempt);
    let is_free = |folder: &PathBuf| !files.iter().chain([&record]).any(|name| folder.join(name).exists());
    places(audit, attempt).find(is_free)
}

fn places(audit: &Path, attempt: AttemptNumber) -> impl Iterator<Item = PathBuf> {
    let first = format!("aside.{attempt}");
    let more: Vec<String> = (1..TIMES).map(|number| format!("{first}.{number}")).collect();
    [first].into_iter().chain(more).map(|name| audit.join(name))
}

fn move_all(audit: &Path, aside: &Path, attempt: AttemptNumber, files: &[String]) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    for name in files {
        fs::rename(audit.join(name), aside.join(name))?;
    }
    let record = names::host(attempt);
    whole_file::sync_folder(aside)?;
    match fs::rename(audit.join(&record), aside.join(&record)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    whole_file::sync_folder(audit)
}

/// Files of a snapshot have other names.
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
    }

    /// Regression: the second time was refused, and a run failed although nothing was lost.
    #[test]
    fn it_can_happen_to_one_attempt_again() {
        let audit = tempfile::tempdir().expect("a folder");
        let at = |name: &str| audit.path().join(name);
        // The first has exited. The second had the attempt and died before it began, and so did the third.
        for (aside, names) in [
            ("aside.2", &["claim.2", "stderr.2.log", "host.2.json"][..]),
            ("aside.2.1", &["claim.2", "fs-before.2.json"]),
            ("aside.2.2", &["claim.2"]),
        ] {
            names.iter().for_each(|name| fs::write(at(name), aside).expect("written"));
            put_aside(audit.path(), AttemptNumber(2)).expect("put aside");
            for name in names {
                assert!(!at(name).exists(), "{name}");
            }
        }
        for (name, of) in [("aside.2/claim.2", "aside.2"), ("aside.2.1/claim.2", "aside.2.1")] {
            assert_eq!(fs::read_to_string(at(name)).expect("kept"), of, "nothing is written over");
        }
        assert!(at("aside.2.2/claim.2").exists());
    }

    #[test]
    fn an_interrupted_move_resumes_in_the_same_folder() {
        let audit = tempfile::tempdir().expect("a folder");
        let at = |name: &str| audit.path().join(name);
        fs::create_dir(at("aside.2")).expect("a folder");
        for name in ["aside.2/claim.2", "aside.2/stderr.2.log", "stdout.2.log", "host.2.json"] {
            fs::write(at(name), "").expect("written");
        }
        put_aside(audit.path(), AttemptNumber(2)).expect("put aside");
        assert!(at("aside.2/host.2.json").exists() && at("aside.2/stdout.2.log").exists());
        assert!(!at("aside.2.1").exists());
    }

    #[test]
    fn files_of_an_untaken_attempt_are_restored() {
        let audit = tempfile::tempdir().expect("a folder");
        let at = |name: &str| audit.path().join(name);
        let its_own = ["claim.2", "stdout.2.log", "host.2.json"];
        for round in ["first", "second"] {
            its_own.iter().for_each(|name| fs::write(at(name), round).expect("written"));
            put_aside(audit.path(), AttemptNumber(2)).expect("put aside");
        }
        take_back(audit.path(), AttemptNumber(2)).expect("put back");
        for name in its_own {
            assert_eq!(fs::read_to_string(at(name)).expect("back"), "second", "{name}");
        }
        take_back(audit.path(), AttemptNumber(2)).expect("nothing to do");
        assert_eq!(fs::read_to_string(at("claim.2")).expect("a claim"), "second", "what is there stays");
        assert!(at("aside.2/claim.2").exists());
    }

    #[test]
    fn it_has_a_bound() {
        let audit = tempfile::tempdir().expect("a folder");
        for _ in 0..TIMES {
            fs::write(audit.path().join("claim.2"), "").expect("written");
            put_aside(audit.path(), AttemptNumber(2)).expect("put aside");
        }
        fs::write(audit.path().join("claim.2"), "").expect("written");
        put_aside(audit.path(), AttemptNumber(2)).expect_err("too often");
    }
}
