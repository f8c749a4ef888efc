//! Which process assigned a number: numbers of another process mean nothing here.

use std::fmt;
use std::str::FromStr;

/// Random, one per start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

/// Sixteen hexadecimal digits.
impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an epoch must be sixteen hexadecimal digits")]
pub struct NoEpoch;

impl FromStr for Epoch {
    type Err = NoEpoch;

    fn from_str(text: &str) -> Result<Self, NoEpoch> {
        let epoch = u64::from_str_radix(text, 16).map(Self).map_err(|_| NoEpoch)?;
        if epoch.to_string() == text { Ok(epoch) } else { Err(NoEpoch) }
    }
}
