//! Pipes and terminals between an engine and its host.
//!
//! | wiring | stdin | stdout | stderr | controlling terminal |
//! | --- | --- | --- | --- | --- |
//! | `pipes` | as asked | pipe | pipe | only with a terminal as stdin |
//! | `split_pty` | as asked | terminal | terminal | one more terminal |
//! | `one_pty` | as asked | the terminal | the terminal | the terminal |
//!
//! Terminals rewrite nothing: output processing and echo are off.

use std::fs::File;
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::io::{Errno, dup};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};
use skillrun_base::files::{self, SymbolicLinks};
use skillrun_model::{Stream, Wiring};

use crate::plan::StdinPlan;

/// Both ends of everything.
#[derive(Debug)]
pub(crate) struct Wires {
    pub(crate) engine: EngineEnds,
    pub(crate) host: HostEnds,
    /// The kernel did not grant a larger pipe.
    pub(crate) pipes_are_small: bool,
}

#[derive(Debug)]
pub(crate) struct EngineEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Becomes the controlling terminal.
    pub(crate) terminal: Option<OwnedFd>,
}

#[derive(Debug)]
pub(crate) struct HostEnds {
    /// By [`Stream::index`].
    pub(crate) streams: [Option<OwnedFd>; 3],
    pub(crate) stdin: Input,
    /// Keeps a controlling terminal alive that the engine may open by name at any time.
    pub(crate) held: Option<OwnedFd>,
}

/// The host's end of the engine's standard input.
#[derive(Debug)]
pub(crate) enum Input {
    /// Nothing can be written.
    Closed,
    Pipe(OwnedFd),
    Terminal(OwnedFd),
}

/// The reported size of terminals. Wide, because some programs break lines at the edge.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

struct Terminal {
    host: OwnedFd,
    engine: OwnedFd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TerminalUse {
    /// For typed input: lines, and keys that interrupt.
    Controlling,
    /// For output only: bytes pass unchanged.
    Output,
}

impl Terminal {
    fn open(used_for: TerminalUse) -> Result<Self, Errno> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let host = openpt(flags)?;
        unlockpt(&host)?;
        let engine = ioctl_tiocgptpeer(&host, flags)?;
        let mut modes = tcgetattr(&engine)?;
        match used_for {
            TerminalUse::Output => modes.make_raw(),
            TerminalUse::Controlling => {
                modes.output_modes -= OutputModes::OPOST;
                modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
                // Input reaches the engine as it was sent, and no byte of it stops the output.
                modes.input_modes -= InputModes::ICRNL | InputModes::IXON | InputModes::ISTRIP;
            }
        }
        tcsetattr(&engine, OptionalActions::Now, &modes)?;
        tcsetwinsize(&engine, SIZE)?;
        never_block(&host)?;
        Ok(Self { host, engine })
    }
}

fn never_block(fd: impl AsFd) -> Result<(), Errno> {
    let flags = fcntl_getfl(&fd)?;
    fcntl_setfl(&fd, flags | OFlags::NONBLOCK)
}

/// The largest pipe an unprivileged user may request.
fn largest_pipe() -> usize {
    const USUAL: usize = 1 << 20;
    std::fs::read_to_string("/proc/sys/fs/pipe-max-size").ok().and_then(|t| t.trim().parse().ok()).unwrap_or(USUAL)
}

/// A pipe of the largest size, and whether that size was granted.
fn large_pipe() -> Result<(OwnedFd, OwnedFd, bool), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let is_large = fcntl_setpipe_size(&read, largest_pipe()).is_ok();
    Ok((read, write, is_large))
}

