//! What this machine can enforce, tried once per process.

use std::ffi::CString;
use std::io;
use std::sync::OnceLock;

use crate::sys::{self, attributes, flags};

/// What a machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// User, mount and PID namespaces with a `/proc` of their own, or why not.
    pub namespaces: Result<(), String>,
    pub network_namespace: Result<(), String>,
    /// The version of Landlock.
    pub landlock: Option<u32>,
}

/// What is tried. A network takes the kernel longer to make than everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeScope {
    WithoutNetwork,
    All,
}

/// Tries what this machine can enforce, in a short-lived process. The result is kept.
pub fn probe(scope: ProbeScope) -> Abilities {
    static WITHOUT_NETWORK: OnceLock<Result<(), String>> = OnceLock::new();
    static WITH_NETWORK: OnceLock<Result<(), String>> = OnceLock::new();
    let without = || WITHOUT_NETWORK.get_or_init(|| try_in_child(Trial { network: false })).clone();
    let with = || WITH_NETWORK.get_or_init(|| try_in_child(Trial { network: true })).clone();
    let (namespaces, network_namespace) = match scope {
        ProbeScope::WithoutNetwork => (without(), Err("it was not tried".to_owned())),
        ProbeScope::All => match with() {
            // The trial has made all of them.
            Ok(()) => (Ok(()), Ok(())),
            refused => (without(), refused),
        },
    };
    Abilities { namespaces, network_namespace, landlock: sys::landlock_version() }
}

/// Namespaces of a box.
pub(crate) const NAMESPACES: libc::c_int =
    libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

struct Trial {
    network: bool,
}

/// What a trial does, in this order; its exit code is the number of the first step that failed, from 1.
const STEPS: &[&str] = &[
    "make a user namespace",
    "write its user id",
    "start its first process",
    "detach the mounts",
    "mount a file system in memory",
    "make a mount read-only",
    "mount /proc",
    "switch the loopback interface on",
];

/// The process that tries has copied one thread of a process that may have more: it calls the kernel alone.
fn try_in_child(trial: Trial) -> Result<(), String> {
    let maps = Maps::of_user().map_err(|error| error.to_string())?;
    let failed = |error: io::Error| error.to_string();
    match sys::fork().map_err(failed)? {
        None => sys::exit(trial.outer(&maps)),
        Some(child) => {
            let status = sys::wait_for(child).map_err(failed)?;
            if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
                return Ok(());
            }
            let step = usize::try_from(libc::WEXITSTATUS(status)).unwrap_or(0);
            let doing = step.checked_sub(1).and_then(|at| STEPS.get(at)).unwrap_or(&"finish the trial");
            Err(format!("failed to {doing}"))
        }
    }
}

impl Trial {
    fn outer(&self, maps: &Maps) -> i32 {
        let network = if self.network { libc::CLONE_NEWNET } else { 0 };
        if sys::unshare(NAMESPACES | network).is_err() {
            return 1;
        }
        if maps.write().is_err() {
            return 2;
        }
        match sys::fork() {
            Err(_) => 3,
            Ok(None) => sys::exit(self.inner()),
            Ok(Some(first)) => sys::wait_for(first).map_or(3, |status| libc::WEXITSTATUS(status)),
        }
    }

    fn inner(&self) -> i32 {
        let none = c"";
        if sys::mount(none, c"/", none, flags::REC | flags::SLAVE, none).is_err() {
            return 4;
        }
        if sys::mount(c"tmpfs", c"/tmp", c"tmpfs", flags::NOSUID | flags::NODEV, none).is_err() {
            return 5;
        }
        if sys::mount_attributes(c"/tmp", attributes::RDONLY, true).is_err() {
            return 6;
        }
        if sys::mount(c"proc", c"/proc", c"proc", flags::NOSUID | flags::NODEV | flags::NOEXEC, none).is_err() {
            return 7;
        }
        if self.network && sys::loopback_up().is_err() {
            return 8;
        }
        0
    }
}

/// The same user and group inside as outside.
pub(crate) struct Maps {
    user: CString,
    group: CString,
}

impl Maps {
    pub(crate) fn of_user() -> io::Result<Self> {
        let (user, group) = sys::user();
        let map = |id: u32| CString::new(format!("{id} {id} 1"));
        Ok(Self { user: map(user)?, group: map(group)? })
    }

    /// Allocates nothing.
    pub(crate) fn write(&self) -> io::Result<()> {
        sys::write_file(c"/proc/self/setgroups", b"deny")?;
        sys::write_file(c"/proc/self/uid_map", self.user.to_bytes())?;
        sys::write_file(c"/proc/self/gid_map", self.group.to_bytes())
    }
}
