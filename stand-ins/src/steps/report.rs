//! What a process can report about itself: what its host gave it. The fields are described in [the table](super).

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::{env, fs, io, process};

use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{isatty, tcgetwinsize};
use serde_json::{Map, Value, json};

/// The line that `report` writes.
pub(super) fn line() -> io::Result<Vec<u8>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let streams = [stdin(), stdout(), stderr()];
    let family = family(&fs::read_to_string("/proc/self/stat")?);
    let report = json!({
        "tty": streams.map(isatty),
        "pid": process::id(),
        "ppid": family.parent,
        "sid": family.session,
        "pgid": family.group,
        "cwd": env::current_dir()?.to_string_lossy(),
        "sigign": field(&status, "SigIgn:"),
        "sigblk": field(&status, "SigBlk:"),
        "umask": field(&status, "Umask:"),
        "fds": descriptors()?,
        "stdin": fs::read_link("/proc/self/fd/0")?.to_string_lossy(),
        "winsize": window(streams),
        "pipe_size": rustix::pipe::fcntl_getpipe_size(stdout()).ok(),
        "env": environment(),
    });
    Ok(format!("{report}\n").into_bytes())
}

/// Numbers of other processes. Zero where the process is outside of the PID namespace: a container can
/// share the session of the one that started it, and then no number can be reported.
struct Family {
    parent: u32,
    group: u32,
    session: u32,
}

/// The fields after the name, which stands in brackets and may hold anything.
fn family(stat: &str) -> Family {
    let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().skip(1);
    let mut next = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
    Family { parent: next(), group: next(), session: next() }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Open descriptors, without the one that lists them: it is known by what it leads to.
fn descriptors() -> io::Result<Vec<u32>> {
    let own = format!("/proc/{}/fd", process::id());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        let is_list = fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(&own));
        let number: Option<u32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        found.extend(number.filter(|_| !is_list));
    }
    found.sort_unstable();
    Ok(found)
}

fn window(streams: [BorrowedFd<'_>; 3]) -> Option<[u16; 2]> {
    streams.into_iter().find_map(|stream| tcgetwinsize(stream).ok()).map(|size| [size.ws_col, size.ws_row])
}

fn environment() -> Map<String, Value> {
    env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned().into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CI failed where the session belonged to a process outside of the PID namespace.
    #[test]
    fn a_session_that_cannot_be_seen_is_zero() {
        let Family { parent, group, session } = family("12 (a) b) S 7 12 0 0 -1");
        assert_eq!((parent, group, session), (7, 12, 0));
    }

    #[test]
    fn a_report_is_one_line_of_json_with_every_field() {
        let line = line().expect("a report");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let report: Value = serde_json::from_slice(&line).expect("JSON");
        let fields = "tty pid ppid sid pgid cwd sigign sigblk umask fds stdin winsize pipe_size env";
        assert_eq!(report.as_object().expect("an object").keys().map(String::as_str).collect::<Vec<_>>(), {
            fields.split(' ').collect::<Vec<_>>()
        });
        assert_eq!(report["pid"], std::process::id());
        assert_eq!(report["sigign"].as_str().map(str::len), Some(16));
        let umask = report["umask"].as_str().expect("a mask");
        assert!(u32::from_str_radix(umask, 8).is_ok(), "{umask}");
    }
}