fn null() -> Result<OwnedFd, Errno> {
    open(Path::new("/dev/null"), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

impl Wires {
    pub(crate) fn new(wiring: Wiring, stdin: &StdinPlan) -> Result<Self, Errno> {
        let mut pipes_are_small = false;
        let needs_terminal = match wiring {
            Wiring::SplitPty | Wiring::OnePty => true,
            Wiring::Pipes => *stdin == StdinPlan::Tty,
        };
        let terminal = if needs_terminal { Some(Terminal::open(TerminalUse::Controlling)?) } else { None };
        let (engine_stdin, input) = match (stdin, &terminal) {
            (StdinPlan::Tty, Some(terminal)) => {
                (dup_private(&terminal.engine)?, Input::Terminal(dup_private(&terminal.host)?))
            }
            (StdinPlan::Null | StdinPlan::Tty, _) => (null()?, Input::Closed),
            (StdinPlan::Pipe | StdinPlan::File(_), _) => {
                let (read, write, _) = large_pipe()?;
                never_block(&write)?;
                (read, Input::Pipe(write))
            }
        };
        let mut output = || -> Result<(OwnedFd, OwnedFd), Errno> {
            match wiring {
                Wiring::Pipes => {
                    let (read, write, is_large) = large_pipe()?;
                    never_block(&read)?;
                    pipes_are_small |= !is_large;
                    Ok((read, write))
                }
                Wiring::SplitPty => Terminal::open(TerminalUse::Output).map(|t| (t.host, t.engine)),
                Wiring::OnePty => match &terminal {
                    Some(terminal) => Ok((dup_private(&terminal.host)?, dup_private(&terminal.engine)?)),
                    None => Err(Errno::NOTTY),
                },
            }
        };
        let (stdout_read, stdout) = output()?;
        let (stderr_read, stderr) = output()?;
        let mut streams = [None, None, None];
        streams[Stream::Stdout.index()] = Some(stdout_read);
        let mut held = None;
        match (wiring, &terminal) {
            // Both streams are the same terminal, read once. A program that closes all of its descriptors would get a
            // hangup unless the host keeps one open.
            (Wiring::OnePty, terminal) => {
                drop(stderr_read);
                held = terminal.as_ref().map(|terminal| dup_private(&terminal.engine)).transpose()?;
            }
            (Wiring::Pipes | Wiring::SplitPty, None) => streams[Stream::Stderr.index()] = Some(stderr_read),
            (Wiring::Pipes | Wiring::SplitPty, Some(terminal)) => {
                streams[Stream::Stderr.index()] = Some(stderr_read);
                streams[Stream::Pty.index()] = Some(dup_private(&terminal.host)?);
                held = Some(dup_private(&terminal.engine)?);
            }
        }
        let engine = EngineEnds { stdin: engine_stdin, stdout, stderr, terminal: terminal.map(|t| t.engine) };
        Ok(Self { engine, host: HostEnds { streams, stdin: input, held }, pipes_are_small })
    }
}

/// A second descriptor, closed on exec like the first.
fn dup_private(fd: &OwnedFd) -> Result<OwnedFd, Errno> {
    let copy = dup(fd)?;
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::CLOEXEC)?;
    Ok(copy)
}

/// Streams that have their own file under a wiring.
pub(crate) fn recorded_streams(wiring: Wiring, stdin: &StdinPlan) -> &'static [Stream] {
    match (wiring, stdin) {
        (Wiring::SplitPty, _) | (Wiring::Pipes, StdinPlan::Tty) => &[Stream::Stdout, Stream::Stderr, Stream::Pty],
        (Wiring::Pipes, StdinPlan::Null | StdinPlan::Pipe | StdinPlan::File(_)) | (Wiring::OnePty, _) => {
            &[Stream::Stdout, Stream::Stderr]
        }
    }
}

/// Maximum length of a line that a terminal passes on whole in canonical mode.
const TERMINAL_LINE: usize = 4095;

/// Whether a terminal in its current mode would truncate these bytes. `begun`: how much of a line it has already.
pub(crate) fn terminal_would_cut(terminal: &OwnedFd, begun: usize, bytes: &[u8]) -> bool {
    let collects_lines = tcgetattr(terminal).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON));
    let mut begun = begun;
    let mut is_cut = |line: &[u8]| std::mem::take(&mut begun) + line.len() > TERMINAL_LINE;
    collects_lines && bytes.split(|b| *b == b'\n').any(&mut is_cut)
}

/// The key that ends the input of a terminal. In a line that has begun it only passes on the pending bytes, and ends
/// the input when it is sent again.
pub(crate) fn end_of_input(begun: usize) -> &'static [u8] {
    if begun == 0 { b"\x04" } else { b"\x04\x04" }
}

/// A file whose content is sent to the engine. Only a regular file: anything else could block the host.
pub(crate) fn open_input_file(path: &Path) -> std::io::Result<File> {
    Ok(files::open(path, SymbolicLinks::Followed)?)
}
