//! The owner of the attempt until it is over: shows the output, passes input on, and cancels on a signal.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_base::files::write_all;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice, RecordedSizes};
use skillrun_collect::{Attached, CollectError, HostConnection, attach};
use skillrun_evidence::os_text::to_hex;
use skillrun_evidence::{EvidenceError, HostRecord, Tail};
use skillrun_model::Stream;

use super::CaptureError;
use super::plan::Prepared;
use skillrun_model::IgnoredError;

/// How the capture ended.
#[derive(Debug)]
pub(crate) enum CaptureOutcome {
    Ended(Box<HostRecord>),
    /// The host is gone without a record.
    Lost,
    /// The recording itself is gone.
    Removed,
    /// This process exits, the command keeps running.
    Detached,
    /// The host process goes on terminating the command.
    DetachedCanceling,
}

pub(crate) fn follow(prepared: &Prepared) -> Result<CaptureOutcome, CaptureError> {
    let mut screen = Screen::new(prepared);
    let signals = Signals::watch().map_err(CollectError::NoHost)?;
    loop {
        match attach(&prepared.audit, prepared.plan.attempt)? {
            Attached::Live(mut owner) => {
                let mut input = OwnInput::new(prepared.passes_stdin);
                if let Some(outcome) = converse(&mut owner, &mut screen, &mut input, &signals)? {
                    return Ok(outcome);
                }
            }
            Attached::Ended(record) => {
                let bytes = record.bytes;
                screen.show(&RecordedSizes {
                    attempt: record.attempt_number,
                    stdout: bytes.stdout,
                    stderr: bytes.stderr,
                    pty: bytes.pty,
                });
                return Ok(CaptureOutcome::Ended(record));
            }
            Attached::Lost { .. } => return Ok(CaptureOutcome::Lost),
            // It had begun, so its files were removed since.
            Attached::NotBegun => return Ok(CaptureOutcome::Removed),
        }
    }
}

