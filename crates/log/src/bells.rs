//! Wakes subscribers when a run changes.
//!
//! A bell says "look again" and nothing else, so it can neither lose an event nor fall behind.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use skillrun_base::sync::lock;
use skillrun_model::RunId;

/// Called when there may be something new. It runs on the thread that appended: it must be quick, and must not call the
/// Log.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// The same for subscribers to all runs: it gets the run.
pub type WakeAll = Arc<dyn Fn(RunId) + Send + Sync>;

/// The source of changes by other processes.
pub(crate) trait Outside: Send + Sync {
    fn watch(&self, run: RunId) -> io::Result<()>;
    fn unwatch(&self, run: RunId);
}

#[derive(Default)]
struct Inner {
    next: u64,
    runs: HashMap<RunId, Vec<(u64, Wake)>>,
    all: Vec<(u64, WakeAll)>,
}

pub(crate) struct Bells<O> {
    inner: Mutex<Inner>,
    pub(crate) outside: O,
}

impl<O> fmt::Debug for Bells<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bells").field("runs", &self.lock().runs.len()).finish_non_exhaustive()
    }
}

impl<O> Bells<O> {
    pub(crate) fn new(outside: O) -> Self {
        Self { inner: Mutex::default(), outside }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    pub(crate) fn ring(&self, run: RunId) {
        // Called outside of the lock, so that a waker may drop its subscription.
        let (wakes, all): (Vec<Wake>, Vec<WakeAll>) = {
            let inner = self.lock();
            let of_run = inner.runs.get(&run).into_iter().flatten();
            (of_run.map(|(_, wake)| wake.clone()).collect(), inner.all.iter().map(|(_, wake)| wake.clone()).collect())
        };
        for wake in wakes {
            wake();
        }
        for wake in all {
            wake(run);
        }
    }
}

impl<O: Outside + 'static> Bells<O> {
    pub(crate) fn subscribe(self: &Arc<Self>, run: RunId, wake: Wake) -> Subscription {
        let mut inner = self.lock();
        let id = inner.next;
        inner.next += 1;
        inner.runs.entry(run).or_default().push((id, wake));
        drop(inner);
        let bells: Weak<Self> = Arc::downgrade(self);
        Subscription {
            end: Some(Box::new(move || {
                if let Some(bells) = bells.upgrade() {
                    bells.unsubscribe(run, id);
                }
            })),
        }
    }

    /// Rung for every run. Nothing outside is watched for it: there may be any number of runs.
    pub(crate) fn subscribe_all(self: &Arc<Self>, wake: WakeAll) -> Subscription {
        let mut inner = self.lock();
        let id = inner.next;
        inner.next += 1;
        inner.all.push((id, wake));
        drop(inner);
        let bells: Weak<Self> = Arc::downgrade(self);
        Subscription {
            end: Some(Box::new(move || {
                if let Some(bells) = bells.upgrade() {
                    // Dropped outside of the lock: a waker may own values that call this module.
                    let ended: Vec<_> = bells.lock().all.extract_if(.., |(other, _)| *other == id).collect();
                    drop(ended);
                }
            })),
        }
    }

    /// Starts or stops watching the changes by other processes for this run, depending on its subscribers.
    pub(crate) fn update_watch(&self, run: RunId, has_writer_here: impl Fn() -> bool) -> io::Result<()> {
        // Checked and done under the lock, so that a concurrent subscribe and unsubscribe do not undo each other.
        let inner = self.lock();
        if inner.runs.contains_key(&run) && !has_writer_here() {
            self.outside.watch(run)
        } else {
            self.outside.unwatch(run);
            Ok(())
        }
    }

    fn unsubscribe(&self, run: RunId, id: u64) {
        let mut inner = self.lock();
        if let Some(all) = inner.runs.get_mut(&run) {
            all.retain(|(other, _)| *other != id);
            if all.is_empty() {
                inner.runs.remove(&run);
                self.outside.unwatch(run);
            }
        }
    }
}

/// While it lives, its waker is called.
#[must_use = "the waker is not called any more once this is dropped"]
pub struct Subscription {
    end: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

/// For Logs that no other process can reach.
#[derive(Debug)]
pub(crate) struct NoOutside;

impl Outside for NoOutside {
    fn watch(&self, _: RunId) -> io::Result<()> {
        Ok(())
    }
    fn unwatch(&self, _: RunId) {}
}
