//! Locks between threads of one process, which a thread that panicked does not make unusable.
//!
//! A lock is poisoned when a thread panics while it holds the lock. Everything behind the locks of this program is valid
//! at any time, so that the other threads can continue.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a mutex that no other thread uses any more.
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the condition variable is notified. It may return earlier, so callers check their condition again.
pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits while `is_waiting` returns true, at most until the deadline; without a deadline, indefinitely. None when the
/// deadline came first.
pub fn wait_while<'a, T>(
    condition: &Condvar,
    mut guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
    mut is_waiting: impl FnMut(&mut T) -> bool,
) -> Option<MutexGuard<'a, T>> {
    while is_waiting(&mut guard) {
        guard = match deadline {
            None => wait(condition, guard),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                wait_timeout(condition, guard, left)
            }
        };
    }
    Some(guard)
}

/// Waits until it is notified, for at most this time.
pub fn wait_timeout<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
    condition.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_while_the_lock_is_held_does_not_make_it_unusable() {
        let mutex = Mutex::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut value = lock(&mutex);
            *value = 2;
            panic!("while it holds the lock");
        }));
        assert!(panicked.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
        let condition = Condvar::new();
        assert_eq!(*wait_timeout(&condition, lock(&mutex), Duration::from_millis(1)), 2);
        assert_eq!(into_inner(mutex), 2);
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let (mutex, condition) = (Mutex::new(false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *lock(&mutex) = true;
                condition.notify_all();
            });
            let deadline = Instant::now() + Duration::from_secs(60);
            assert!(wait_while(&condition, lock(&mutex), Some(deadline), |is_set| !*is_set).is_some());
            assert!(wait_while(&condition, lock(&mutex), None, |is_set| !*is_set).is_some());
            assert!(wait_while(&condition, lock(&mutex), Some(Instant::now()), |is_set| *is_set).is_none());
        });
    }
}
