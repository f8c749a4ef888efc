//! When a quota is available again, as engines and the services behind them report it: a duration from now, a moment, a
//! time of day. A time of day counts only with its zone; nothing is guessed. A reset time in the past, or more than 31
//! days away, is nonsense and ignored.

mod phrases;
#[cfg(test)]
mod tests;
mod value;

use std::time::Duration;

use skillrun_model::Timestamp;

/// No quota takes longer to reset.
const LATEST: Duration = Duration::from_secs(31 * 24 * 60 * 60);

/// Longest part of a message that is examined.
const WINDOW: usize = 4096;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A reset as it was reported. Its meaning depends on when that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    After(Duration),
    At(Timestamp),
    /// The next time at which it is this many minutes past midnight, UTC.
    Daily {
        minutes: u16,
    },
}

impl Reset {
    /// The moment that is meant by a report made at `told`; none where that is nonsense.
    pub fn moment(self, told: Timestamp) -> Option<Timestamp> {
        let moment = match self {
            Self::After(wait) => plus(told, wait),
            Self::At(moment) => moment,
            Self::Daily { minutes } => {
                let now = told.millis_since(Timestamp::EPOCH)?;
                let today = now - now % DAY_MS + u64::from(minutes) * 60_000;
                at_millis(if today > now { today } else { today + DAY_MS })
            }
        };
        (moment > told && moment <= plus(told, LATEST)).then_some(moment)
    }

    /// A number of seconds or milliseconds since 1970, whichever is possible.
    pub fn since_epoch(number: u64) -> Option<Self> {
        match number {
            1_000_000_000..10_000_000_000 => Some(Self::At(at_millis(number * 1000))),
            1_000_000_000_000..10_000_000_000_000 => Some(Self::At(at_millis(number))),
            _ => None,
        }
    }

    /// The value of a header `retry-after`: seconds, or a date.
    pub fn of_header(value: &str) -> Option<Self> {
        let value = value.trim();
        match value.parse::<u32>() {
            Ok(seconds) => Some(Self::After(Duration::from_secs(seconds.into()))),
            Err(_) => value::http_date(value).map(Self::At),
        }
    }
}

/// The moment that a text written at `told` reports.
pub fn in_text(text: &str, told: Timestamp) -> Option<Timestamp> {
    let window = &text[..text.floor_char_boundary(WINDOW)];
    phrases::each(&window.to_ascii_lowercase(), |reset| reset.moment(told))
}

fn plus(moment: Timestamp, wait: Duration) -> Timestamp {
    moment.plus_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))
}

fn at_millis(millis: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(millis.saturating_mul(1_000_000))
}
