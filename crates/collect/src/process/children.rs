//! The children of a process, as the kernel lists them for each of its threads (`/proc/PID/task/TID/children`).
//!
//! Finding the descendants of a host this way costs as much as there are descendants. Reading all of `/proc` costs as
//! much as there are processes on the machine, so that 1,000 hosts that each did so took 30 s to start. Kernels without
//! `CONFIG_PROC_CHILDREN` have no such files, and some sandboxes do not either; there all of `/proc` is read.
//!
//! The kernel may omit a child when another one exits while the list is read. So a list is read until it is the same
//! twice, and a process that loses its parent during the walk is found among the children of the root, which adopts it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::list::Process;

/// How often a list that keeps changing is read. Callers repeat the walk until nothing new is found.
const READS_MAX: usize = 5;

/// How often the children of the root are compared with the processes that were found.
const ROUNDS_MAX: usize = 5;

/// All descendants of a process, the exited ones too. None if the system does not list children.
pub(super) fn descendants_below(root: u32) -> Option<Vec<Process>> {
    descendants_in(Path::new("/proc"), root)
}

fn descendants_in(proc: &Path, root: u32) -> Option<Vec<Process>> {
    let mut found = Vec::new();
    let mut known = HashSet::from([root]);
    for _ in 0..ROUNDS_MAX {
        let mut open: Vec<u32> = match children(proc, root) {
            Ok(pids) => pids.into_iter().filter(|pid| known.insert(*pid)).collect(),
            // Without a root there are no descendants; a root without a list is a system without lists.
            Err(_) if proc.join(root.to_string()).join("task").exists() => return None,
            Err(_) => break,
        };
        if open.is_empty() {
            break;
        }
        while let Some(pid) = open.pop() {
            // A process that has exited meanwhile has no children any more: the root has adopted them.
            open.extend(children(proc, pid).unwrap_or_default().into_iter().filter(|pid| known.insert(*pid)));
            found.extend(Process::read(pid));
        }
    }
    Some(found)
}

/// The children of all threads of a process.
fn children(proc: &Path, pid: u32) -> io::Result<HashSet<u32>> {
    let mut all = children_now(proc, pid)?;
    for _ in 1..READS_MAX {
        // A process that exited meanwhile has none.
        let again = children_now(proc, pid).unwrap_or_default();
        let is_same = again == all;
        all.extend(again);
        if is_same {
            break;
        }
    }
    Ok(all)
}

fn children_now(proc: &Path, pid: u32) -> io::Result<HashSet<u32>> {
    let mut pids = HashSet::new();
    let mut error = None;
    for thread in fs::read_dir(proc.join(pid.to_string()).join("task"))? {
        match fs::read_to_string(thread?.path().join("children")) {
            Ok(listed) => pids.extend(listed.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            // A thread that has exited; where no thread has a list, the error is reported.
            Err(failed) => error = Some(failed),
        }
    }
    match error {
        Some(error) if pids.is_empty() => Err(error),
        Some(_) | None => Ok(pids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::list;
    use crate::process::tree::descendants_of;
    use skillrun_base::wait::wait_until;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    const TEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// A shell that starts other processes and waits; terminated with all of them when dropped.
    struct Shell(Child);

    impl Shell {
        fn run(script: &str) -> Self {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
            Self(command.spawn().expect("a shell"))
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            for process in descendants_below(self.0.id()).unwrap_or_default() {
                process.send(rustix::process::Signal::KILL);
            }
            self.0.kill().expect("killed");
            self.0.wait().expect("reaped");
        }
    }

    fn pids(processes: Vec<Process>) -> Vec<u32> {
        let mut pids: Vec<u32> =
            processes.into_iter().filter(|process| !process.is_over).map(|process| process.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn the_same_processes_are_found_as_in_all_of_proc() {
        // Children, grandchildren, and one in a session of its own.
        let shell = Shell::run("sleep 60 & (sleep 60 & sleep 60) & setsid sleep 60 & wait");
        let root = shell.0.id();
        let mut found = Vec::new();
        wait_until(TEST_TIMEOUT, Duration::from_millis(5), || {
            found = pids(descendants_below(root).expect("the kernel lists children"));
            let all = pids(descendants_of(vec![root], list::all()));
            let names = |pid: &u32| Process::read(*pid).is_some_and(|process| process.name == "sleep");
            found == all && found.iter().filter(|pid| names(pid)).count() == 4
        });
        assert!(found.len() >= 4, "{found:?}");
        assert_eq!(found, pids(descendants_of(vec![root], list::all())));
    }

    #[test]
    fn orphans_are_found_below_the_process_that_adopts_them() {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("a subreaper");
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "setsid sleep 61 & exit 0"]).spawn().expect("a shell");
        shell.wait().expect("reaped");
        let is_orphan = |process: &Process| process.name == "sleep" && process.parent == std::process::id();
        let mut orphan = None;
        wait_until(TEST_TIMEOUT, Duration::from_millis(5), || {
            let found = descendants_below(std::process::id()).expect("the kernel lists children");
            orphan = found.into_iter().find(is_orphan);
            orphan.is_some()
        });
        orphan.expect("found").send(rustix::process::Signal::KILL);
    }

    /// 1,000 hosts read all of `/proc` twice each, which took 30 s.
    #[test]
    fn only_descendants_are_read() {
        let others: Vec<Shell> = (0..20).map(|_| Shell::run("sleep 60 & wait")).collect();
        let one = Shell::run("sleep 60 & wait");
        wait_until(TEST_TIMEOUT, Duration::from_millis(5), || {
            descendants_below(one.0.id()).is_some_and(|found| found.len() == 1)
        });
        let before = list::reads();
        let found = crate::process::tree::descendants_below(one.0.id());
        let reads = list::reads() - before;
        assert_eq!((found.len(), reads), (1, 1), "{} other processes were started", others.len());
    }

    #[test]
    fn a_system_without_lists_of_children_is_recognized() {
        let proc = tempfile::tempdir().expect("a folder");
        assert_eq!(descendants_in(proc.path(), 7), Some(vec![]), "there is no such process");
        fs::create_dir_all(proc.path().join("7/task/7")).expect("folders");
        assert_eq!(descendants_in(proc.path(), 7), None);
        fs::write(proc.path().join("7/task/7/children"), "").expect("written");
        assert_eq!(descendants_in(proc.path(), 7), Some(vec![]));
    }
}
