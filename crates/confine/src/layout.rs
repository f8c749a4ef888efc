//! The mounts of a box, in the order in which they are made.
//!
//! | where | what |
//! | --- | --- |
//! | `/` | an empty file system in memory, read-only at the end |
//! | `/usr` `/opt` `/bin` `/lib` … | those of the system, read-only; links stay links |
//! | `/etc` | a short list of files |
//! | `/dev` | six devices, terminals of its own, `shm` of its own |
//! | `/tmp` | empty, writable |
//! | `/proc` | the processes of the box; settings of the kernel are read-only |
//! | folders of the plan | read-only or writable, after the folders above them |

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillrun_evidence::OsText;

use crate::network::doors::hosts_file;
use crate::plan::{BoxPlan, NetworkPlan};

/// Folders with programs and libraries.
pub(crate) const SYSTEM: &[&str] =
    &["/usr", "/opt", "/nix/store", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What programs read below `/etc`: names of users, libraries, time zone, certificates. No keys, and no passwords.
const ETC: &[&str] = &[
    "passwd",
    "group",
    "localtime",
    "timezone",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "os-release",
    "debian_version",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "pki/ca-trust/extracted",
    "ca-certificates",
    "ca-certificates.conf",
    "protocols",
    "services",
    "mime.types",
];

/// How names of hosts are found, if the network is shared.
const NAMES: &[&str] = &["resolv.conf", "nsswitch.conf", "hosts", "host.conf", "gai.conf"];

/// The same for a box with a network of its own, which has a name server.
const OWN_NAMES: &[(&str, &str)] = &[
    ("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
];

/// Devices that every program may use.
pub(crate) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Links in `/dev`.
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("pts/ptmx", "/dev/ptmx"),
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// What may be done below a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Device,
}

/// One step. Paths in the box are absolute; sources have no links in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// An empty file system in memory.
    Memory {
        at: PathBuf,
        mode: &'static str,
    },
    /// Terminals of its own.
    Terminals {
        at: PathBuf,
    },
    Bind {
        from: PathBuf,
        at: PathBuf,
        access: Access,
    },
    Link {
        to: PathBuf,
        at: PathBuf,
    },
    File {
        at: PathBuf,
        text: Cow<'static, str>,
    },
    /// Nothing can be created here any more.
    Seal {
        at: PathBuf,
    },
}

/// The folders that a plan lets in, where links lead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    /// Paths of the plan that have links in them, and where they lead.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Folders {
    /// `more`: folders that can be written, too. Files to read that do not exist are left out; a folder to write must
    /// exist.
    pub(crate) fn of(plan: &BoxPlan, more: &[&Path]) -> Result<Self, (PathBuf, io::Error)> {
        let mut folders = Self::default();
        for given in plan.writable.iter().map(OsText::as_path).chain(more.iter().copied()) {
            let real = fs::canonicalize(given).map_err(|error| (given.to_owned(), error))?;
            folders.note_link(given, &real);
            folders.writable.push(real);
        }
        for given in plan.readable.iter().map(OsText::as_path) {
            match fs::canonicalize(given) {
                Ok(real) => {
                    folders.note_link(given, &real);
                    folders.readable.push(real);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err((given.to_owned(), error)),
            }
        }
        Ok(folders)
    }

    fn note_link(&mut self, given: &Path, real: &Path) {
        if given.is_absolute() && given != real {
            self.links.push((given.to_owned(), real.to_owned()));
        }
    }

    /// The folders to mount, those above first. A folder below one that can be written adds nothing, and a mount point
    /// there would be reached through folders that another process may replace by links.
    fn mounts(&self) -> Vec<(PathBuf, Access)> {
        let is_below = |path: &Path, above: &[PathBuf]| above.iter().any(|one| path != one && path.starts_with(one));
        let system: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        let writable = self.writable.iter().filter(|path| !is_below(path, &self.writable));
        let readable = self.readable.iter().filter(|path| {
            let is_known = |all: &[PathBuf]| all.iter().any(|one| path.starts_with(one));
            !is_known(&self.writable) && !is_known(&system) && !is_below(path, &self.readable)
        });
        let writable = writable.map(|path| (path.clone(), Access::Write));
        let mut mounts: Vec<_> = writable.chain(readable.map(|path| (path.clone(), Access::Read))).collect();
        mounts.sort_by_key(|(path, _)| path.components().count());
        mounts.dedup();
        mounts
    }
}

