//! The Log of a run on the disk. It survives every process; a machine that dies may lose what was not synced.

use std::sync::Arc;

use skillrun_lifecycle::run::State;
use skillrun_log::Durability;
use skillrun_model::rasp::Event;

use super::scene::Paper;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) log: Vec<Arc<Event>>,
    /// The same as lines, where the story keeps them.
    lines: Vec<String>,
    /// The number of events that survive the machine.
    pub(crate) synced: usize,
    /// The beginning of a record, which the next process that opens the Log truncates.
    pub(crate) is_torn: bool,
    /// The fold over what is there.
    pub(crate) state: State,
    pub(crate) has_result: bool,
}

impl Disk {
    pub(crate) fn append(&mut self, event: Arc<Event>, durability: Durability, paper: Paper) {
        self.state.evolve(&event);
        if paper == Paper::Text {
            self.lines.push(event.to_json());
        }
        self.log.push(event);
        if durability == Durability::Synced {
            self.synced = self.log.len();
        }
    }

    /// The events for a process that reads the Log from the first record.
    pub(crate) fn read(&mut self, paper: Paper) -> Vec<Arc<Event>> {
        self.is_torn = false;
        match paper {
            Paper::Events => self.log.clone(),
            Paper::Text => {
                self.lines.iter().map(|line| Arc::new(Event::from_json(line).expect("a line that we wrote"))).collect()
            }
        }
    }

    /// The machine dies. Of the events that were not synced, `kept` are kept.
    pub(crate) fn lose_unsynced(&mut self, kept: usize) {
        let keep = self.log.len().min(self.synced + kept);
        let lost = self.log.len() - keep;
        self.log.truncate(keep);
        self.lines.truncate(keep);
        self.state = State::of(self.log.iter().map(Arc::as_ref));
        self.is_torn |= lost > 0;
    }
}
