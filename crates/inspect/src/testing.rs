//! Events for the tests of folds: one second apart.

use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::{AttemptNumber, EngineName, RunId, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Events {
    count: u64,
}

impl Events {
    pub(super) fn next(&mut self, attempt: u32, data: ControlData) -> Event {
        self.count += 1;
        let (run, engine) = (RunId::new(1, [1; 10]), EngineName::new("scripted"));
        let event = Event::control(run, self.count, second(self.count), engine, data);
        Event { attempt_number: AttemptNumber(attempt), ..event }
    }
}

/// The moment of the event of this number.
pub(super) fn second(count: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(count * 1_000_000_000)
}
