//! The owner of the attempt until it is over: shows what is written, passes input on, and cancels when it is told to.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_collect::owner::Heard;
use skillrun_collect::protocol::{InputAnswer, Notice, Progress, Request};
use skillrun_collect::{Attached, CollectError, Owner, attach};
use skillrun_evidence::os_text::to_hex;
use skillrun_evidence::{HostRecord, Tail};
use skillrun_model::Stream;

use super::Problem;
use super::plan::Prepared;

/// How it ended for us.
#[derive(Debug)]
pub(crate) enum Outcome {
    Ended(Box<HostRecord>),
    /// The host is gone without a record.
    Lost,
    /// We left, it goes on.
    Detached,
}

pub(crate) fn follow(prepared: &Prepared) -> Result<Outcome, Problem> {
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
                screen.show(&Progress {
                    attempt: record.attempt_number,
                    stdout: bytes.stdout,
                    stderr: bytes.stderr,
                    pty: bytes.pty,
                })?;
                return Ok(Outcome::Ended(record));
            }
            Attached::Lost { .. } | Attached::NotBegun => return Ok(Outcome::Lost),
        }
    }
}

/// Listens until the host hangs up; then the files tell the rest.
fn converse(
    owner: &mut Owner,
    screen: &mut Screen,
    input: &mut OwnInput,
    signals: &Signals,
) -> Result<Option<Outcome>, Problem> {
    let mut cancels = 0;
    loop {
        // What has arrived is heard before anything is waited for.
        loop {
            match owner.hear(Duration::ZERO)? {
                Heard::Notice(Notice::Progress(progress)) => screen.show(&progress)?,
                Heard::Notice(Notice::Input { answer, .. }) => input.answered(answer),
                Heard::Notice(
                    Notice::NextAttempt(_)
                    | Notice::Exited { .. }
                    | Notice::Ended { .. }
                    | Notice::Refused { .. }
                    | Notice::Closed { .. },
                ) => {}
                Heard::Nothing => break,
                Heard::Gone => return Ok(None),
            }
        }
        match signals.came() {
            Came::Nothing => {}
            Came::HangUp => return detach(owner),
            Came::Interrupt => {
                cancels += 1;
                if cancels > 1 {
                    return detach(owner);
                }
                super::tell("ending it; press Ctrl-C again to leave it running");
                owner.send(&Request::Cancel { ladder: None })?;
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
        // An interruption means that there is something to look at.
        poll(&mut fds, None).ok();
        let has_input = fds.get(3).is_some_and(|fd| !fd.revents().is_empty());
        if has_input && let Some(request) = input.next() {
            owner.send(&request)?;
        }
    }
}

fn detach(owner: &mut Owner) -> Result<Option<Outcome>, Problem> {
    owner.send(&Request::Detach)?;
    Ok(Some(Outcome::Detached))
}

/// Our standard input, on its way to the command.
struct OwnInput {
    state: InputState,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputState {
    Wanted,
    /// One piece is on its way.
    Waiting,
    Closed,
}

impl OwnInput {
    fn new(is_passed_on: bool) -> Self {
        Self { state: if is_passed_on { InputState::Wanted } else { InputState::Closed }, number: 0 }
    }

    fn is_wanted(&self) -> bool {
        self.state == InputState::Wanted
    }

    /// Reads a piece of it.
    fn next(&mut self) -> Option<Request> {
        let mut buffer = vec![0; 64 * 1024];
        match io::stdin().lock().read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.state = InputState::Waiting;
                self.number += 1;
                buffer.truncate(count);
                let id = self.number.to_string();
                Some(match String::from_utf8(buffer) {
                    Ok(text) => Request::Input { id, text: Some(text), hex: None },
                    Err(error) => Request::Input { id, text: None, hex: Some(to_hex(error.as_bytes())) },
                })
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Ok(_) | Err(_) => {
                self.state = InputState::Closed;
                Some(Request::CloseStdin)
            }
        }
    }

    fn answered(&mut self, answer: InputAnswer) {
        match answer {
            InputAnswer::Written => self.state = InputState::Wanted,
            InputAnswer::LineTooLong => {
                super::tell("warning: a line of the input is too long for a terminal and was left out");
                self.state = InputState::Wanted;
            }
            InputAnswer::Repeated | InputAnswer::Closed | InputAnswer::TooLarge | InputAnswer::Busy => {
                self.state = InputState::Closed;
            }
        }
    }
}

/// Shows what was recorded, through the mask. Whoever reads us may leave; the recording goes on.
struct Screen {
    tail: Tail,
    reads_stdout: bool,
    reads_stderr: bool,
}

impl Screen {
    fn new(prepared: &Prepared) -> Self {
        Self { tail: Tail::new(&prepared.audit, prepared.plan.attempt), reads_stdout: true, reads_stderr: true }
    }

    fn show(&mut self, progress: &Progress) -> Result<(), Problem> {
        for (stream, to) in
            [(Stream::Stdout, progress.stdout), (Stream::Stderr, progress.stderr), (Stream::Pty, progress.pty)]
        {
            while let Some(bytes) = self.tail.next(stream, to)? {
                match stream {
                    Stream::Stdout => {
                        self.reads_stdout = self.reads_stdout && put(&mut io::stdout().lock(), bytes);
                    }
                    Stream::Stderr | Stream::Pty => {
                        self.reads_stderr = self.reads_stderr && put(&mut io::stderr().lock(), bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

fn put(out: &mut impl Write, bytes: &[u8]) -> bool {
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}

/// Signals that are meant for us, as something that can be waited for.
struct Signals {
    interrupts: UnixStream,
    hang_ups: UnixStream,
}

enum Came {
    Nothing,
    Interrupt,
    HangUp,
}

impl Signals {
    fn watch() -> io::Result<Self> {
        Ok(Self { interrupts: watched(&[SIGINT, SIGTERM])?, hang_ups: watched(&[SIGHUP])? })
    }

    fn came(&self) -> Came {
        let has_come = |mut reader: &UnixStream| reader.read(&mut [0; 64]).is_ok_and(|count| count > 0);
        if has_come(&self.hang_ups) {
            Came::HangUp
        } else if has_come(&self.interrupts) {
            Came::Interrupt
        } else {
            Came::Nothing
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
