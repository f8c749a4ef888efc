//! Many durations as a few numbers.

use std::time::Duration;

/// Durations in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread(Vec<Duration>);

impl Spread {
    pub(crate) fn new(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        Self(all)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    pub(crate) fn max(&self) -> Duration {
        self.percentile(100)
    }

    /// The smallest value that this many of a hundred do not exceed; zero if there are none.
    fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

pub(crate) fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}

pub(crate) fn us(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

pub(crate) fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl Iterator<Item = u64>) -> Spread {
        Spread::new(millis.map(Duration::from_millis).collect())
    }

    #[test]
    fn percentiles_are_members_that_so_many_do_not_exceed() {
        let hundred = of((1..=100).rev());
        assert_eq!(hundred.p50(), Duration::from_millis(50));
        assert_eq!(hundred.p99(), Duration::from_millis(99));
        assert_eq!(hundred.max(), Duration::from_millis(100));
        let three = of([7, 1, 5].into_iter());
        assert_eq!((three.p50(), three.p99()), (Duration::from_millis(5), Duration::from_millis(7)));
        let one = of([3].into_iter());
        assert_eq!((one.p50(), one.p99(), one.max()), (one.max(), one.max(), Duration::from_millis(3)));
    }

    #[test]
    fn nothing_has_no_percentiles() {
        let none = Spread::default();
        assert_eq!((none.len(), none.p50(), none.max()), (0, Duration::ZERO, Duration::ZERO));
    }
}
