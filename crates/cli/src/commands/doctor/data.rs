//! The data folder, and the runs in it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{statfs, statvfs};
use skillrun_catalog::{Catalog, Opened};
use skillrun_log::LogErrorKind;
use skillrun_model::error_class::file_error_reason as reason;
use skillrun_model::{IgnoredError, RunId, RunStatus};
use skillrun_runs::owner_sockets::crashed;

use super::Check;
use crate::place::CommandContext;
use crate::short_ids::ShortIds;
use crate::words::{counted, from_now, now, size};

/// With less free space than this, a larger run cannot be recorded.
const LITTLE: u64 = 1_000_000_000;
/// With less than this, hardly any run can be recorded.
const TOO_LITTLE: u64 = 100_000_000;

/// Remote file systems: locks, sockets and change notifications may not work there.
const REMOTE: [(u64, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
];

/// Number of bytes of all Logs that are read, newest first.
const MOST_BYTES: u64 = 256 << 20;
/// Runs that are listed if there are more.
const NAMED: usize = 3;

pub(super) fn folder(place: &CommandContext) -> Vec<Check> {
    let root = place.settings.data.root();
    if !root.exists() {
        let existing = root.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        let made = match rustix::fs::access(existing, rustix::fs::Access::WRITE_OK) {
            Ok(()) => Check::good("data", format!("{} is created with the first run", root.display())),
            Err(_) => Check::wrong(
                "data",
                format!("{} does not exist, and cannot be created in {}", root.display(), existing.display()),
                "choose another folder with --data DIR",
            ),
        };
        return vec![made, disk(existing)];
    }
    let mut checks = vec![writable(root), disk(root)];
    let socket = socket(root).map_or_else(
        |error| {
            Check::wrong(
                "socket",
                reason(&error),
                "move the data folder to a local disk, with `skillrun config set data DIR`",
            )
        },
        |()| Check::good("socket", "can be created"),
    );
    checks.push(socket);
    checks
}

fn writable(root: &Path) -> Check {
    let probe = root.join(format!(".doctor.{}", std::process::id()));
    let written = File::create_new(&probe).and_then(|file| file.sync_all());
    fs::remove_file(&probe).ignored();
    let found = root.display().to_string();
    match written {
        Ok(()) => Check::good("data", found),
        Err(error) => Check::wrong(
            "data",
            format!("{found} cannot be written ({})", reason(&error)),
            "make it writable for this user, or choose another folder with --data DIR",
        ),
    }
}

fn disk(folder: &Path) -> Check {
    let (space, system) = match (statvfs(folder), statfs(folder)) {
        (Ok(space), Ok(system)) => (space, system),
        (Err(error), _) | (_, Err(error)) => {
            return Check::warning("disk", io::Error::from(error).to_string(), "check it yourself with `df`");
        }
    };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    // Only the low half of the number counts, whatever the sign of its type here.
    let kind = system.f_type.cast_unsigned() & 0xffff_ffff;
    let remote = REMOTE.iter().find(|(number, _)| *number == kind);
    let found = format!("{} free", size(free));
    match (free, remote) {
        (..TOO_LITTLE, _) => {
            Check::wrong("disk", found, "free some space; `skillrun gc --dry-run` shows what can be removed")
        }
        (..LITTLE, _) => Check::warning("disk", found, "`skillrun gc --dry-run` shows what can be removed"),
        (LITTLE.., Some((_, name))) => Check::warning(
            "disk",
            format!("{found}, on {name}"),
            "put the data folder on a local disk; locks and sockets may not work there",
        ),
        (LITTLE.., None) => Check::good("disk", found),
    }
}

/// Created as an owner process creates it: through the folder's descriptor, because a path may be too long for a socket.
fn socket(root: &Path) -> io::Result<()> {
    let folder = File::open(root)?;
    let name = format!(".doctor.{}.sock", std::process::id());
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    let made = UnixListener::bind(&path).map(drop);
    fs::remove_file(&path).ignored();
    made
}

pub(super) fn runs(place: &CommandContext) -> Vec<Check> {
    let data = &place.settings.data;
    if !data.runs().exists() {
        return vec![Check::good("runs", "there are none yet")];
    }
    let dead = crashed(data).len();
    let mut checks = Vec::new();
    if dead > 0 {
        let found = format!("{} died with unfinished runs", counted(dead, "owner process", "owner processes"));
        checks.push(Check::wrong("owners", found, "`skillrun recover` resumes them"));
    }
    let (mut catalog, opened) = match Catalog::open(&data.catalog(), &data.runs()) {
        Ok(opened) => opened,
        Err(error) => {
            checks.push(Check::wrong("catalog", error.to_string(), "make the data folder writable for this user"));
            return checks;
        }
    };
    let refreshed = catalog.refresh(&place.log);
    checks.push(match (&opened, refreshed) {
        (_, Err(error)) => Check::wrong("catalog", error.to_string(), "make the data folder writable for this user"),
        (Opened::Good | Opened::Made, Ok(refreshed)) => {
            Check::good("catalog", format!("is good, with {}", counted(refreshed.runs, "run", "runs")))
        }
        (Opened::Rebuilt { .. }, Ok(_)) => Check::good("catalog", opened.to_string()),
        (Opened::InMemory { .. }, Ok(_)) => {
            Check::warning("catalog", opened.to_string(), "make the data folder writable for this user")
        }
    });
    checks.push(logs(place));
    checks.extend(without_owner(place, &mut catalog));
    checks.extend(from_the_future(&mut catalog));
    checks
}

fn logs(place: &CommandContext) -> Check {
    let mut left = MOST_BYTES;
    let (mut looked, mut damaged) = (0, Vec::new());
    let ids = place.ids();
    for run in ids.iter().rev() {
        let bytes = fs::metadata(place.folder(*run).events()).map_or(0, |found| found.len());
        let Some(rest) = left.checked_sub(bytes) else { break };
        left = rest;
        looked += 1;
        match place.log.check(*run) {
            Ok(None) => {}
            Ok(Some(damage)) => damaged.push((*run, damage.to_string())),
            // Being created, or being removed.
            Err(error) if matches!(error.kind, LogErrorKind::NotFound | LogErrorKind::Gone) => {}
            Err(error) => damaged.push((*run, error.kind.to_string())),
        }
    }
    let of = if looked < ids.len() { format!(" of {}, the newest", ids.len()) } else { String::new() };
    match damaged.as_slice() {
        [] => Check::good("logs", format!("{looked}{of} checked, none is damaged")),
        [(run, damage), ..] => Check::wrong(
            "logs",
            format!("{} of {looked}{of} damaged; {run}: {damage}", damaged.len()),
            format!("`skillrun verify {run}` shows details; other runs are not affected"),
        ),
    }
}

/// Runs that should have an owner process and have none.
fn without_owner(place: &CommandContext, catalog: &mut Catalog) -> Option<Check> {
    let mut alone: Vec<RunId> = Vec::new();
    for run in catalog.not_terminal().unwrap_or_default() {
        // A damaged run cannot be resumed, and is reported by another check.
        let row = catalog.get(run).ok().flatten().filter(|row| row.damage.is_none());
        let status = row.and_then(|row| row.status);
        let is_at_work = matches!(status, Some(RunStatus::Queued | RunStatus::Running));
        if is_at_work && place.owner(run).is_none() {
            alone.push(run);
        }
    }
    if alone.is_empty() {
        return None;
    }
    let ids = ShortIds::new(&place.ids());
    let mut names: Vec<String> = alone.iter().take(NAMED).map(|run| ids.of(*run)).collect();
    if alone.len() > NAMED {
        names.push("…".to_owned());
    }
    let found = format!("no process works on {}: {}", counted(alone.len(), "run", "runs"), names.join(", "));
    Some(Check::wrong("runs", found, "`skillrun recover` resumes them"))
}

/// A clock that was set back makes new runs look old.
fn from_the_future(catalog: &mut Catalog) -> Option<Check> {
    let query = skillrun_catalog::Query { limit: Some(1), ..Default::default() };
    let newest = catalog.list(&query).ok()?.pop()?;
    let (began, now) = (newest.created_at?, now());
    let ahead = began.millis_since(now)?;
    (ahead > 60_000).then(|| {
        let found = format!("run {} begins {}", newest.run_id, from_now(began, now));
        Check::warning("clock", found, "set the clock; deadlines and lists depend on it")
    })
}
