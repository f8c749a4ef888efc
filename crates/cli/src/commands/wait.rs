//! `skillrun wait`: waits until a run is over. It only reads, so it can exit at any moment.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, Limits, Tail, Tailed};
use skillrun_model::{RunId, RunStatus};

use super::interactions::reply_command;
use super::logs::{leave_on_interrupt, warn_if_unowned};
use crate::args::{Global, OutputForm, WaitFor};
use crate::exit::{RunOutcome, run_state, run_words};
use crate::failure::Failure;
use crate::live::{LIVE_INTERVAL, LiveLine, LiveRun};
use crate::output::{print, print_json};
use crate::owner::take_over_orphans;
use crate::place::{CommandContext, note};

/// Interval at which a run without progress is checked for an owner that died. It is also the interval of polling on a
/// file system without change notifications.
const OWNER_CHECK_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) fn run(global: &Global, args: &WaitFor) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    leave_on_interrupt()?;
    // A run whose owner died would never end.
    take_over_orphans(&place.settings);
    let mut noted = Noted::default();
    let state = until(&place, run, args.timeout, |state| {
        let waits_for_good = state.question.as_ref().is_some_and(|question| question.deadline.is_none());
        if state.is_over() || waits_for_good {
            return Enough::Yes;
        }
        noted.idle(&place, run, state);
        Enough::No
    })?;
    match state.is_over() {
        true => ended(&place, run, args.json.form()),
        false => super::result::not_over(&place, run, args.json.form()),
    }
}

/// Whether a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    Yes,
    No,
}

/// Reads the Log of a run until a state is enough, or the time is up; returns the last state. `look` gets each state
/// after which nothing more was in the Log, and the same state again at intervals. On a terminal, a line shows what the
/// run is doing.
pub(super) fn until(
    place: &CommandContext,
    run: RunId,
    timeout: Option<Duration>,
    mut look: impl FnMut(&State) -> Enough,
) -> Result<State, Failure> {
    let begin = Instant::now();
    let mut tail = Tail::new(&place.log, run, Cursor::BEGINNING)?;
    let mut state = State::default();
    let mut pause = Duration::ZERO;
    let (mut line, mut live) = (LiveLine::new(), LiveRun::default());
    let audit = place.folder(run).audit();
    // When the same state is looked at again.
    let mut next_look = begin;
    loop {
        match tail.next(Limits::default(), pause)? {
            Tailed::Page(page) => {
                for event in page.lines().filter_map(|line| line.known_event()) {
                    state.evolve(&event);
                    live.evolve(&event);
                }
                pause = Duration::ZERO;
                next_look = begin;
            }
            Tailed::Reset(_) => (state, live) = (State::default(), LiveRun::default()),
            Tailed::TimedOut => {
                let left = timeout.map_or(OWNER_CHECK_INTERVAL, |timeout| timeout.saturating_sub(begin.elapsed()));
                let is_due = Instant::now() >= next_look || left.is_zero();
                if (is_due && look(&state) == Enough::Yes) || left.is_zero() {
                    return Ok(state);
                }
                if is_due {
                    next_look = Instant::now() + OWNER_CHECK_INTERVAL;
                }
                live.draw(&mut line, &state, &audit);
                let most = if line.is_possible() { LIVE_INTERVAL } else { OWNER_CHECK_INTERVAL };
                pause = left.min(most);
            }
        }
    }
}

/// Which notes were printed about a run that makes no progress.
#[derive(Debug, Default)]
struct Noted {
    question: bool,
    owner: bool,
}

impl Noted {
    fn idle(&mut self, place: &CommandContext, run: RunId, state: &State) {
        if state.question.is_some() {
            if !std::mem::replace(&mut self.question, true) {
                note(&format!("the run {}: {}", run_words(run_state(state)), reply_command(&run.to_string())));
            }
            return;
        }
        self.question = false;
        take_over_orphans(&place.settings);
        if !std::mem::replace(&mut self.owner, true) {
            warn_if_unowned(place, run);
        }
    }
}

fn ended(place: &CommandContext, run: RunId, form: OutputForm) -> Result<ExitCode, Failure> {
    let Some(result) = super::result::read(place, run)? else {
        return Err(Failure::NotFound(format!("run {run} has no result")));
    };
    match form {
        OutputForm::Json => print_json(&json!({
            "run_id": run,
            "status": result.status,
            "error": result.error,
            "elapsed_ms": result.timing.elapsed_ms,
        }))?,
        OutputForm::Text => {
            let code = result.error.as_ref().filter(|_| result.status == RunStatus::Failed);
            let code = code.map_or_else(String::new, |error| format!(" · {}", error.code));
            print(&format!("{run}  {}{code}\n", result.status))?;
        }
    }
    Ok(RunOutcome::of_result(&result).into())
}
