//! Fork and exec: the environment in which an engine starts.
//!
//! Its own session, default handlers for all signals, only the three standard descriptors, nothing inherited by
//! accident.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Pid;
use skillrun_confine::network::BoxSockets;
use skillrun_confine::{BoxInit, BoxPlan, Prepared, StartError, start};
use skillrun_evidence::OsText;

use crate::plan::Variable;
use crate::wiring::EngineEnds;

/// What is started, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EngineCommand<'a> {
    pub(crate) argv: &'a [OsText],
    pub(crate) cwd: &'a Path,
    pub(crate) variables: &'a [Variable],
}

/// A process that has started.
pub(crate) struct Spawned {
    pub(crate) main: Pid,
    /// Of a box with namespaces.
    pub(crate) init: Option<BoxInit>,
    /// Of a box with a network of its own.
    pub(crate) network: Option<BoxSockets>,
}

/// Starts the engine, in a box if there is one; `temporary` is its folder for temporary files,
/// `groups` the files by which it enters its control groups. The engine's ends of the
/// streams are closed here.
pub(crate) fn spawn(
    engine: EngineCommand<'_>,
    ends: EngineEnds,
    confinement: Option<&BoxPlan>,
    (temporary, groups): (&Path, &[File]),
) -> Result<Spawned, NotStarted> {
    let refused = |error: &io::Error, place| NotStarted::of(engine, error, place);
    let (mut command, terminal) = command(engine, ends, groups).map_err(|error| refused(&error, Place::Open))?;
    let Some(plan) = confinement else {
        let child = command.spawn().map_err(|error| refused(&error, Place::Open))?;
        drop(terminal);
        return Ok(Spawned { main: Pid::from_child(&child), init: None, network: None });
    };
    let boxed = Prepared::of(plan, &[temporary]).and_then(|prepared| start::start(prepared, || command.exec()));
    drop(terminal);
    let started = boxed.map_err(|error| match error {
        StartError::Unmade { .. } => NotStarted::before(error.to_string()),
        StartError::Exec(error) => refused(&error, Place::Boxed),
    })?;
    let main = Pid::from_raw(started.main).ok_or_else(|| NotStarted::before("no process started".to_owned()))?;
    Ok(Spawned { main, init: started.init, network: started.network })
}

/// The command, and the terminal that must stay open until it has started.
fn command(engine: EngineCommand<'_>, ends: EngineEnds, groups: &[File]) -> io::Result<(Command, Option<OwnedFd>)> {
    let EngineCommand { argv, cwd, variables } = engine;
    let (program, args) = argv.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut command = Command::new(program.as_os_str());
    command
        .args(args.iter().map(OsText::as_os_str))
        .current_dir(cwd)
        .env_clear()
        .envs(variables.iter().map(|variable| (variable.name.as_os_str(), variable.value.as_os_str())))
        .stdin(Stdio::from(ends.stdin))
        .stdout(Stdio::from(ends.stdout))
        .stderr(Stdio::from(ends.stderr));
    let terminal = ends.terminal;
    let terminal_number = terminal.as_ref().map(AsRawFd::as_raw_fd);
    let groups: Vec<RawFd> = groups.iter().map(AsRawFd::as_raw_fd).collect();
    #[expect(unsafe_code, reason = "the only way to run code between fork and exec; all of it is async-signal-safe")]
    unsafe {
        // Before all other descriptors are closed.
        command.pre_exec(move || groups.iter().try_for_each(|group| enter(*group)));
        command.pre_exec(move || prepare(terminal_number));
    }
    Ok((command, terminal))
}

/// Moves the calling process into a control group. Called between fork and exec.
fn enter(group: RawFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the file stays open in the host until the process has started")]
    let group = unsafe { BorrowedFd::borrow_raw(group) };
    rustix::io::write(group, b"0")?;
    Ok(())
}

/// Closes every descriptor but the three standard ones, and lets all signals in. For the start of a host, before it has
/// opened anything. The host does this itself: code between fork and exec would make its starter, a large process, copy
/// its page tables for each host.
pub(crate) fn inherit_nothing() {
    // If it stayed blocked, the exit of an engine would never be noticed.
    unblock_signals();
    close_others(0);
}

/// Exit codes of shells for commands that do not start.
pub(crate) const NOT_FOUND: i32 = 127;
pub(crate) const NOT_EXECUTABLE: i32 = 126;

