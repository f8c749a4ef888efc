//! The live line: what a run is doing while a user waits for it in a terminal.
//!
//! `text` is the pure part, which decides what the line says. This module draws the line on stderr, if that is a
//! terminal, and erases it before anything else is printed.

mod text;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use skillrun_evidence::names;
use skillrun_lifecycle::run::State;
use skillrun_model::rasp::Event;
use skillrun_model::{Stream, Timestamp};
use skillrun_translate::progress::Progress;

use crate::output::width_of;
use crate::words::now;

pub(crate) use text::{RunningCase, of_cases, of_run};

/// Interval at which the line is drawn.
pub(crate) const LIVE_INTERVAL: Duration = Duration::from_secs(1);

/// A line that was drawn less than this ago stays. Shorter than the interval, because timers are not exact.
const REDRAW_DELAY: Duration = Duration::from_millis(900);

/// Returns to the beginning of the line and clears it.
const ERASE: &str = "\r\x1b[K";

/// Whether the line is on the terminal.
static IS_DRAWN: Mutex<bool> = Mutex::new(false);

/// Removes the line. Called before other output on the terminal.
pub(crate) fn erase() {
    let mut is_drawn = IS_DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *is_drawn) {
        // If the terminal is gone, there is nothing left to do.
        let _ = io::stderr().write_all(ERASE.as_bytes());
    }
}

/// Whether stderr is a terminal that can erase a line.
pub(crate) fn is_possible() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb" && !term.is_empty())
}

/// A writer that erases the line before it writes.
pub(crate) struct Erasing<W>(pub(crate) W);

impl<W: Write> Write for Erasing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        erase();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Draws the line. Draws nothing where no terminal is.
#[derive(Debug)]
pub(crate) struct LiveLine {
    is_possible: bool,
    drawn_at: Instant,
}

impl LiveLine {
    /// The first line appears after a moment, so that a quick command shows none.
    pub(crate) fn new() -> Self {
        Self { is_possible: is_possible(), drawn_at: Instant::now() }
    }

    pub(crate) fn is_possible(&self) -> bool {
        self.is_possible
    }

    /// Draws the text for this width, unless the line was drawn a moment ago. An empty text erases the line.
    pub(crate) fn draw(&mut self, text: impl FnOnce(usize) -> String) {
        if !self.is_possible || self.drawn_at.elapsed() < REDRAW_DELAY {
            return;
        }
        self.drawn_at = Instant::now();
        if !is_in_foreground() {
            return;
        }
        // A character in the last column would make some terminals begin a new line.
        let width = width_of(rustix::stdio::stderr()).unwrap_or(80).saturating_sub(1);
        let text = text(width);
        if text.is_empty() {
            return erase();
        }
        let mut is_drawn = IS_DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
        // If the terminal is gone, there is nothing left to do.
        *is_drawn = io::stderr().write_all(format!("{ERASE}{text}").as_bytes()).is_ok();
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        erase();
    }
}

/// A job in the background does not draw over what the user types.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(rustix::stdio::stderr()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// What the engine of one run is doing.
#[derive(Debug, Default)]
pub(crate) struct LiveRun {
    progress: Progress,
}

impl LiveRun {
    pub(crate) fn evolve(&mut self, event: &Event) {
        self.progress.evolve(event);
    }

    /// Draws the line of this run. `audit` is the folder of its evidence.
    pub(crate) fn draw(&mut self, line: &mut LiveLine, state: &State, audit: &Path) {
        let Self { progress } = self;
        line.draw(|width| {
            if let Some(at) = last_output(audit, state) {
                progress.wrote_at(at);
            }
            of_run(state, progress, now(), width)
        });
    }
}

/// When the engine last wrote something. Not all output becomes an event at once.
fn last_output(audit: &Path, state: &State) -> Option<Timestamp> {
    let written = |stream| {
        let file = fs::metadata(audit.join(names::log(stream, state.attempt))).ok()?;
        (file.len() > 0).then(|| file.modified().ok()).flatten()
    };
    let last = [Stream::Stdout, Stream::Stderr, Stream::Pty].into_iter().filter_map(written).max()?;
    last.try_into().ok()
}
