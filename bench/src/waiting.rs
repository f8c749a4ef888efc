//! Very many runs that wait: for an answer, and for the next prompt of a conversation. What both cost is compared.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::capture::{median, wall};
use crate::problem::Problem;
use crate::program::Program;
use crate::runs::{Place, ms};
use crate::table::Table;

const WAITING: u32 = 10_000;
const MEMORY_TARGET: u64 = 100_000_000;
const START_TARGET: Duration = Duration::from_secs(2);

/// How many times as much as runs that wait for an answer conversations at rest may cost. Times differ by a fifth from one
/// start to the next.
const TIME_RATIO: f64 = 1.25;
const MEMORY_RATIO: f64 = 1.1;
const LISTS: usize = 11;

/// What 10,000 runs cost.
struct Cost {
    /// Until their owner has taken them over: with only their Logs, and once more.
    first: Duration,
    second: Duration,
    memory: u64,
    /// Of a server over them. Conversations at rest need no owner, so that theirs exits at once.
    served: u64,
    /// `skillrun ls`.
    list: Duration,
}

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let waiting = cost(program, "waiting", questions)?;
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let (first, second, memory) = (waiting.first, waiting.second, waiting.memory);
    table.measured("10,000 waiting runs, start with only their Logs", &seconds(first), "–", "–", "under 2 s");
    table.measured("the same, second start", &seconds(second), "–", "–", "under 2 s");
    table.measured("memory of their owner", &mb(memory), "–", "–", "under 100 MB");
    if first.max(second) > START_TARGET {
        table.missed(format!("runs: 10,000 waiting take {} to start", seconds(first.max(second))));
    }
    if memory > MEMORY_TARGET {
        table.missed(format!("runs: 10,000 waiting take {}", mb(memory)));
    }
    let resting = cost(program, "resting", conversations)?;
    let mut compare = |name: &str, cells: [String; 2], ratio: f64, most: f64| {
        let [measured, floor] = cells;
        let target = format!("at most {most} times");
        table.measured(name, &measured, &floor, &format!("{ratio:.2} times"), &target);
        if ratio > most {
            table.missed(format!("runs: {name}: {measured} instead of {floor}"));
        }
    };
    let times = |rest: Duration, wait: Duration| rest.as_secs_f64() / wait.as_secs_f64().max(1e-9);
    let name = "10,000 resting conversations beside 10,000 waiting runs, start with only their Logs";
    let cells = [seconds(resting.first), seconds(first)];
    compare(name, cells, times(resting.first, first), TIME_RATIO);
    let cells = [seconds(resting.second), seconds(second)];
    compare("the same, second start", cells, times(resting.second, second), TIME_RATIO);
    let cells = [mb(resting.served), mb(waiting.served)];
    let ratio = resting.served as f64 / waiting.served.max(1) as f64;
    compare("memory of a server over them", cells, ratio, MEMORY_RATIO);
    let cells = [ms(resting.list), ms(waiting.list)];
    let name = format!("`skillrun ls` among them, median of {LISTS}");
    compare(&name, cells, times(resting.list, waiting.list), TIME_RATIO);
    Ok(())
}

/// Copies the runs that `make` leaves in a folder.
fn cost(program: &Program, name: &str, make: fn(&Program, &Place) -> Result<(), Problem>) -> Result<Cost, Problem> {
    let place = Place::new(name)?;
    make(program, &place)?;
    let originals: Vec<PathBuf> = fs::read_dir(place.data().join("runs"))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    for number in 0..WAITING {
        copy(&originals[number as usize % originals.len()], number)?;
    }
    let (first, _) = start(program, &place)?;
    let (second, memory) = start(program, &place)?;
    let lists = (0..LISTS).map(|_| wall(&mut place.command(program, &["ls"]))).collect::<Result<_, _>>()?;
    let served = serve(program, &place)?;
    Ok(Cost { first, second, memory, served, list: median(lists) })
}

/// Runs that wait for an answer. Half of them have a deadline far away.
fn questions(program: &Program, place: &Place) -> Result<(), Problem> {
    let words = ["run", "./skill", "--engine", "scripted", "--mode", "interactive"];
    rests(program, place, &words)?;
    // It stays because of its deadline, and is left alone.
    let words = [&words[..], &["--no-reply-needed", "--session-timeout", "86400"]].concat();
    let mut owner = place.command(program, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    sleep(Duration::from_secs(2));
    owner.kill()?;
    owner.wait()?;
    Ok(())
}

/// Conversations after their first turn.
fn conversations(program: &Program, place: &Place) -> Result<(), Problem> {
    rests(
        program,
        place,
        &["run", "./skill", "--engine", "scripted", "--script", "talk.yaml", "--mode", "conversation"],
    )
}

/// A run that waits when its command exits.
fn rests(program: &Program, place: &Place, words: &[&str]) -> Result<(), Problem> {
    let status = place.command(program, words).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.code() == Some(6) { Ok(()) } else { Err(Problem(format!("runs: a waiting run ended with {status}"))) }
}

/// Another run like one that waits, as if it had been made later.
fn copy(original: &Path, number: u32) -> Result<(), Problem> {
    let id = original.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let other = format!("{}{number:012x}", &id[..id.len() - 12]);
    let target = original.with_file_name(&other);
    fs::create_dir(&target)?;
    for name in ["run.json", "events.jsonl"] {
        fs::write(target.join(name), fs::read_to_string(original.join(name))?.replace(&id, &other))?;
    }
    fs::copy(original.join("lock"), target.join("lock"))?;
    Ok(())
}

/// Starts an owner of everything: how long it takes until it has taken over, and its memory then.
fn start(program: &Program, place: &Place) -> Result<(Duration, u64), Problem> {
    let (took, memory, line) = until_ready(place.command(program, &["own", "--all"]))?;
    if line != "ready" {
        return Err(Problem(format!("runs: the owner of 10,000 said {line:?}")));
    }
    Ok((took, memory))
}

/// The memory of a server that has started.
fn serve(program: &Program, place: &Place) -> Result<u64, Problem> {
    let (_, memory, line) = until_ready(place.command(program, &["serve", "--listen", "127.0.0.1:0"]))?;
    if memory == 0 || !line.starts_with("serving") {
        return Err(Problem(format!("runs: the server over 10,000 said {line:?}")));
    }
    Ok(memory)
}

/// How long a process takes until it writes a line, the most memory it held until then, and the line.
fn until_ready(mut command: Command) -> Result<(Duration, u64, String), Problem> {
    let begin = Instant::now();
    let mut owner = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    if let Some(stdout) = owner.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let took = begin.elapsed();
    let status = fs::read_to_string(format!("/proc/{}/status", owner.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
    owner.kill()?;
    owner.wait()?;
    Ok((took, kib * 1024, line.trim().to_owned()))
}
