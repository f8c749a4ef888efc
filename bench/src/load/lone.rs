//! System calls of the server for an event that comes alone, at a slow rate, with one reader; counted by `strace`.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::reader;
use super::sizes::Sizes;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::place::{Engine, Place, SERVER_TIMEOUT, succeeded};
use crate::table::Table;

/// Lines a second: the server is at rest between two of them.
const RATE: u64 = 20;
const TARGET: f64 = 15.0;
/// How long `strace` may take to begin, and to end.
const STRACE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("load: strace is not installed, so system calls are not counted");
        return Ok(());
    }
    let idle = calls_per_line(program, sizes, Work::Nothing)?;
    let busy = calls_per_line(program, sizes, Work::Lines)?;
    let own = busy - idle;
    let name = format!("system calls of the server for a lone event, {RATE} a second, one reader");
    let compared = format!("{busy:.1} with what it does without events");
    table.measured(&name, &format!("{own:.1}"), "–", &compared, &format!("under {TARGET:.0}"));
    if own >= TARGET {
        table.missed(format!("load: a lone event costs {own:.1} system calls"));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Lines,
    /// The run is followed, and its engine is silent.
    Nothing,
}

/// System calls while `sizes.lone_lines` lines come, or would come, for each of them.
fn calls_per_line(program: &Program, sizes: Sizes, work: Work) -> Result<f64, Problem> {
    let gate_path = Place::root("lone").join("gate");
    let (bench, gate_word) = (std::env::current_exe()?, gate_path.display().to_string());
    // More lines than are counted: the run goes on until `strace` has ended.
    let (rate, lines) = (RATE.to_string(), (sizes.lone_lines + 5 * RATE).to_string());
    let words = ["write", "paced", &gate_word, &rate, &lines];
    let engine = Engine { name: "lone", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "lone", &[engine])?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    let run = server.start("lone")?;
    let path = format!("/v1/runs/{run}/events");
    let received = AtomicU64::new(0);
    let counted = thread::scope(|scope| {
        let reading = scope.spawn(|| reader::follow(&server.client, &path, SERVER_TIMEOUT, &received));
        let wait_for = |events: u64| {
            let until = Instant::now() + SERVER_TIMEOUT;
            while received.load(Ordering::Relaxed) < events && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
        };
        // What the beginning of a run costs is not counted.
        wait_for(1);
        thread::sleep(Duration::from_secs(1));
        let counted = match work {
            Work::Nothing => {
                let strace = Strace::of(&place, server.pid())?;
                thread::sleep(Duration::from_millis(1000 * sizes.lone_lines / RATE));
                let calls = strace.calls()?;
                gate.open();
                calls / sizes.lone_lines as f64
            }
            Work::Lines => {
                let strace = Strace::of(&place, server.pid())?;
                let before = received.load(Ordering::Relaxed);
                gate.open();
                wait_for(before + sizes.lone_lines);
                let calls = strace.calls()?;
                calls / (received.load(Ordering::Relaxed) - before).max(1) as f64
            }
        };
        succeeded(&server.wait(&run)?)?;
        reading.join().unwrap_or_else(|_| Err(Problem("load: the reader thread panicked".to_owned())))?;
        Ok::<_, Problem>(counted)
    })?;
    server.stop()?;
    Ok(counted)
}

/// `strace` attached to all threads of a process.
struct Strace {
    child: Child,
    table: std::path::PathBuf,
}

impl Strace {
    fn of(place: &Place, pid: u32) -> Result<Self, Problem> {
        let table = place.path("strace");
        let words = ["-f", "-c", "-U", "calls,name", "-o"];
        let mut strace = Command::new("strace");
        strace.args(words).arg(&table).args(["-p", &pid.to_string()]).stdin(Stdio::null()).stderr(Stdio::null());
        let child = strace.spawn()?;
        let status = format!("/proc/{pid}/status");
        let until = Instant::now() + STRACE_TIMEOUT;
        let is_traced =
            || fs::read_to_string(&status).is_ok_and(|text| text.contains(&format!("TracerPid:\t{}\n", child.id())));
        while !is_traced() {
            if Instant::now() > until {
                return Err(Problem("load: strace does not attach to the server".to_owned()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The other threads are attached one after the other.
        thread::sleep(Duration::from_millis(200));
        Ok(Self { child, table })
    }

    fn calls(mut self) -> Result<f64, Problem> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).map_err(std::io::Error::from)?;
        self.child.wait()?;
        let text = fs::read_to_string(&self.table)?;
        if text.trim().is_empty() {
            // A server at rest makes no system call, and then there is no table.
            return Ok(0.0);
        }
        let total = text.lines().find(|line| line.ends_with(" total"));
        let calls = total.and_then(|row| row.split_whitespace().next()).and_then(|calls| calls.parse().ok());
        calls.ok_or_else(|| Problem(format!("load: strace wrote no total: {text}")))
    }
}
