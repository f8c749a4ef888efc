//! What every engine in here does as a process: it writes at once, dies on request, and has a limited lifetime.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

/// The longest any of them lives.
pub const LIFE: Duration = Duration::from_secs(600);

/// Exit code of one that lived too long.
const TOO_OLD: i32 = 75;

/// Ends the process when its time is up. A thread, because the other one may be stuck in a write for as long as it likes.
pub fn end_some_day() -> io::Result<()> {
    let watch = || {
        thread::sleep(LIFE);
        std::process::exit(TOO_OLD);
    };
    thread::Builder::new().name("watch".to_owned()).stack_size(64 * 1024).spawn(watch).map(drop)
}

/// Straight to the descriptor, so that the reader sees it at once.
pub fn write_all(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to.as_fd(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // A host may have made its end, and with it perhaps ours, non-blocking.
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Not a plain kill: handlers, those of Rust's runtime too, stand between the signal and what it does by default.
pub fn die(signal: Signal) -> Result<(), Errno> {
    // No core file may appear among what a test looks at.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    match signal_hook::low_level::emulate_default_handler(signal.as_raw()) {
        Ok(()) => Ok(()),
        Err(_) => kill_process(getpid(), signal),
    }
}
