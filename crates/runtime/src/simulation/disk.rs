//! The Log of a run on the disk. It survives every process; a machine that dies may lose what was not synced.

use std::sync::Arc;

use skillrun_lifecycle::run::State;
use skillrun_log::Durability;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::status::Phase;
use skillrun_model::{Code, ExecutionMode};

use super::laws::{Broken, Law};
use super::scene::Paper;
use super::world::SimulatedWorld;

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

impl SimulatedWorld {
    /// Of the batch that is being written, only the first events reach the disk.
    pub(crate) fn dies_writing(&mut self, batch: &[Event]) -> Result<(), Broken> {
        let kept = self.tape.pick(batch.len() + 1);
        let is_torn = kept < batch.len() && self.tape.pick(2) == 1;
        self.tally.mark("a batch is cut");
        if is_torn {
            self.tally.mark("a record is torn");
        }
        let (whole, torn) = (batch.len(), if is_torn { ", and a piece of the next" } else { "" });
        self.narrate(|| format!("the owner dies writing: {kept} of {whole} events are in the Log{torn}"));
        for event in &batch[..kept] {
            self.append(event, Durability::Synced)?;
        }
        self.disk.is_torn = is_torn;
        self.owner_dies();
        Ok(())
    }

    /// A batch is appended.
    pub(crate) fn append_all(&mut self, expected: u64, batch: &[Event], durability: Durability) -> Result<(), Broken> {
        if expected != self.disk.state.last_seq + 1 {
            let words = format!("the owner appends at {expected} after {}", self.disk.state.last_seq);
            return Err(Law::Fold.broken(words));
        }
        self.narrate(|| "the owner appends".to_owned());
        for event in batch {
            if matches!(&event.data, Data::Control(ControlData::InteractionRequested(question)) if question.scope == Scope::Call)
            {
                self.tally.mark("a question inside a turn");
            }
            if matches!(&event.data, Data::Control(ControlData::RunStatus(change)) if change.phase == Some(Phase::ProcessEnded))
            {
                self.tally.mark("a process that waited is gone");
            }
            if let Data::Control(ControlData::RunFailed(failed)) = &event.data {
                self.tally.end(failed.reason_code.as_str());
                if failed.reason_code == Code::HostError && !self.start_failed {
                    return Err(Law::CannotBegin.broken(failed.error.message.clone()));
                }
                if failed.retry.is_some() {
                    self.tally.mark("a run is planned");
                }
            }
            self.append(event, durability)?;
        }
        Ok(())
    }

    /// The last turn of a conversation has failed, and no other has begun.
    fn has_failed_turn(&self) -> bool {
        let state = &self.disk.state;
        let has_error = state.verdict.as_ref().is_some_and(|verdict| verdict.error.is_some());
        self.scene.mode == ExecutionMode::Conversation && !state.attempt_is_open && has_error
    }

    /// One event more in the Log.
    fn append(&mut self, event: &Event, durability: Durability) -> Result<(), Broken> {
        self.tally.event(event.event_type().as_str());
        let number = event.attempt_number;
        self.narrate(|| format!("    {:>3} {} (attempt {number})", event.seq, event.event_type().as_str()));
        let event = Arc::new(event.clone());
        let judged = self.laws.event(&event, &self.disk.state, &mut self.hosts, &self.scene, &self.family);
        let failed_before = self.has_failed_turn();
        self.disk.append(event, durability, self.scene.paper);
        if failed_before && self.disk.state.attempt_is_open {
            self.tally.mark("a turn of a conversation fails, and the next one begins");
        }
        match (self.disk.state.is_at_rest(), self.rests_since) {
            (true, None) => self.rests_since = Some(self.now),
            (true, Some(_)) => {}
            (false, _) => self.rests_since = None,
        }
        judged
    }
}
