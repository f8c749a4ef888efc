//! Asks a program for its version, with a time limit.
//!
//! Both streams are read here, without a thread: a thread that waits for a pipe which a stray process holds open would
//! stay as long as this process runs. HOME is an empty folder, because some programs write there before they print
//! anything.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use skillrun_collect::tree;
use skillrun_engine::EngineProgram;
use skillrun_engine::descriptor::VersionRule;
use skillrun_engine::version::parse_version;
use skillrun_model::IgnoredError;

/// Some need three seconds on an idle machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);
/// More than any program prints about its version, on each stream.
const OUTPUT_MAX: usize = 64 * 1024;

/// What a program reports about its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    Known(String),
    NotAsked,
    /// It was asked; the reason why there is no version.
    Silent(String),
}

pub(super) fn version(found: &EngineProgram, rule: &VersionRule, environment: &[(OsString, OsString)]) -> Version {
    if let Some(version) = &found.version {
        return Version::Known(version.clone());
    }
    let program = found.program.display();
    let command: Vec<&Path> = found.command().collect();
    let temporary = environment.iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
    let temporary = temporary.map_or(Path::new("/tmp"), |(_, value)| Path::new(value));
    match asked(&command, &rule.argv, environment, temporary) {
        Ok(output) => parse_version(&output, rule).map_or_else(
            || Version::Silent(format!("{program} {} reports no version", rule.argv.join(" "))),
            Version::Known,
        ),
        Err(why) => Version::Silent(format!("{program} {}: {why}", rule.argv.join(" "))),
    }
}

/// What a program reports about its version, with a HOME that is removed afterwards.
pub(crate) fn asked(
    command: &[&Path],
    argv: &[String],
    environment: &[(OsString, OsString)],
    temporary: &Path,
) -> Result<String, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let home = temporary.join(format!("skillrun-version-{}-{number}", std::process::id()));
    let made = fs::DirBuilder::new().mode(0o700).create(&home);
    made.map_err(|error| format!("failed to create a temporary HOME ({error})"))?;
    let is_kept = |name: &OsString| name != "HOME" && name != "TMPDIR" && !name.as_encoded_bytes().starts_with(b"XDG_");
    let mut around: Vec<(OsString, OsString)> = environment.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
    // One of them unpacks a library of five megabytes into the temporary folder, and leaves it there.
    for name in ["HOME", "TMPDIR"] {
        around.push((name.into(), home.clone().into()));
    }
    let output = output(command, argv, &around, VERSION_TIMEOUT);
    tree::remove(&home).ignored();
    output
}

/// Its stdout, then its stderr.
fn output(
    command: &[&Path],
    argv: &[String],
    environment: &[(OsString, OsString)],
    timeout: Duration,
) -> Result<String, String> {
    let deadline = Instant::now() + timeout;
    let [program, words @ ..] = command else { return Err("there is nothing to start".to_owned()) };
    let mut child = Command::new(program)
        .args(words)
        .args(argv)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate process group, so that the processes it starts can be terminated with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started ({error})"))?;
    let mut pipes = [Pipe::new(child.stdout.take()), Pipe::new(child.stderr.take())];
    let read = read_all(&mut pipes, deadline);
    end(&mut child);
    let [stdout, stderr] = pipes;
    match read {
        Ok(End::Reached) => Ok(format!("{}\n{}", stdout.text(), stderr.text())),
        Ok(End::TimeIsUp) => Err(format!("no answer within {} s", timeout.as_secs())),
        Err(error) => Err(format!("failed to read its output ({error})")),
    }
}

/// One end of a pipe, and the bytes read from it.
struct Pipe {
    /// None at the end, or when no more is needed.
    from: Option<File>,
    bytes: Vec<u8>,
}

enum End {
    Reached,
    TimeIsUp,
}

