//! A control group with the limits of memory and processes, if the system permits one.
//!
//! Version 2: below a group in which `memory` and `pids` are passed on to children, and which this user may change: the
//! own one, or the one above it, because a group with processes passes nothing on. Version 1: below the own groups of
//! both hierarchies. The process enters by itself, just before it becomes the engine, so that nothing escapes.
//!
//! The kernel counts threads, and engines have dozens. So the kernel stops only what starts many times as many tasks as
//! processes are allowed, faster than the host looks; the number of processes itself is watched.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_base::wait::wait_until;
use skillrun_model::IgnoredError;
use skillrun_model::limits::ResourceLimits;

use crate::process::cgroup::{Cgroup, is_delegated, own_folder};

/// Tasks that the kernel allows for each process that is allowed.
const TASKS_PER_PROCESS: u64 = 8;

/// The largest number of tasks that the kernel takes as a limit.
const TASKS_MAX: u64 = 4 << 20;

/// How long an empty group may be busy.
const REMOVAL_TIMEOUT: Duration = Duration::from_millis(20);

/// The groups of one attempt. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Groups {
    folders: Folders,
    /// The host has the group for another purpose, too, and removes it.
    is_shared: bool,
}

#[derive(Debug)]
enum Folders {
    One { memory: PathBuf, pids: PathBuf },
    Two(PathBuf),
}

impl Groups {
    /// None: the system does not permit them, or neither memory nor processes are limited.
    pub(crate) fn create(nonce: &str, limits: ResourceLimits) -> Option<Self> {
        if limits.memory_bytes.is_none() && limits.processes.is_none() {
            return None;
        }
        let groups = Self::version_2(nonce).or_else(|| Self::version_1(nonce))?;
        groups.limit(limits).then_some(groups)
    }

    fn version_2(nonce: &str) -> Option<Self> {
        let own = own_folder()?;
        let passes_on = |folder: &&Path| {
            let passed = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
            passes(&passed) && is_delegated(folder)
        };
        let above = [Some(own.as_path()), own.parent()].into_iter().flatten().find(passes_on)?;
        let folder = above.join(name(nonce));
        fs::create_dir(&folder).ok()?;
        Some(Self { folders: Folders::Two(folder), is_shared: false })
    }

    fn version_1(nonce: &str) -> Option<Self> {
        let (memory, pids) = (own_of_version_1("memory")?, own_of_version_1("pids")?);
        if !is_delegated(&memory) || !is_delegated(&pids) {
            return None;
        }
        let (memory, pids) = (memory.join(name(nonce)), pids.join(name(nonce)));
        fs::create_dir(&memory).ok()?;
        // Both exist or none, so it is dropped with what was made.
        let groups = Self { folders: Folders::One { memory, pids: pids.clone() }, is_shared: false };
        fs::create_dir(&pids).ok()?;
        Some(groups)
    }

    /// Writes the limits. False: the kernel does not take one.
    fn limit(&self, limits: ResourceLimits) -> bool {
        let put = |folder: &Path, file: &str, value: u64| fs::write(folder.join(file), value.to_string()).is_ok();
        let tasks =
            limits.processes.map(|processes| u64::from(processes).saturating_mul(TASKS_PER_PROCESS).min(TASKS_MAX));
        let (memory, pids) = self.both();
        let memory_file = match &self.folders {
            Folders::One { .. } => "memory.limit_in_bytes",
            Folders::Two(_) => "memory.max",
        };
        let is_limited = limits.memory_bytes.is_none_or(|bytes| put(memory, memory_file, bytes))
            && tasks.is_none_or(|tasks| put(pids, "pids.max", tasks));
        if let Some(bytes) = limits.memory_bytes {
            match &self.folders {
                // With swap it is more than what the limit says. Kernels without swap have no such file.
                Folders::One { .. } => _ = put(memory, "memory.memsw.limit_in_bytes", bytes),
                Folders::Two(_) => {
                    put(memory, "memory.swap.max", 0);
                    put(memory, "memory.oom.group", 1);
                }
            }
        }
        is_limited
    }

    fn both(&self) -> (&Path, &Path) {
        match &self.folders {
            Folders::One { memory, pids } => (memory, pids),
            Folders::Two(folder) => (folder, folder),
        }
    }

    /// Files that a process writes to, to enter the groups.
    pub(crate) fn entries(&self) -> std::io::Result<Vec<File>> {
        let open = |folder: &Path| File::options().write(true).open(folder.join("cgroup.procs"));
        match &self.folders {
            Folders::One { memory, pids } => Ok(vec![open(memory)?, open(pids)?]),
            Folders::Two(folder) => Ok(vec![open(folder)?]),
        }
    }

    /// The group as one by which all processes are ended at once. A second one for that would take them out of this one.
    pub(crate) fn as_cgroup(&mut self) -> Option<Cgroup> {
        match &self.folders {
            Folders::One { .. } => None,
            Folders::Two(folder) => {
                self.is_shared = true;
                Some(Cgroup::at(folder.clone()))
            }
        }
    }

