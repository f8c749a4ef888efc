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
    /// Runs after these, until the page cache of the catalog is full: 2 MB, which about 500 runs take.
    pub(super) cached_runs: usize,
    /// Runs after these, to see what each of them leaves in memory.
    pub(super) ended_runs: usize,
    /// Children of a run and of each of these: 993 runs in all.
    pub(super) branches: usize,
    /// Parents that wait for a child.
    pub(super) families: usize,
    /// Steps of a workflow, one after the other, and plain runs to compare them with.
    pub(super) steps: usize,
    pub(super) plain_runs: usize,
    /// Items of a step that are open at the same time.
    pub(super) items: usize,
    /// Steps of a workflow that are open at the same time.
    pub(super) open_steps: usize,
    /// Workflows that wait for the user.
    pub(super) workflows: u32,
}

impl Sizes {
    pub(super) fn of(scale: Scale) -> Self {
        Self {
            seconds: scale.pick(6, 2),
            clients: scale.pick(500, 50),
            idle_streams: scale.pick(1_000, 200),
            log_events: scale.pick(1_000_000, 50_000),
            pages: scale.pick(200, 50),
            flood_bytes: scale.pick(100_000_000, 5_000_000),
            finished: scale.pick(10_000, 300),
            starts: scale.pick(7, 3),
            single_runs: scale.pick(31, 5),
            small_runs: scale.pick(100, 10),
            cached_runs: scale.pick(1_000, 10),
            ended_runs: scale.pick(2_000, 50),
            branches: scale.pick(31, 4),
            families: scale.pick(100, 5),
            steps: scale.pick(1_000, 20),
            plain_runs: scale.pick(200, 20),
            items: scale.pick(200, 40),
            open_steps: scale.pick(1_000, 40),
            workflows: scale.pick(1_000, 50),
        }
    }
}
