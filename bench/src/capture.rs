//! What recording costs, beside the bare command in the same run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::later;
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;
use crate::terminal;

const STARTS: usize = 41;
const START_TARGET: Duration = Duration::from_millis(15);

const FLOOD: u64 = 500_000_000;
const FLOODS: usize = 3;
const PIPES_TARGET: f64 = 200.0;
const TERMINALS_TARGET: f64 = 60.0;
const MEMORY_TARGET: u64 = 10_000_000;

const FILES: usize = 20_000;
const FILE: usize = 10_000;
const FIRST_TARGET: Duration = Duration::from_secs(2);
const SECOND_TARGET: Duration = Duration::from_millis(400);

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    starts(program, table)?;
    floods(program, table)?;
    snapshots(program, table)
}

/// A folder that goes away by itself.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, Problem> {
        let path = std::env::temp_dir().join(format!("skillrun-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("workspace"))?;
        Ok(Self(path))
    }

    fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    fn audit(&self, round: usize) -> PathBuf {
        self.0.join(format!("out-{round}/.audit"))
    }

    /// `skillrun capture`, each round into a folder of its own.
    fn capture(&self, program: &Program, round: usize, options: &[&str], command: &[&str]) -> Command {
        let mut capture = program.command();
        capture.arg("capture").arg("--workspace").arg(self.workspace());
        capture.arg("--out").arg(self.0.join(format!("out-{round}")));
        capture.args(options).arg("--").args(command);
        capture
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        later::remove(&self.0);
    }
}

pub(crate) fn wall(command: &mut Command) -> Result<Duration, Problem> {
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let took = begin.elapsed();
    if status.success() { Ok(took) } else { Err(Problem(format!("{command:?} ended with {status}"))) }
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn starts(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let scratch = Scratch::new("starts")?;
    let (mut bare, mut captured, mut synced, mut made) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..STARTS {
        bare.push(wall(&mut Command::new("true"))?);
        captured.push(wall(&mut scratch.capture(program, round, &[], &["true"]))?);
        synced.push(syncs(&scratch.0)?);
        let begin = Instant::now();
        File::create(scratch.0.join(format!("empty-{round}")))?;
        made.push(begin.elapsed());
    }
    let (bare, captured, synced, made) = (median(bare), median(captured), median(synced), median(made));
    let more = captured.saturating_sub(bare);
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    eprintln!("capture: true {} more", ms(more));
    table.measured(
        "`true` in an empty workspace, median of 41",
        &ms(captured),
        &ms(bare),
        &format!("{} more", ms(more)),
        "at most 15 ms more",
    );
    table.measured("of that, writing a small index, a record and its name to disk", &ms(synced), "–", "–", "–");
    // Far above 20 µs the disk is busy with files that another process removed, and the figures say little about
    // skillrun.
    let name = "for comparison, creating an empty file; a capture creates about twenty";
    table.measured(name, &format!("{:.0} µs", made.as_secs_f64() * 1e6), "–", "–", "–");
    if more > START_TARGET {
        table.missed(format!("capture: `true` costs {} more", ms(more)));
    }
    Ok(())
}

/// The cost of the disk for the end of an attempt, whichever program requests it.
fn syncs(folder: &Path) -> io::Result<Duration> {
    let begin = Instant::now();
    let (index, record) = (folder.join("index"), folder.join("record"));
    let mut file = File::create(&index)?;
    file.write_all(&[b'x'; 200])?;
    file.sync_data()?;
    let mut file = File::create(&record)?;
    file.write_all(&[b'x'; 2000])?;
    file.sync_all()?;
    fs::rename(&record, folder.join("name"))?;
    File::open(folder)?.sync_all()?;
    let took = begin.elapsed();
    fs::remove_file(index)?;
    fs::remove_file(folder.join("name"))?;
    Ok(took)
}

fn floods(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let scratch = Scratch::new("floods")?;
    let bytes = FLOOD.to_string();
    let engine = ["head", "-c", &bytes, "/dev/zero"];
    let mut round = 0;
    // The same way of the bytes without us: a pipe that `cat` stores, a terminal that is read and stored.
    let pipe: fn(&[&str]) -> Result<Duration, Problem> = |engine| wall(&mut piped(engine));
    let terminal: fn(&[&str]) -> Result<Duration, Problem> = |engine| terminal::stored(engine, FLOOD);
    for (name, wiring, target, floor) in
        [("pipes", "pipes", PIPES_TARGET, pipe), ("split terminals", "split_pty", TERMINALS_TARGET, terminal)]
    {
        let (mut bare, mut best, mut memory) = (Duration::MAX, Duration::MAX, Memory::default());
        for _ in 0..FLOODS {
            bare = bare.min(floor(&engine)?);
            let mut capture = scratch.capture(program, round, &["--wiring", wiring, "--no-snapshot"], &engine);
            let audit = scratch.audit(round);
            let begin = Instant::now();
            let mut child = capture.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            memory = memory.max(watch(&audit));
            let status = child.wait()?;
            best = best.min(begin.elapsed());
            let kept = fs::metadata(audit.join("stdout.1.log"))?.len();
            if !status.success() || kept != FLOOD {
                return Err(Problem(format!("{capture:?} ended with {status} and {kept} bytes")));
            }
            fs::remove_dir_all(audit)?;
            round += 1;
        }
        let rate = |time: Duration| FLOOD as f64 / 1e6 / time.as_secs_f64();
        let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        eprintln!("capture: {name} {:.0} MB/s, host {}", rate(best), mb(memory.own));
        table.measured(
            &format!("500 MB through {name}, best of 3"),
            &format!("{:.0} MB/s", rate(best)),
            &format!("{:.0} MB/s", rate(bare)),
            &format!("{:.2} of it", rate(best) / rate(bare)),
            &format!("at least {target:.0} MB/s"),
        );
        table.measured(
            &format!("the host's memory during that ({name})"),
            &mb(memory.own),
            "–",
            &format!("{} with the program's pages", mb(memory.all)),
            "under 10 MB of its own",
        );
        if rate(best) < target {
            table.missed(format!("capture: {name} at {:.0} MB/s", rate(best)));
        }
        if memory.own >= MEMORY_TARGET {
            table.missed(format!("capture: the host held {} ({name})", mb(memory.own)));
        }
    }
    Ok(())
}

/// The command into a pipe that another process reads and stores: the minimum cost of recording.
fn piped(engine: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{} | cat > \"$1\"; rm \"$1\"", engine.join(" "))).arg("sh");
    command.arg(std::env::temp_dir().join(format!("skillrun-bench-{}-pipe", std::process::id())));
    command
}

