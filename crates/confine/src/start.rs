//! Starts a process in a box. See the drawing in the crate.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use skillrun_model::confinement::BoxMechanism;

use crate::abilities::{Maps, NAMESPACES};
use crate::harden::harden;
use crate::layout::{self, Folders, Step};
use crate::network::{BoxSockets, inside};
use crate::plan::{BoxPlan, NetworkPlan};
use crate::{mounts, rules, sys};

/// Why a process did not start.
#[derive(Debug)]
pub enum StartError {
    /// Its box could not be made. Nothing ran.
    Unmade { doing: String, error: io::Error },
    /// The box was made, and the kernel refused the program.
    Exec(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmade { doing, error } => write!(f, "the box cannot be made: failed to {doing} ({error})"),
            Self::Exec(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl StartError {
    fn unmade(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        |error| Self::Unmade { doing, error }
    }
}

/// Everything that is known of a box before a process is made for it.
#[derive(Debug)]
pub struct Prepared {
    /// None: the mounts stay as they are.
    mounts: Option<Vec<Step>>,
    network: NetworkPlan,
    rules: Option<OwnedFd>,
}

impl Prepared {
    /// `writable`: folders that can be written in addition to those of the plan.
    pub fn of(plan: &BoxPlan, writable: &[&Path]) -> Result<Self, StartError> {
        let folders = Folders::of(plan, writable)
            .map_err(|(path, error)| StartError::unmade(format!("find {}", path.display()))(error))?;
        let version = sys::landlock_version().unwrap_or(0);
        let fails = "make the rules of Landlock";
        let network = plan.network.clone();
        Ok(match plan.mechanism {
            BoxMechanism::Namespaces => Self {
                mounts: Some(layout::steps(&folders, &network)),
                network,
                rules: rules::of_scopes(version).map_err(StartError::unmade(fails))?,
            },
            BoxMechanism::Landlock => {
                let rules = rules::of_folders(version, &folders, &network).map_err(StartError::unmade(fails))?;
                Self { mounts: None, network, rules: Some(rules) }
            }
        })
    }
}

/// A process in a box.
#[derive(Debug)]
pub struct Started {
    /// A child of the caller.
    pub main: libc::pid_t,
    /// None without namespaces.
    pub init: Option<BoxInit>,
    /// Of a box with a network of its own.
    pub network: Option<BoxSockets>,
}

/// The first process of a PID namespace. When it exits, the kernel kills every process of the box; it exits when this
/// is dropped.
#[derive(Debug)]
pub struct BoxInit {
    pid: libc::pid_t,
    control: UnixStream,
}

impl BoxInit {
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Lets it exit when no process is left in the box, because the main process was reaped.
    pub fn release(&mut self) {
        // If it is gone, there is nothing to release.
        self.control.write_all(&[0]).ok();
    }
}

/// Starts a process in a box. `exec` replaces the new process by the program, and returns only if that fails.
///
/// The caller has one thread: the new processes run ordinary code between fork and exec.
pub fn start(prepared: Prepared, exec: impl FnOnce() -> io::Error) -> Result<Started, StartError> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads > 1 {
        let error = io::Error::other(format!("the host has {threads} threads"));
        return Err(StartError::unmade("start a process")(error));
    }
    let (mut news, writer) = UnixStream::pair().map_err(StartError::unmade("create a pipe"))?;
    let writer = Writer(writer);
    if prepared.mounts.is_none() {
        return match sys::fork().map_err(StartError::unmade("start a process"))? {
            None => program(&prepared, &writer, exec),
            Some(main) => {
                drop(writer);
                let told = Told::read(&mut news);
                match told.failure {
                    None => Ok(Started { main, init: None, network: None }),
                    Some(failure) => {
                        sys::wait_for(main).ok();
                        Err(failure)
                    }
                }
            }
        };
    }
    let (control, controlled) = UnixStream::pair().map_err(StartError::unmade("create a pipe"))?;
    let (sockets, sent_sockets) = UnixStream::pair().map_err(StartError::unmade("create a pipe"))?;
    let network = prepared.network.clone();
    let maps = Maps::of_user().map_err(StartError::unmade("describe the user"))?;
    match sys::fork().map_err(StartError::unmade("start a process"))? {
        None => {
            drop((control, sockets));
            starter(&prepared, &maps, (controlled, sent_sockets), &writer, exec)
        }
        Some(starter) => {
            drop((writer, controlled, sent_sockets));
            let mut told = Told::read(&mut news);
            // It has exited, or is about to.
            sys::wait_for(starter).ok();
            let network = match &network {
                NetworkPlan::Only(reachable) if told.failure.is_none() => {
                    match BoxSockets::receive(reachable, &sockets) {
                        Ok(network) => Some(network),
                        Err(error) => {
                            told.failure = Some(StartError::unmade("receive the sockets of its network")(error));
                            None
                        }
                    }
                }
                NetworkPlan::Only(_) | NetworkPlan::Open => None,
            };
            match told {
                Told { init: Some(init), main: Some(main), failure: None } => {
                    Ok(Started { main, init: Some(BoxInit { pid: init, control }), network })
                }
                Told { init, main, failure } => {
                    drop(control);
                    // The init exits only after every other process of the box was reaped. Both are children of this
                    // process by now.
                    for process in [main, init].into_iter().flatten() {
                        sys::kill(process);
                        sys::wait_for(process).ok();
                    }
                    let gone = || io::Error::other("its first process was killed");
                    Err(failure.unwrap_or_else(|| StartError::unmade("start a process in it")(gone())))
                }
            }
        }
    }
}

/// Reports of the new processes to the host: a line each.
struct Writer(UnixStream);

impl Writer {
    fn send(&self, word: &str, number: i32, text: &str) {
        // The host sees the end of the stream instead.
        (&self.0).write_all(format!("{word} {number} {}\n", text.replace('\n', " ")).as_bytes()).ok();
    }

    fn fail(&self, (doing, error): (String, io::Error)) -> ! {
        self.send("unmade", error.raw_os_error().unwrap_or(0), &doing);
        sys::exit(1)
    }
}

/// What the new processes have reported until all of them have exited or begun their programs.
#[derive(Default)]
struct Told {
    init: Option<libc::pid_t>,
    main: Option<libc::pid_t>,
    failure: Option<StartError>,
}

impl Told {
    fn read(news: &mut UnixStream) -> Self {
        let (mut told, mut text) = (Self::default(), String::new());
        if let Err(error) = news.read_to_string(&mut text) {
            told.failure = Some(StartError::unmade("start a process")(error));
        }
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(word), Some(number), Some(doing)) = (words.next(), words.next(), words.next()) else { continue };
            let number: i32 = number.parse().unwrap_or(0);
            let error = io::Error::from_raw_os_error(number);
            match word {
                "init" => told.init = Some(number),
                "main" => told.main = Some(number),
                "exec" => told.failure = Some(StartError::Exec(error)),
                _ => told.failure = Some(StartError::unmade(doing)(error)),
            }
        }
        told
    }
}

