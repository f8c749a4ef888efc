//! The same work for many things, on all cores.

use std::sync::Mutex;
use std::thread;

/// What `work` makes of each item, in the order of the items. A panic in `work` is a panic here.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let take = || next.lock().expect("no worker panics while it takes an item").next();
    let worker = || {
        while let Some((at, item)) = take() {
            let made = work(item);
            done.lock().expect("no worker panics while it hands in").push((at, made));
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from).min(items.len());
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let mut done = done.into_inner().expect("all workers are gone");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}
