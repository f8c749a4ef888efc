//! The folders of a box as rules of Landlock, and the scope that Landlock adds to namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::layout::{self, Folders};
use crate::plan::NetworkPlan;
use crate::sys::{self, RulesetAttributes};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// What can be done with a file that is not a folder.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;

/// Abstract Unix sockets and signals of processes outside.
const SCOPES: u64 = 0b11;

/// Binding and connecting TCP sockets.
const TCP: u64 = 0b11;

/// Accesses to files that a version of Landlock knows: 13 in version 1, moves between folders in 2, truncation in 3,
/// controls of devices in 5.
fn known(version: u32) -> u64 {
    let count = match version {
        0 | 1 => 13,
        2 => 14,
        3 | 4 => 15,
        5.. => 16,
    };
    (1 << count) - 1
}

/// How much of the kernel's struct a version of Landlock knows.
fn bytes(version: u32) -> usize {
    match version {
        0..=3 => 8,
        4 | 5 => 16,
        6.. => size_of::<RulesetAttributes>(),
    }
}

/// Files as in the layout of mounts.
pub(crate) fn of_folders(version: u32, folders: &Folders, network: &NetworkPlan) -> io::Result<OwnedFd> {
    let files = known(version);
    let attributes = RulesetAttributes {
        files,
        network: if version >= 4 && network.has_no_host() { TCP } else { 0 },
        scoped: if version >= 6 { SCOPES } else { 0 },
    };
    let rules = sys::landlock_ruleset(&attributes, bytes(version))?;
    let system = layout::SYSTEM.iter().map(PathBuf::from);
    let etc = layout::etc(network).into_iter().map(|(real, _)| real);
    let readable = system.chain(["/proc".into()]).chain(etc).chain(folders.readable.iter().cloned());
    for path in readable {
        allow(&rules, &path, READ)?;
    }
    let devices = layout::DEVICES.iter().map(|name| Path::new("/dev").join(name));
    let devices = devices.chain(["/dev/ptmx".into(), "/dev/pts".into()]);
    for path in devices.chain(folders.writable.iter().cloned()) {
        allow(&rules, &path, files)?;
    }
    Ok(rules)
}

/// Signals and abstract sockets alone; none if this version of Landlock does not know them.
pub(crate) fn of_scopes(version: u32) -> io::Result<Option<OwnedFd>> {
    if version < 6 {
        return Ok(None);
    }
    let attributes = RulesetAttributes { files: 0, network: 0, scoped: SCOPES };
    sys::landlock_ruleset(&attributes, bytes(version)).map(Some)
}

/// Paths that do not exist are left out.
fn allow(rules: &OwnedFd, path: &Path, access: u64) -> io::Result<()> {
    let opened = File::options().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let access = if file.metadata()?.is_dir() { access } else { access & OF_FILES };
    sys::landlock_allow(rules.as_fd(), file.as_fd(), access)
}
