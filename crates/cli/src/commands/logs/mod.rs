//! `skillrun logs`: the conversation, the events, or the raw engine output of a run, optionally followed.
//!
//! `events` prints output derived from the Log, `raw` the evidence.

mod events;
mod raw;
mod visible;

pub(super) use visible::VisibleOutput;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use skillrun_model::{AttemptNumber, RunId};

use crate::args::{Global, LogForm, Logs};
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::place::{CommandContext, no_attempt};

/// Whether to keep printing after everything that exists was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Until the run is over.
    Yes,
    No,
}

/// What is printed of the Log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Transcript,
    Rasp,
    Fcmp,
    /// All of it as one document.
    Document,
}

/// Which part of it.
#[derive(Debug, Clone, Copy)]
struct Part {
    attempt: Option<AttemptNumber>,
    /// The last event that the reader has; 0 for none.
    after: u64,
}

impl Part {
    fn has_attempt(&self, number: AttemptNumber) -> bool {
        self.attempt.is_none_or(|attempt| attempt == number)
    }
}

pub(crate) fn run(global: &Global, args: &Logs) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let follow = if args.follow { Follow::Yes } else { Follow::No };
    if follow == Follow::Yes {
        leave_on_interrupt()?;
    }
    let part = Part { attempt: args.attempt.map(AttemptNumber), after: args.since_seq.unwrap_or(0) };
    if let Some(attempt) = part.attempt {
        let state = place.state(run)?;
        // A follower may wait for an attempt that has not begun.
        if attempt > state.attempt && (follow == Follow::No || state.is_over()) {
            return Err(no_attempt(run, attempt, state.attempt));
        }
    }
    match args.form {
        LogForm { raw: true, .. } => raw::print(&place, run, part.attempt, follow)?,
        form => events::print(&place, run, what(form), part, follow)?,
    }
    // A follower leaves at the end of the run, or of the one attempt that it prints.
    match follow {
        Follow::Yes if place.state(run)?.is_over() => {
            let result = super::result::read(&place, run)?;
            Ok(result.map_or(RunOutcome::Failed, |result| RunOutcome::of_result(&result)).into())
        }
        Follow::Yes | Follow::No => Ok(ExitCode::SUCCESS),
    }
}

fn what(form: LogForm) -> What {
    match form {
        LogForm { rasp: true, .. } => What::Rasp,
        LogForm { fcmp: true, .. } => What::Fcmp,
        LogForm { json: true, .. } => What::Document,
        LogForm { rasp: false, fcmp: false, json: false, raw: _ } => What::Transcript,
    }
}

/// This command only reads, so it can exit at any moment: it does not own the run.
pub(super) fn leave_on_interrupt() -> Result<(), Failure> {
    let code = i32::from(RunOutcome::Interrupted.code());
    signal_hook::flag::register_conditional_shutdown(SIGINT, code, Arc::new(AtomicBool::new(true)))
        .map_err(|error| Failure::internal(format!("failed to register signal handlers: {error}"), error))?;
    Ok(())
}

/// Prints a note if no more output will come, because no process works on the run.
pub(super) fn warn_if_unowned(place: &CommandContext, run: RunId) {
    if place.owner(run).is_none() {
        crate::place::note("no process works on this run; `skillrun recover` resumes it");
    }
}
