//! Events for the tests of folds: one second apart.

use skillrun_model::rasp::{ControlData, Correlation, Data, Event, Level, RawRef, Source, SourceStream};
use skillrun_model::{AttemptNumber, EngineName, RunId, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Events {
    count: u64,
}

impl Events {
    pub(super) fn next(&mut self, attempt: u32, data: ControlData) -> Event {
        self.count += 1;
        Event {
            run_id: RunId::new(1, [1; 10]),
            seq: self.count,
            ts: second(self.count),
            attempt_number: AttemptNumber(attempt),
            source: Source {
                engine: EngineName::new("scripted"),
                stream: SourceStream::Control,
                parser: None,
                confidence: 1.0,
            },
            level: Level::Info,
            data: Data::Control(data),
            correlation: Correlation::default(),
            raw_ref: RawRef::default(),
        }
    }
}

/// The moment of the event of this number.
pub(super) fn second(count: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(count * 1_000_000_000)
}
