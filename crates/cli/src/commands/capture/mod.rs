//! `skillrun capture`: runs a command under a host, shows what it writes, and exits as it did.
//!
//! `plan` builds the host's plan from the arguments, `follow` is the owner until the end.

mod follow;
mod plan;

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use skillrun_collect::{CollectError, start};
use skillrun_evidence::HostRecord;
use skillrun_model::EndedBy;

use crate::args::Capture;
use follow::CaptureOutcome;

/// An error in skillrun itself.
const OWN_ERROR: u8 = 125;
const TIMED_OUT: u8 = 124;
/// As if the terminal had interrupted it.
const CANCELED: u8 = 130;

pub(crate) fn run(args: &Capture) -> ExitCode {
    match capture(args) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            print_line(&format!("error: {problem}"));
            ExitCode::from(OWN_ERROR)
        }
    }
}

fn capture(args: &Capture) -> Result<u8, CaptureError> {
    let prepared = plan::prepare(args)?;
    // The program file of this process: its path may name a newer program by now.
    let mut host = Command::new("/proc/self/exe");
    host.arg0("skillrun").arg("attempt-host");
    start(host, &prepared.plan)?;
    let outcome = follow::follow(&prepared)?;
    Ok(exit_code(&outcome, &prepared))
}

/// Why nothing could be captured, in one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("{0}")]
    Input(String),
}

/// Prints how it ended if the exit code alone does not say it.
fn exit_code(outcome: &CaptureOutcome, prepared: &plan::Prepared) -> u8 {
    let place = prepared.audit.display();
    match outcome {
        CaptureOutcome::Ended(record) => {
            for warning in &record.warnings {
                print_line(&format!("warning: {}: {}", warning.code, warning.message));
            }
            code_of(record)
        }
        CaptureOutcome::Lost => {
            print_line(&format!(
                "error: the host process exited without writing a record; its recording up to that point is in {place}"
            ));
            OWN_ERROR
        }
        CaptureOutcome::Removed => {
            print_line(&format!("error: the recording was removed from {place}"));
            OWN_ERROR
        }
        CaptureOutcome::Detached => {
            print_line(&format!("note: left running; the recording continues in {place}"));
            CANCELED
        }
        CaptureOutcome::DetachedCanceling => {
            print_line(&format!("note: the host process terminates the command; the recording continues in {place}"));
            CANCELED
        }
    }
}

fn code_of(record: &HostRecord) -> u8 {
    let own = exit_of(record);
    let Some(ended_by) = record.ended_by else { return OWN_ERROR };
    let why = record.error.as_ref().map_or("", |error| error.message.as_str());
    match ended_by {
        EndedBy::Exited | EndedBy::Linger => own,
        EndedBy::HardTimeout => {
            print_line("error: the command ran longer than --timeout and was terminated");
            TIMED_OUT
        }
        EndedBy::Stall => {
            print_line("error: the command wrote nothing for longer than --stall and was terminated");
            TIMED_OUT
        }
        EndedBy::WaitTimeout => TIMED_OUT,
        EndedBy::Canceled | EndedBy::Interrupted => CANCELED,
        EndedBy::Budget => {
            print_line("error: the command wrote more than --max-bytes and was terminated");
            OWN_ERROR
        }
        EndedBy::MemoryLimit | EndedBy::ProcessLimit | EndedBy::CpuLimit | EndedBy::DiskLimit => {
            print_line(&format!("error: {why}"));
            OWN_ERROR
        }
        EndedBy::NotStarted => {
            print_line(&format!("error: {why}"));
            record.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(OWN_ERROR)
        }
        EndedBy::HostError | EndedBy::HostLost => {
            print_line(&format!("error: {why}"));
            OWN_ERROR
        }
    }
}

/// The exit code of the command, as a shell has it.
fn exit_of(record: &HostRecord) -> u8 {
    match (record.exit_code, &record.signal) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(OWN_ERROR),
        (None, Some(signal)) => {
            let number = skillrun_collect::signals::number_of(signal);
            number.and_then(|number| u8::try_from(128 + number).ok()).unwrap_or(OWN_ERROR)
        }
        (None, None) => OWN_ERROR,
    }
}

/// The stderr of the command, which is copied to the stderr of this process, has not ended its line.
static IS_MID_LINE: AtomicBool = AtomicBool::new(false);

/// Prints a line for the user.
fn print_line(line: &str) {
    let before = if IS_MID_LINE.swap(false, Ordering::Relaxed) { "\n" } else { "" };
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "{before}skillrun: {}", on_one_line(line));
}

/// File names may contain line ends and characters that a terminal obeys.
fn on_one_line(text: &str) -> String {
    crate::visible::visible(text, |_| false)
}