/// All steps. Only this reads the machine: which folders of the system there are, and which of them are links.
pub(crate) fn steps(folders: &Folders, network: &NetworkPlan) -> Vec<Step> {
    let mut steps = vec![Step::Memory { at: "/dev".into(), mode: "mode=0755" }];
    steps.extend(
        DEVICES.iter().map(|name| Path::new("/dev").join(name)).filter(|path| path.exists()).map(|path| Step::Bind {
            from: path.clone(),
            at: path,
            access: Access::Device,
        }),
    );
    steps.push(Step::Terminals { at: "/dev/pts".into() });
    steps.push(Step::Memory { at: "/dev/shm".into(), mode: "mode=1777" });
    steps.extend(DEVICE_LINKS.iter().map(|(to, at)| Step::Link { to: to.into(), at: at.into() }));
    steps.push(Step::Seal { at: "/dev".into() });
    steps.push(Step::Memory { at: "/tmp".into(), mode: "mode=1777" });
    for at in SYSTEM.iter().map(PathBuf::from) {
        if let Ok(to) = fs::read_link(&at) {
            steps.push(Step::Link { to, at });
        } else if at.is_dir() {
            steps.push(Step::Bind { from: at.clone(), at, access: Access::Read });
        }
    }
    steps.extend(etc(network).into_iter().map(|(from, at)| Step::Bind { from, at, access: Access::Read }));
    if let NetworkPlan::Only(reachable) = network {
        steps.extend(OWN_NAMES.iter().map(|(at, text)| Step::File { at: at.into(), text: Cow::Borrowed(text) }));
        steps.push(Step::File { at: "/etc/hosts".into(), text: hosts_file(reachable).into() });
    }
    steps.extend(folders.links.iter().map(|(at, to)| Step::Link { to: to.clone(), at: at.clone() }));
    let bind = |(path, access): (PathBuf, Access)| Step::Bind { from: path.clone(), at: path, access };
    steps.extend(folders.mounts().into_iter().map(bind));
    steps
}

/// The files of `/etc`, and where links lead from there.
pub(crate) fn etc(network: &NetworkPlan) -> Vec<(PathBuf, PathBuf)> {
    let names = if network.is_open() { NAMES } else { &[] };
    let paths = ETC.iter().chain(names).map(|name| Path::new("/etc").join(name));
    paths.filter_map(|at| Some((fs::canonicalize(&at).ok()?, at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_model::confinement::BoxMechanism;

    fn folders(readable: &[&str], writable: &[&str]) -> Folders {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
        Folders { readable: paths(readable), writable: paths(writable), links: Vec::new() }
    }

    fn mounts(readable: &[&str], writable: &[&str]) -> Vec<String> {
        let shown = |(path, access): (PathBuf, Access)| {
            let letter = if access == Access::Write { 'w' } else { 'r' };
            format!("{letter} {}", path.display())
        };
        folders(readable, writable).mounts().into_iter().map(shown).collect()
    }

    #[test]
    fn folders_above_are_mounted_before_those_below() {
        assert_eq!(mounts(&["/a"], &["/a/b/c", "/d"]), ["w /d", "r /a", "w /a/b/c"]);
    }

    #[test]
    fn nothing_is_mounted_below_a_writable_folder() {
        assert_eq!(mounts(&["/w/skill", "/w"], &["/w", "/w/home"]), ["w /w"]);
        assert_eq!(mounts(&["/word"], &["/w"]), ["w /w", "r /word"], "only whole names count");
    }

    #[test]
    fn folders_of_the_system_are_mounted_once() {
        assert_eq!(mounts(&["/usr/lib/node", "/p/bin", "/p"], &["/usr/local/w"]), ["r /p", "w /usr/local/w"]);
    }

    #[test]
    fn a_path_with_a_link_in_it_leads_to_the_same_folder_in_the_box() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = fs::canonicalize(dir.path()).expect("a folder");
        fs::create_dir_all(dir.join("real/ws")).expect("a folder");
        std::os::unix::fs::symlink(dir.join("real"), dir.join("link")).expect("a link");
        let path = |path: &str| OsText::from(dir.join(path));
        let plan = BoxPlan {
            mechanism: BoxMechanism::Namespaces,
            network: NetworkPlan::Open,
            readable: vec![path("missing")],
            writable: vec![path("link/ws")],
        };
        let folders = Folders::of(&plan, &[]).expect("found");
        assert_eq!(folders.writable, [dir.join("real/ws")]);
        let steps = steps(&folders, &plan.network);
        let at = |step: &Step| steps.iter().position(|one| one == step).expect("a step");
        let (to, from) = (dir.join("real/ws"), dir.join("real/ws"));
        let link = at(&Step::Link { to, at: dir.join("link/ws") });
        let bind = at(&Step::Bind { from: from.clone(), at: from, access: Access::Write });
        assert!(at(&Step::Memory { at: "/tmp".into(), mode: "mode=1777" }) < link && link < bind);
        let missing = BoxPlan { writable: vec![path("missing")], ..plan };
        Folders::of(&missing, &[]).expect_err("a folder to write must exist");
    }
}
