//! The evidence of checks against the records of their hosts, and these against the Log.

use skillrun_base::whole_file;
use skillrun_evidence::{HostRecord, Stream, names};
use skillrun_model::checks::{CheckEnded, CheckOutput};
use skillrun_model::{AttemptNumber, RunId};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::retention::is_evidence_removed;

use super::VerifyOutcome;
use super::files::recorded_files;

/// None where no check has ended.
pub(super) fn check(folder: &RunFolder, run: RunId, checks: &[CheckEnded]) -> Option<VerifyOutcome> {
    if checks.is_empty() {
        return None;
    }
    if is_evidence_removed(&folder.audit()) {
        return Some(VerifyOutcome::not_comparable("the evidence was removed to save space"));
    }
    let outcomes = checks.iter().filter_map(|end| one(folder, run, end));
    Some(outcomes.into_iter().find(|outcome| !outcome.is_good()).unwrap_or(VerifyOutcome::Same))
}

/// None where no host has recorded it.
fn one(folder: &RunFolder, run: RunId, end: &CheckEnded) -> Option<VerifyOutcome> {
    let (audit, number) = (folder.check(end.check), AttemptNumber(end.recording));
    let wanted = end.host_hash.as_ref()?;
    let name = names::host(number);
    let place = format!("{}/{name}", end.evidence);
    match whole_file::hash(&audit.join(&name)) {
        Ok((found, _)) if found == *wanted => {}
        Ok(_) => {
            return Some(VerifyOutcome::different(format!(
                "{place} is not the record that check.ended has the hash of"
            )));
        }
        Err(error) => return Some(VerifyOutcome::lost(format!("{place} cannot be read ({error})"))),
    }
    let record = match HostRecord::read(&audit, number) {
        Ok(Some(record)) => record,
        Ok(None) => return Some(VerifyOutcome::lost(format!("{place} is missing"))),
        Err(error) => return Some(VerifyOutcome::different(format!("{place} is not a host record ({error})"))),
    };
    let as_recorded = |stream: Stream, bytes: u64, output: &CheckOutput| {
        output.bytes == bytes && output.hash.as_ref() == record.hashes.get(&names::log(stream, number))
    };
    let is_same = as_recorded(Stream::Stdout, record.bytes.stdout, &end.stdout)
        && as_recorded(Stream::Stderr, record.bytes.stderr, &end.stderr)
        && (record.exit_code, &record.signal, record.ended_by) == (end.exit.code, &end.exit.signal, end.exit.ended_by);
    if !is_same {
        return Some(VerifyOutcome::different(format!("{place} says something else than check.ended")));
    }
    Some(match recorded_files(&audit, run, number, &record) {
        VerifyOutcome::Different { difference } => VerifyOutcome::different(format!("{}: {difference}", end.evidence)),
        VerifyOutcome::Missing { why, .. } => VerifyOutcome::lost(format!("{}: {why}", end.evidence)),
        outcome @ (VerifyOutcome::Same | VerifyOutcome::ChangedSince { .. } | VerifyOutcome::NotComparable { .. }) => {
            outcome
        }
    })
}
