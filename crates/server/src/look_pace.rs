//! When to look again at something that rings a bell at each change: at once, and at growing intervals while it rings
//! without a pause.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::stopping::stopped;

/// The first interval while a bell rings without a pause.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The last one.
const LONGEST_INTERVAL: Duration = Duration::from_millis(20);

/// The pace of looks at one thing. Pure.
#[derive(Debug, Clone, Copy)]
struct LookPace {
    /// The last look.
    looked: Instant,
    /// The interval after it.
    interval: Duration,
}

impl LookPace {
    fn new(looked: Instant) -> Self {
        Self { looked, interval: Duration::ZERO }
    }

    /// When to look after the bell rang at `rung`.
    fn due(&mut self, rung: Instant) -> Instant {
        if rung >= self.looked + self.interval + LONGEST_INTERVAL {
            self.interval = Duration::ZERO;
        }
        rung.max(self.looked + self.interval)
    }

    fn looked(&mut self, at: Instant) {
        self.looked = at;
        self.interval = (self.interval * 2).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
    }
}

/// Looks at something until it is as wanted, the time is up, or the server stops; returns what was seen last.
pub(crate) async fn look_until<T, E, F: Future<Output = Result<T, E>>>(
    bell: &Notify,
    deadline: Instant,
    mut stop: watch::Receiver<bool>,
    mut look: impl FnMut() -> F,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<T, E> {
    let mut seen = look().await?;
    let mut pace = LookPace::new(Instant::now());
    while !is_wanted(&seen) && Instant::now() < deadline {
        tokio::select! {
            () = bell.notified() => sleep_until(pace.due(Instant::now()).min(deadline)).await,
            () = sleep_until(deadline) => {}
            () = stopped(&mut stop) => break,
        }
        seen = look().await?;
        pace.looked(Instant::now());
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::sync::Arc;

    use super::*;

    const WAIT: Duration = Duration::from_secs(60);

    /// Rings a bell at these intervals, looks until the look with this number, and returns how long that took and the
    /// number of looks.
    async fn looks(intervals: Vec<Duration>, wanted: usize) -> (Duration, usize) {
        let (bell, begin, count) = (Arc::new(Notify::new()), Instant::now(), Cell::new(0));
        let ringing = bell.clone();
        tokio::spawn(async move {
            for interval in intervals {
                tokio::time::sleep(interval).await;
                ringing.notify_one();
            }
        });
        let (_stop, stopping) = watch::channel(false);
        let look = || {
            count.set(count.get() + 1);
            let number = count.get();
            async move { Ok::<usize, Infallible>(number) }
        };
        look_until(&bell, begin + WAIT, stopping, look, |number| *number == wanted).await.expect("looked");
        (begin.elapsed(), count.get())
    }

    /// Each look came 20 ms after its bell, so that waiting was slower than polling.
    #[tokio::test(start_paused = true)]
    async fn a_bell_after_a_pause_is_followed_at_once() {
        let second = Duration::from_secs(1);
        assert_eq!(looks(vec![second], 2).await, (second, 2));
        assert_eq!(looks(vec![second; 5], 6).await, (5 * second, 6));
    }

    #[tokio::test(start_paused = true)]
    async fn a_bell_without_a_pause_is_followed_at_growing_intervals() {
        let millisecond = Duration::from_millis(1);
        let (elapsed, count) = looks(vec![millisecond; 2_000], usize::MAX).await;
        assert_eq!(elapsed, WAIT, "until the time is up");
        assert!((100..=120).contains(&count), "{count} looks at 2,000 changes in two seconds");
        // A burst at the end of a run: the last change is seen soon after it.
        let (elapsed, _) = looks(vec![millisecond; 4], 4).await;
        assert!(elapsed <= 8 * millisecond, "{elapsed:?}");
    }
}
