//! How time passes in a recording: as it did, except for time outside of attempts.

use std::time::Duration;

use skillrun_model::AttemptNumber;

use super::markers::{Marker, What};

/// Microseconds: since 1970, or between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Micros(pub(super) u64);

impl Micros {
    pub(super) fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos / 1_000))
    }
}

#[derive(Debug)]
pub(super) struct Clock {
    /// When the last line happened.
    now: Micros,
    longest_pause: Micros,
    phase: Phase,
    /// The last attempt that is over: late bytes of it do not begin it again.
    ended: AttemptNumber,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Attempt,
    /// This much of the pause can still be shown.
    Pause(Micros),
}

impl Clock {
    pub(super) fn new(begin: Micros, longest_pause: Duration) -> Self {
        let longest_pause = Micros(u64::try_from(longest_pause.as_micros()).unwrap_or(u64::MAX));
        let phase = Phase::Pause(longest_pause);
        Self { now: begin, longest_pause, phase, ended: AttemptNumber::BEFORE_FIRST }
    }

    /// Bytes of an attempt came; returns the time since the previous line.
    pub(super) fn output(&mut self, at: Micros, attempt: AttemptNumber) -> Micros {
        let interval = self.pass(at);
        if attempt > self.ended {
            self.phase = Phase::Attempt;
        }
        interval
    }

    /// The same for an event.
    pub(super) fn event(&mut self, marker: &Marker) -> Micros {
        let interval = self.pass(marker.at);
        match marker.what {
            What::AttemptStarted => self.phase = Phase::Attempt,
            What::AttemptEnded => {
                self.phase = Phase::Pause(self.longest_pause);
                self.ended = self.ended.max(marker.attempt);
            }
            What::RunOver | What::Other => {}
        }
        interval
    }

    fn pass(&mut self, at: Micros) -> Micros {
        let passed = Micros(at.0.saturating_sub(self.now.0));
        self.now = self.now.max(at);
        match &mut self.phase {
            Phase::Attempt => passed,
            Phase::Pause(left) => {
                let shown = passed.min(*left);
                left.0 -= shown.0;
                shown
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(at: u64, what: What, attempt: u32) -> Marker {
        Marker { at: Micros(at), seq: 1, event_type: String::new(), attempt: AttemptNumber(attempt), what }
    }

    #[test]
    fn a_pause_is_shortened_as_a_whole_and_an_attempt_never_is() {
        let mut clock = Clock::new(Micros(100), Duration::from_micros(10));
        let mut event = |at, what, attempt| clock.event(&marker(at, what, attempt)).0;
        assert_eq!(event(104, What::Other, 0), 4);
        assert_eq!(event(200, What::AttemptStarted, 1), 6, "what is left of the pause");
        assert_eq!(event(900, What::Other, 1), 700);
        assert_eq!(event(800, What::Other, 1), 0, "never back");
        assert_eq!(event(950, What::AttemptEnded, 1), 50, "not counted twice");
        assert_eq!(event(957, What::Other, 1), 7);
        assert_eq!(event(999, What::Other, 1), 3);
        assert_eq!(clock.output(Micros(1_000), AttemptNumber(1)), Micros(0), "late bytes begin nothing");
        assert_eq!(clock.output(Micros(2_000), AttemptNumber(2)), Micros(0));
        assert_eq!(clock.output(Micros(3_000), AttemptNumber(2)), Micros(1_000));
    }
}
