//! Evidence for a bundle. Streams are read through [`skillrun_evidence::Feed`], as by every other reader: only bytes
//! that have a record, with secrets and patterns of the run masked.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::Path;

use skillrun_evidence::error::EvidenceErrorKind;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Attempt, Folder, Patterns, Stream, names};
use skillrun_model::AttemptNumber;
use skillrun_runs::artifacts::Root;
use skillrun_runs::checks::evidence_name;
use skillrun_runs::data_folder::RunFolder;

use super::BundleError;
use super::pack::{Entry, Packer};

/// What is done with a file of `.audit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Packed as it is.
    Plain,
    Masked(Stream, AttemptNumber),
    /// What was written to the process.
    Unmasked,
    /// Of use only to a running host.
    Housekeeping,
    /// Not a file of skillrun; an engine may be able to write there.
    Unknown,
}

fn kind(name: &str) -> Kind {
    let log = |stream| names::number_in(name, |n| names::log(stream, n)).map(|n| Kind::Masked(stream, n));
    if let Some(masked) = Stream::ALL.into_iter().find_map(log) {
        return masked;
    }
    let is = |made_by: fn(AttemptNumber) -> String| names::number_in(name, made_by).is_some();
    let listing = |when: &'static str| names::number_in(name, |n| format!("fs-{when}.{n}.json")).is_some();
    if is(names::stdin) {
        Kind::Unmasked
    } else if is(names::claim) || is(names::reserve) || name == names::SOCKET || name.ends_with(".tmp") {
        Kind::Housekeeping
    } else if [names::chunks, names::redact, names::meta, names::host].into_iter().any(is)
        || ["before", "after", "diff"].into_iter().any(listing)
        || name == skillrun_runs::retention::NOTE
    {
        Kind::Plain
    } else {
        Kind::Unknown
    }
}

/// Packs the evidence of all attempts.
pub(super) fn pack<W: Write + Seek>(
    run: &RunFolder,
    root: &Root,
    packer: &mut Packer<'_, W>,
) -> Result<(), BundleError> {
    let attempts = attempts(run.root(), &Patterns::of_run(&run.audit())?)?;
    for (name, stream) in [("stdout.txt", Stream::Stdout), ("stderr.txt", Stream::Stderr)] {
        let most = attempts.iter().map(|attempt| size(&run.audit(), attempt.number, stream)).sum();
        packer.entry(name, most, |entry| attempts.iter().try_for_each(|attempt| copy(attempt, stream, entry)))?;
    }
    recording(run, root, packer, (".audit", &run.audit()), &attempts)
}

/// Packs a folder of recordings: that of the attempts, or that of a check. `place`: its name in the bundle, and where it
/// is.
fn recording<W: Write + Seek>(
    run: &RunFolder,
    root: &Root,
    packer: &mut Packer<'_, W>,
    place: (&str, &Path),
    attempts: &[Attempt],
) -> Result<(), BundleError> {
    let (folder, audit) = place;
    let is_of_run = folder == ".audit";
    let Some(files) = listed(audit)? else { return Ok(()) };
    for name in &files {
        let entry_name = format!("{folder}/{name}");
        match kind(name) {
            Kind::Plain => packer.file_if_there(root, &entry_name)?,
            Kind::Masked(stream, number) => {
                let Some(attempt) = attempts.iter().find(|attempt| attempt.number == number) else { continue };
                // Alone it replaces stdout, and is read as that.
                let read_as = if attempt.is_one_pty() { Stream::Stdout } else { stream };
                packer.entry(&entry_name, size(audit, number, stream), |entry| copy(attempt, read_as, entry))?;
            }
            Kind::Unmasked => packer.leave_out(&entry_name, "the engine's input is not masked"),
            Kind::Housekeeping => {}
            Kind::Unknown if is_of_run && name == BLOBS => blobs(run, root, packer)?,
            Kind::Unknown if is_of_run && name == CHECKS => checks(run, root, packer)?,
            Kind::Unknown => packer.leave_out(&entry_name, "it is not a file of a recording"),
        }
    }
    Ok(())
}

const CHECKS: &str = "checks";

/// The evidence of commands that were run after the turn.
fn checks<W: Write + Seek>(run: &RunFolder, root: &Root, packer: &mut Packer<'_, W>) -> Result<(), BundleError> {
    let names = listed(&run.audit().join(CHECKS))?.unwrap_or_default();
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    for number in numbers {
        let audit = run.check(number);
        let attempts = attempts(&audit, &Patterns::of_run(&run.audit())?)?;
        recording(run, root, packer, (&evidence_name(number), &audit), &attempts)?;
    }
    Ok(())
}

const BLOBS: &str = "blobs";

/// Large values by their hash. Texts of a workspace that a host keeps for its comparison are not included.
fn blobs<W: Write + Seek>(run: &RunFolder, root: &Root, packer: &mut Packer<'_, W>) -> Result<(), BundleError> {
    for name in listed(&run.audit().join(BLOBS))?.unwrap_or_default() {
        if !name.ends_with(".pack") && !name.ends_with(".tmp") {
            packer.file_if_there(root, &format!(".audit/{BLOBS}/{name}"))?;
        }
    }
    Ok(())
}

fn attempts(folder: &Path, patterns: &Patterns) -> Result<Vec<Attempt>, BundleError> {
    let folder = match Folder::open(folder) {
        Ok(folder) => folder,
        // It never began.
        Err(error) if matches!(error.kind, EvidenceErrorKind::NoFolder | EvidenceErrorKind::NoAttempt) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.into()),
    };
    let folder = folder.hiding(patterns);
    Ok(folder.attempts().into_iter().map(|number| folder.attempt(number)).collect::<Result<_, _>>()?)
}

/// Names in a folder, sorted; names that are not text are not skillrun's.
fn listed(folder: &Path) -> Result<Option<BTreeSet<String>>, BundleError> {
    let failed = |error: io::Error| BundleError::Read { name: folder.display().to_string(), error };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    Ok(Some(names))
}

/// The maximum number of bytes of a stream.
fn size(audit: &Path, number: AttemptNumber, stream: Stream) -> u64 {
    let size = |stream| fs::metadata(audit.join(names::log(stream, number))).map_or(0, |found| found.len());
    match stream {
        Stream::Stdout => size(Stream::Stdout) + size(Stream::Pty),
        Stream::Stderr | Stream::Pty => size(stream),
    }
}

fn copy(attempt: &Attempt, wanted: Stream, entry: &mut Entry<'_>) -> Result<(), BundleError> {
    let mut feed = attempt.feed()?;
    while let Some(step) = feed.next_step()? {
        match step.kind {
            StepKind::Bytes { stream, bytes } if stream == wanted => entry.write(bytes)?,
            StepKind::Bytes { .. } | StepKind::Eof(_) | StepKind::Act(_) => {}
        }
    }
    Ok(())
}
