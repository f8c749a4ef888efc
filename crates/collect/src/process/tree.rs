//! The descendants of the host.
//!
//! The host is a subreaper: a descendant that loses its parent becomes a child of the host. So its descendants are all
//! processes of an engine, whatever sessions and groups they have created, and when the host has no child left, nothing
//! is left.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use skillrun_evidence::host_record::Survivor;

use super::cgroup::Cgroup;
use super::children;
use super::list::{self, Process};
use skillrun_model::IgnoredError;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    fn of(status: WaitStatus) -> Option<Self> {
        status.exit_status().map(Self::Code).or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

/// The processes that are left after the exited ones were reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Some,
    /// No process shares a session with the engine: it starts its tools in their own sessions, never itself.
    Tools,
    NoProcess,
}

/// Which of the remaining processes could be the engine that a wrapper had started. Every engine starts a session.
pub(crate) fn left_of(main: Pid) -> Left {
    let main = main.as_raw_nonzero().get().unsigned_abs();
    let is_of_the_engine = |process: &Process| process.session == main;
    // Asked only after a signal has ended the engine. That nothing is left of it ends the attempt, so all processes are
    // read before that is believed.
    let is_left = descendants().iter().any(is_of_the_engine)
        || descendants_of(vec![std::process::id()], list::all()).iter().any(is_of_the_engine);
    if is_left { Left::Some } else { Left::Tools }
}

/// Reaps every child that has exited.
pub(crate) fn reap(mut ended: impl FnMut(Pid, Exit)) -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if let Some(exit) = Exit::of(status) {
                    ended(pid, exit);
                }
            }
            Ok(None) => return Left::Some,
            Err(Errno::INTR) => {}
            // No child at all.
            Err(_) => return Left::NoProcess,
        }
    }
}

/// All living descendants of this process.
pub(crate) fn descendants() -> Vec<Process> {
    descendants_below(std::process::id())
}

/// All living descendants of a process.
pub(super) fn descendants_below(root: u32) -> Vec<Process> {
    match children::descendants_below(root) {
        Some(mut found) => {
            found.retain(|process| !process.is_over);
            found
        }
        None => descendants_of(vec![root], list::all()),
    }
}

/// All descendants of the roots.
pub(crate) fn descendants_of(roots: Vec<u32>, all: Vec<Process>) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = roots;
    while let Some(parent) = open.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            open.push(process.pid);
            found.push(process);
        }
    }
    found.retain(|process| !process.is_over);
    found
}

/// Sends one signal of a ladder. An interrupt goes to the engine's own process group, as from a keyboard: engines then
/// clean up after themselves. All other signals, and all signals once the engine is gone, go to every process.
pub(crate) fn signal(main: Option<Pid>, signal: Signal) {
    match main {
        Some(main) if signal == Signal::INT => {
            // The group exists until the main process is reaped.
            kill_process_group(main, signal).ignored();
        }
        Some(_) | None => descendants().iter().for_each(|process| process.send(signal)),
    }
}

/// Time limit for terminating all processes. Only processes stuck in the kernel survive it.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of terminating the remaining processes.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) survivors: Vec<Survivor>,
    pub(crate) total: u64,
    /// Some did not exit.
    pub(crate) is_partial: bool,
}

/// Maximum number of names that are kept.
const NAMES: usize = 1000;

/// Terminates all processes. `own`: a process of the host itself, which is not counted. `ended` is called for every
/// child that was reaped.
pub(crate) fn end_all(
    main: Option<Pid>,
    own: Option<u32>,
    group: Option<&Cgroup>,
    mut ended: impl FnMut(Pid, Exit),
) -> Ended {
    let mut result = Ended::default();
    let begin = Instant::now();
    let mut known: HashMap<u32, u64> = HashMap::new();
    while reap(&mut ended) == Left::Some {
        if begin.elapsed() > KILL_TIMEOUT {
            result.is_partial = true;
            break;
        }
        for process in descendants() {
            let is_main = main.is_some_and(|main| main.as_raw_nonzero().get().unsigned_abs() == process.pid);
            let is_new = known.insert(process.pid, process.began) != Some(process.began);
            if is_new && !is_main && own != Some(process.pid) {
                result.total += 1;
                if result.survivors.len() < NAMES {
                    result.survivors.push(process.survivor());
                }
            }
            process.send(Signal::KILL);
        }
        if let Some(group) = group {
            group.kill();
        }
        // The kernel needs a moment to remove them.
        std::thread::sleep(Duration::from_millis(1));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32) -> Process {
        Process {
            pid,
            parent,
            session: 1,
            began: 0,
            is_over: false,
            ticks: crate::limits::Ticks::default(),
            name: String::new(),
        }
    }

    #[test]
    fn all_generations_and_no_other_processes_are_found() {
        let over = Process { is_over: true, ..process(6, 1) };
        let all = vec![process(9, 8), process(8, 1), process(3, 2), process(2, 1), process(1, 0), process(7, 0), over];
        let mut found: Vec<_> = descendants_of(vec![1], all).into_iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [2, 3, 8, 9]);
    }
}
