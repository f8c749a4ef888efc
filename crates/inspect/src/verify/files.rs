//! Evidence files against the hashes that their host took while it wrote them.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use skillrun_base::whole_file;
use skillrun_evidence::{HostRecord, Stream, names};
use skillrun_model::rasp::data::AttemptEnded;
use skillrun_model::{AttemptNumber, EndedBy, RunId};
use skillrun_runs::retention::is_evidence_removed;

use super::VerifyOutcome;

/// Whether an attempt is over, and how its process left.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over<'a> {
    Settled(&'a AttemptEnded),
    NotYet,
}

pub(super) fn check(audit: &Path, run: RunId, number: AttemptNumber, over: Over<'_>) -> VerifyOutcome {
    if is_evidence_removed(audit) {
        return VerifyOutcome::not_comparable("the evidence was removed to save space");
    }
    let name = names::host(number);
    let record = match HostRecord::read(audit, number) {
        Ok(Some(record)) => record,
        Ok(None) => return without_record(audit, number, over),
        Err(error) => return VerifyOutcome::different(format!("{name} is not a host record ({error})")),
    };
    if record.attempt_number != number {
        return VerifyOutcome::different(format!("{name} is the record of attempt {}", record.attempt_number));
    }
    if record.run_id != run {
        return VerifyOutcome::different(format!("{name} is the record of an attempt of run {}", record.run_id));
    }
    if let Over::Settled(AttemptEnded { host_hash: Some(wanted), .. }) = over {
        match whole_file::hash(&audit.join(&name)) {
            Ok((found, _)) if found == *wanted => {}
            Ok(_) => {
                return VerifyOutcome::different(format!(
                    "{name} is not the record that attempt.ended has the hash of"
                ));
            }
            Err(error) => return VerifyOutcome::lost(format!("{name} cannot be read ({error})")),
        }
    }
    recorded_files(audit, run, number, &record)
}

/// The files of a recording against the record of its host.
pub(super) fn recorded_files(audit: &Path, run: RunId, number: AttemptNumber, record: &HostRecord) -> VerifyOutcome {
    if let Some(wrong) = wrong_claim(audit, run, number, record.host_pid) {
        return VerifyOutcome::different(wrong);
    }
    if record.hashes.is_empty() {
        return VerifyOutcome::not_comparable("the host could not vouch for the files it wrote");
    }
    for (name, hash) in &record.hashes {
        if !recorded(number).contains(name) && !names::beside(number).contains(name) {
            return VerifyOutcome::different(format!("{} lists {name:?}, which is not evidence", names::host(number)));
        }
        match whole_file::hash(&audit.join(name)) {
            Ok((found, _)) if found == *hash => {}
            Ok((_, bytes)) => {
                return VerifyOutcome::different(format!(
                    "{name} differs from what the host wrote: it has {bytes} bytes and another hash"
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return VerifyOutcome::lost(format!("{name} is missing"));
            }
            Err(error) => return VerifyOutcome::lost(format!("{name} cannot be read ({error})")),
        }
    }
    let beside = recorded(number)
        .into_iter()
        .find(|name| !record.hashes.contains_key(name) && audit.join(name).symlink_metadata().is_ok());
    match beside {
        Some(name) => VerifyOutcome::different(format!("{name} exists, but the host wrote no such file")),
        None => VerifyOutcome::Same,
    }
}

fn without_record(audit: &Path, number: AttemptNumber, over: Over<'_>) -> VerifyOutcome {
    let name = names::host(number);
    let exit = match over {
        Over::NotYet => return VerifyOutcome::not_yet(format!("{name} is written when the attempt is over")),
        Over::Settled(AttemptEnded { host_hash: Some(_), .. }) => {
            return VerifyOutcome::lost(format!("{name} is missing"));
        }
        Over::Settled(ended) => &ended.exit,
    };
    match exit.ended_by {
        Some(EndedBy::HostLost) => VerifyOutcome::not_comparable("the host was lost before it could record any hash"),
        None if recorded(number).iter().all(|name| audit.join(name).symlink_metadata().is_err()) => {
            VerifyOutcome::not_comparable("nothing was recorded")
        }
        None
        | Some(
            EndedBy::Exited
            | EndedBy::HardTimeout
            | EndedBy::Stall
            | EndedBy::Linger
            | EndedBy::WaitTimeout
            | EndedBy::Canceled
            | EndedBy::Interrupted
            | EndedBy::MemoryLimit
            | EndedBy::ProcessLimit
            | EndedBy::CpuLimit
            | EndedBy::DiskLimit
            | EndedBy::Budget
            | EndedBy::HostError
            | EndedBy::NotStarted,
        ) => VerifyOutcome::lost(format!("{name} is missing")),
    }
}

/// Files of an attempt that a host takes hashes of.
fn recorded(number: AttemptNumber) -> Vec<String> {
    let logs = Stream::ALL.into_iter().map(|stream| names::log(stream, number));
    logs.chain([names::stdin(number), names::chunks(number), names::redact(number)]).collect()
}

/// A claim names the attempt and the host that made the record. Its bytes are compared by the hash of the host, if it
/// recorded one; a missing claim is found that way. The host that `attempt.started` names may be another: where that
/// one ended before it had passed on the input, the next one claims the attempt again.
fn wrong_claim(audit: &Path, run: RunId, number: AttemptNumber, host_pid: u32) -> Option<String> {
    #[derive(Deserialize)]
    struct Claim {
        run_id: RunId,
        attempt: AttemptNumber,
        host_pid: u32,
    }
    let name = names::claim(number);
    let text = fs::read(audit.join(&name)).ok()?;
    let claim: Claim = match serde_json::from_slice(&text) {
        Ok(claim) => claim,
        Err(error) => return Some(format!("{name} is not a claim ({error})")),
    };
    if (claim.run_id, claim.attempt) != (run, number) {
        return Some(format!("{name} claims attempt {} of run {}", claim.attempt, claim.run_id));
    }
    (claim.host_pid != host_pid).then(|| format!("{name} is the claim of another host than {}", names::host(number)))
}
