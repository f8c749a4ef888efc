//! The same engine without skillrun: a process whose output goes to a file, directly or through a pipe.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::usage;
use crate::problem::Problem;
use crate::service::children::Kept;
use crate::service::place::SERVER_TIMEOUT;

/// What as many bare engines took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bare {
    /// Until all were alive and had said so.
    pub(super) alive: Duration,
    /// From the opening of the gate to the last end.
    pub(super) ended: Duration,
    /// Processor time of each.
    pub(super) cpu: Duration,
    /// Memory of one while it waits, without pages of files.
    pub(super) memory: u64,
    /// What all of them wrote.
    pub(super) bytes: u64,
}

/// How the output gets into its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    File,
    /// Through a pipe that `cat` reads.
    Pipe,
}

/// This many engines, which all wait at a gate.
pub(super) fn engines(count: usize, lines: u64, sink: Sink) -> Result<Bare, Problem> {
    let folder = std::env::temp_dir().join(format!("skillrun-bench-{}-bare", std::process::id()));
    let done = engines_in(&folder, count, lines, sink);
    fs::remove_dir_all(&folder)?;
    done
}

fn engines_in(folder: &Path, count: usize, lines: u64, sink: Sink) -> Result<Bare, Problem> {
    let gate_path = folder.join("gate");
    let gate = Gate::closed(&gate_path)?;
    let before = usage::children_of(std::process::id())?;
    let files: Vec<PathBuf> = (0..count).map(|number| folder.join(format!("out-{number}"))).collect();
    let begin = Instant::now();
    let mut started = Vec::new();
    for file in &files {
        started.push(Kept::spawn(&mut command(&gate_path, lines, sink, file)?)?);
    }
    let is_alive = |file: &PathBuf| fs::metadata(file).is_ok_and(|data| data.len() > 0);
    while !files.iter().all(is_alive) {
        if begin.elapsed() > SERVER_TIMEOUT {
            return Err(Problem(format!("load: failed to start {count} bare engines")));
        }
        sleep(Duration::from_millis(5));
    }
    let alive = begin.elapsed();
    let memory = started.first().and_then(|child| usage::own_memory(child.id())).unwrap_or_default();
    let begin = Instant::now();
    gate.open();
    for child in &mut started {
        // An engine that goes wrong ends at once; one that hangs is ended with us.
        child.wait()?;
    }
    let ended = begin.elapsed();
    let cpu = usage::children_of(std::process::id())?.saturating_sub(before);
    let bytes = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
    Ok(Bare { alive, ended, cpu: cpu / u32::try_from(count.max(1)).unwrap_or(u32::MAX), memory, bytes })
}

fn command(gate: &Path, lines: u64, sink: Sink, file: &Path) -> Result<Command, Problem> {
    let bench = std::env::current_exe()?;
    let mut command = match sink {
        Sink::File => {
            let mut command = Command::new(bench);
            command.args(["write", "held"]).arg(gate).arg(lines.to_string()).stdout(File::create(file)?);
            command
        }
        Sink::Pipe => {
            let mut command = Command::new("sh");
            command.args(["-c", "\"$1\" write held \"$2\" \"$3\" | cat > \"$4\"", "sh"]);
            command.arg(bench).arg(gate).arg(lines.to_string()).arg(file);
            command
        }
    };
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}
