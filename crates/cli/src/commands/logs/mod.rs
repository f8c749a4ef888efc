//! `skillrun logs`: the conversation, the events, or the raw engine output of a run, optionally followed.
//!
//! `events` prints output derived from the Log, `raw` the evidence.

mod events;
mod raw;
mod visible;

pub(super) use visible::VisibleOutput;

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::SIGINT;
use skillrun_model::{AttemptNumber, RunId};

use crate::args::{Global, LogForm, Logs};
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::live;
use crate::output::Output;
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
        form => {
            let output = Output::new(global.color, &place.settings.surroundings);
            events::print(&place, run, what(form), part, follow, output)?;
        }
    }
    // A follower leaves at the end of the run, or of the one attempt that it prints.
    match follow {
        Follow::Yes if place.state(run)?.is_over() => {
            let result = super::result::read(&place, run)?;
            Ok(result.map_or(RunOutcome::FAILED, |result| RunOutcome::of_result(&result)).into())
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
    let failed = |error: io::Error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
    let code = i32::from(RunOutcome::Interrupted.code());
    if !live::is_possible() {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(SIGINT, code, always).map_err(failed)?;
        return Ok(());
    }
    // A signal handler cannot erase the live line, so a thread does.
    let (mut reader, writer) = UnixStream::pair().map_err(failed)?;
    signal_hook::low_level::pipe::register(SIGINT, writer).map_err(failed)?;
    let leave = move || {
        if reader.read_exact(&mut [0]).is_ok() {
            live::erase();
            std::process::exit(code);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(leave).map_err(failed)?;
    Ok(())
}

/// Prints a note if no more output will come, because no process works on the run.
pub(super) fn warn_if_unowned(place: &CommandContext, run: RunId) {
    if place.owner(run).is_none() {
        crate::place::note("no process works on this run; `skillrun recover` resumes it");
    }
}
