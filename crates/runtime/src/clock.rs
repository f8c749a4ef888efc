//! The time, as an input.

use std::fmt;
use std::time::SystemTime;

use skillrun_model::Timestamp;

pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Timestamp;
}

/// The machine's.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock outside of what can be told is as good as none.
        Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::EPOCH)
    }
}