/// Memory of the host, the most that was seen.
#[derive(Debug, Clone, Copy, Default)]
struct Memory {
    /// Its own, without pages of the program's file.
    own: u64,
    all: u64,
}

impl Memory {
    fn max(self, other: Self) -> Self {
        Self { own: self.own.max(other.own), all: self.all.max(other.all) }
    }
}

/// Looks at the host until it is gone.
fn watch(audit: &Path) -> Memory {
    let mut memory = Memory::default();
    let begin = Instant::now();
    let pid = loop {
        let claim = fs::read(audit.join("claim.1")).ok();
        if let Some(pid) = claim.and_then(|claim| serde_json::from_slice::<Value>(&claim).ok()?["host_pid"].as_u64()) {
            break pid;
        }
        if begin.elapsed() > Duration::from_secs(10) {
            return memory;
        }
        sleep(Duration::from_millis(1));
    };
    while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
        };
        let (Some(own), Some(all)) = (of("RssAnon:"), of("VmHWM:")) else { break };
        memory = memory.max(Memory { own, all });
        sleep(Duration::from_millis(2));
    }
    memory
}

fn snapshots(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let scratch = Scratch::new("snapshots")?;
    fill(&scratch.workspace())?;
    let (mut bare, mut first, mut second) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for round in 0..3 {
        let mut read = Command::new("sh");
        read.args(["-c", "find . -type f -print0 | xargs -0 cat"]).current_dir(scratch.workspace());
        bare = bare.min(wall(&mut read)?);
        wall(&mut scratch.capture(program, round, &[], &["true"]))?;
        // The files show it: a listing is written from the claim on, and from the end of the streams on.
        let audit = scratch.audit(round);
        let moment = |name: &str| -> Result<Duration, Problem> {
            let metadata = fs::metadata(audit.join(name))?;
            Ok(Duration::new(
                metadata.mtime().cast_unsigned(),
                u32::try_from(metadata.mtime_nsec()).unwrap_or_default(),
            ))
        };
        first = first.min(moment("fs-before.1.json")?.saturating_sub(moment("claim.1")?));
        second = second.min(moment("fs-after.1.json")?.saturating_sub(moment("chunks.1.jsonl")?));
    }
    let s = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    eprintln!("capture: snapshots {} and {}", s(first), s(second));
    for (name, time, target) in [("first", first, FIRST_TARGET), ("second, unchanged", second, SECOND_TARGET)] {
        table.measured(
            &format!("snapshot of 20,000 files, 200 MB, {name}, best of 3"),
            &s(time),
            &s(bare),
            &format!("{:.2} of `cat`", time.as_secs_f64() / bare.as_secs_f64()),
            &format!("under {}", s(target)),
        );
        if time >= target {
            table.missed(format!("capture: {name} snapshot took {}", s(time)));
        }
    }
    Ok(())
}

/// Files with different content, a hundred to a folder.
fn fill(workspace: &Path) -> io::Result<()> {
    let mut content = vec![b'x'; FILE];
    for number in 0..FILES {
        let folder = workspace.join(format!("folder-{:03}", number / 100));
        if number % 100 == 0 {
            fs::create_dir(&folder)?;
        }
        let line = format!("file {number}\n");
        content[..line.len()].copy_from_slice(line.as_bytes());
        File::create(folder.join(format!("file-{number}.txt")))?.write_all(&content)?;
    }
    Ok(())
}
