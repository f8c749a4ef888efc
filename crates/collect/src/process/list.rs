//! Processes as listed in `/proc`.

use std::fs;

use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use skillrun_evidence::host_record::Survivor;
use skillrun_model::IgnoredError;

use crate::limits::Ticks;

/// A process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// When it started, in ticks since boot; together with the pid this identifies a process permanently.
    pub(crate) began: u64,
    /// It has exited and was not reaped yet, or is irrevocably exiting. Its streams are closed a moment before it has
    /// exited: without this check it would be mistaken for a process that stays.
    pub(crate) is_over: bool,
    /// The processor time that it has used.
    pub(crate) ticks: Ticks,
    pub(crate) name: String,
}

/// The kernel's description of a process, or of one of its threads.
struct Stat {
    pid: u32,
    parent: u32,
    session: u32,
    began: u64,
    name: String,
    threads: u32,
    is_ending: bool,
    ticks: Ticks,
}

impl Stat {
    fn parse(stat: &[u8]) -> Option<Self> {
        /// `PF_EXITING` among the kernel's flags of a thread.
        const EXITING: u32 = 4;
        // The name is in parentheses and may contain anything, even parentheses.
        let open = stat.iter().position(|b| *b == b'(')?;
        let close = stat.iter().rposition(|b| *b == b')')?;
        let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
        let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
        let fields: Vec<_> = rest.split_whitespace().collect();
        let state = *fields.first()?;
        let parent = fields.get(1)?.parse().ok()?;
        let session = fields.get(3)?.parse().ok()?;
        let flags: u32 = fields.get(6)?.parse().ok()?;
        let threads = fields.get(17)?.parse().ok()?;
        let began = fields.get(19)?.parse().ok()?;
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let ticks = Ticks { own: number(11).saturating_add(number(12)), waited: number(13).saturating_add(number(14)) };
        let is_ending = matches!(state, "Z" | "X") || flags & EXITING != 0;
        Some(Self { pid, parent, session, began, name, threads, is_ending, ticks })
    }
}

impl Process {
    /// The process with this id, if it exists.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        #[cfg(test)]
        READS.set(READS.get() + 1);
        let stat = Stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)?;
        // The description of a process is that of its first thread. When that has exited, others may still run.
        let is_over = stat.is_ending && (stat.threads <= 1 || all_threads_are_ending(pid));
        let Stat { pid, parent, session, began, name, ticks, .. } = stat;
        Some(Self { pid, parent, session, began, is_over, ticks, name })
    }

    pub(crate) fn survivor(&self) -> Survivor {
        Survivor { pid: self.pid, name: self.name.clone() }
    }

    /// A handle that never refers to another process, even if this one exits and its id is reused.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        let handle = pidfd_open(pid(self.pid)?, PidfdFlags::empty()).ok()?;
        // The id may have been reused between the check and the opening.
        let is_same = Self::read(self.pid).is_some_and(|now| now.began == self.began);
        is_same.then_some(handle)
    }

    pub(crate) fn send(&self, signal: Signal) {
        if let Some(handle) = self.handle() {
            // It may have exited by now, which is fine.
            pidfd_send_signal(&handle, signal).ignored();
        }
    }
}

fn all_threads_are_ending(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    let mut stats = threads.flatten().filter_map(|thread| Stat::parse(&fs::read(thread.path().join("stat")).ok()?));
    stats.all(|thread| thread.is_ending)
}

pub(crate) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
thread_local! {
    static READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many processes this thread has read.
#[cfg(test)]
pub(crate) fn reads() -> usize {
    READS.get()
}

/// All processes that can be seen.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// Changes when the machine reboots, which restarts process ids.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = b"42 (a) b (c) S 7 42 42 0 -1 4194304 1 0 0 0 11 5 30 4 20 0 3 0 9876 1 1";
        let stat = Stat::parse(stat).expect("a process");
        assert_eq!((stat.pid, stat.parent, stat.name.as_str()), (42, 7, "a) b (c"));
        assert_eq!((stat.began, stat.threads, stat.is_ending), (9876, 3, false));
        assert_eq!(stat.ticks, Ticks { own: 16, waited: 34 });
        for bad in [&b""[..], b"42", b"42 (x", b"42 )x(", b"x (y) S 1 2 3"] {
            assert!(Stat::parse(bad).is_none());
        }
    }

    #[test]
    fn an_exiting_process_is_recognized() {
        let is_ending = |state: &str, flags: u32| {
            let stat = format!("42 (x) {state} 7 42 42 0 -1 {flags} 1 0 0 0 0 0 0 0 20 0 1 0 9876 1 1");
            Stat::parse(stat.as_bytes()).expect("a process").is_ending
        };
        assert!(is_ending("Z", 0) && is_ending("X", 0) && is_ending("R", 0x0040_0004));
        assert!(!is_ending("S", 0x0040_0000) && !is_ending("T", 0));
    }

    #[test]
    fn this_process_is_among_all() {
        let me = Process::read(std::process::id()).expect("this process");
        assert!(!me.is_over);
        assert!(all().iter().any(|process| process.pid == me.pid && process.began == me.began));
        assert!(!boot_id().is_empty());
    }
}
