//! Processes that must not outlive this one, whatever ends it.

use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_base::sync::lock;

use crate::problem::Problem;

/// Those that were started and not yet waited for.
static LIVING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn living() -> MutexGuard<'static, Vec<u32>> {
    lock(&LIVING)
}

/// A child that is killed when it is dropped, and when this process receives a signal to end.
#[derive(Debug)]
pub(crate) struct Kept(Child);

impl Kept {
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, Problem> {
        // Held during the start: a signal handler that runs in between waits for the process id.
        let mut living = living();
        let child = command.spawn()?;
        living.push(child.id());
        Ok(Self(child))
    }
}

impl Deref for Kept {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Ended already where everything went well.
        self.0.kill().ok();
        self.0.wait().ok();
        living().retain(|pid| *pid != self.0.id());
    }
}

/// From now on a signal that ends this process ends its children first.
pub(crate) fn guard() -> Result<(), Problem> {
    let (mut heard, said) = UnixStream::pair()?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, said.try_clone()?)?;
    }
    let wait = move || {
        if heard.read(&mut [0]).is_ok() {
            for pid in living().iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
                kill_process(pid, Signal::KILL).ok();
            }
            std::process::exit(1);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
    Ok(())
}
