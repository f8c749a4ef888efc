//! The host's record under construction.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::SystemTime;

use skillrun_base::whole_file;
use skillrun_evidence::host_record::{Bytes, Capture, Drain, FORMAT, HostError, Warning};
use skillrun_evidence::recorder::Sealed;
use skillrun_evidence::{HostRecord, OsText, names};
use skillrun_model::{AttemptNumber, Code, EndedBy, Stream, Timestamp};

use super::part::AttemptEvidence;
use crate::environment;
use crate::plan::{HostPlan, VariableKind};
use crate::process::tree::Exit;
use crate::secrets::Secrets;
use crate::signals;

/// What is known when an attempt begins.
pub(crate) fn opening(plan: &HostPlan, secrets: &Secrets, attempt: AttemptNumber, pid: Option<u32>) -> HostRecord {
    let mut env_names: Vec<_> = plan.variables.iter().map(|variable| variable.name.clone()).collect();
    env_names.extend([environment::TAG.into(), environment::TEMPORARY.into()]);
    env_names.sort_unstable();
    env_names.dedup();
    let marked = plan.variables.iter().filter(|variable| variable.kind == VariableKind::Secret);
    HostRecord {
        format: FORMAT,
        run_id: plan.run_id,
        attempt_number: attempt,
        label: plan.label.clone(),
        wiring: plan.wiring,
        stdin: plan.stdin.kind(),
        argv: plan.argv.iter().map(|word| masked(word, secrets)).collect(),
        cwd: plan.workspace.clone(),
        env_names,
        secret_names: marked.map(|variable| variable.name.clone()).collect(),
        host_pid: std::process::id(),
        pid,
        started_at: wall_clock(),
        ended_at: None,
        exit_code: None,
        signal: None,
        ended_by: None,
        deadline_at: None,
        limit: None,
        error: None,
        survivors: Vec::new(),
        survivors_total: 0,
        rusage: None,
        bytes: Bytes::default(),
        hashes: BTreeMap::new(),
        capture: Capture::default(),
        warnings: Vec::new(),
        fs_diff: None,
        network: None,
        process_continues: false,
    }
}

/// A word of the command line; users put secrets there too.
fn masked(word: &OsText, secrets: &Secrets) -> OsText {
    let mut bytes = word.as_bytes().to_vec();
    secrets.mask(&mut bytes);
    OsString::from_vec(bytes).into()
}

pub(crate) fn wall_clock() -> Timestamp {
    Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::EPOCH)
}

pub(crate) fn warn(record: &mut HostRecord, code: Code, message: impl Into<String>) {
    record.warnings.push(Warning { code, message: message.into() });
}

/// How the main process ended.
pub(crate) fn set_exit(record: &mut HostRecord, exit: Option<Exit>) {
    let (code, signal) = exit_fields(exit);
    record.exit_code = code;
    record.signal = signal;
}

/// An exit as represented in records and notices.
pub(crate) fn exit_fields(exit: Option<Exit>) -> (Option<i32>, Option<String>) {
    match exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(number)) => (None, Some(signals::name_of(number))),
        None => (None, None),
    }
}

/// The process never started; the exit code is that of a shell for the same error, if the command is the cause.
pub(crate) fn set_not_started(record: &mut HostRecord, exit_code: Option<i32>, error: HostError) {
    record.ended_by = Some(EndedBy::NotStarted);
    record.exit_code = exit_code;
    record.error = Some(error);
}

/// What was collected.
pub(crate) fn set_capture(record: &mut HostRecord, part: &AttemptEvidence, drain: Drain) {
    let recorder = &part.recorder;
    record.bytes = Bytes {
        stdout: recorder.recorded(Stream::Stdout),
        stderr: recorder.recorded(Stream::Stderr),
        pty: recorder.recorded(Stream::Pty),
        stdin: recorder.stdin_len(),
    };
    record.capture = Capture { reads: part.reads, batches: recorder.batches(), drain, discarded: part.discarded };
}

/// The sealed files, and the other files of the attempt that no longer change: its claim and the listings of the
/// workspace.
pub(crate) fn set_hashes(record: &mut HostRecord, sealed: Vec<Sealed>, audit: &Path) {
    record.hashes = sealed.into_iter().map(|file| (file.name, file.hash)).collect();
    for name in names::beside(record.attempt_number) {
        // Missing, such as a listing that was not taken; or unreadable, and then it has no hash.
        if let Ok((hash, _)) = whole_file::hash(&audit.join(&name)) {
            record.hashes.insert(name, hash);
        }
    }
}
