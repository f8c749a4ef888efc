//! A world with loopback alone: this program once more in a network namespace of its own.

use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::problem::Problem;
use crate::program::Program;
use crate::stop::Stop;

/// The ways to get one, the one that leaves the user as it is first.
const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// How often it is looked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What came of trying to get there.
#[derive(Debug)]
pub(crate) enum Entered {
    /// Everything was done there.
    Done(ExitCode),
    Refused(String),
}

/// Runs this program again with these words, without any network but loopback.
pub(crate) fn enter(program: &Program, words: &[String], spent: Duration, stop: &Stop) -> Result<Entered, Problem> {
    let mut refused = String::new();
    for way in WAYS {
        match Command::new("unshare").args(way).args(["--", "ip", "link", "set", "lo", "up"]).output() {
            Ok(output) if output.status.success() => {
                let child = again(way, program, words, spent)?.spawn()?;
                return Ok(Entered::Done(code(waited_for(child, stop)?)));
            }
            Ok(output) => refused = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => refused = format!("unshare: {error}"),
        }
    }
    Ok(Entered::Refused(refused))
}

fn again(way: &[&str], program: &Program, words: &[String], spent: Duration) -> std::io::Result<Command> {
    let mut command = Command::new("unshare");
    command.args(way).args(["--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe()?).args(words).args(["--inside", "--skillrun"]).arg(program.path());
    command.arg("--spent").arg(spent.as_secs().to_string());
    Ok(command)
}

/// It ends by itself; a signal that reached this process alone is passed on, so that it ends in order.
fn waited_for(mut child: Child, stop: &Stop) -> std::io::Result<ExitStatus> {
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.is_wanted() && !is_told {
            is_told = true;
            if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // It may be gone already.
                kill_process(pid, Signal::TERM).ok();
            }
        }
        sleep(POLL_INTERVAL);
    }
}

fn code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
