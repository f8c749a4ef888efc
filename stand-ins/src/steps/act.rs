//! Does the steps. One thread does them all, in order; another one only ends the process when it has lived too long.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Signal, getppid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};

use super::report;
use super::words::{Sink, Start, Stdio, Step, WordsError};
use skillrun_simulate::pattern;
use skillrun_simulate::process::{LIFE, die, end_some_day, write_all};

const USAGE: u8 = 64;
const FAILED: u8 = 74;

const FILE_WAIT: Duration = Duration::from_secs(60);
/// How often it looks for signals, when it waits and has a step for one.
const ATTENTION: Duration = Duration::from_millis(10);
/// Interval at which it polls for changes without notification: a file, the end of a child.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const FLOOD: usize = 64 * 1024;
const MAX_LINE: usize = 1 << 20;

/// Why no further step is done.
enum Stop {
    Exit(u8),
    /// A stream takes no more bytes. Nothing is said: the reader is gone, and that is what a host's test wanted.
    StreamGone,
    Failed(String),
}

pub(super) fn refuse(error: &WordsError) -> ExitCode {
    say(error);
    ExitCode::from(USAGE)
}

pub(super) fn run(steps: &[Step]) -> ExitCode {
    let mut engine = Engine { handlers: Vec::new() };
    let watched = end_some_day().map_err(|error| failed("its watch cannot be started", error));
    let code = match watched.and_then(|()| engine.all(steps)) {
        Ok(()) => 0,
        Err(Stop::Exit(code)) => code,
        Err(Stop::StreamGone) => FAILED,
        Err(Stop::Failed(sentence)) => {
            say(sentence);
            FAILED
        }
    };
    ExitCode::from(code)
}

fn say(sentence: impl Display) {
    // Stderr may be gone as well; the exit code is reported anyway.
    let _ = write_all(stderr(), format!("{}: {sentence}\n", super::SUBCOMMAND).as_bytes());
}

fn failed(what: impl Display, error: impl Display) -> Stop {
    Stop::Failed(format!("{what} ({error})"))
}

fn at_path<T>(path: &Path, done: io::Result<T>) -> Result<T, Stop> {
    done.map_err(|error| failed(path.display(), error))
}

/// What is to be done when a signal has come. There is one of them per signal, for good; later steps change it.
struct Handler<'s> {
    signal: Signal,
    came: Arc<AtomicBool>,
    steps: &'s [Step],
    /// While its steps are done, the signal waits; otherwise signals in quick order would pile up on the stack.
    busy: bool,
}

struct Engine<'s> {
    handlers: Vec<Handler<'s>>,
}

impl<'s> Engine<'s> {
    fn all(&mut self, steps: &'s [Step]) -> Result<(), Stop> {
        for step in steps {
            self.attend()?;
            self.act(step)?;
        }
        self.attend()
    }

