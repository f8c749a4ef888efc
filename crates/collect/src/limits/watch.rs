//! The limits of an attempt, for the loop of its host.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Pid;
use skillrun_evidence::OsText;
use skillrun_model::limits::{LimitMechanism, LimitName, LimitReached, ResourceLimits};

use super::cpu::CpuMeter;
use super::disk::DiskMeter;
use super::groups::Groups;
use super::look;
use crate::host::{Moment, after};
use crate::plan::ResourcePlan;
use crate::process::cgroup::Cgroup;
use crate::process::list::Process;
use crate::process::{tree, usage};

/// Between two looks: five a second.
const TICK: Duration = Duration::from_millis(200);

/// The shortest pause after a look; a look at very many processes takes a while.
const PAUSE: Duration = Duration::from_millis(40);

/// Folders of a box that are file systems in memory of its own.
const MEMORY_OF_BOX: [&str; 2] = ["tmp", "dev/shm"];

/// Looks at what the processes use.
pub(crate) struct Watch {
    limits: ResourceLimits,
    /// They hold memory, and stop what starts processes faster than the host looks.
    groups: Option<Groups>,
    cpu: CpuMeter,
    /// Processor time of what the host had waited for before.
    reaped_before: u64,
    /// Of earlier attempts of the process.
    cpu_before: u64,
    cpu_last: u64,
    disk: Option<DiskMeter>,
    /// The first process of a box: part of the host.
    init: Option<u32>,
    next_at: Moment,
    /// The engine has exited.
    is_over: bool,
}

impl Watch {
    /// Before the process starts.
    pub(crate) fn prepare(plan: &ResourcePlan, nonce: &str, temporary: &Path) -> Self {
        let limits = plan.limits;
        let groups = match plan.mechanism {
            LimitMechanism::Cgroup => Groups::create(nonce, limits),
            LimitMechanism::Watched => None,
        };
        let folders = || plan.folders.iter().map(OsText::as_path).chain([temporary]);
        Self {
            limits,
            groups,
            cpu: CpuMeter::default(),
            reaped_before: reaped(),
            cpu_before: 0,
            cpu_last: 0,
            disk: limits.disk_bytes.map(|_| DiskMeter::new(folders())),
            init: None,
            next_at: 0,
            is_over: false,
        }
    }

    /// Files that the process writes to before it becomes the engine, to enter its groups.
    pub(crate) fn entries(&self) -> std::io::Result<Vec<File>> {
        self.groups.as_ref().map_or_else(|| Ok(Vec::new()), Groups::entries)
    }

    /// A group by which all processes can be ended at once.
    pub(crate) fn group(&mut self) -> Option<Cgroup> {
        self.groups.as_mut()?.as_cgroup()
    }

    /// The process has started. `init`: the first process of its box.
    pub(crate) fn started(&mut self, main: Pid, init: Option<u32>, now: Moment) {
        self.init = init;
        self.next_at = after(now, TICK);
        if let (Some(disk), Some(_)) = (&mut self.disk, init) {
            let root = PathBuf::from(format!("/proc/{}/root", main.as_raw_nonzero()));
            disk.started(MEMORY_OF_BOX.iter().map(|folder| root.join(folder)));
        }
    }

    /// A limit is for one attempt, also where the process continues.
    pub(crate) fn next_attempt(&mut self) {
        self.cpu_before = self.cpu_last;
        if let Some(disk) = &mut self.disk {
            disk.begin_again();
        }
    }

    pub(crate) fn next_at(&self) -> Moment {
        self.next_at
    }

    /// The first limit that is reached; none also while it is too early to look again.
    pub(crate) fn look(&mut self, now: Moment) -> Option<LimitReached> {
        if now < self.next_at {
            return None;
        }
        let begin = std::time::Instant::now();
        let reached = self.ended_by_kernel().or_else(|| self.exceeded(now));
        self.next_at = after(now, TICK.max(begin.elapsed() + PAUSE));
        reached
    }

    /// What the kernel has refused or killed when the engine has exited. Later calls find nothing.
    pub(crate) fn last_look(&mut self) -> Option<LimitReached> {
        let is_first = !std::mem::replace(&mut self.is_over, true);
        is_first.then(|| self.ended_by_kernel()).flatten()
    }

    /// What the kernel has refused or killed.
    pub(crate) fn ended_by_kernel(&self) -> Option<LimitReached> {
        let groups = self.groups.as_ref()?;
        let at = |name, limit: Option<u64>| {
            limit.map(|limit| LimitReached { name, mechanism: LimitMechanism::Cgroup, limit, seen: limit })
        };
        if self.limits.memory_bytes.is_some() && groups.has_killed() {
            return at(LimitName::Memory, self.limits.memory_bytes);
        }
        if self.limits.processes.is_some() && groups.has_refused() {
            return at(LimitName::Processes, self.limits.get(LimitName::Processes));
        }
        None
    }

    fn exceeded(&mut self, now: Moment) -> Option<LimitReached> {
        let processes = tree::descendants();
        let engine: Vec<Process> = processes.iter().filter(|process| Some(process.pid) != self.init).cloned().collect();
        for name in LimitName::ALL.iter().copied() {
            let limit = match (name, self.limits.get(name)) {
                (_, None) => continue,
                (LimitName::Cpu, Some(seconds)) => seconds.saturating_mul(1000),
                (LimitName::Memory | LimitName::Processes | LimitName::Disk, Some(limit)) => limit,
            };
            let seen = match name {
                // The kernel holds it.
                LimitName::Memory if self.groups.is_some() => continue,
                LimitName::Memory => look::memory(&engine, limit),
                LimitName::Processes => engine.len() as u64,
                LimitName::Cpu => self.processor_time(&processes),
                LimitName::Disk => self.disk.as_mut().map_or(0, |disk| disk.look(now, limit)),
            };
            if seen > limit {
                return Some(LimitReached { name, mechanism: LimitMechanism::Watched, limit, seen });
            }
        }
        None
    }

    /// In milliseconds, of this attempt. The first process of a box counts: orphans are in its figures.
    fn processor_time(&mut self, processes: &[Process]) -> u64 {
        let figures = processes.iter().map(|process| ((process.pid, process.began), process.ticks));
        let reaped = look::ticks(reaped().saturating_sub(self.reaped_before));
        self.cpu_last = look::milliseconds(self.cpu.look(figures, reaped));
        self.cpu_last.saturating_sub(self.cpu_before)
    }
}

/// Microseconds that processes have used which the host has waited for.
fn reaped() -> u64 {
    usage::of_children().map_or(0, |usage| usage.user_us.saturating_add(usage.system_us))
}
