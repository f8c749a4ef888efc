//! Removes. Each run under its lock, and only if its Log says now that it is over; the plan may be older.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use skillrun_base::whole_file;
use skillrun_collect::tree;
use skillrun_log::{EventLog, FileLog, LogError, LogErrorKind};
use skillrun_model::{Classified, ErrorClass, IgnoredError, RunId, Timestamp};

use super::measure::{ending, evidence_files, measure, runs};
use super::{NOTE, Removal, RetentionStatus, What, Why, left_tests};
use crate::cache;
use crate::data_folder::{DataFolder, RunFolder};
use crate::login;
use crate::request_entries;

/// A temporary file that is this old was left by a process that died.
const ABANDONED_MS: u64 = 24 * 60 * 60 * 1000;

/// A login that was kept beside the user's is of no use after this time.
pub(super) const LOGIN_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// What was done.
#[derive(Debug, Default)]
pub struct RemovalReport {
    pub removed: Vec<Removal>,
    pub skipped: Vec<Skipped>,
}

#[derive(Debug)]
pub struct Skipped {
    pub run: RunId,
    pub why: WhySkipped,
}

#[derive(Debug, thiserror::Error)]
pub enum WhySkipped {
    #[error("it is in use{}", .pid.map_or_else(String::new, |pid| format!(" by process {pid}")))]
    Held { pid: Option<u32> },
    #[error("it is not over")]
    NotOver,
    #[error("it is already removed")]
    Gone,
    #[error("{0}")]
    Failed(String),
}

#[derive(Serialize)]
struct Note {
    removed_at: Timestamp,
    bytes: u64,
    why: Why,
}

/// Carries a plan out, and cleans up what earlier removals and dead processes left. One run that cannot be removed does
/// not stop the others.
pub fn carry_out(log: &FileLog, data: &DataFolder, removals: &[Removal], now: Timestamp) -> RemovalReport {
    let mut outcome = RemovalReport::default();
    for removal in removals {
        match remove(log, data, removal, now) {
            Ok(()) => outcome.removed.push(removal.clone()),
            Err(why) => outcome.skipped.push(Skipped { run: removal.run, why }),
        }
    }
    for run in runs(data).unwrap_or_default() {
        // Recorded as removed, but the process died before the folder was gone. One without a Log may also be new. A Log
        // that exists is not read: that took most of the time of a round in which nothing was removed.
        let has_log = data.run(run).events().exists();
        if !has_log && matches!(log.head(run), Err(LogError { kind: LogErrorKind::Gone, .. })) {
            let tidied = remove_tree(data.run(run).root());
            outcome.skipped.extend(tidied.err().map(|error| Skipped { run, why: failed(error) }));
        }
    }
    tidy(data, now);
    outcome
}

/// Removes one run because a user asks for it, with the entries of the cache and of requests that refer to it. Returns
/// the number of bytes that it used.
pub fn remove_run(log: &FileLog, data: &DataFolder, run: RunId, now: Timestamp) -> Result<u64, WhySkipped> {
    let bytes = if_over(log, data, run, |folder| {
        let used = measure(data, run).map_err(failed)?;
        whole(log, data, run, folder, now)?;
        Ok(used.evidence_bytes.saturating_add(used.other_bytes))
    })?;
    tidy(data, now);
    Ok(bytes)
}

fn remove(log: &FileLog, data: &DataFolder, removal: &Removal, now: Timestamp) -> Result<(), WhySkipped> {
    if_over(log, data, removal.run, |folder| match removal.what {
        What::Evidence => remove_evidence(folder, removal.why, now).map_err(failed),
        What::Run => whole(log, data, removal.run, folder, now),
    })
}

