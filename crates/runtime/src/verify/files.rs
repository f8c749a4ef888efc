//! Evidence files against the hashes that their host took while it wrote them.

use std::fs::File;
use std::io;
use std::path::Path;

use skillrun_evidence::{HostRecord, Stream, names};
use skillrun_model::rasp::data::Exit;
use skillrun_model::{AttemptNumber, EndedBy};

use super::Outcome;
use crate::retention;

/// Whether an attempt is over, and how its process left.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over<'a> {
    Settled(&'a Exit),
    NotYet,
}

/// Evidence was removed, as agreed.
pub(super) fn is_removed(audit: &Path) -> bool {
    audit.join(retention::NOTE).symlink_metadata().is_ok()
}

pub(super) fn check(audit: &Path, number: AttemptNumber, over: Over<'_>) -> Outcome {
    if is_removed(audit) {
        return Outcome::not_comparable("the evidence was removed to save space");
    }
    let name = names::host(number);
    let record = match HostRecord::read(audit, number) {
        Ok(Some(record)) => record,
        Ok(None) => return without_record(audit, number, over),
        Err(error) => return Outcome::different(format!("{name} is no record of a host ({error})")),
    };
    if record.attempt_number != number {
        return Outcome::different(format!("{name} is the record of attempt {}", record.attempt_number));
    }
    if record.hashes.is_empty() {
        return Outcome::not_comparable("the host could not vouch for the files it wrote");
    }
    for (name, hash) in &record.hashes {
        if !recorded(number).contains(name) {
            return Outcome::different(format!("{} tells of {name:?}, which is no evidence", names::host(number)));
        }
        match hash_of(&audit.join(name)) {
            Ok((found, _)) if found == *hash => {}
            Ok((_, bytes)) => {
                return Outcome::different(format!(
                    "{name} is not as the host wrote it: it has {bytes} bytes and another hash"
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Outcome::lost(format!("{name} is gone"));
            }
            Err(error) => return Outcome::lost(format!("{name} cannot be read ({error})")),
        }
    }
    let beside = recorded(number)
        .into_iter()
        .find(|name| !record.hashes.contains_key(name) && audit.join(name).symlink_metadata().is_ok());
    match beside {
        Some(name) => Outcome::different(format!("{name} is there, and the host wrote no such file")),
        None => Outcome::Same,
    }
}

fn without_record(audit: &Path, number: AttemptNumber, over: Over<'_>) -> Outcome {
    let name = names::host(number);
    let exit = match over {
        Over::NotYet => return Outcome::not_yet(format!("{name} is written when the attempt is over")),
        Over::Settled(exit) => exit,
    };
    match exit.ended_by {
        Some(EndedBy::HostLost) => Outcome::not_comparable("the host was lost before it could record any hash"),
        None if recorded(number).iter().all(|name| audit.join(name).symlink_metadata().is_err()) => {
            Outcome::not_comparable("nothing was recorded")
        }
        None
        | Some(
            EndedBy::Exited
            | EndedBy::HardTimeout
            | EndedBy::Stall
            | EndedBy::Linger
            | EndedBy::WaitTimeout
            | EndedBy::Canceled
            | EndedBy::Budget
            | EndedBy::HostError
            | EndedBy::NotStarted,
        ) => Outcome::lost(format!("{name} is gone")),
    }
}

/// Files of an attempt that a host takes hashes of.
fn recorded(number: AttemptNumber) -> Vec<String> {
    let logs = Stream::ALL.into_iter().map(|stream| names::log(stream, number));
    logs.chain([names::stdin(number), names::chunks(number), names::redact(number)]).collect()
}

fn hash_of(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok((hasher.finalize().to_hex().to_string(), hasher.count()))
}
