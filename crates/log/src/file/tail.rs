//! Changes by other processes: one thread and one inotify descriptor for all runs, created when the first reader waits
//! for a run that another process writes. Runs whose writer is in this process need neither.
//!
//! The system limits how many files a user may watch. A run for which it refuses is polled four times a second: a late
//! reader is better than a refused one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use skillrun_base::sync::lock;
use skillrun_model::RunId;

use super::folder::Folder;
use crate::bells::{Bells, Outside};
use skillrun_model::IgnoredError;

const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Watches files of runs and rings their bells.
pub(super) struct Watcher {
    runs: PathBuf,
    bells: Weak<Bells<Watcher>>,
    watch: Mutex<Option<Arc<Watch>>>,
}

struct Watch {
    /// None when the system refused: then every run is polled.
    inotify: Option<OwnedFd>,
    /// Wakes the thread, so that it stops or polls a run.
    wake: OwnedFd,
    state: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    by_run: HashMap<RunId, i32>,
    by_descriptor: HashMap<i32, RunId>,
    refused: HashSet<RunId>,
    is_over: bool,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Watcher {
    pub(super) fn new(runs: PathBuf, bells: Weak<Bells<Self>>) -> Self {
        Self { runs, bells, watch: Mutex::default() }
    }

    fn started(&self) -> io::Result<Arc<Watch>> {
        let mut watch = lock(&self.watch);
        if let Some(watch) = watch.as_ref() {
            return Ok(watch.clone());
        }
        let started = Arc::new(Watch {
            inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok(),
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            state: Mutex::default(),
        });
        let (watching, bells) = (started.clone(), self.bells.clone());
        thread::Builder::new().name("log-tail".to_owned()).spawn(move || watching.run(&bells))?;
        *watch = Some(started.clone());
        Ok(started)
    }

    #[cfg(test)]
    pub(super) fn watched(&self) -> (usize, usize) {
        let watch = lock(&self.watch);
        watch.as_ref().map_or((0, 0), |watch| {
            let state = lock(&watch.state);
            (state.by_run.len(), state.refused.len())
        })
    }
}

impl Outside for Watcher {
    fn watch(&self, run: RunId) -> io::Result<()> {
        self.started()?.add(run, &Folder::new(&self.runs, run));
        Ok(())
    }

    fn unwatch(&self, run: RunId) {
        if let Some(watch) = lock(&self.watch).as_ref() {
            watch.remove(run);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(watch) = lock(&self.watch).take() {
            lock(&watch.state).is_over = true;
            watch.ring();
        }
    }
}

impl Watch {
    fn add(&self, run: RunId, folder: &Folder) {
        // Held while the system adds the watch, so that the thread knows the descriptor before it gets an event for it.
        let mut state = lock(&self.state);
        if state.by_run.contains_key(&run) || state.refused.contains(&run) {
            return;
        }
        // A file that is removed while a process has it open only changes its attributes.
        let news = WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let added = self.inotify.as_ref().map(|inotify| inotify::add_watch(inotify, folder.events(), news));
        match added {
            Some(Ok(descriptor)) => {
                state.by_run.insert(run, descriptor);
                state.by_descriptor.insert(descriptor, run);
            }
            Some(Err(_)) | None => {
                state.refused.insert(run);
                drop(state);
                self.ring();
            }
        }
    }

    fn remove(&self, run: RunId) {
        let mut state = lock(&self.state);
        state.refused.remove(&run);
        if let Some(descriptor) = state.by_run.remove(&run) {
            state.by_descriptor.remove(&descriptor);
            if let Some(inotify) = &self.inotify {
                // The watch is already gone when the file is.
                inotify::remove_watch(inotify, descriptor).ignored();
            }
        }
    }

    fn ring(&self) {
        // Fails only after 2^64 wakes that were not read.
        rustix::io::write(&self.wake, &1_u64.to_ne_bytes()).ignored();
    }

    fn run(&self, bells: &Weak<Bells<Watcher>>) {
        loop {
            let state = lock(&self.state);
            if state.is_over {
                return;
            }
            let timeout = (!state.refused.is_empty()).then_some(&POLL_INTERVAL);
            drop(state);
            let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
            fds.extend(self.inotify.as_ref().map(|inotify| PollFd::new(inotify, PollFlags::IN)));
            let ready = match poll(&mut fds, timeout) {
                Ok(ready) => ready,
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            rustix::io::read(&self.wake, &mut [0; 8]).ignored();
            let mut news = self.changed_runs();
            if ready == 0 {
                news.extend(&lock(&self.state).refused);
            }
            let Some(bells) = bells.upgrade() else { return };
            for run in news {
                bells.ring(run);
            }
        }
    }

    /// Runs that have changes, each once.
    fn changed_runs(&self) -> HashSet<RunId> {
        let mut news = HashSet::new();
        let Some(inotify) = &self.inotify else { return news };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let mut state = lock(&self.state);
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Events were lost, so all runs are reported.
                news.extend(state.by_run.keys());
            } else if event.events().contains(ReadFlags::IGNORED) {
                if let Some(run) = state.by_descriptor.remove(&event.wd()) {
                    state.by_run.remove(&run);
                    news.insert(run);
                }
            } else {
                news.extend(state.by_descriptor.get(&event.wd()));
            }
        }
        news
    }
}
