//! The time, as an input.
//!
//! There are two clocks. The wall clock names moments that have a meaning to users and to other processes, and it can
//! be set. The running time only ever grows, and has no meaning outside of this boot. Moments that are written down are
//! wall time; how long this process waits for one is measured in running time, from the moment at which it began to
//! wait.

use std::fmt;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use skillrun_model::Timestamp;

pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Time since some moment of this boot, suspended time included. Setting the wall clock does not change it.
    fn running(&self) -> Duration;

    /// The same without suspended time: for the timeouts of this process.
    fn awake(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
    }

    /// Waits before something is tried again.
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock outside of the representable range counts as none.
        Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::EPOCH)
    }

    fn running(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
    }
}

/// How long it is until a moment.
pub(crate) fn until_moment(now: Timestamp, at: Timestamp) -> Duration {
    // The extra millisecond covers a moment that is less than a millisecond away.
    at.millis_since(now).map_or(Duration::ZERO, |millis| Duration::from_millis(millis + 1))
}

/// How long a question still waits for its answer, by the current wall clock. Never longer than its whole time: a clock
/// that was set back since the question was asked does not make it wait for hours again.
pub(crate) fn time_left(now: Timestamp, deadline: Timestamp, whole: Duration) -> Duration {
    until_moment(now, deadline).min(whole.saturating_add(Duration::from_millis(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_no_longer_than_its_whole_time() {
        let at = |seconds: u64| Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000);
        let (hour, whole) = (3600, Duration::from_secs(60));
        let left = |now: u64| time_left(at(now), at(10 * hour + 60), whole).as_secs();
        assert_eq!(left(10 * hour), 60);
        assert_eq!(left(10 * hour + 20), 40);
        assert_eq!(left(10 * hour + 60), 0);
        assert_eq!(left(13 * hour), 0, "set forward, or the time passed while no owner was there");
        assert_eq!(left(7 * hour), 60, "set back");
    }

    #[test]
    fn the_running_time_grows() {
        let first = SystemClock.running();
        assert!(first > Duration::ZERO && SystemClock.running() >= first);
    }
}
