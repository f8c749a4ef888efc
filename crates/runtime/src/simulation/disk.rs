//! The Log of a run on the disk. It survives every process; a machine that dies may lose what was not synced.

use skillrun_lifecycle::run::State;
use skillrun_model::rasp::{Data, Event};

use crate::scene::Paper;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) log: Vec<Event>,
    /// The same as lines, where the story keeps them.
    lines: Vec<String>,
    /// The number of events that survive the machine.
    pub(crate) synced: usize,
    /// The beginning of a record, which the next process that opens the Log truncates.
    pub(crate) is_torn: bool,
    /// The fold over what is there.
    pub(crate) state: State,
    /// Evidence events of the last attempt.
    pub(crate) evidence: usize,
    pub(crate) has_result: bool,
}

/// Whether an append waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Synced,
    Derived,
}

impl Disk {
    pub(crate) fn append(&mut self, event: Event, durability: Durability, paper: Paper) {
        let before = self.state.attempt;
        self.state.evolve(&event);
        if self.state.attempt != before {
            self.evidence = 0;
        }
        self.evidence += usize::from(matches!(event.data, Data::Evidence(_)));
        if paper == Paper::Text {
            self.lines.push(event.to_json());
        }
        self.log.push(event);
        if durability == Durability::Synced {
            self.synced = self.log.len();
        }
    }

    /// The state for a process that reads the Log from the first record.
    pub(crate) fn read(&mut self, paper: Paper) -> State {
        self.is_torn = false;
        match paper {
            Paper::Events => State::of(&self.log),
            Paper::Text => {
                let events = self.lines.iter().map(|line| Event::from_json(line).expect("a line that we wrote"));
                let mut state = State::default();
                events.for_each(|event| state.evolve(&event));
                state
            }
        }
    }

    /// The machine dies. Of the events that were not synced, `kept` are kept.
    pub(crate) fn lose_unsynced(&mut self, kept: usize) {
        let keep = self.log.len().min(self.synced + kept);
        let lost = self.log.len() - keep;
        self.log.truncate(keep);
        self.lines.truncate(keep);
        self.state = State::of(&self.log);
        self.evidence = self.evidence.saturating_sub(lost);
        self.is_torn |= lost > 0;
    }
}
