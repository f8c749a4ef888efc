//! Reads the Log of a run from its first event to its last.

use std::ops::ControlFlow;

use skillrun_log::{Cursor, EventLog, FileLog, Limits, LogError, LogErrorKind, LogLine, ReadEnd};
use skillrun_model::RunId;
use skillrun_model::rasp::{Event, SourceStream};

/// Reads a Log from its first event to its last.
pub fn read_all(
    log: &FileLog,
    run: RunId,
    mut take: impl FnMut(Event) -> Result<(), LogError>,
) -> Result<(), LogError> {
    read_lines(log, run, |_, event| take(event))
}

/// The same with the line of each event, for a reader that has errors of its own.
pub fn read_lines<E: From<LogError>>(
    log: &FileLog,
    run: RunId,
    mut take: impl FnMut(LogLine<'_>, Event) -> Result<(), E>,
) -> Result<(), E> {
    let end = log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        take(line, line.event()?)?;
        Ok::<_, E>(ControlFlow::Continue(()))
    })?;
    match end {
        ReadEnd::At(_) => Ok(()),
        ReadEnd::Reset(_) => Err(changed(run).into()),
    }
}

/// The Log has changed since it was read.
pub fn changed(run: RunId) -> LogError {
    let source = std::io::Error::other("it was repaired while it was read; try again");
    LogError { run, kind: LogErrorKind::Io { place: "events.jsonl".to_owned(), source } }
}

/// Whether an event was made from what an engine wrote.
pub fn is_evidence(event: &Event) -> bool {
    match event.source.stream {
        SourceStream::Stdout | SourceStream::Stderr | SourceStream::Pty => true,
        SourceStream::Stdin | SourceStream::Control => false,
    }
}
