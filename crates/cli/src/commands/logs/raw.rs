//! The engine output from the evidence: its stdout to our stdout, its stderr to our stderr.

use std::io::{self, IsTerminal, Write};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use skillrun_evidence::error::EvidenceErrorKind;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Extent, FeedStep, Folder, LiveFeed, Patterns};
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, Limits, ReadEnd};
use skillrun_model::{AttemptNumber, IgnoredError, RunId, Stream};

use super::visible::Visible;
use super::{Follow, warn_if_unowned};
use crate::failure::Failure;
use crate::place::{CommandContext, no_attempt, note};

/// On a file system without change notifications, files are polled at this interval.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Everything that has a record: the ranges to hide are on the disk before the record is.
const RECORDED: Extent = Extent { stdout: u64::MAX, stderr: u64::MAX, pty: u64::MAX };

pub(super) fn print(
    place: &CommandContext,
    run: RunId,
    attempt: Option<AttemptNumber>,
    follow: Follow,
) -> Result<(), Failure> {
    // From run.json and not from the evidence, which may not exist yet.
    let patterns = Patterns::new(&place.record(run)?.redact_patterns);
    let patterns = patterns.map_err(|error| {
        Failure::internal(
            format!("cannot read the redaction patterns: {error}; output withheld until run.json is repaired"),
            error,
        )
    })?;
    match follow {
        Follow::No => recorded(place, run, attempt, &patterns),
        Follow::Yes => live(place, run, attempt, &patterns),
    }
}

fn recorded(
    place: &CommandContext,
    run: RunId,
    attempt: Option<AttemptNumber>,
    patterns: &Patterns,
) -> Result<(), Failure> {
    let folder = place.folder(run);
    let missing =
        || Failure::NotFound(format!("the engine output was removed; `skillrun logs {run}` prints the conversation"));
    let evidence = match Folder::open(folder.root()) {
        Ok(evidence) => evidence.hiding(patterns),
        Err(error) if matches!(error.kind, EvidenceErrorKind::NoAttempt) => {
            if place.state(run)?.attempt == AttemptNumber::BEFORE_FIRST {
                note("no engine has been started yet");
                return Ok(());
            }
            return Err(missing());
        }
        Err(error) => return Err(error.into()),
    };
    let mut streams = Streams::new();
    let mut has_any = false;
    for number in evidence.attempts().into_iter().filter(|number| attempt.is_none_or(|attempt| attempt == *number)) {
        has_any = true;
        let mut feed = evidence.attempt(number)?.feed()?;
        while let Some(step) = feed.next_step()? {
            streams.step(&step)?;
        }
        feed.problems()
            .iter()
            .chain(feed.withheld().as_ref())
            .for_each(|problem| note(&format!("attempt {number}: {problem}")));
    }
    if let (Some(attempt), false) = (attempt, has_any) {
        return Err(no_attempt(run, attempt, place.state(run)?.attempt));
    }
    streams.flush()
}

