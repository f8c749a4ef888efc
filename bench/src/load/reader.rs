//! One reader of one stream, in a thread of its own, from the first event to the last.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testkit::http::Client;

use crate::problem::Problem;
use crate::service::wire::Wire;

/// What a reader has got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) events: u64,
    /// The number of the last event.
    pub(super) last: u64,
    /// Events whose number was not the one after the last.
    pub(super) jumps: u64,
}

impl Heard {
    fn add(&mut self, id: u64) {
        self.jumps += u64::from(id != self.last + 1);
        self.last = id;
        self.events += 1;
    }

    /// Every event up to this number, once and in order.
    pub(super) fn is_all_of(&self, last: u64) -> bool {
        self.jumps == 0 && self.last == last && self.events == last
    }
}

/// Reads to the end of the stream. `so_far` publishes how many events have arrived.
pub(super) fn follow(client: &Client, path: &str, patience: Duration, so_far: &AtomicU64) -> Result<Heard, Problem> {
    let begin = Instant::now();
    let mut socket = client.connect()?;
    socket.write_all(client.head("GET", path, &[]).as_bytes())?;
    let (mut wire, mut heard, mut buffer) = (Wire::new(), Heard::default(), vec![0; 256 * 1024]);
    while !wire.is_over() {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Err(Problem(format!("load: {path} was disconnected after {} events", heard.events)));
        }
        wire.take(&buffer[..read], &mut |id, _| heard.add(id.unwrap_or_default()))?;
        so_far.store(heard.events, Ordering::Relaxed);
        if begin.elapsed() > patience {
            return Err(Problem(format!("load: {path} is not at its end after {} s", patience.as_secs())));
        }
    }
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64]) -> Heard {
        let mut heard = Heard::default();
        ids.iter().for_each(|id| heard.add(*id));
        heard
    }

    #[test]
    fn a_gap_a_repetition_and_a_missing_end_are_seen() {
        assert!(of(&[1, 2, 3]).is_all_of(3));
        assert!(!of(&[1, 3]).is_all_of(3));
        assert!(!of(&[1, 2, 2, 3]).is_all_of(3));
        assert!(!of(&[1, 2]).is_all_of(3));
        assert!(!of(&[2, 3]).is_all_of(3));
    }
}
