//! Waits that come to an end: for a command, and for something to become true.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::problem::Miss;
use crate::stop::Stop;

/// How often it is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// More than this of what a command printed is not read.
const PRINTED_MAX: u64 = 4 * 1024 * 1024;

/// When a wait ends, whatever came of it.
#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    stop: Stop,
}

impl Deadline {
    pub(crate) fn new(at: Instant, stop: &Stop) -> Self {
        Self { at, stop: stop.clone() }
    }

    /// A process that ignores signals.
    pub(crate) fn after(duration: Duration) -> Self {
        Self { at: Instant::now() + duration, stop: Stop::default() }
    }

    fn is_past(&self) -> bool {
        Instant::now() > self.at || self.stop.is_wanted()
    }

    /// Why nothing came of it.
    fn miss(&self, what: &str, begin: Instant) -> Miss {
        if self.stop.is_wanted() {
            return Miss::new("interrupted", format!("interrupted while waiting for {what}"));
        }
        Miss::new("too long", format!("{what} did not finish within {:.0} s", begin.elapsed().as_secs_f64()))
    }
}

/// A command that came to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that runs; what it prints goes into files, so that it stays as evidence and never waits for a reader.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// Starts it; `name` names its files in `folder`.
    pub(crate) fn start(command: &mut Command, folder: &Path, name: &str) -> Result<Self, Miss> {
        let stdout = folder.join(format!("{name}.stdout"));
        let stderr = folder.join(format!("{name}.stderr"));
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let child = command.spawn().map_err(|error| Miss::new("no start", format!("{command:?}: {error}")))?;
        Ok(Self { child, stdout, stderr })
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// What it has printed for people so far.
    pub(crate) fn said(&self) -> String {
        printed(&self.stderr).unwrap_or_default().trim().to_owned()
    }

    /// Waits for its end; what takes too long is killed.
    pub(crate) fn finish(mut self, deadline: &Deadline) -> Result<Finished, Miss> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                let (stdout, stderr) = (printed(&self.stdout)?, printed(&self.stderr)?);
                return Ok(Finished { code: status.code(), stdout, stderr });
            }
            if deadline.is_past() {
                self.child.kill()?;
                self.child.wait()?;
                return Err(deadline.miss("a command of skillrun", begin));
            }
            sleep(POLL_INTERVAL);
        }
    }
}

fn printed(path: &Path) -> Result<String, Miss> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PRINTED_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lets some time pass.
pub(crate) fn pause(deadline: &Deadline, time: Duration) -> Result<(), Miss> {
    let end = Instant::now() + time;
    until(deadline, "a pause", || (Instant::now() >= end).then_some(()))
}

/// Looks until there is something.
pub(crate) fn until<T>(deadline: &Deadline, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Miss> {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if deadline.is_past() {
            return Err(deadline.miss(what, begin));
        }
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let running = Running::start(Command::new("sleep").arg("60"), folder.path(), "long").expect("started");
        let miss = running.finish(&Deadline::after(Duration::ZERO)).expect_err("too long");
        assert_eq!(miss.word, "too long");
    }

    #[test]
    fn a_signal_ends_every_wait() {
        let deadline = Deadline::new(Instant::now() + Duration::from_secs(3600), &Stop::now());
        let miss = until(&deadline, "nothing", || None::<()>).expect_err("interrupted");
        assert_eq!(miss.word, "interrupted");
    }

    #[test]
    fn what_is_printed_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let running = Running::start(&mut command, folder.path(), "short").expect("started");
        let finished = running.finish(&Deadline::after(Duration::from_secs(60))).expect("ended");
        assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.as_str()), (Some(3), "out\n", "err\n"));
    }
}
