//! Places in which tests run the real program, and how tests wait for what it does.
//!
//! - [`Lab`]: a data folder, a home and skills of its own, and the program as a user starts it.
//! - [`Server`]: the service in a lab, over real connections.
//! - [`host`]: an attempt host and its engine process, without a run.
//! - [`runtime`]: a runtime in the process of the test, whose hosts and engines are the real program.
//! - [`eventually`], [`within`], [`wait_until`]: the only loops that wait.

pub mod host;
mod place;
pub mod runtime;
mod server;

pub use place::{Lab, is_end, kind};
pub use server::{FormPart, Server, form};

use std::fmt::Display;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far longer than anything takes, and more than a host waits for the request to start; a test that waits this long has
/// failed.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(90);

const POLL_INTERVAL: Duration = Duration::from_millis(3);

/// The program, which cargo puts beside the folder of the test binaries.
pub fn skillrun() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("the path of the test");
        let path = test.ancestors().nth(2).expect("a target folder").join("skillrun");
        assert!(path.is_file(), "{} is missing: run cargo build --workspace", path.display());
        path.into_os_string().into_string().expect("a path in UTF-8")
    })
}

/// Looks until something is found, for [`TEST_TIMEOUT`] at most.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(TEST_TIMEOUT, what, look)
}

/// Looks until something is found, for this long at most.
#[track_caller]
pub fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < limit, "{what} did not come in time");
        sleep(POLL_INTERVAL);
    }
}

/// Looks until something is so, for [`TEST_TIMEOUT`] at most.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// Waits for the end of a process.
#[track_caller]
pub fn wait_exit(child: &mut Child) -> ExitStatus {
    eventually("the exit", || child.try_wait().expect("waited"))
}

/// Kills a process that the test has started, and reaps it.
pub fn kill(child: &mut Child) {
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

/// Numbers that look random and come again with the same seed, which is not 0.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn new() -> Self {
        Self(RandomState::new().build_hasher().finish() | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        // Xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

impl Default for Dice {
    fn default() -> Self {
        Self::new()
    }
}

/// Sends a signal to a process, as another program would.
pub fn signal(target: impl Display, name: &str) {
    // The process may have ended.
    Command::new("kill").args(["-s", name, "--", &target.to_string()]).stderr(Stdio::null()).status().ok();
}

/// The same, to the process group of a process that leads one.
pub fn signal_group(pid: u32, name: &str) {
    signal(format!("-{pid}"), name);
}

/// The process has exited, but may still be a zombie.
pub fn is_gone(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

/// The processes of this machine, each with its variables as they were at one moment; none once it has ended.
pub fn processes() -> impl Iterator<Item = (u32, Vec<String>)> {
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.map(|pid| (pid, environment(pid)))
}

/// The variables of a process; none once it has ended.
pub fn environment(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}
