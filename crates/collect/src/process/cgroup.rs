//! A control group for the engine, if the system delegates a part of the hierarchy (cgroup v2).
//!
//! Walking the tree terminates every process that does not fork faster than the walk. A group terminates all of them at
//! once, in the kernel. Moving a process costs up to some ten milliseconds, so only engines that live for a while get a
//! group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;

use super::list::Process;
use skillrun_base::wait::wait_until;
use skillrun_model::IgnoredError;

/// A group of this host; removed when dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

/// Maximum number of scans for processes outside of the group. Processes that fork faster are terminated by the walk.
const ROUNDS: usize = 10;

impl Cgroup {
    /// A new group below that of this process; none if there is no hierarchy, or it may not be changed.
    pub(crate) fn create(nonce: &str) -> Option<Self> {
        let own = own_folder()?;
        if !is_delegated(&own) {
            return None;
        }
        let path = own.join(name(nonce));
        fs::create_dir(&path).ok()?;
        let group = Self { path };
        // Kernels before 5.14 have groups but cannot terminate them at once.
        group.path.join("cgroup.kill").exists().then_some(group)
    }

    /// The group that a host left when it was killed. A group in another part of the hierarchy is not found; it is
    /// empty and harmless once its processes have been terminated.
    pub(crate) fn left_by(nonce: &str) -> Option<Self> {
        let path = own_folder()?.join(name(nonce));
        path.is_dir().then_some(Self { path })
    }

    /// A group that was created for another purpose; removed when this is dropped.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Process ids of all members.
    pub(crate) fn members(&self) -> io::Result<Vec<u32>> {
        let inside = fs::read_to_string(self.path.join("cgroup.procs"))?;
        Ok(inside.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Moves all processes into the group that are not in it yet.
    pub(crate) fn adopt(&self, mut processes: impl FnMut() -> Vec<Process>) -> io::Result<()> {
        for _ in 0..ROUNDS {
            let inside = self.members()?;
            let outside: Vec<_> = processes().into_iter().filter(|process| !inside.contains(&process.pid)).collect();
            if outside.is_empty() {
                break;
            }
            for process in outside {
                // It may have exited meanwhile.
                fs::write(self.path.join("cgroup.procs"), process.pid.to_string()).ignored();
            }
        }
        Ok(())
    }

    pub(crate) fn kill(&self) {
        // Processes that survive this are terminated by the walk.
        fs::write(self.path.join("cgroup.kill"), "1").ignored();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Members that have just exited keep the folder busy for a moment; a group that stays is empty and harmless.
        wait_until(Duration::from_millis(20), Duration::from_millis(1), || fs::remove_dir(&self.path).is_ok());
    }
}

fn name(nonce: &str) -> String {
    format!("skillrun-{nonce}")
}

pub(crate) fn own_folder() -> Option<PathBuf> {
    own_group(&fs::read_to_string("/proc/self/cgroup").ok()?, &fs::read_to_string("/proc/self/mounts").ok()?)
}

/// The folder of this process's group, from `/proc/self/cgroup` and `/proc/self/mounts`.
fn own_group(groups: &str, mounts: &str) -> Option<PathBuf> {
    let inside = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then_some(place)
    })?;
    Some(Path::new(mount).join(inside))
}

/// Whether groups may be created here: the folder belongs to this user, or is marked as delegated, or no other program
/// manages the hierarchy, as in a container.
pub(crate) fn is_delegated(own: &Path) -> bool {
    let mut value = [0; 8];
    let mark = rustix::fs::getxattr(own, c"user.delegate", &mut value).ok();
    if mark.is_some_and(|len| value[..len] == *b"1") {
        return true;
    }
    let uid = geteuid();
    if uid.is_root() {
        return !Path::new("/run/systemd/system").exists();
    }
    use std::os::unix::fs::MetadataExt;
    fs::metadata(own).is_ok_and(|folder| folder.uid() == uid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_under_its_mount() {
        let mounts = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let groups = "2:cpu:/x\n0::/user.slice/me\n";
        assert_eq!(own_group(groups, mounts), Some("/sys/fs/cgroup/unified/user.slice/me".into()));
        assert_eq!(own_group("0::/\n", mounts), Some("/sys/fs/cgroup/unified/".into()));
        assert_eq!(own_group("2:cpu:/x\n", mounts), None);
        assert_eq!(own_group(groups, "proc /proc proc rw 0 0\n"), None);
    }
}