/// Makes the namespaces, and in them the init of the box and the main process. Exits when both have started.
fn starter(
    prepared: &Prepared,
    maps: &Maps,
    (controlled, sockets): (UnixStream, UnixStream),
    writer: &Writer,
    exec: impl FnOnce() -> io::Error,
) -> ! {
    let fails = |doing: &str, error: io::Error| -> ! { writer.fail((doing.to_owned(), error)) };
    let network = if prepared.network.is_open() { 0 } else { libc::CLONE_NEWNET };
    sys::unshare(NAMESPACES | network).unwrap_or_else(|error| fails("make namespaces", error));
    maps.write().unwrap_or_else(|error| fails("keep the user id in the namespace", error));
    if let NetworkPlan::Only(reachable) = &prepared.network {
        inside::make(reachable, &sockets).unwrap_or_else(|failure| writer.fail(failure));
    }
    drop(sockets);
    let (mut is_made, made) = UnixStream::pair().unwrap_or_else(|error| fails("create a pipe", error));
    match sys::fork().unwrap_or_else(|error| fails("start the first process", error)) {
        None => {
            drop(is_made);
            init(prepared, &controlled, made, writer)
        }
        Some(pid) => writer.send("init", pid, ""),
    }
    drop((controlled, made));
    let mut byte = [0];
    if is_made.read_exact(&mut byte).is_err() {
        // It has reported why.
        sys::exit(1);
    }
    match sys::fork_sibling().unwrap_or_else(|error| fails("start the engine", error)) {
        None => program(prepared, writer, exec),
        Some(pid) => writer.send("main", pid, ""),
    }
    sys::exit(0)
}

/// The first process of the box: makes the mounts, then reaps orphans until the host releases it and none is left, or
/// the host is gone.
///
/// It is a copy of the host, and has the host's secrets in its memory, so no process of the box may read it.
fn init(prepared: &Prepared, controlled: &UnixStream, mut made: UnixStream, writer: &Writer) -> ! {
    let fails = |doing: &str, error: io::Error| -> ! { writer.fail((doing.to_owned(), error)) };
    sys::prctl(libc::PR_SET_DUMPABLE, 0).unwrap_or_else(|error| fails("protect the memory of its init", error));
    sys::set_name(c"skillrun-box");
    sys::block_all_signals().unwrap_or_else(|error| fails("block signals", error));
    mounts::make(prepared.mounts.as_deref().unwrap_or_default()).unwrap_or_else(|failure| writer.fail(failure));
    harden(None).unwrap_or_else(|failure| writer.fail(failure));
    let children = sys::child_signals().unwrap_or_else(|error| fails("watch signals", error));
    if made.write_all(&[0]).is_err() {
        sys::exit(1);
    }
    sys::close_all_but([controlled.as_fd(), children.as_fd()]);
    let mut is_released = false;
    loop {
        let Ok((has_word, has_signal)) = sys::wait_readable(controlled.as_fd(), children.as_fd()) else {
            sys::exit(1);
        };
        if has_signal {
            sys::discard(children.as_fd());
        }
        if has_word {
            match (&*controlled).read(&mut [0]) {
                Ok(1..) => is_released = true,
                // The host is gone, and with it the record of what is running here.
                Ok(0) | Err(_) => sys::exit(0),
            }
        }
        if !sys::reap() && is_released {
            sys::exit(0);
        }
    }
}

/// Becomes the program.
fn program(prepared: &Prepared, writer: &Writer, exec: impl FnOnce() -> io::Error) -> ! {
    harden(prepared.rules.as_ref()).unwrap_or_else(|failure| writer.fail(failure));
    let error = exec();
    writer.send("exec", error.raw_os_error().unwrap_or(libc::EINVAL), "");
    sys::exit(127)
}
