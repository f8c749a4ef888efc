//! Many hosts at once of a user without privileges, with the limits that such users have: open files, processes, and
//! memory for pipes, which is used up by some tens of hosts. Those after them get small pipes. Beside it the same for
//! ourselves, and bare engines whose output goes through a pipe into a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::at_once::{all_alive, ended_rightly};
use super::bare::{self, Sink};
use super::gate::Gate;
use super::sizes::Sizes;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::place::{Engine, Place, User};
use crate::table::Table;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;
const ORDINARY: User = User::Ordinary { id: NOBODY, open_files: 1_024, processes: 4_096 };
const PIPE_MEMORY: &str = "/proc/sys/fs/pipe-user-pages-soft";

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    if !rustix::process::geteuid().is_root() {
        return Err(Problem("only root can become another user".to_owned()));
    }
    if Command::new("prlimit").arg("--version").output().is_err() {
        return Err(Problem("prlimit (of util-linux) is not installed".to_owned()));
    }
    let count = sizes.ordinary_hosts;
    let bare = bare::engines(count, sizes.ordinary_lines, Sink::Pipe)?;
    let ours = hosts(program, sizes, User::Ours)?;
    let theirs = hosts(program, sizes, ORDINARY)?;
    let floor = rate(bare.bytes, bare.ended);
    let pages = fs::read_to_string(PIPE_MEMORY).unwrap_or_default();
    let all = format!("all {count}");
    let name = format!(
        "{count} hosts of an ordinary user (1024 open files, 4096 processes, {} pages for pipes): ended correctly",
        pages.trim()
    );
    let small = format!("{} with small pipes", theirs.small);
    table.measured(&name, &format!("{} of {count}", theirs.right), "–", &small, &all);
    if theirs.right != count {
        table.missed(format!("load: only {} of {count} runs of an ordinary user ended correctly", theirs.right));
    }
    for (name, hosts) in [("an ordinary user", theirs), ("root, whose pipes are all large", ours)] {
        let rate = rate(hosts.bytes, hosts.ended);
        let name = format!("{count} hosts of {name}: bytes per second until the last end; floor: pipes into `cat`");
        let compared = format!("{:.2} of it", rate / floor);
        table.measured(&name, &format!("{rate:.0} MB/s"), &format!("{floor:.0} MB/s"), &compared, "–");
    }
    Ok(())
}

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

#[derive(Debug, Clone, Copy)]
struct Hosts {
    right: usize,
    /// Those that were warned that their pipes are small.
    small: usize,
    bytes: u64,
    ended: Duration,
}

fn hosts(program: &Program, sizes: Sizes, user: User) -> Result<Hosts, Problem> {
    let root = open_to_all()?.join(format!("skillrun-bench-{}-ordinary", std::process::id()));
    // The programs too, since the folder that they are in may be closed to others.
    let [bench, skillrun] = ["bench", "skillrun"].map(|name| root.join(name));
    let gate_path = root.join("gate");
    let gate = Gate::closed(&gate_path)?;
    fs::copy(std::env::current_exe()?, &bench)?;
    fs::copy(program.path(), &skillrun)?;
    let (gate_word, lines) = (gate_path.display().to_string(), sizes.ordinary_lines.to_string());
    let words = ["write", "held", &gate_word, &lines];
    let engine = Engine { name: "held", profile: "codex_ndjson", program: &bench, words: &words };
    let mut place = Place::at(root, &skillrun, &[engine])?;
    place.allow(sizes.ordinary_hosts)?;
    place.hand_over(user)?;
    let server = place.serve()?;
    let runs = (0..sizes.ordinary_hosts).map(|_| server.start("held")).collect::<Result<Vec<_>, _>>()?;
    all_alive(&place, &runs)?;
    let begin = Instant::now();
    gate.open();
    let right = ended_rightly(&server, &runs)?;
    let ended = begin.elapsed();
    server.stop()?;
    let audit = |run: &String| place.data().join("runs").join(run).join(".audit");
    let output = |run: &String| fs::metadata(audit(run).join("stdout.1.log")).map_or(0, |data| data.len());
    Ok(Hosts {
        right,
        small: runs.iter().filter(|run| has_small_pipes(&audit(run))).count(),
        bytes: runs.iter().map(output).sum(),
        ended,
    })
}

/// The host says so in its record.
fn has_small_pipes(audit: &Path) -> bool {
    let files = fs::read_dir(audit).into_iter().flatten().flatten().map(|entry| entry.path());
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "json"))
        .any(|file| fs::read(file).is_ok_and(|text| memchr::memmem::find(&text, b"PIPE_SMALL").is_some()))
}

/// A folder for temporary files that every user can get into.
fn open_to_all() -> Result<PathBuf, Problem> {
    let is_open = |folder: &Path| {
        folder.ancestors().all(|folder| fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o001 != 0))
    };
    let found = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/tmp")];
    found
        .into_iter()
        .find(|folder| folder.is_absolute() && is_open(folder))
        .ok_or_else(|| Problem("there is no folder for temporary files that every user can access".to_owned()))
}
