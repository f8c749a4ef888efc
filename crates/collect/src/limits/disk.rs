//! How much the folders of an attempt have grown since it began.
//!
//! A walk through a workspace costs as much as it has files, so it is done in steps of a few milliseconds with pauses
//! that are many times as long. Where the file system has lost as much free space as is still allowed, the pauses are
//! short: others may have written it, and only a walk finds out.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{StatVfs, fstatvfs, statvfs};

use super::walk::{Step, Walk};
use crate::host::{Moment, after};

/// The longest step.
const STEP: Duration = Duration::from_millis(5);

/// The pause after a step, as a multiple of it: at most 5 % of one processor.
const PAUSE: u32 = 20;

/// The same while free space disappears: at most 25 %.
const PAUSE_URGENT: u32 = 3;

/// The shortest pause between two walks.
const BETWEEN: Duration = Duration::from_millis(200);

/// How long the first walk may delay the start of the process. What a longer one finds after the start counts as there
/// before.
const FIRST: Duration = Duration::from_millis(100);

/// Measures the folders again and again.
pub(super) struct DiskMeter {
    /// Without links, and none inside of another.
    folders: Vec<PathBuf>,
    /// File systems in memory that only the processes have, and what was in them before.
    memory: Vec<(File, u64)>,
    walk: Option<Walking>,
    /// What the last complete walk has found, and the one that all others are compared with.
    last: Option<u64>,
    first: Option<u64>,
    /// Free space of each folder's file system when the last walk began.
    free: Vec<u64>,
    next_at: Moment,
    urgent_at: Moment,
}

struct Walking {
    /// The folder that it is in.
    at: usize,
    walk: Walk,
    /// Of the folders before it.
    bytes: u64,
}

impl DiskMeter {
    pub(super) fn new<'a>(folders: impl Iterator<Item = &'a Path>) -> Self {
        let mut real: Vec<PathBuf> = folders.filter_map(|folder| fs::canonicalize(folder).ok()).collect();
        real.sort();
        real.dedup_by(|later, earlier| later.starts_with(&*earlier));
        let mut meter = Self {
            folders: real,
            memory: Vec::new(),
            walk: None,
            last: None,
            first: None,
            free: Vec::new(),
            next_at: 0,
            urgent_at: 0,
        };
        meter.step(FIRST);
        meter
    }

    /// The process has started. `folders`: mount points of file systems in memory that it shares with no other program.
    pub(super) fn started(&mut self, folders: impl Iterator<Item = PathBuf>) {
        let open = folders.filter_map(|folder| File::open(folder).ok());
        self.memory = open.map(|folder| (used(&folder), folder)).map(|(used, folder)| (folder, used)).collect();
    }

    /// What is there now counts as there before.
    pub(super) fn begin_again(&mut self) {
        self.first = self.last;
        for (folder, before) in &mut self.memory {
            *before = used(folder);
        }
    }

    /// Goes on with the walk, if it is due, and returns the growth that is known.
    pub(super) fn look(&mut self, now: Moment, limit: u64) -> u64 {
        let rest = limit.saturating_sub(self.growth());
        if now >= self.next_at || (now >= self.urgent_at && self.is_urgent(rest)) {
            let begin = Instant::now();
            let is_done = self.step(STEP);
            let spent = begin.elapsed();
            let ended = after(now, spent);
            let pause = if is_done { BETWEEN.max(spent * PAUSE) } else { spent * PAUSE };
            self.next_at = after(ended, pause);
            self.urgent_at = after(ended, spent * PAUSE_URGENT);
        }
        self.growth()
    }

    fn growth(&self) -> u64 {
        let in_folders = match (self.first, self.last) {
            (Some(first), Some(last)) => last.saturating_sub(first),
            (None, _) | (_, None) => 0,
        };
        let in_memory = self.memory.iter().map(|(folder, before)| used(folder).saturating_sub(*before));
        in_memory.fold(in_folders, u64::saturating_add)
    }

    /// Whether a walk was completed.
    fn step(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let Some(walking) = &mut self.walk else {
                self.free = self.folders.iter().map(|folder| free(folder)).collect();
                match self.folders.first() {
                    Some(folder) => self.walk = Some(Walking { at: 0, walk: Walk::new(folder), bytes: 0 }),
                    None => return true,
                }
                continue;
            };
            match walking.walk.step(until) {
                Step::Paused => return false,
                Step::Done(found) => {
                    walking.bytes = walking.bytes.saturating_add(found);
                    walking.at += 1;
                    match self.folders.get(walking.at) {
                        Some(folder) => walking.walk = Walk::new(folder),
                        None => {
                            self.last = Some(walking.bytes);
                            self.first = self.first.or(self.last);
                            self.walk = None;
                            return true;
                        }
                    }
                }
            }
        }
    }

    /// Whether a file system has less free space by the rest that is allowed.
    fn is_urgent(&self, rest: u64) -> bool {
        let lost = |(folder, before): (&PathBuf, &u64)| before.saturating_sub(free(folder));
        self.folders.iter().zip(&self.free).map(lost).any(|lost| lost >= rest)
    }
}

fn free(folder: &Path) -> u64 {
    statvfs(folder).map_or(0, |about| about.f_bfree.saturating_mul(about.f_frsize))
}

fn used(folder: &File) -> u64 {
    let used = |about: StatVfs| about.f_blocks.saturating_sub(about.f_bfree).saturating_mul(about.f_frsize);
    fstatvfs(folder).map_or(0, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, mebibytes: usize) {
        fs::write(path, vec![7; mebibytes << 20]).expect("written");
    }

    #[test]
    fn growth_is_counted_from_the_begin() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, home) = (folder.path().join("w"), folder.path().join("h"));
        fs::create_dir(&workspace).expect("a folder");
        fs::create_dir(&home).expect("a folder");
        write(&workspace.join("old"), 3);
        let mut meter = DiskMeter::new([workspace.as_path(), home.as_path(), &workspace.join("missing")].into_iter());
        assert_eq!(meter.look(0, 1 << 30), 0);
        write(&home.join("new"), 2);
        let now = meter.next_at;
        let growth = meter.look(now, 1 << 30);
        assert!((2 << 20..3 << 20).contains(&growth), "{growth}");
        meter.begin_again();
        fs::remove_file(workspace.join("old")).expect("removed");
        let now = meter.next_at;
        assert_eq!(meter.look(now, 1 << 30), 0, "a folder that became smaller has not grown");
    }

    #[test]
    fn a_folder_in_another_counts_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("a folder");
        let meter = DiskMeter::new([inner.as_path(), folder.path()].into_iter());
        assert_eq!(meter.folders, [fs::canonicalize(folder.path()).expect("real")]);
    }

    /// The pause after each step bounds the share of a processor.
    #[test]
    fn a_step_is_followed_by_a_pause() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut meter = DiskMeter::new([folder.path()].into_iter());
        meter.look(1_000_000_000, u64::MAX);
        assert!(meter.next_at >= after(1_000_000_000, BETWEEN));
        let next_at = meter.next_at;
        meter.look(next_at - 1, u64::MAX);
        assert_eq!(meter.next_at, next_at, "it is not due");
    }
}
