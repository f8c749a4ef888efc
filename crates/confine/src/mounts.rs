//! Makes the mounts of a box. Runs in the init of the box, a fork of the host with one thread.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::layout::{Access, Step};
use crate::sys::{self, attributes, flags, text};

/// What cannot be done, and why.
pub(crate) type MountFailure = (String, io::Error);

/// Where the box is built, and where the old root is meanwhile.
const NEW: &str = "/new";
const OLD: &str = "/old";

/// Parts of `/proc` with which the real user 0 changes the machine, even without capabilities.
const SETTINGS: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "dynamic_debug"];

/// How many user namespaces the processes of a box may make: inside of one they would have capabilities again.
const USER_NAMESPACES: (&str, &str) = ("/proc/sys/user/max_user_namespaces", "0");

/// Replaces the root of this mount namespace by a box.
pub(crate) fn make(steps: &[Step]) -> Result<(), MountFailure> {
    let fails = |doing: &'static str| move |error| (doing.to_owned(), error);
    let none = c"";
    // Mounts that are made outside later appear in the box nowhere, and mounts of the box nowhere outside.
    sys::mount(none, c"/", none, flags::REC | flags::SLAVE, none).map_err(fails("detach the mounts"))?;
    let memory = |at: &CStr| sys::mount(c"tmpfs", at, c"tmpfs", flags::NOSUID | flags::NODEV, c"mode=0755");
    memory(c"/tmp").map_err(fails("mount a file system in memory"))?;
    for name in ["/tmp/new", "/tmp/old"] {
        fs::create_dir(name).map_err(fails("create a folder in it"))?;
    }
    memory(c"/tmp/new").map_err(fails("mount a file system in memory"))?;
    sys::pivot_root(c"/tmp", c"/tmp/old").map_err(fails("replace the root"))?;
    std::env::set_current_dir("/").map_err(fails("enter the root"))?;
    for step in steps {
        carry_out(step).map_err(|(path, error)| (format!("prepare {}", path.display()), error))?;
    }
    processes().map_err(|(path, error)| (format!("prepare {}", path.display()), error))?;
    sys::detach(c"/old").map_err(fails("detach the old root"))?;
    std::env::set_current_dir(NEW).map_err(fails("enter the new root"))?;
    sys::pivot_root(c".", c".").map_err(fails("replace the root"))?;
    sys::detach(c".").map_err(fails("detach the first root"))?;
    std::env::set_current_dir("/").map_err(fails("enter the root"))?;
    let sealed = attributes::RDONLY | attributes::NOSUID | attributes::NODEV;
    sys::mount_attributes(c"/", sealed, false).map_err(fails("make the root read-only"))
}

/// A path of the box before it is the root.
fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

fn outside(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

fn carry_out(step: &Step) -> Result<(), (PathBuf, io::Error)> {
    let at = match step {
        Step::Memory { at, .. }
        | Step::Terminals { at }
        | Step::Bind { at, .. }
        | Step::Link { at, .. }
        | Step::File { at, .. }
        | Step::Seal { at } => at,
    };
    let place = inside(at);
    let done = || -> io::Result<()> {
        match step {
            Step::Memory { mode, .. } => {
                fs::create_dir_all(&place)?;
                let data = std::ffi::CString::new(*mode)?;
                sys::mount(c"tmpfs", &text(&place)?, c"tmpfs", flags::NOSUID | flags::NODEV, &data)
            }
            Step::Terminals { .. } => {
                fs::create_dir_all(&place)?;
                let data = c"newinstance,ptmxmode=0666,mode=0620";
                sys::mount(c"devpts", &text(&place)?, c"devpts", flags::NOSUID | flags::NOEXEC, data)
            }
            Step::Bind { from, access, .. } => bind(&outside(from), &place, *access),
            Step::Link { to, .. } => link(to, &place),
            Step::File { text, .. } => {
                parent(&place)?;
                fs::write(&place, text.as_bytes())
            }
            Step::Seal { .. } => sys::mount_attributes(&text(&place)?, attributes::RDONLY | attributes::NOEXEC, false),
        }
    };
    done().map_err(|error| (at.clone(), error))
}

fn parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Mounts a file or folder of the old root, with all mounts below it.
fn bind(from: &Path, place: &Path, access: Access) -> io::Result<()> {
    match (fs::symlink_metadata(place).is_ok(), from.is_dir()) {
        (true, _) => {}
        (false, true) => fs::create_dir_all(place)?,
        (false, false) => {
            parent(place)?;
            fs::write(place, "")?;
        }
    }
    let (from, place) = (text(from)?, text(place)?);
    sys::mount(&from, &place, c"", flags::BIND | flags::REC, c"")?;
    let set = match access {
        Access::Read => attributes::RDONLY | attributes::NOSUID | attributes::NODEV,
        Access::Write => attributes::NOSUID | attributes::NODEV,
        Access::Device => attributes::NOSUID | attributes::NOEXEC,
    };
    sys::mount_attributes(&place, set, true)
}

/// A link, unless there is something already.
fn link(to: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_ok() {
        return Ok(());
    }
    parent(place)?;
    symlink(to, place)
}

/// `/proc` of the PID namespace of the box.
fn processes() -> Result<(), (PathBuf, io::Error)> {
    let proc = Path::new("/proc");
    let place = inside(proc);
    let fails = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    let mount = || {
        fs::create_dir_all(&place)?;
        sys::mount(c"proc", &text(&place)?, c"proc", flags::NOSUID | flags::NODEV | flags::NOEXEC, c"")
    };
    mount().map_err(fails(proc))?;
    let (limit, none) = USER_NAMESPACES;
    // Kernels without user namespaces do not come here; one without the limit is too old for the rest.
    fs::write(inside(Path::new(limit)), none).map_err(fails(Path::new(limit)))?;
    for name in SETTINGS {
        let setting = place.join(name);
        if fs::symlink_metadata(&setting).is_err() {
            continue;
        }
        let seal = || {
            let setting = text(&setting)?;
            sys::mount(&setting, &setting, c"", flags::BIND | flags::REC, c"")?;
            sys::mount_attributes(&setting, attributes::RDONLY | attributes::NOSUID | attributes::NODEV, true)
        };
        seal().map_err(fails(&proc.join(name)))?;
    }
    Ok(())
}
