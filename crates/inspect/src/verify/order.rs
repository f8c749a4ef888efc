//! Whether the events of a Log are allowed in their places.

use skillrun_lifecycle::run::State;
use skillrun_model::RunStatus;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_runs::events::is_evidence;

/// The first event that is not.
#[derive(Debug, Default)]
pub(super) struct Order {
    problem: Option<String>,
    end: Option<u64>,
}

impl Order {
    /// `state` is that of the run before the event.
    pub(super) fn event(&mut self, state: &State, event: &Event) {
        let seq = event.seq;
        if self.problem.is_none() {
            self.problem = self.wrong(state, event).map(|wrong| {
                let kind = event.event_type();
                format!("seq {seq} ({kind}) {wrong}")
            });
        }
        if event.data.end().is_some() {
            self.end.get_or_insert(seq);
        }
    }

    fn wrong(&self, state: &State, event: &Event) -> Option<String> {
        if let Some(end) = self.end {
            return Some(format!("comes after the end of the run, which is seq {end}"));
        }
        if (event.seq == 1) != matches!(event.data, Data::Control(ControlData::RunStarted(_))) {
            return Some("is at the wrong place: a Log begins with run.started, and has it once".to_owned());
        }
        let (number, last, is_open) = (event.attempt_number, state.attempt, state.attempt_is_open);
        let is_of_open = is_open && number == last;
        if is_evidence(event) && !is_of_open {
            return Some(format!("is made from evidence of attempt {number}, which is not open there"));
        }
        if let Data::Control(ControlData::AttemptStarted(_)) = event.data {
            if is_open {
                return Some(format!("begins while attempt {last} is open"));
            }
            if Some(number.0) != last.0.checked_add(1) {
                return Some(format!("begins attempt {number} after attempt {last}"));
            }
        }
        if matches!(event.data, Data::Control(ControlData::AttemptEnded(_))) && !is_of_open {
            return Some(format!("ends attempt {number}, which is not open there"));
        }
        if event.data.end().is_some() && is_open {
            return Some(format!("ends the run while attempt {last} is open"));
        }
        if let Data::Control(ControlData::RunStatus(change)) = &event.data
            && change.status.is_some_and(RunStatus::is_terminal)
        {
            return Some("reports an end, which has an event of its own".to_owned());
        }
        None
    }

    pub(super) fn problem(self) -> Option<String> {
        self.problem
    }
}