    /// Whether the kernel has killed a process because the memory was used up.
    pub(crate) fn has_killed(&self) -> bool {
        let file = match &self.folders {
            Folders::One { .. } => "memory.oom_control",
            Folders::Two(_) => "memory.events",
        };
        counted(&fs::read_to_string(self.both().0.join(file)).unwrap_or_default(), "oom_kill") > 0
    }

    /// Whether the kernel has refused to start a process.
    pub(crate) fn has_refused(&self) -> bool {
        counted(&fs::read_to_string(self.both().1.join("pids.events")).unwrap_or_default(), "max") > 0
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if self.is_shared {
            return;
        }
        let (memory, pids) = self.both();
        for folder in [memory, pids] {
            // Members that have just exited keep it busy for a moment; a group that stays is empty and harmless.
            wait_until(REMOVAL_TIMEOUT, Duration::from_millis(1), || {
                fs::remove_dir(folder).is_ok() || !folder.exists()
            });
        }
    }
}

/// Removes the groups that a host left when it was killed, once its processes are gone.
pub(crate) fn remove_left(nonce: &str) {
    let above = [own_folder(), own_folder().and_then(|own| own.parent().map(Path::to_owned))];
    for folder in above.into_iter().chain([own_of_version_1("memory"), own_of_version_1("pids")]).flatten() {
        fs::remove_dir(folder.join(name(nonce))).ignored();
    }
}

/// The kernel ends all processes of such a group with one write, so a host that finds one uses it.
pub(crate) fn name(nonce: &str) -> String {
    format!("skillrun-limits-{nonce}")
}

/// Whether a group passes both controllers on to its children.
fn passes(subtree_control: &str) -> bool {
    let has = |name: &str| subtree_control.split_ascii_whitespace().any(|one| one == name);
    has("memory") && has("pids")
}

/// The number in a line such as `oom_kill 3`.
fn counted(text: &str, name: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    number.unwrap_or(0)
}

fn own_of_version_1(controller: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    group_of_version_1(controller, &groups, &fs::read_to_string("/proc/self/mounts").ok()?)
}

/// The folder of this process's group in the hierarchy of a controller, from `/proc/self/cgroup` and
/// `/proc/self/mounts`.
fn group_of_version_1(controller: &str, groups: &str, mounts: &str) -> Option<PathBuf> {
    let is_listed = |list: &str| list.split(',').any(|one| one == controller);
    let inside = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        is_listed(controllers).then(|| path.trim_start_matches('/'))
    })?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (place, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup" && is_listed(options)).then_some(place)
    })?;
    Some(Path::new(mount).join(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_version_1_are_found_under_their_mounts() {
        let mounts = "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                      cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let groups = "8:cpu,pids:/\n4:memory:/a/b:c\n0::/\n";
        let found = |controller: &str| group_of_version_1(controller, groups, mounts);
        assert_eq!(found("memory"), Some("/sys/fs/cgroup/memory/a/b:c".into()));
        assert_eq!(found("pids"), Some("/sys/fs/cgroup/pids/".into()));
        assert_eq!(found("cpu"), None, "it is not mounted");
        assert_eq!(found("freezer"), None);
    }

    #[test]
    fn both_controllers_must_be_passed_on() {
        assert!(passes("cpu memory pids\n") && passes("pids memory"));
        assert!(!passes("memory") && !passes("hugetlb") && !passes("pids memory2") && !passes(""));
    }

    #[test]
    fn events_of_both_versions_are_read() {
        assert_eq!(counted("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill"), 2);
        assert_eq!(counted("low 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n", "oom_kill"), 1);
        assert_eq!(counted(" max 0\n", "max"), 0);
        assert_eq!((counted("max 17\n", "max"), counted("", "max")), (17, 0));
    }

    /// As on a machine that delegates version 2, without its kernel: files stand for the group.
    #[test]
    fn limits_and_events_have_the_files_of_version_2() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_owned();
        let groups = Groups { folders: Folders::Two(path.clone()), is_shared: true };
        let limits = ResourceLimits { memory_bytes: Some(1000), processes: Some(3), ..ResourceLimits::default() };
        assert!(groups.limit(limits));
        let read = |name: &str| fs::read_to_string(path.join(name)).expect(name);
        assert_eq!((read("memory.max").as_str(), read("pids.max").as_str()), ("1000", "24"));
        assert_eq!((read("memory.swap.max").as_str(), read("memory.oom.group").as_str()), ("0", "1"));
        let many = ResourceLimits { processes: Some(u32::MAX), ..ResourceLimits::default() };
        assert!(groups.limit(many));
        assert_eq!(read("pids.max"), "4194304", "the kernel refuses more");
        assert!(!groups.has_killed() && !groups.has_refused());
        fs::write(path.join("memory.events"), "oom 1\noom_kill 1\n").expect("written");
        fs::write(path.join("pids.events"), "max 1\n").expect("written");
        assert!(groups.has_killed() && groups.has_refused());
    }
}