/// Woken by changes of the Log and of the evidence files; the Log says when an attempt is over.
fn live(place: &CommandContext, run: RunId, only: Option<AttemptNumber>, patterns: &Patterns) -> Result<(), Failure> {
    let (sender, receiver) = channel();
    let bell = sender.clone();
    let _subscription = place.log.subscribe(
        run,
        Arc::new(move || {
            bell.send(()).ignored();
        }),
    )?;
    let audit = place.folder(run).audit();
    let mut watched = Watched::No;
    let (mut state, mut cursor) = (State::default(), Cursor::BEGINNING);
    let mut number = only.unwrap_or(AttemptNumber(1));
    let mut feed = LiveFeed::open(&audit, number)?.hiding(patterns);
    let mut streams = Streams::new();
    let mut is_told = false;
    loop {
        if watched == Watched::No && audit.is_dir() {
            watch(&audit, sender.clone());
            watched = Watched::Yes;
        }
        // The Log first: when it says that an attempt is over, all of its output is on the disk.
        read(place, run, &mut state, &mut cursor)?;
        while let Some(step) = feed.next_step(RECORDED)? {
            streams.step(&step)?;
        }
        let is_settled = state.attempt > number || (state.attempt == number && !state.attempt_is_open);
        if is_settled || state.is_over() {
            let mut rest = feed.finish()?;
            while let Some(step) = rest.next_step()? {
                streams.step(&step)?;
            }
            number = AttemptNumber(number.0 + 1);
            feed = LiveFeed::open(&audit, number)?.hiding(patterns);
            streams.flush()?;
            if let Some(only) = only.filter(|only| *only > state.attempt) {
                return Err(no_attempt(run, only, state.attempt));
            }
            if only.is_some() || (state.is_over() && number > state.attempt) {
                return Ok(());
            }
            continue;
        }
        streams.flush()?;
        if !std::mem::replace(&mut is_told, true) && state.question.is_none() {
            warn_if_unowned(place, run);
        }
        // An error can only be a timeout: this thread holds a sender itself.
        receiver.recv_timeout(POLL_INTERVAL).ignored();
        while receiver.try_recv().is_ok() {}
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    Yes,
    No,
}

/// Reads what is new in the Log.
fn read(place: &CommandContext, run: RunId, state: &mut State, cursor: &mut Cursor) -> Result<(), Failure> {
    loop {
        let read = place.log.for_each(run, *cursor, Limits::default(), |line| {
            if let Some(event) = line.known_event() {
                state.evolve(&event);
            }
            Ok::<_, Failure>(ControlFlow::Continue(()))
        })?;
        match read {
            ReadEnd::At(end) => {
                *cursor = end;
                return Ok(());
            }
            ReadEnd::Reset(_) => (*state, *cursor) = (State::default(), Cursor::BEGINNING),
        }
    }
}

/// Notifies when something is written in a folder. Where that is not supported, the Log still notifies.
fn watch(folder: &Path, bell: Sender<()>) {
    let Ok(watch) = inotify::init(CreateFlags::CLOEXEC) else { return };
    if inotify::add_watch(&watch, folder, WatchFlags::MODIFY | WatchFlags::CREATE).is_err() {
        return;
    }
    let listen = move || {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut news = inotify::Reader::new(&watch, &mut buffer);
        while news.next().is_ok() {
            if bell.send(()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("evidence".to_owned()).spawn(listen).ignored();
}

/// Where the bytes go.
struct Streams {
    stdout: Way,
    stderr: Way,
}

/// The exact bytes, or their escaped form for a terminal.
enum Way {
    Exact,
    Visible(Visible),
}

impl Way {
    fn to(out: &impl IsTerminal) -> Self {
        if out.is_terminal() { Self::Visible(Visible::default()) } else { Self::Exact }
    }

    fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Exact => out.write_all(bytes),
            Self::Visible(visible) => visible.write(bytes, out),
        }
    }
}

impl Streams {
    fn new() -> Self {
        Self { stdout: Way::to(&io::stdout()), stderr: Way::to(&io::stderr()) }
    }

    fn step(&mut self, step: &FeedStep<'_>) -> Result<(), Failure> {
        let StepKind::Bytes { stream, bytes } = step.kind else { return Ok(()) };
        let failed = |path: &str| {
            let path = path.to_owned();
            move |error| Failure::Write { path, error }
        };
        match stream {
            Stream::Stdout => self.stdout.write(bytes, &mut io::stdout().lock()).map_err(failed("stdout")),
            Stream::Stderr => self.stderr.write(bytes, &mut io::stderr().lock()).map_err(failed("stderr")),
            // The same bytes again, as a terminal would have received them.
            Stream::Pty => Ok(()),
        }
    }

    fn flush(&self) -> Result<(), Failure> {
        io::stdout().flush().map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
    }
}
