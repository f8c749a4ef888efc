//! Moments on the wire: RFC 3339 in UTC with microseconds.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment in UTC. Nothing here reads a clock; moments come from evidence or from the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Stands for "not known": recordings without a start time begin here.
    pub const EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// This moment plus `nanos` nanoseconds, or the last moment that can be represented.
    pub fn plus_nanos(self, nanos: u64) -> Self {
        let span = jiff::SignedDuration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
        Self(self.0.saturating_add(span).unwrap_or(jiff::Timestamp::MAX))
    }

    /// This moment as it is written: without the digits after the microseconds.
    pub fn to_micros(self) -> Self {
        let nanos = self.0.as_nanosecond();
        Self(jiff::Timestamp::from_nanosecond(nanos - nanos.rem_euclid(1_000)).unwrap_or(self.0))
    }

    /// Whether this moment is written without a loss. Asked for every event that is appended, so without the division of
    /// a number of 128 bits that [`Self::to_micros`] needs.
    pub fn is_whole_micros(self) -> bool {
        self.0.subsec_nanosecond() % 1_000 == 0
    }

    /// Milliseconds from `earlier` to this moment; none when it is not later.
    pub fn millis_since(self, earlier: Self) -> Option<u64> {
        u64::try_from(self.0.duration_since(earlier.0).as_millis()).ok().filter(|ms| *ms > 0)
    }
}

impl TryFrom<std::time::SystemTime> for Timestamp {
    type Error = jiff::Error;
    fn try_from(time: std::time::SystemTime) -> Result<Self, Self::Error> {
        time.try_into().map(Self)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse().map(Self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time", "description": "A moment in UTC."})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_whole_microseconds_is_the_one_that_is_written() {
        for text in [
            "2026-11-16T13:00:00.123456789Z",
            "1969-12-31T23:59:59.999999999Z",
            "1970-01-01T00:00:00.000001Z",
            "1970-01-01T00:00:00.0000001Z",
        ] {
            let moment: Timestamp = text.parse().expect("a moment");
            assert_eq!(moment.to_micros(), moment.to_string().parse().expect("a moment"), "{text}");
            assert_eq!(moment.is_whole_micros(), moment.to_micros() == moment, "{text}");
            assert!(moment.to_micros().is_whole_micros(), "{text}");
        }
    }
}
