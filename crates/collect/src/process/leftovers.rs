//! Processes that a killed host left behind. Every process of an attempt has a tag in its environment; the processes
//! that have it, or are in the host's control group, and all their descendants, are terminated.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use skillrun_evidence::host_record::Survivor;

use super::cgroup::Cgroup;
use super::list::{self, Process};
use super::tree::descendants_of;
use crate::environment::TAG;
use crate::limits::groups;

/// Time limit for terminating leftovers.
const LEFTOVERS_TIMEOUT: Duration = Duration::from_secs(4);

/// Number of rounds without a match until the search ends; a process may be between fork and exec during a scan.
const QUIET_ROUNDS: u32 = 2;

/// Terminates every process of the host with this nonce.
pub(crate) fn end(nonce: &str) -> Vec<Survivor> {
    let begin = Instant::now();
    // A process that cleared its environment may still be in the group. The group is removed afterwards.
    let group = Cgroup::left_by(nonce);
    let mut ended: HashMap<(u32, u64), Survivor> = HashMap::new();
    let mut quiet = 0;
    while quiet < QUIET_ROUNDS && begin.elapsed() < LEFTOVERS_TIMEOUT {
        let members = group.as_ref().and_then(|group| group.members().ok()).unwrap_or_default();
        let found = find(nonce, &members);
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        for process in found {
            process.send(Signal::KILL);
            ended.entry((process.pid, process.began)).or_insert_with(|| process.survivor());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(group);
    groups::remove_left(nonce);
    let mut survivors: Vec<_> = ended.into_values().collect();
    survivors.sort_unstable_by_key(|survivor| survivor.pid);
    survivors
}

/// All processes that have the tag or are in the group, and all their descendants, even if these have dropped the tag.
fn find(nonce: &str, members: &[u32]) -> Vec<Process> {
    let all = list::all();
    let is_marked = |pid: u32| members.contains(&pid) || carries(pid, nonce);
    let is_ours = |process: &&Process| !process.is_over && process.pid != std::process::id() && is_marked(process.pid);
    let mut found: HashMap<u32, Process> =
        all.iter().filter(is_ours).map(|process| (process.pid, process.clone())).collect();
    let roots = found.keys().copied().collect();
    for process in descendants_of(roots, all) {
        if process.pid != std::process::id() {
            found.entry(process.pid).or_insert(process);
        }
    }
    found.into_values().collect()
}

fn carries(pid: u32, nonce: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    has_tag(&environment, nonce)
}

/// `SKILLRUN_ATTEMPT=run/attempt/nonce`; only the nonce is compared, because a sticky process continues into later
/// attempts.
fn has_tag(environment: &[u8], nonce: &str) -> bool {
    environment.split(|b| *b == 0).any(|variable| {
        let value = variable.strip_prefix(TAG.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.and_then(|value| value.rsplit(|b| *b == b'/').next()).is_some_and(|last| last == nonce.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tag_of_this_attempt_counts() {
        assert!(has_tag(b"A=1\0SKILLRUN_ATTEMPT=r/1/abc\0B=2\0", "abc"));
        assert!(has_tag(b"SKILLRUN_ATTEMPT=r/1/abc", "abc"));
        for other in ["SKILLRUN_ATTEMPT=r/1/abcd", "SKILLRUN_ATTEMPTS=r/1/abc", "X=SKILLRUN_ATTEMPT=r/1/abc", "abc", ""]
        {
            assert!(!has_tag(other.as_bytes(), "abc"), "{other}");
        }
    }
}
