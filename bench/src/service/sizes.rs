//! How much is measured.

use crate::args::Scale;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Seconds that lines are followed.
    pub(super) seconds: u64,
    pub(super) clients: usize,
    pub(super) idle_streams: usize,
    pub(super) log_events: u64,
    pub(super) pages: usize,
    pub(super) flood_bytes: u64,
    pub(super) finished: u32,
    pub(super) starts: usize,
    pub(super) single_runs: usize,
    pub(super) small_runs: usize,
}

impl Sizes {
    pub(super) fn of(scale: Scale) -> Self {
        match scale {
            Scale::Full => Self {
                seconds: 6,
                clients: 500,
                idle_streams: 1_000,
                log_events: 1_000_000,
                pages: 200,
                flood_bytes: 100_000_000,
                finished: 10_000,
                starts: 7,
                single_runs: 31,
                small_runs: 100,
            },
            Scale::Quick => Self {
                seconds: 2,
                clients: 50,
                idle_streams: 200,
                log_events: 50_000,
                pages: 50,
                flood_bytes: 5_000_000,
                finished: 300,
                starts: 3,
                single_runs: 5,
                small_runs: 10,
            },
        }
    }
}
