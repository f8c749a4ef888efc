//! Signals by name, as used in records and requests.

use std::fmt;

use rustix::process::Signal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A signal that a ladder may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalName(Signal);

impl SignalName {
    pub const INT: Self = Self(Signal::INT);
    pub const TERM: Self = Self(Signal::TERM);
    pub const KILL: Self = Self(Signal::KILL);

    pub fn signal(self) -> Signal {
        self.0
    }

    /// Such as `SIGTERM`; only signals that have a name.
    pub fn parse(name: &str) -> Option<Self> {
        let number = (1..32).find(|number| name_of(*number) == name)?;
        Signal::from_named_raw(number).map(Self)
    }
}

/// The name of a signal; real-time signals only have a number.
pub fn name_of(number: i32) -> String {
    signal_hook::low_level::signal_name(number).map_or_else(|| format!("SIG{number}"), str::to_owned)
}

/// The number of a signal that [`name_of`] named.
pub fn number_of(name: &str) -> Option<i32> {
    (1..=64).find(|number| name_of(*number) == name)
}

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name_of(self.0.as_raw()))
    }
}

impl Serialize for SignalName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SignalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| serde::de::Error::custom(format!("there is no signal {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for name in ["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGUSR1"] {
            let json = format!("\"{name}\"");
            let signal: SignalName = serde_json::from_str(&json).expect("a signal");
            assert_eq!(serde_json::to_string(&signal).expect("JSON"), json);
        }
        for bad in ["\"SIGNOTHING\"", "\"15\"", "15", "\"\""] {
            assert!(serde_json::from_str::<SignalName>(bad).is_err(), "{bad}");
        }
        assert_eq!((name_of(9).as_str(), name_of(40).as_str()), ("SIGKILL", "SIG40"));
    }
}