/// Reads notices until the host closes the connection; the rest is in its files.
fn converse(
    owner: &mut HostConnection,
    screen: &mut Screen,
    input: &mut OwnInput,
    signals: &Signals,
) -> Result<Option<CaptureOutcome>, CaptureError> {
    let mut cancels = 0;
    loop {
        // Notices that have arrived are handled before the next wait.
        loop {
            match owner.receive(Duration::ZERO)? {
                HostMessage::Notice(Notice::Progress(progress)) => screen.show(&progress),
                HostMessage::Notice(Notice::Input { answer, .. }) => {
                    input.answered(answer);
                    if input.is_given_up() && ask(owner, &HostRequest::CloseStdin)? == Asked::HostGone {
                        return Ok(None);
                    }
                }
                HostMessage::Notice(
                    Notice::NextAttempt(_)
                    | Notice::Exited { .. }
                    | Notice::Ended { .. }
                    | Notice::Refused { .. }
                    | Notice::Closed { .. },
                ) => {}
                HostMessage::Nothing => break,
                HostMessage::Gone => return Ok(None),
            }
        }
        match signals.came() {
            CaptureEvent::Nothing => {}
            CaptureEvent::HangUp => return detach(owner, CaptureOutcome::Detached),
            CaptureEvent::Interrupt => {
                cancels += 1;
                if cancels > 1 {
                    return detach(owner, CaptureOutcome::DetachedCanceling);
                }
                super::print_line(
                    "terminating the command; press Ctrl-C again to stop waiting, and the host process terminates it",
                );
                if ask(owner, &HostRequest::Cancel { ladder: None })? == Asked::HostGone {
                    return Ok(None);
                }
            }
        }
        let stdin = io::stdin();
        let mut fds = vec![
            PollFd::new(&*owner, PollFlags::IN),
            PollFd::new(&signals.interrupts, PollFlags::IN),
            PollFd::new(&signals.hang_ups, PollFlags::IN),
        ];
        if input.is_wanted() {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        // An interrupted poll means that there may be something to handle.
        poll(&mut fds, None).ignored();
        let has_input = fds.get(3).is_some_and(|fd| !fd.revents().is_empty());
        if has_input
            && let Some(request) = input.next()
            && ask(owner, &request)? == Asked::HostGone
        {
            return Ok(None);
        }
    }
}

fn detach(owner: &mut HostConnection, outcome: CaptureOutcome) -> Result<Option<CaptureOutcome>, CaptureError> {
    Ok(match ask(owner, &HostRequest::Detach)? {
        Asked::Host => Some(outcome),
        Asked::HostGone => None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Host,
    /// The host has closed the connection; its record says why.
    HostGone,
}

/// Sends a request to a host that may just have exited.
fn ask(owner: &mut HostConnection, request: &HostRequest) -> Result<Asked, CaptureError> {
    match owner.send(request) {
        Ok(()) => Ok(Asked::Host),
        Err(CollectError::Silent(error)) if has_hung_up(&error) => Ok(Asked::HostGone),
        Err(error) => Err(error.into()),
    }
}

fn has_hung_up(error: &io::Error) -> bool {
    [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset].contains(&error.kind())
}

/// The standard input of this process, on its way to the command.
struct OwnInput {
    state: InputState,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputState {
    Wanted,
    /// One piece is on its way.
    Waiting,
    /// The stdin of the command is to be closed.
    GivenUp,
    Closed,
}

impl OwnInput {
    fn new(is_passed_on: bool) -> Self {
        Self { state: if is_passed_on { InputState::Wanted } else { InputState::Closed }, number: 0 }
    }

    fn is_wanted(&self) -> bool {
        self.state == InputState::Wanted
    }

    /// True once.
    fn is_given_up(&mut self) -> bool {
        let is_given_up = self.state == InputState::GivenUp;
        if is_given_up {
            self.state = InputState::Closed;
        }
        is_given_up
    }

    /// Reads the next piece.
    fn next(&mut self) -> Option<HostRequest> {
        let mut buffer = vec![0; 64 * 1024];
        match io::stdin().lock().read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.state = InputState::Waiting;
                self.number += 1;
                buffer.truncate(count);
                let id = self.number.to_string();
                Some(match String::from_utf8(buffer) {
                    Ok(text) => HostRequest::Input { id, text: Some(text), hex: None },
                    Err(error) => HostRequest::Input { id, text: None, hex: Some(to_hex(error.as_bytes())) },
                })
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Ok(_) | Err(_) => {
                self.state = InputState::Closed;
                Some(HostRequest::CloseStdin)
            }
        }
    }

    fn answered(&mut self, answer: InputAnswer) {
        match answer {
            InputAnswer::Written => self.state = InputState::Wanted,
            InputAnswer::LineTooLong => {
                super::print_line("warning: a line of the input is too long for a terminal and was skipped");
                self.state = InputState::Wanted;
            }
            // The command has closed its stdin or exited.
            InputAnswer::Closed => self.state = InputState::Closed,
            // Requests as sent here cause none of these; if one occurs, the command must not wait for the rest.
            InputAnswer::Repeated | InputAnswer::TooLarge | InputAnswer::Unreadable | InputAnswer::Busy => {
                super::print_line("warning: the rest of the input could not be passed on");
                self.state = InputState::GivenUp;
            }
        }
    }
}

/// Shows what was recorded, with secrets masked. If the reader of the output goes away, the recording continues.
struct Screen {
    tail: Tail,
    reads_stdout: bool,
    reads_stderr: bool,
    /// The evidence could not be read; the host may still report why.
    is_blind: bool,
}

impl Screen {
    fn new(prepared: &Prepared) -> Self {
        let tail = Tail::new(&prepared.audit, prepared.plan.attempt);
        Self { tail, reads_stdout: true, reads_stderr: true, is_blind: false }
    }

    /// Shows what is new. If that cannot be read, the command keeps running, and this process waits for its end.
    fn show(&mut self, progress: &RecordedSizes) {
        if self.is_blind {
            return;
        }
        if let Err(error) = self.put_all(progress) {
            super::print_line(&format!("warning: the output cannot be shown: {error}"));
            self.is_blind = true;
        }
    }

    fn put_all(&mut self, progress: &RecordedSizes) -> Result<(), EvidenceError> {
        for (stream, to) in
            [(Stream::Stdout, progress.stdout), (Stream::Stderr, progress.stderr), (Stream::Pty, progress.pty)]
        {
            while let Some(bytes) = self.tail.next(stream, to)? {
                match stream {
                    Stream::Stdout => {
                        self.reads_stdout = self.reads_stdout && write_all(io::stdout(), bytes).is_ok();
                    }
                    Stream::Stderr | Stream::Pty => {
                        self.reads_stderr = self.reads_stderr && write_all(io::stderr(), bytes).is_ok();
                        super::IS_MID_LINE.store(!bytes.ends_with(b"\n"), Ordering::Relaxed);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Signals to this process, as descriptors that can be polled.
struct Signals {
    interrupts: UnixStream,
    hang_ups: UnixStream,
}

enum CaptureEvent {
    Nothing,
    Interrupt,
    HangUp,
}

impl Signals {
    fn watch() -> io::Result<Self> {
        Ok(Self { interrupts: watched(&[SIGINT, SIGTERM])?, hang_ups: watched(&[SIGHUP])? })
    }

    fn came(&self) -> CaptureEvent {
        let has_come = |mut reader: &UnixStream| reader.read(&mut [0; 64]).is_ok_and(|count| count > 0);
        if has_come(&self.hang_ups) {
            CaptureEvent::HangUp
        } else if has_come(&self.interrupts) {
            CaptureEvent::Interrupt
        } else {
            CaptureEvent::Nothing
        }
    }
}

/// Becomes readable when one of the signals comes.
fn watched(signals: &[i32]) -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, writer.try_clone()?)?;
    }
    Ok(reader)
}