    fn act(&mut self, step: &'s Step) -> Result<(), Stop> {
        match step {
            Step::Write { to, text } => write(*to, text),
            Step::Flood { to, bytes } => self.flood(*to, *bytes),
            Step::Drip { to, bytes, pause } => self.drip(*to, *bytes, *pause),
            Step::Sleep(time) => self.sleep(*time),
            Step::Forever => self.sleep(LIFE),
            Step::Exit(code) => Err(Stop::Exit(*code)),
            Step::Die(signal) => die(*signal).map_err(|error| failed("a signal to itself", error)),
            Step::Ignore(signal) => self.handle(*signal, &[]),
            Step::On { signal, steps } => self.handle(*signal, steps),
            Step::Start { how, words } => self.start(*how, words),
            Step::Setsid => setsid().map(drop).map_err(|error| failed("no session of its own", error)),
            Step::Gone(parent) => {
                while getppid().is_some_and(|pid| u64::from(pid.as_raw_nonzero().get().unsigned_abs()) == *parent) {
                    self.sleep(POLL_INTERVAL)?;
                }
                Ok(())
            }
            Step::Close(stdio) => close(*stdio),
            Step::Silence => close(Stdio::Stdout).and_then(|()| close(Stdio::Stderr)),
            Step::Report => {
                let line = report::line().map_err(|error| failed("no report", error))?;
                write(Sink::Stdout, &line)
            }
            Step::File { path, text } => at_path(path, fs::write(path, text)),
            Step::Append { path, text } => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                at_path(path, file.and_then(|mut file| file.write_all(text)))
            }
            Step::Folder(path) => at_path(path, fs::create_dir_all(path)),
            Step::Remove(path) => at_path(path, remove(path)),
            Step::Link { path, target } => at_path(path, symlink(target, path)),
            Step::Pid(path) => at_path(path, write_pid(path)),
            Step::WaitFile(path) => self.wait_file(path),
            Step::ReadLine => match self.read_line()? {
                Some(line) => write(Sink::Stdout, &[b"got: ", line.as_slice(), b"\n"].concat()),
                None => write(Sink::Stdout, b"got eof\n"),
            },
            Step::EchoStdin => self.echo(),
            Step::Turns => self.turns(),
            Step::Repeat { times, steps } => (0..*times).try_for_each(|_| self.all(steps)),
        }
    }

    fn flood(&mut self, to: Sink, bytes: u64) -> Result<(), Stop> {
        let mut buffer = vec![0; FLOOD];
        let mut offset = 0;
        while offset < bytes {
            let length = (bytes - offset).min(FLOOD as u64);
            let piece = &mut buffer[..length as usize];
            pattern(offset, piece);
            write(to, piece)?;
            self.attend()?;
            offset += length;
        }
        Ok(())
    }

    fn drip(&mut self, to: Sink, bytes: u64, pause: Duration) -> Result<(), Stop> {
        for offset in 0..bytes {
            let mut byte = [0];
            pattern(offset, &mut byte);
            write(to, &byte)?;
            self.sleep(pause)?;
        }
        Ok(())
    }

    fn handle(&mut self, signal: Signal, steps: &'s [Step]) -> Result<(), Stop> {
        if let Some(handler) = self.handlers.iter_mut().find(|handler| handler.signal == signal) {
            handler.steps = steps;
            return Ok(());
        }
        let came = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal.as_raw(), Arc::clone(&came))
            .map_err(|error| failed("a signal cannot be caught", error))?;
        self.handlers.push(Handler { signal, came, steps, busy: false });
        Ok(())
    }

    /// Does the steps for signals that have come.
    fn attend(&mut self) -> Result<(), Stop> {
        for index in 0..self.handlers.len() {
            let handler = &mut self.handlers[index];
            if !handler.busy && handler.came.swap(false, Ordering::SeqCst) {
                handler.busy = true;
                let steps = handler.steps;
                self.all(steps)?;
                self.handlers[index].busy = false;
            }
        }
        Ok(())
    }

    fn sleep(&mut self, time: Duration) -> Result<(), Stop> {
        let begin = Instant::now();
        loop {
            self.attend()?;
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            // A signal that is handled ends the nap early, but one that came just before the nap does not.
            nap(if self.handlers.is_empty() { left } else { left.min(ATTENTION) });
        }
    }

    fn wait_file(&mut self, path: &Path) -> Result<(), Stop> {
        let begin = Instant::now();
        while fs::symlink_metadata(path).is_err() {
            if begin.elapsed() >= FILE_WAIT {
                return Err(Stop::Failed(format!("{} did not appear within 60 s", path.display())));
            }
            self.sleep(POLL_INTERVAL)?;
        }
        Ok(())
    }

    fn start(&mut self, how: Start, words: &[impl AsRef<OsStr>]) -> Result<(), Stop> {
        let own = std::process::id().to_string();
        let (before, after, group): (&[&str], &[&str], _) = match how {
            Start::Child | Start::Call => (&[], &[], Group::Same),
            Start::Heir => (&["gone", &own], &[], Group::Same),
            Start::Group => (&[], &[], Group::Own),
            Start::Session => (&["setsid"], &[], Group::Same),
            Start::Orphan => (&["heir", "["], &["]"], Group::Same),
            // The one between makes the session, so that the daemon is in it before this step is over.
            Start::Daemon => (&["setsid", "heir", "["], &["]"], Group::Same),
        };
        let [before, after] = [before, after].map(|words| words.iter().map(OsStr::new));
        let child = spawn(before.chain(words.iter().map(AsRef::as_ref)).chain(after), group)?;
        match how {
            Start::Child | Start::Heir | Start::Group | Start::Session => Ok(()),
            Start::Call | Start::Orphan | Start::Daemon => self.wait(child),
        }
    }

    fn wait(&mut self, mut child: Child) -> Result<(), Stop> {
        loop {
            match child.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => self.sleep(POLL_INTERVAL)?,
                Err(error) => return Err(failed("a child cannot be waited for", error)),
            }
        }
    }

    /// Reads what is there of stdin, at least a byte. 0 is the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stop> {
        loop {
            self.attend()?;
            // Not a plain read: that would continue after a signal, and the signal's steps would wait for input.
            match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&timespec(ATTENTION))) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(failed("stdin", error)),
            }
            match rustix::io::read(stdin(), &mut *buffer) {
                Ok(count) => return Ok(count),
                // What a terminal says when its other side is gone.
                Err(Errno::IO) => return Ok(0),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(failed("stdin", error)),
            }
        }
    }

    /// A line without its newline; none at the end.
    fn read_line(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let mut line = Vec::new();
        while line.len() < MAX_LINE {
            let mut byte = [0];
            if self.read(&mut byte)? == 0 {
                return Ok((!line.is_empty()).then_some(line));
            }
            if byte == *b"\n" {
                break;
            }
            line.extend(byte);
        }
        Ok(Some(line))
    }

    fn echo(&mut self) -> Result<(), Stop> {
        let mut buffer = vec![0; FLOOD];
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(()),
                count => write(Sink::Stdout, &buffer[..count])?,
            }
        }
    }

    fn turns(&mut self) -> Result<(), Stop> {
        let mut turn = 0_u64;
        while let Some(line) = self.read_line()? {
            turn += 1;
            write(Sink::Stdout, format!("turn {turn} begin\n").as_bytes())?;
            write(Sink::Stdout, &[b"you said: ", line.as_slice(), b"\n"].concat())?;
            write(Sink::Stdout, format!("turn {turn} end\n").as_bytes())?;
        }
        write(Sink::Stdout, b"bye\n")
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// Sleeps, at most this long: any signal that is handled ends it. `thread::sleep` would not let itself be disturbed.
fn nap(time: Duration) {
    let _ = rustix::thread::nanosleep(&timespec(time));
}

fn write(to: Sink, bytes: &[u8]) -> Result<(), Stop> {
    let written = match to {
        Sink::Stdout => write_all(stdout(), bytes),
        Sink::Stderr => write_all(stderr(), bytes),
        Sink::Tty => {
            let tty = rustix::fs::open("/dev/tty", OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| failed("/dev/tty", error))?;
            write_all(tty, bytes)
        }
    };
    written.map_err(|_| Stop::StreamGone)
}

/// Only `unsafe` code can close these descriptors for good. Put in place of it, `/dev/null` gives up the pipe or
/// terminal just the same.
fn close(stdio: Stdio) -> Result<(), Stop> {
    let replaced = null().and_then(|null| match stdio {
        Stdio::Stdin => dup2_stdin(null),
        Stdio::Stdout => dup2_stdout(null),
        Stdio::Stderr => dup2_stderr(null),
    });
    replaced.map_err(|error| failed("/dev/null", error))
}

fn null() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn write_pid(path: &Path) -> io::Result<()> {
    let pid = std::process::id();
    let mut name = path.file_name().ok_or(ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{pid}.tmp"));
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, format!("{pid}\n"))?;
    fs::rename(&unfinished, path)
}

#[derive(Clone, Copy)]
enum Group {
    Same,
    Own,
}

fn spawn<'a>(words: impl Iterator<Item = &'a OsStr>, group: Group) -> Result<Child, Stop> {
    let program = std::env::current_exe().map_err(|error| failed("its own program is unknown", error))?;
    let mut command = Command::new(program);
    command.arg(super::SUBCOMMAND).args(words);
    match group {
        Group::Same => {}
        Group::Own => {
            command.process_group(0);
        }
    }
    command.spawn().map_err(|error| failed("a child cannot be started", error))
}