/// What a program that was not found could have been hidden by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    Boxed,
}

/// Why a process did not start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotStarted {
    /// The exit code a shell would return; none when the command is not the cause.
    pub(crate) exit_code: Option<i32>,
    pub(crate) message: String,
}

impl NotStarted {
    /// The command was not reached.
    pub(crate) fn before(message: String) -> Self {
        Self { exit_code: None, message }
    }

    /// The kernel refused the command.
    fn of(engine: EngineCommand<'_>, error: &io::Error, place: Place) -> Self {
        let EngineCommand { argv, cwd, variables } = engine;
        let Some(program) = argv.first() else { return Self::before("there is no command".to_owned()) };
        let (program, has_folder) = (program.as_path(), program.as_bytes().contains(&b'/'));
        let path = variables.iter().find(|variable| variable.name.as_bytes() == b"PATH");
        let mut folders = path.into_iter().flat_map(|path| std::env::split_paths(path.value.as_os_str()));
        let exists = match has_folder {
            true => cwd.join(program).is_file(),
            false => folders.any(|folder| cwd.join(folder).join(program).is_file()),
        };
        let is = |kind| error.kind() == kind;
        let (exit_code, why) = if is(io::ErrorKind::NotFound) && exists {
            let why = match place {
                Place::Open => "its interpreter was not found",
                Place::Boxed => "it or its interpreter is not in the box",
            };
            (NOT_EXECUTABLE, why.to_owned())
        } else if is(io::ErrorKind::NotFound) {
            (NOT_FOUND, if has_folder { "there is no such file" } else { "not found in PATH" }.to_owned())
        } else if is(io::ErrorKind::PermissionDenied) {
            (NOT_EXECUTABLE, "not executable".to_owned())
        } else {
            (NOT_EXECUTABLE, format!("cannot be run ({error})"))
        };
        let shown = program.display().to_string();
        let shown = if shown.is_empty() { "\"\"" } else { &shown };
        Self { exit_code: Some(exit_code), message: format!("{shown}: {why}") }
    }
}

/// Runs in the new process, between fork and exec: no allocation, no lock.
fn prepare(terminal: Option<i32>) -> io::Result<()> {
    rustix::process::setsid()?;
    if let Some(number) = terminal {
        #[expect(unsafe_code, reason = "the descriptor is open: the parent keeps it until spawn has returned")]
        let terminal = unsafe { rustix::fd::BorrowedFd::borrow_raw(number) };
        rustix::process::ioctl_tiocsctty(terminal)?;
    }
    // A shell that starts this program in the background leaves SIGINT ignored, and the engine could not be
    // interrupted.
    for signal in 1..=64 {
        default_disposition(signal);
    }
    unblock_signals();
    // An engine whose host is gone is not recorded by any process. Its tools are found by their tag.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    close_others_on_exec();
    Ok(())
}

/// Sets a signal to its default handler. Calls the kernel directly: the C library refuses to touch the two signals it
/// uses for its threads, and those are inherited as well.
fn default_disposition(signal: libc::c_int) {
    /// The kernel's `struct sigaction`, all zero: default handler, no flags, nothing masked.
    const DEFAULT: [u64; 4] = [0; 4];
    const MASK_BYTES: usize = 8;
    #[expect(unsafe_code, reason = "the kernel reads 32 bytes at most and writes nothing; unknown signals are refused")]
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u64>(), MASK_BYTES);
    }
}

/// Which signals are blocked is inherited, and Rust's library leaves it so.
fn unblock_signals() {
    #[expect(unsafe_code, reason = "the kernel, through the C library, reads the set that is given to it")]
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Marks every descriptor above the three standard ones, so that exec closes it.
fn close_others_on_exec() {
    close_others(libc::CLOSE_RANGE_CLOEXEC);
}

/// Closes every descriptor above the three standard ones, or marks it.
fn close_others(flags: libc::c_uint) {
    const FIRST: libc::c_uint = 3;
    #[expect(unsafe_code, reason = "nothing uses the descriptors: a host that begins, or a process before its exec")]
    unsafe {
        let done = libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flags);
        if done != 0 {
            // Kernels before 5.11.
            for number in FIRST.cast_signed()..4096 {
                match flags {
                    0 => libc::close(number),
                    _ => libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC),
                };
            }
        }
    }
}
