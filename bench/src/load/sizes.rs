//! How much is measured.

use std::time::Duration;

use crate::args::Scale;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) small_runs: usize,
    /// Lines of one run, to see what an event costs.
    pub(super) lines: u64,
    /// Lines that come alone, to count the system calls for each.
    pub(super) lone_lines: u64,
    /// Runs at once, one measurement for each number.
    pub(super) at_once: [usize; 3],
    pub(super) flood_lines: u64,
    /// The first rate that is tried, in lines a second.
    pub(super) first_rate: u64,
    /// How long a rate is held.
    pub(super) window: Duration,
    /// Halvings between the last rate that was kept and the first that was not.
    pub(super) halvings: usize,
    pub(super) ordinary_hosts: usize,
    /// Lines that each of their engines writes.
    pub(super) ordinary_lines: u64,
    pub(super) living_hosts: usize,
    /// Bytes of the streams whose traces on the disk are counted.
    pub(super) stream_bytes: u64,
}

impl Sizes {
    pub(super) fn of(scale: Scale) -> Self {
        Self {
            small_runs: scale.pick(200, 20),
            lines: scale.pick(200_000, 20_000),
            lone_lines: scale.pick(200, 40),
            at_once: scale.pick([50, 500, 1_000], [5, 20, 50]),
            flood_lines: scale.pick(1_000_000, 50_000),
            first_rate: scale.pick(8_000, 16_000),
            window: scale.pick(Duration::from_secs(3), Duration::from_secs(1)),
            halvings: scale.pick(2, 0),
            ordinary_hosts: 50,
            ordinary_lines: scale.pick(20_000, 500),
            living_hosts: scale.pick(100, 20),
            stream_bytes: scale.pick(34_000_000, 2_000_000),
        }
    }
}