fn read_all(pipes: &mut [Pipe; 2], deadline: Instant) -> io::Result<End> {
    loop {
        let open: Vec<&File> = pipes.iter().filter_map(|pipe| pipe.from.as_ref()).collect();
        if open.is_empty() {
            return Ok(End::Reached);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(left) = Timespec::try_from(left).ok().filter(|_| !left.is_zero()) else { return Ok(End::TimeIsUp) };
        let mut waited: Vec<PollFd<'_>> = open.into_iter().map(|from| PollFd::new(from, PollFlags::IN)).collect();
        match poll(&mut waited, Some(&left)) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // A closed pipe is ready too.
        let ready: Vec<bool> = waited.iter().map(|one| !one.revents().is_empty()).collect();
        let open = pipes.iter_mut().filter(|pipe| pipe.from.is_some());
        open.zip(ready).filter(|(_, is_ready)| *is_ready).try_for_each(|(pipe, _)| pipe.read())?;
    }
}

impl Pipe {
    fn new(from: Option<impl Into<OwnedFd>>) -> Self {
        Self { from: from.map(|from| File::from(from.into())), bytes: Vec::new() }
    }

    /// Reads what is available. A program that writes more than needed gets a closed pipe.
    fn read(&mut self) -> io::Result<()> {
        let Some(from) = &mut self.from else { return Ok(()) };
        let mut buffer = [0; 8 * 1024];
        let room = buffer.len().min(OUTPUT_MAX - self.bytes.len());
        let count = match from.read(&mut buffer[..room]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        self.bytes.extend_from_slice(&buffer[..count]);
        if count == 0 || self.bytes.len() == OUTPUT_MAX {
            self.from = None;
        }
        Ok(())
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

fn end(child: &mut Child) {
    // Most have exited by now. The group may be gone too, which does no harm.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // It may have moved to another group; without this the wait would never end.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Duration) -> Result<String, String> {
        let environment =
            [("PATH", "/usr/bin:/bin"), ("GIVEN", "4.5.6")].map(|(name, value)| (name.into(), value.into()));
        output(&[Path::new("/bin/sh")], &["-c".to_owned(), script.to_owned()], &environment, timeout)
    }

    #[test]
    fn it_is_asked_in_a_home_of_its_own_that_is_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let users = folder.path().join("me");
        fs::create_dir(&users).unwrap();
        let environment = [
            ("PATH", "/usr/bin:/bin".into()),
            ("HOME", users.clone().into()),
            ("XDG_CACHE_HOME", users.clone().into()),
        ]
        .map(|(name, value): (&str, OsString)| (name.into(), value));
        let script = "mkdir -p ${XDG_CACHE_HOME-$HOME}/.junk; echo > ${TMPDIR-/tmp}/junk; echo $HOME".to_owned();
        let told = asked(&[Path::new("/bin/sh")], &["-c".to_owned(), script], &environment, folder.path()).unwrap();
        let told = Path::new(told.trim());
        assert!(told.starts_with(folder.path()) && told != users && !told.exists(), "{}", told.display());
        assert_eq!(fs::read_dir(&users).unwrap().count(), 0, "the user's HOME was written to");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left");
    }

    #[test]
    fn both_streams_are_read() {
        assert_eq!(sh("echo 1.2.3; echo warning >&2", VERSION_TIMEOUT).unwrap(), "1.2.3\n\nwarning\n");
    }

    #[test]
    fn it_gets_the_environment_it_is_given_and_no_other() {
        // The test runner sets a name for the package; the program must not see it.
        let told = sh("echo $GIVEN ${CARGO_PKG_NAME-none} ${CARGO_MANIFEST_DIR-none}", VERSION_TIMEOUT);
        assert_eq!(told.unwrap(), "4.5.6 none none\n\n");
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; sleep 60", file.display());
        let error = sh(&script, Duration::from_secs(1)).unwrap_err();
        assert_eq!(error, "no answer within 1 s");
        let pid = std::fs::read_to_string(&file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        // A killed process may be a zombie until it is reaped.
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        let begun = Instant::now();
        while lives() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_that_leaves_a_process_with_the_pipe_is_not_waited_for() {
        let begun = Instant::now();
        let error = sh("setsid sleep 5 & echo 1.2.3", Duration::from_millis(500)).unwrap_err();
        assert_eq!(error, "no answer within 0 s");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn one_that_talks_without_end_is_cut() {
        let output = sh("yes", VERSION_TIMEOUT).unwrap();
        assert_eq!(output.len(), OUTPUT_MAX + 1);
    }

    #[test]
    fn one_that_is_no_program_is_told() {
        let error = output(&[Path::new("/")], &[], &[], VERSION_TIMEOUT).unwrap_err();
        assert!(error.starts_with("cannot be started"), "{error}");
    }
}
