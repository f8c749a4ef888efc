//! The disk space of runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use skillrun_collect::tree;
use skillrun_evidence::{Stream, names};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, RunId, RunStatus, Timestamp};

use super::{Evidence, RetentionStatus, RunUse};
use crate::artifacts::open_plain;
use crate::data_folder::{DataFolder, RunFolder};

/// The first and the last event of a run are short; no more is read to find them.
const LINE: u64 = 256 << 10;
/// Number of runs that [`du`] lists.
const LARGEST: usize = 10;

/// How a run ended, by the first and the last line of its Log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunEnding {
    pub(crate) standing: RetentionStatus,
    pub(crate) created_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
}

/// Anything that is not clearly the end of a run does not count as one: nothing is removed by mistake.
pub(crate) fn ending(folder: &RunFolder) -> io::Result<RunEnding> {
    let mut file = open_plain(&folder.events())?;
    let len = file.metadata()?.len();
    let mut first = Vec::new();
    BufReader::new((&file).take(LINE)).read_until(b'\n', &mut first)?;
    let created_at = decode(&first).map_or(Timestamp::EPOCH, |event| event.ts);
    file.seek(SeekFrom::Start(len.saturating_sub(LINE)))?;
    let mut end = Vec::new();
    file.take(LINE).read_to_end(&mut end)?;
    let last = end.strip_suffix(b"\n").map(|lines| lines.rsplit(|byte| *byte == b'\n').next().unwrap_or(lines));
    let end = last.and_then(decode).and_then(|event| Some((event.data.end()?, event.ts)));
    let standing = match end {
        Some((RunStatus::Succeeded, _)) => RetentionStatus::Succeeded,
        Some((RunStatus::Closed, _)) => RetentionStatus::Closed,
        Some((RunStatus::Failed, _)) => RetentionStatus::Failed,
        Some((RunStatus::Canceled, _)) => RetentionStatus::Canceled,
        Some((RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser, _)) | None => RetentionStatus::NotOver,
    };
    Ok(RunEnding { standing, created_at, ended_at: end.map(|(_, at)| at) })
}

fn decode(line: &[u8]) -> Option<Event> {
    Event::from_json(std::str::from_utf8(line).ok()?).ok()
}

/// Whether a file of `.audit` is evidence that can be removed: everything large, and files that are useless without it.
pub(super) fn is_evidence(name: &str) -> bool {
    let is = |made_by: fn(AttemptNumber) -> String| names::number_in(name, made_by).is_some();
    let log = |stream: &Stream| names::number_in(name, |n| names::log(*stream, n)).is_some();
    let listing = |when: &&str| names::number_in(name, |n| format!("fs-{when}.{n}.json")).is_some();
    Stream::ALL.iter().any(log)
        || [names::stdin, names::chunks, names::redact].into_iter().any(is)
        || ["before", "after", "diff"].iter().any(listing)
}

/// Existing evidence files, and their sizes.
pub(super) fn evidence_files(folder: &RunFolder) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = files_in(&folder.audit())?;
    let checks = folder.audit().join("checks");
    for number in entries(&checks)? {
        let number = number?;
        if number.file_type()?.is_dir() {
            files.extend(files_in(&number.path())?);
        }
    }
    Ok(files)
}

/// The entries of a folder; none where there is no such folder.
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(entries.into_iter().flatten())
}

fn files_in(audit: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in entries(audit)? {
        let entry = entry?;
        let is_evidence = entry.file_name().to_str().is_some_and(is_evidence);
        if is_evidence && !entry.file_type()?.is_dir() {
            files.push((entry.path(), tree::on_disk(&entry.metadata()?)));
        }
    }
    Ok(files)
}

/// The disk space of a run. A folder without a Log is an error.
pub fn measure(data: &DataFolder, run: RunId) -> io::Result<RunUse> {
    let folder = data.run(run);
    let RunEnding { standing, created_at, ended_at } = ending(&folder)?;
    let files = evidence_files(&folder)?;
    let evidence_bytes = files.iter().map(|(_, bytes)| bytes).sum();
    let other_bytes = tree::disk_bytes(folder.root())?.saturating_sub(evidence_bytes);
    let evidence = if files.is_empty() { Evidence::Absent } else { Evidence::Present };
    Ok(RunUse { run, standing, created_at, ended_at, evidence_bytes, other_bytes, evidence })
}

/// All runs that have a Log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    pub uses: Vec<RunUse>,
    /// Runs that could not be measured, and why. The others are not affected.
    pub unmeasured: Vec<Unmeasured>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmeasured {
    pub run: RunId,
    pub why: String,
}

/// Fails only where the runs cannot be listed.
pub fn measure_all(data: &DataFolder) -> io::Result<Measured> {
    let mut found = Measured::default();
    for run in runs(data)? {
        match measure(data, run) {
            Ok(run) => found.uses.push(run),
            // Being created, or being removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.unmeasured.push(Unmeasured { run, why: error.to_string() }),
        }
    }
    Ok(found)
}

/// Ids of the folders in `runs/`.
pub(super) fn runs(data: &DataFolder) -> io::Result<Vec<RunId>> {
    let entries = match fs::read_dir(data.runs()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.parse::<RunId>().ok().filter(|id| id.to_string() == name));
        if entry.file_type()?.is_dir() {
            runs.extend(id);
        }
    }
    runs.sort_by_cached_key(ToString::to_string);
    Ok(runs)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Total {
    pub runs: u64,
    pub evidence_bytes: u64,
    pub other_bytes: u64,
}

/// The disk space of the data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskUsage {
    pub by_standing: BTreeMap<RetentionStatus, Total>,
    /// The largest first.
    pub largest: Vec<RunUse>,
    /// Of everything that is not a run.
    pub rest_bytes: u64,
    /// Runs that could not be measured; what is known of them is in the rest.
    pub unmeasured: Vec<Unmeasured>,
}

pub fn du(data: &DataFolder) -> io::Result<DiskUsage> {
    let Measured { uses: mut runs, unmeasured } = measure_all(data)?;
    let size = |run: &RunUse| run.evidence_bytes.saturating_add(run.other_bytes);
    let in_runs: u64 = runs.iter().map(size).sum();
    let mut by_standing: BTreeMap<RetentionStatus, Total> = BTreeMap::new();
    for run in &runs {
        let total = by_standing.entry(run.standing).or_default();
        total.runs += 1;
        total.evidence_bytes += run.evidence_bytes;
        total.other_bytes += run.other_bytes;
    }
    runs.sort_by_cached_key(|run| (std::cmp::Reverse(size(run)), run.run.to_string()));
    runs.truncate(LARGEST);
    let rest_bytes = tree::disk_bytes(data.root())?.saturating_sub(in_runs);
    Ok(DiskUsage { by_standing, largest: runs, rest_bytes, unmeasured })
}
