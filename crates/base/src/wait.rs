//! Waits for something that no event announces: another process, or another thread, that is about to be done.

use std::thread;
use std::time::{Duration, Instant};

/// Calls `is_done` until it returns true, at most for the time `within`, with a pause of `step` between two calls.
/// Returns whether it returned true. It is called at least once, and for the last time after the time is over.
pub fn wait_until(within: Duration, step: Duration, is_done: impl FnMut() -> bool) -> bool {
    retry(within, step, is_done, |is_done| !is_done)
}

/// Calls `attempt` until its result is final, at most for the time `within`, with a pause of `step` between two calls.
/// Returns the last result, which is transient where the time was too short.
pub fn retry<T>(
    within: Duration,
    step: Duration,
    mut attempt: impl FnMut() -> T,
    is_transient: impl Fn(&T) -> bool,
) -> T {
    let begin = Instant::now();
    loop {
        let is_late = begin.elapsed() >= within;
        let result = attempt();
        if is_late || !is_transient(&result) {
            return result;
        }
        thread::sleep(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn it_ends_with_the_first_final_result() {
        let mut calls = 0;
        let counted = || {
            calls += 1;
            calls
        };
        assert_eq!(retry(LONG, Duration::ZERO, counted, |count| *count < 5), 5);
        assert!(wait_until(LONG, LONG, || true), "it did not return at once");
    }

    #[test]
    fn the_last_result_is_returned_when_the_time_is_over() {
        assert_eq!(retry(Duration::ZERO, LONG, || "held", |_| true), "held");
        let begin = Instant::now();
        let within = Duration::from_millis(20);
        assert!(!wait_until(within, Duration::from_millis(1), || false));
        assert!(begin.elapsed() >= within);
    }

    /// A thread that was not scheduled for long still checks once after the time is over.
    #[test]
    fn the_last_check_is_made_after_the_time_is_over() {
        let begin = Instant::now();
        let within = Duration::from_millis(20);
        assert!(wait_until(within, LONG.min(within * 2), || begin.elapsed() >= within));
    }
}
