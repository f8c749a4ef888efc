//! A bare terminal between two processes: the most that can be read from it, by any reader. The minimum cost of
//! recording through terminals.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::problem::Problem;
use crate::service::children::Kept;

/// Runs a command on a terminal of its own, and stores what comes out of it in a file, which goes away again.
pub(crate) fn stored(command: &[&str], expected: u64) -> Result<Duration, Problem> {
    let file = std::env::temp_dir().join(format!("skillrun-bench-{}-terminal", std::process::id()));
    let done = stored_in(command, expected, &file);
    fs::remove_file(file)?;
    done
}

fn stored_in(command: &[&str], expected: u64, file: &Path) -> Result<Duration, Problem> {
    let mut kept = File::create(file)?;
    let failed = std::io::Error::from;
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(failed)?;
    grantpt(&ours).map_err(failed)?;
    unlockpt(&ours).map_err(failed)?;
    let name = ptsname(&ours, Vec::new()).map_err(failed)?;
    let theirs =
        OpenOptions::new().read(true).write(true).open(Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())))?;
    let mut raw = tcgetattr(&theirs).map_err(failed)?;
    raw.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &raw).map_err(failed)?;
    let begin = Instant::now();
    let (program, words) =
        command.split_first().ok_or_else(|| Problem("terminal: the command is missing".to_owned()))?;
    let mut child = Kept::spawn(Command::new(program).args(words).stdin(Stdio::null()).stdout(theirs))?;
    let (mut ours, mut buffer, mut read_in_all) = (File::from(ours), vec![0; 64 * 1024], 0);
    while read_in_all < expected {
        // An error when no process has the other end open any more.
        let Ok(read @ 1..) = ours.read(&mut buffer) else { break };
        kept.write_all(&buffer[..read])?;
        read_in_all += read as u64;
    }
    let took = begin.elapsed();
    child.wait()?;
    if read_in_all == expected {
        Ok(took)
    } else {
        Err(Problem(format!("terminal: received {read_in_all} of {expected} bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_through_a_terminal() {
        assert!(stored(&["head", "-c", "100000", "/dev/zero"], 100_000).is_ok());
        assert!(stored(&["head", "-c", "10", "/dev/zero"], 11).is_err());
    }
}
