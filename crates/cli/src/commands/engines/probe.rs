//! Asks a program for its version, and does not wait for ever.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use skillrun_engine::descriptor::VersionRule;
use skillrun_engine::version::parse_version;

const PATIENCE: Duration = Duration::from_secs(5);
/// More than any program has to say about its version.
const OUTPUT_MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    Known(String),
    NotAsked,
    /// It was asked, and why there is no version.
    Silent(String),
}

pub(super) fn version(program: &Path, rule: &VersionRule) -> Version {
    match output(program, &rule.argv, PATIENCE) {
        Ok(output) => parse_version(&output, rule).map_or_else(
            || Version::Silent(format!("{} {} tells no version", program.display(), rule.argv.join(" "))),
            Version::Known,
        ),
        Err(why) => Version::Silent(format!("{} {}: {why}", program.display(), rule.argv.join(" "))),
    }
}

/// What it writes to stdout, then what it writes to stderr.
fn output(program: &Path, argv: &[String], patience: Duration) -> Result<String, String> {
    let deadline = Instant::now() + patience;
    let mut child = Command::new(program)
        .args(argv)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that what it starts can be ended with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started ({error})"))?;
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let read = |from: &mpsc::Receiver<Vec<u8>>| {
        from.recv_timeout(deadline.saturating_duration_since(Instant::now())).map_err(|_| ())
    };
    let read = read(&stdout).and_then(|first| Ok((first, read(&stderr)?)));
    end(&mut child);
    let (first, second) = read.map_err(|()| format!("no answer within {} s", patience.as_secs()))?;
    Ok(format!("{}\n{}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second)))
}

/// Reads in a thread of its own, which is left behind where something keeps the pipe open.
fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What could be read before a failure is what there is.
        let _ = pipe.map(|pipe| pipe.take(OUTPUT_MAX).read_to_end(&mut bytes));
        // Nobody waits any more: the time is up.
        let _ = send.send(bytes);
    });
    receive
}

fn end(child: &mut Child) {
    // Most have exited by now. The group may be gone too, which is as well.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, patience: Duration) -> Result<String, String> {
        output(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], patience)
    }

    #[test]
    fn both_streams_are_read() {
        assert_eq!(sh("echo 1.2.3; echo warning >&2", PATIENCE).unwrap(), "1.2.3\n\nwarning\n");
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let error = sh("sleep 60 & sleep 60", Duration::from_millis(100)).unwrap_err();
        assert_eq!(error, "no answer within 0 s");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn one_that_talks_without_end_is_cut() {
        let output = sh("yes", PATIENCE).unwrap();
        assert!(output.len() as u64 <= OUTPUT_MAX + 1);
    }

    #[test]
    fn one_that_is_no_program_is_told() {
        let error = output(Path::new("/"), &[], PATIENCE).unwrap_err();
        assert!(error.starts_with("cannot be started"), "{error}");
    }
}
