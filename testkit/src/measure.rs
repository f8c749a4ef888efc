//! What a program costs: processor time and the most memory it held, read from `/proc` while it runs and after it ended.
//!
//! A child that ended keeps its times until it is waited for; its memory is gone by then, so that is asked for all the
//! while. The peak never falls, so only growth in the last moments can be missed.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

/// What a run cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub status: ExitStatus,
    /// User and system time of all its threads.
    pub cpu: Duration,
    /// Most bytes of memory it held at a time.
    pub peak: u64,
}

const EVERY: Duration = Duration::from_millis(1);
/// `/proc/PID/stat` counts in hundredths of a second, whatever the kernel's own clock is.
const TICK: Duration = Duration::from_millis(10);

/// Runs a program until it exits. It must not write to a pipe of the caller, because no thread would read it.
pub fn run(command: &mut Command) -> io::Result<Cost> {
    let mut child = command.spawn()?;
    let seen = watch(&child);
    let status = child.wait()?;
    let (cpu, peak) = seen?;
    Ok(Cost { status, cpu, peak })
}

fn watch(child: &Child) -> io::Result<(Duration, u64)> {
    let of = |file: &str| format!("/proc/{}/{file}", child.id());
    let mut peak = 0;
    loop {
        // Before the state: a process that is seen alive was asked for its memory once more.
        if let Some(bytes) = peak_of(&fs::read_to_string(of("status"))?) {
            peak = peak.max(bytes);
        }
        let stat = Stat::read(&fs::read_to_string(of("stat"))?)?;
        if stat.has_ended {
            // Exact, but of the first thread alone; the other is of all threads and rounded down.
            let first = fs::read_to_string(of("schedstat")).ok().and_then(|text| nanoseconds(&text));
            return Ok((stat.cpu.max(first.unwrap_or_default()), peak));
        }
        sleep(EVERY);
    }
}

fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn nanoseconds(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

struct Stat {
    has_ended: bool,
    cpu: Duration,
}

impl Stat {
    fn read(stat: &str) -> io::Result<Self> {
        // The name of the program is in parentheses and may hold anything.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>());
        let read = || {
            let fields = fields?;
            let ticks = |at: usize| fields.get(at)?.parse::<u32>().ok();
            Some(Self { has_ended: *fields.first()? == "Z", cpu: TICK * (ticks(11)? + ticks(12)?) })
        };
        read().ok_or_else(|| io::Error::other(format!("/proc/PID/stat is not as expected: {stat}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_of_a_child_are_seen() {
        let script = "x=$(head -c 20000000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let cost = run(Command::new("sh").args(["-c", script])).unwrap();
        assert!(cost.status.success());
        assert!(cost.peak > 20_000_000, "{cost:?}");
        assert!(cost.cpu > Duration::from_millis(5), "{cost:?}");
    }
}
