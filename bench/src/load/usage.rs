//! Which process used the processor, and whether one waited for the disk: the difference of two snapshots of `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::problem::Problem;
use crate::service::place::{Place, Server, cpu_of};

/// `/proc` counts in hundredths of a second on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of a process's children that it has waited for, and of theirs.
pub(super) fn children_of(pid: u32) -> Result<Duration, Problem> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok(ticks(fields.split_ascii_whitespace().skip(13).take(2)))
}

/// Memory of a process without pages of files; none where it is gone.
pub(super) fn own_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Duration {
    TICK * fields.filter_map(|field| field.parse::<u32>().ok()).sum()
}

/// One look.
#[derive(Debug)]
pub(super) struct Look {
    at: Instant,
    server: Duration,
    hosts: Duration,
    engines: Duration,
    client: Duration,
    /// Of the server, by number.
    threads: HashMap<String, Duration>,
    /// Of all processors together, while something waited for the disk.
    disk: Duration,
    idle: Duration,
}

impl Look {
    pub(super) fn now(place: &Place, server: &Server) -> Result<Self, Problem> {
        let hosts = place.hosts();
        let engines: Vec<u32> = hosts.iter().flat_map(|host| children(*host)).collect();
        let sum = |pids: &[u32]| pids.iter().filter_map(|pid| cpu_of(*pid).ok()).sum();
        let machine = fs::read_to_string("/proc/stat")?;
        let fields: Vec<_> = machine.lines().next().unwrap_or_default().split_ascii_whitespace().collect();
        let field = |at: usize| ticks(fields.get(at).copied().into_iter());
        Ok(Self {
            at: Instant::now(),
            server: server.cpu()?,
            hosts: sum(&hosts),
            engines: sum(&engines),
            client: cpu_of(std::process::id())?,
            threads: threads(server.pid()),
            idle: field(4),
            disk: field(5),
        })
    }
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn threads(pid: u32) -> HashMap<String, Duration> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: &str| fs::read_to_string(format!("/proc/{pid}/task/{task}/stat")).ok();
    let time = |stat: String| {
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        ticks(fields.split_ascii_whitespace().skip(11).take(2))
    };
    tasks
        .filter_map(|task| task.file_name().into_string().ok())
        .filter_map(|task| Some((time(of(&task)?), task)))
        .map(|(time, task)| (task, time))
        .collect()
}

/// Shares of one processor between two looks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shares {
    pub(super) server: f64,
    /// Its busiest thread.
    pub(super) thread: f64,
    pub(super) hosts: f64,
    pub(super) engines: f64,
    pub(super) client: f64,
    pub(super) idle: f64,
    /// Idle, while something waited for the disk.
    pub(super) disk: f64,
    pub(super) processors: f64,
}

impl Shares {
    pub(super) fn between(from: &Look, to: &Look) -> Self {
        let wall = to.at.duration_since(from.at).as_secs_f64().max(0.001);
        let share = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / wall;
        let thread =
            to.threads.iter().map(|(name, time)| share(from.threads.get(name).copied().unwrap_or_default(), *time));
        Self {
            server: share(from.server, to.server),
            thread: thread.fold(0.0, f64::max),
            hosts: share(from.hosts, to.hosts),
            engines: share(from.engines, to.engines),
            client: share(from.client, to.client),
            idle: share(from.idle, to.idle),
            disk: share(from.disk, to.disk),
            processors: std::thread::available_parallelism().map_or(1.0, |count| usize::from(count) as f64),
        }
    }

    /// What is used up.
    pub(super) fn limit(&self) -> Limit {
        // A tenth is lost to switching between processes, and to looks of a hundredth of a second.
        const USED_UP: f64 = 0.9;
        if self.idle + self.disk < self.processors * (1.0 - USED_UP) {
            Limit::Processors
        } else if self.thread > USED_UP {
            Limit::Thread
        } else if self.disk > self.idle {
            Limit::Disk
        } else {
            Limit::Waiting
        }
    }

    pub(super) fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        format!(
            "server {} (busiest thread {}), hosts {}, engines {}, client {}, waiting for the disk {}, idle {}",
            percent(self.server),
            percent(self.thread),
            percent(self.hosts),
            percent(self.engines),
            percent(self.client),
            percent(self.disk),
            percent(self.idle)
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// No processor is idle.
    Processors,
    /// One thread of the server has a processor for itself, and would need more.
    Thread,
    Disk,
    /// Processors are idle and no process waits for the disk: processes wait for each other.
    Waiting,
}

impl Limit {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Processors => "all processors are busy",
            Self::Thread => "one thread of the server is busy all the time",
            Self::Disk => "the disk",
            Self::Waiting => "processors are idle: processes wait for each other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_is_used_up() {
        let two = Shares { processors: 2.0, ..Shares::default() };
        assert_eq!(Shares { idle: 0.1, ..two }.limit(), Limit::Processors);
        assert_eq!(Shares { idle: 0.8, thread: 0.97, ..two }.limit(), Limit::Thread);
        assert_eq!(Shares { idle: 0.2, disk: 1.1, thread: 0.4, ..two }.limit(), Limit::Disk);
        assert_eq!(Shares { idle: 1.2, disk: 0.1, thread: 0.4, ..two }.limit(), Limit::Waiting);
    }

    #[test]
    fn what_this_process_does_is_seen() {
        let me = std::process::id();
        assert!(own_memory(me).is_some_and(|bytes| bytes > 0));
        assert!(!threads(me).is_empty());
        assert!(children_of(me).is_ok());
    }
}
