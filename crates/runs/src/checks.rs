//! How a check of a run ended, from its evidence: `.audit/checks/K/` has the same files as `.audit/` has of an attempt,
//! where K is the number of the check, from 1. A check whose host was lost is recorded again, under the next number.

use std::collections::VecDeque;

use skillrun_base::whole_file;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::host_record::HostRecord;
use skillrun_evidence::{EvidenceError, Folder, Patterns, Stream, names};
use skillrun_model::checks::{CheckEnded, CheckOutput, CheckStatus};
use skillrun_model::rasp::data::Exit;
use skillrun_model::{AttemptNumber, EndedBy};
use skillrun_parse::ansi;

use crate::data_folder::RunFolder;
use crate::record::RunCheck;

/// Bytes of output that are kept in an event, and lines.
const TAIL_BYTES: usize = 4 << 10;
const TAIL_LINES: usize = 30;

/// The name of the folder of a check, in the folder of its run.
pub fn evidence_name(number: u32) -> String {
    format!(".audit/checks/{number}")
}

/// A check that no host has recorded.
pub fn without_recording(check: &RunCheck, number: u32, status: CheckStatus, details: Option<String>) -> CheckEnded {
    let output = || CheckOutput { bytes: 0, hash: None };
    CheckEnded {
        check: number,
        name: check.name.clone(),
        command: check.command.clone(),
        status,
        exit: Exit { code: None, signal: None, ended_by: None },
        elapsed_ms: 0,
        stdout: output(),
        stderr: output(),
        evidence: evidence_name(number),
        recording: 0,
        host_hash: None,
        output_tail: None,
        details,
    }
}

/// A check whose host was lost, and is not run again.
pub fn lost(
    folder: &RunFolder,
    check: &RunCheck,
    number: u32,
    recording: AttemptNumber,
    patterns: &Patterns,
) -> CheckEnded {
    let details = format!("its host was lost {recording} times");
    let ended = without_recording(check, number, CheckStatus::Failed, Some(details));
    let exit = Exit { ended_by: Some(EndedBy::HostLost), ..ended.exit };
    let output_tail = tail(folder, number, recording, patterns).unwrap_or_default();
    CheckEnded { exit, recording: recording.0, output_tail, ..ended }
}

/// A check with the record of its host.
pub fn ended(
    folder: &RunFolder,
    check: &RunCheck,
    number: u32,
    record: &HostRecord,
    patterns: &Patterns,
) -> Result<CheckEnded, EvidenceError> {
    let recording = record.attempt_number;
    let audit = folder.check(number);
    let output = |stream: Stream, bytes: u64| CheckOutput {
        bytes,
        hash: record.hashes.get(&names::log(stream, recording)).cloned(),
    };
    let (status, details) = judged(record);
    Ok(CheckEnded {
        exit: Exit { code: record.exit_code, signal: record.signal.clone(), ended_by: record.ended_by },
        elapsed_ms: record.ended_at.and_then(|ended| ended.millis_since(record.started_at)).unwrap_or(0),
        stdout: output(Stream::Stdout, record.bytes.stdout),
        stderr: output(Stream::Stderr, record.bytes.stderr),
        recording: recording.0,
        host_hash: whole_file::hash(&audit.join(names::host(recording))).ok().map(|(hash, _)| hash),
        output_tail: tail(folder, number, recording, patterns)?,
        ..without_recording(check, number, status, details)
    })
}

/// How a check ended, according to its host. Only an exit with code 0 within all limits counts as passed.
fn judged(record: &HostRecord) -> (CheckStatus, Option<String>) {
    let words = record.error.as_ref().map(|error| error.message.clone());
    match record.ended_by {
        Some(EndedBy::NotStarted) => (CheckStatus::NotStarted, words),
        Some(EndedBy::HardTimeout | EndedBy::Stall | EndedBy::WaitTimeout) => (CheckStatus::TimedOut, words),
        Some(EndedBy::Canceled | EndedBy::Interrupted) => (CheckStatus::Canceled, words),
        Some(EndedBy::Budget) => (CheckStatus::Failed, Some("it wrote more than a check may".to_owned())),
        Some(EndedBy::MemoryLimit | EndedBy::ProcessLimit | EndedBy::CpuLimit | EndedBy::DiskLimit) => {
            (CheckStatus::Failed, words)
        }
        Some(EndedBy::HostError | EndedBy::HostLost) | None => (CheckStatus::Failed, words),
        Some(EndedBy::Exited | EndedBy::Linger) => match (record.exit_code, &words) {
            (Some(0), None) => (CheckStatus::Passed, None),
            (Some(_) | None, _) => (CheckStatus::Failed, words),
        },
    }
}

/// The last lines of what a check has written, in the order in which it came, without what is hidden.
pub fn tail(
    folder: &RunFolder,
    number: u32,
    recording: AttemptNumber,
    patterns: &Patterns,
) -> Result<Option<String>, EvidenceError> {
    let audit = folder.check(number);
    let mut feed = match Folder::open(&audit) {
        Ok(found) if found.attempts().contains(&recording) => found.hiding(patterns).attempt(recording)?.feed()?,
        // It was never started.
        Ok(_) | Err(_) => return Ok(None),
    };
    let mut last: VecDeque<u8> = VecDeque::new();
    while let Some(step) = feed.next_step()? {
        match step.kind {
            StepKind::Bytes { bytes, .. } => {
                let kept = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
                last.extend(kept);
                last.drain(..last.len().saturating_sub(TAIL_BYTES));
            }
            StepKind::Eof(_) | StepKind::Act(_) => {}
        }
    }
    let bytes: Vec<u8> = last.into();
    let text = String::from_utf8_lossy(&bytes);
    let text = ansi::strip(text.trim_start_matches('\u{fffd}').trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let text = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    Ok((!text.trim().is_empty()).then_some(text))
}
