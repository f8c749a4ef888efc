//! When a message is retried. Pure.

use std::time::Duration;

/// Waits after the first try, the second, and so on; after the last of them the message is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    waits: Vec<Duration>,
}

/// Maximum wait that a receiver may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60 * 60);

impl Default for Schedule {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        let seconds = [5, 30, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR];
        Self { waits: seconds.map(Duration::from_secs).to_vec() }
    }
}

impl Schedule {
    #[cfg(test)]
    pub(super) fn every(wait: Duration, times: usize) -> Self {
        Self { waits: vec![wait; times] }
    }

    /// The wait after a number of failed tries, randomly up to a fifth longer, so that many messages do not arrive at
    /// once. None: give up. `asked` is what the receiver asked for.
    pub(super) fn wait_after(&self, tries: u32, asked: Option<Duration>, random: u16) -> Option<Duration> {
        let wait = *self.waits.get(usize::try_from(tries).ok()?.checked_sub(1)?)?;
        let wait = asked.map_or(wait, |asked| wait.max(asked.min(LONGEST_ASKED)));
        Some(wait + wait.mul_f64(f64::from(random) / f64::from(u16::MAX) / 5.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let schedule = Schedule::default();
        let waits: Vec<_> = (1..).map_while(|tries| schedule.wait_after(tries, None, 0)).map(|w| w.as_secs()).collect();
        assert_eq!(waits, [5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200]);
        assert_eq!(schedule.wait_after(0, None, 0), None);
    }

    #[test]
    fn chance_and_the_receiver_make_it_longer_within_bounds() {
        let schedule = Schedule::default();
        let seconds = |asked, random| schedule.wait_after(1, asked, random).unwrap().as_secs();
        assert_eq!(seconds(None, u16::MAX), 6);
        assert_eq!(seconds(Some(Duration::from_secs(60)), 0), 60);
        assert_eq!(seconds(Some(Duration::from_secs(1)), 0), 5);
        assert_eq!(seconds(Some(Duration::from_secs(u64::MAX)), 0), 3_600);
    }
}
