//! A world with loopback alone: this program once more in a network namespace of its own.

use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use crate::problem::Problem;
use crate::program::Program;

/// The ways to get one, the one that leaves the user as it is first.
const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// What came of trying to get there.
#[derive(Debug)]
pub(crate) enum Entered {
    /// Everything was done there.
    Done(ExitCode),
    Refused(String),
}

/// Runs this program again with these words, without any network but loopback.
pub(crate) fn enter(program: &Program, words: &[String], spent: Duration) -> Result<Entered, Problem> {
    let mut refused = String::new();
    for way in WAYS {
        match Command::new("unshare").args(way).args(["--", "ip", "link", "set", "lo", "up"]).output() {
            Ok(output) if output.status.success() => return Ok(Entered::Done(again(way, program, words, spent)?)),
            Ok(output) => refused = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => refused = format!("unshare: {error}"),
        }
    }
    Ok(Entered::Refused(refused))
}

fn again(way: &[&str], program: &Program, words: &[String], spent: Duration) -> Result<ExitCode, Problem> {
    let mut command = Command::new("unshare");
    command.args(way).args(["--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command.arg(std::env::current_exe()?).args(words).args(["--inside", "--skillrun"]).arg(program.path());
    command.arg("--spent").arg(spent.as_secs().to_string());
    Ok(code(command.status()?))
}

fn code(status: ExitStatus) -> ExitCode {
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
