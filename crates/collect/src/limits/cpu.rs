//! Processor time of a tree of processes. Pure: figures are passed in.
//!
//! The kernel has no sum for a tree. A process that was waited for is in the figures of its parent; one whose parent
//! ignores its exit is in no figure. So there are two sums, and the larger one counts: what living processes and those
//! that they have waited for used, and what every process had used when it was last seen.

use std::collections::HashMap;

/// The processor time of one process, in ticks of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) own: u64,
    /// Of processes that it has waited for, and of those that these have waited for.
    pub(crate) waited: u64,
}

/// Adds up the processor time of processes that come and go.
#[derive(Debug, Default)]
pub(super) struct CpuMeter {
    /// Living processes, by id and begin.
    living: HashMap<(u32, u64), u64>,
    /// Of processes that are gone, as far as it was seen.
    gone: u64,
    most: u64,
}

impl CpuMeter {
    /// The time in ticks that all processes have used. `reaped`: by processes that the host itself has waited for.
    pub(super) fn look(&mut self, processes: impl Iterator<Item = ((u32, u64), Ticks)>, reaped: u64) -> u64 {
        let mut living = HashMap::with_capacity(self.living.len());
        let mut waited = reaped;
        for (process, ticks) in processes {
            waited = waited.saturating_add(ticks.own).saturating_add(ticks.waited);
            living.insert(process, ticks.own);
        }
        for (process, seen) in std::mem::replace(&mut self.living, living) {
            if !self.living.contains_key(&process) {
                self.gone = self.gone.saturating_add(seen);
            }
        }
        let seen = self.living.values().fold(self.gone, |sum, own| sum.saturating_add(*own));
        // Between its exit and the wait of its parent, a process is in neither figure.
        self.most = self.most.max(waited).max(seen);
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, own: u64, waited: u64) -> ((u32, u64), Ticks) {
        ((pid, 7), Ticks { own, waited })
    }

    #[test]
    fn processes_that_were_waited_for_count_once() {
        let mut meter = CpuMeter::default();
        assert_eq!(meter.look([process(1, 10, 0), process(2, 50, 0)].into_iter(), 0), 60);
        assert_eq!(
            meter.look([process(1, 10, 0)].into_iter(), 0),
            60,
            "it has exited, and no process has waited for it yet"
        );
        assert_eq!(meter.look([process(1, 10, 55)].into_iter(), 0), 65, "its last ticks were not seen");
        assert_eq!(meter.look(std::iter::empty(), 70), 70, "the host has waited for all");
    }

    #[test]
    fn processes_whose_parent_ignores_their_exit_count_as_they_were_seen() {
        let mut meter = CpuMeter::default();
        for round in 0..10 {
            meter.look([process(1, 1, 0), process(100 + round, 20, 0)].into_iter(), 0);
        }
        assert_eq!(meter.look([process(1, 1, 0)].into_iter(), 0), 201);
    }

    #[test]
    fn a_process_id_that_is_used_again_is_another_process() {
        let mut meter = CpuMeter::default();
        meter.look([((5, 1), Ticks { own: 30, waited: 0 })].into_iter(), 0);
        assert_eq!(meter.look([((5, 2), Ticks { own: 4, waited: 0 })].into_iter(), 0), 34);
        assert_eq!(meter.living.len(), 1, "what is kept has a bound");
    }
}