/// Under the lock of the run, and only if it is over.
fn if_over<T>(
    log: &FileLog,
    data: &DataFolder,
    run: RunId,
    remove: impl FnOnce(&RunFolder) -> Result<T, WhySkipped>,
) -> Result<T, WhySkipped> {
    let folder = data.run(run);
    // Acquires its lock, which is exclusive, also within this process.
    if let Err(error) = log.open(run) {
        let is_held = matches!(error.kind, LogErrorKind::Held { .. });
        let is_at_work = is_held && ending(&folder).is_ok_and(|end| end.standing == RetentionStatus::NotOver);
        return Err(if is_at_work { WhySkipped::NotOver } else { refused(error) });
    }
    let done = match ending(&folder).map(|ending| ending.standing) {
        Ok(RetentionStatus::NotOver) => Err(WhySkipped::NotOver),
        Ok(
            RetentionStatus::Succeeded | RetentionStatus::Closed | RetentionStatus::Failed | RetentionStatus::Canceled,
        ) => remove(&folder),
        Err(error) => Err(failed(error)),
    };
    log.release(run);
    done
}

fn whole(log: &FileLog, data: &DataFolder, run: RunId, folder: &RunFolder, now: Timestamp) -> Result<(), WhySkipped> {
    login::give_up(data, run).map_err(failed)?;
    log.remove(run, now).map_err(refused)?;
    remove_tree(folder.root()).map_err(failed)
}

fn remove_evidence(folder: &RunFolder, why: Why, now: Timestamp) -> io::Result<()> {
    let files = evidence_files(folder)?;
    let note = folder.audit().join(NOTE);
    // An existing note means that an earlier removal was interrupted; it states how much there was.
    if fs::symlink_metadata(&note).is_err() {
        let bytes = files.iter().map(|(_, bytes)| bytes).sum();
        let mut text = serde_json::to_vec(&Note { removed_at: now, bytes, why })?;
        text.push(b'\n');
        whole_file::replace(&note, &text)?;
    }
    files.into_iter().try_for_each(|(path, _)| gone(fs::remove_file(path)))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn failed(error: io::Error) -> WhySkipped {
    WhySkipped::Failed(error.to_string())
}

fn refused(error: LogError) -> WhySkipped {
    if let LogErrorKind::Held { pid } = error.kind {
        return WhySkipped::Held { pid };
    }
    match error.class() {
        ErrorClass::NotFound | ErrorClass::Gone => WhySkipped::Gone,
        ErrorClass::Usage
        | ErrorClass::Conflict
        | ErrorClass::Busy
        | ErrorClass::StorageFull
        | ErrorClass::Internal => WhySkipped::Failed(error.kind.to_string()),
    }
}

/// Removes a folder with everything in it. Links are removed and their targets stay, in particular a workspace of the
/// user.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    tree::remove(path)
}

/// Removes entries of the cache and of requests whose run is gone, and files that dead processes were writing. What
/// cannot be removed is retried next time.
fn tidy(data: &DataFolder, now: Timestamp) {
    let runs = runs(data).unwrap_or_default();
    for path in files(&data.cache()) {
        let is_stale = cache::noted(&path).is_none_or(|run| !data.run(run).events().exists());
        if is_stale && !is_draft(&path) {
            fs::remove_file(path).ignored();
        }
    }
    let of_runs = runs.iter().map(|run| data.run(*run)).flat_map(|run| [run.root().to_owned(), run.audit()]);
    for folder in [data.root().to_owned(), data.cache(), data.logins()].into_iter().chain(of_runs) {
        for path in files(&folder).into_iter().filter(|path| is_draft(path)) {
            remove_older(&path, ABANDONED_MS, now);
        }
    }
    for path in files(&data.logins()).into_iter().filter(|path| has_ending(path, login::KEPT)) {
        remove_older(&path, LOGIN_KEPT_MS, now);
    }
    left_tests::remove_old(data, now);
    // Otherwise they would stay forever where no server is ever started again.
    request_entries::tidy(data, now);
}

fn remove_older(path: &Path, limit_ms: u64, now: Timestamp) {
    let written = fs::symlink_metadata(path).and_then(|found| found.modified());
    let written = written.ok().and_then(|written| Timestamp::try_from(written).ok());
    if written.and_then(|written| now.millis_since(written)).is_some_and(|age| age > limit_ms) {
        fs::remove_file(path).ignored();
    }
}

fn is_draft(path: &Path) -> bool {
    has_ending(path, "tmp")
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

/// Ordinary files in a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect()
}
