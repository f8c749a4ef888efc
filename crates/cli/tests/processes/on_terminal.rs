//! A command on a terminal, as a user sees it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use lab::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// A command on a terminal of its own.
pub(crate) struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    child: Child,
}

impl Terminal {
    pub(crate) fn new(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).expect("a terminal");
        unlockpt(&ours).expect("a terminal");
        let name = ptsname(&ours, Vec::new()).expect("a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let theirs = || OpenOptions::new().read(true).write(true).open(path).expect("a terminal");
        let child = command.stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().expect("started");
        let keys = File::from(ours);
        let mut output = keys.try_clone().expect("a file");
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = screen.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error when no process has the other end open any more.
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                shown.lock().expect("a screen").push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Self { keys, screen, child }
    }

    /// Without the bell.
    pub(crate) fn screen(&self) -> String {
        self.screen.lock().expect("a screen").replace("\r\n", "\n").replace('\u{7}', "")
    }

    /// Waits until the screen shows this text at least `times` times.
    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        wait_until(&format!("{text:?}, {times} times"), || self.screen().matches(text).count() >= times);
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.press_bytes(keys.as_bytes());
    }

    pub(crate) fn press_bytes(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).expect("written");
    }

    /// Whether typed characters are not shown, and each key is read at once.
    pub(crate) fn is_quiet(&self) -> bool {
        let modes = tcgetattr(&self.keys).expect("modes").local_modes;
        !modes.intersects(LocalModes::ECHO | LocalModes::ICANON)
    }

    pub(crate) fn wait_quiet(&self, is_so: bool) {
        wait_until(&format!("a terminal that is quiet: {is_so}"), || self.is_quiet() == is_so);
    }

    /// The terminal is not the controlling one, so Ctrl-C is sent as what it causes.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("a signal");
    }

    pub(crate) fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("an end").code()
    }

    /// An interactive shell does not obey other signals.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("an end");
    }
}
