//! How much is measured.

use std::time::Duration;

use crate::args::Scale;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) small_runs: usize,
    /// Lines of one run, to see what an event costs.
    pub(super) lines: u64,
    /// Runs at once, one measurement for each number.
    pub(super) at_once: [usize; 2],
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
        match scale {
            Scale::Full => Self {
                small_runs: 200,
                lines: 200_000,
                at_once: [50, 500],
                flood_lines: 1_000_000,
                first_rate: 8_000,
                window: Duration::from_secs(3),
                halvings: 2,
                ordinary_hosts: 50,
                ordinary_lines: 20_000,
                living_hosts: 100,
                stream_bytes: 34_000_000,
            },
            Scale::Quick => Self {
                small_runs: 20,
                lines: 20_000,
                at_once: [5, 50],
                flood_lines: 50_000,
                first_rate: 16_000,
                window: Duration::from_secs(1),
                halvings: 0,
                ordinary_hosts: 50,
                ordinary_lines: 500,
                living_hosts: 20,
                stream_bytes: 2_000_000,
            },
        }
    }
}
