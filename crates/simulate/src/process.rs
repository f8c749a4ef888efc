//! What every engine in here does as a process: it writes at once, dies on request, and has a limited lifetime.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use signal_hook::low_level::signal_name;
pub use skillrun_base::files::write_all;

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

/// The signal with this name, with or without `SIG`.
pub fn signal_named(name: &str) -> Option<Signal> {
    let bare = name.strip_prefix("SIG").unwrap_or(name);
    let is_named = |number: &i32| signal_name(*number).and_then(|known| known.strip_prefix("SIG")) == Some(bare);
    (1..32).find(is_named).and_then(Signal::from_named_raw)
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
