//! The ladder: how a process is asked to exit, and finally killed. Pure.

use std::collections::VecDeque;

use skillrun_model::EndedBy;

use super::deadlines::{Moment, after};
use crate::plan::Rung;
use crate::signals::SignalName;

/// A process that is being terminated, and why.
#[derive(Debug)]
pub(crate) struct Ladder {
    pub(crate) why: EndedBy,
    rungs: VecDeque<Rung>,
    /// The last signal, and when it was sent.
    sent: Option<(SignalName, Moment)>,
    next_at: Moment,
    /// The time by which asking ends.
    top_by: Moment,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Climb {
    Send(SignalName),
    Wait,
    /// Asking is over: all processes are killed now. This is the last rung, or the end of a ladder without it.
    Top,
}

impl Ladder {
    pub(crate) fn new(why: EndedBy, rungs: &[Rung], now: Moment) -> Self {
        Self { why, rungs: rungs.iter().copied().collect(), sent: None, next_at: now, top_by: top(rungs, now) }
    }

    pub(crate) fn climb(&mut self, now: Moment) -> Climb {
        if now >= self.top_by {
            return Climb::Top;
        }
        if now < self.next_at {
            return Climb::Wait;
        }
        match self.rungs.pop_front() {
            Some(rung) if rung.signal == SignalName::KILL => {
                self.rungs.clear();
                Climb::Top
            }
            Some(rung) => {
                self.sent = Some((rung.signal, now));
                self.next_at = after(now, rung.pause);
                Climb::Send(rung.signal)
            }
            None => Climb::Top,
        }
    }

    /// When the next step is due.
    pub(crate) fn next_at(&self) -> Moment {
        self.next_at.min(self.top_by)
    }

    /// The engine has exited, and only its tools are left. An interrupt was sent to the engine alone, so the tools would
    /// never react to it: the next rung is due.
    pub(crate) fn only_tools_are_left(&mut self, exited: Moment, now: Moment) {
        if let Some((SignalName::INT, sent)) = self.sent
            && sent <= exited
        {
            self.next_at = self.next_at.min(now);
        }
    }

    /// Switches to another ladder, from its first rung; the first reason is kept, and so is the time by which it ends:
    /// a cancel of a process that is already being terminated must not prolong it.
    pub(crate) fn restart(&mut self, rungs: &[Rung], now: Moment) {
        self.rungs = rungs.iter().copied().collect();
        self.next_at = now;
        self.top_by = self.top_by.min(top(rungs, now));
    }
}

/// When a ladder that begins now ends.
fn top(rungs: &[Rung], now: Moment) -> Moment {
    let asked = rungs.iter().take_while(|rung| rung.signal != SignalName::KILL);
    asked.fold(now, |moment, rung| after(moment, rung.pause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_rung_has_its_pause_and_then_it_is_over() {
        let pause = Duration::from_nanos(10);
        let rungs = [
            Rung { signal: SignalName::INT, pause },
            Rung { signal: SignalName::TERM, pause },
            Rung { signal: SignalName::KILL, pause: Duration::ZERO },
        ];
        let mut ladder = Ladder::new(EndedBy::Canceled, &rungs, 100);
        assert_eq!(ladder.climb(100), Climb::Send(SignalName::INT));
        assert_eq!(ladder.climb(105), Climb::Wait);
        assert_eq!(ladder.climb(111), Climb::Send(SignalName::TERM));
        assert_eq!((ladder.climb(119), ladder.next_at()), (Climb::Wait, 120));
        assert_eq!(ladder.climb(121), Climb::Top);
        assert_eq!(ladder.climb(122), Climb::Top);
    }

    #[test]
    fn tools_that_an_interrupt_does_not_reach_are_not_waited_for() {
        let rung = |signal| Rung { signal, pause: Duration::from_nanos(100) };
        let rungs = [rung(SignalName::INT), rung(SignalName::TERM)];
        let mut ladder = Ladder::new(EndedBy::Interrupted, &rungs, 0);
        assert_eq!(ladder.climb(0), Climb::Send(SignalName::INT));
        ladder.only_tools_are_left(5, 6);
        assert_eq!((ladder.next_at(), ladder.climb(6)), (6, Climb::Send(SignalName::TERM)));
        // They have received this one.
        ladder.only_tools_are_left(5, 7);
        assert_eq!((ladder.climb(7), ladder.next_at()), (Climb::Wait, 106));
        // An interrupt after the exit of the engine is sent to its tools.
        let mut ladder = Ladder::new(EndedBy::Interrupted, &rungs, 10);
        assert_eq!(ladder.climb(10), Climb::Send(SignalName::INT));
        ladder.only_tools_are_left(9, 11);
        assert_eq!((ladder.climb(11), ladder.next_at()), (Climb::Wait, 110));
    }

    #[test]
    fn a_second_ladder_never_makes_it_longer() {
        let rung = |pause| Rung { signal: SignalName::INT, pause: Duration::from_nanos(pause) };
        let mut ladder = Ladder::new(EndedBy::HardTimeout, &[rung(10)], 0);
        assert_eq!(ladder.climb(0), Climb::Send(SignalName::INT));
        ladder.restart(&[rung(100)], 5);
        assert_eq!((ladder.climb(5), ladder.climb(9)), (Climb::Send(SignalName::INT), Climb::Wait));
        assert_eq!((ladder.climb(10), ladder.why), (Climb::Top, EndedBy::HardTimeout));
    }

    #[test]
    fn a_ladder_without_a_last_rung_has_its_pause_and_an_end() {
        let rungs = [Rung { signal: SignalName::TERM, pause: Duration::from_nanos(10) }];
        let mut ladder = Ladder::new(EndedBy::Canceled, &rungs, 0);
        assert_eq!(ladder.climb(0), Climb::Send(SignalName::TERM));
        assert_eq!((ladder.climb(9), ladder.next_at(), ladder.climb(10)), (Climb::Wait, 10, Climb::Top));
        assert_eq!(Ladder::new(EndedBy::Canceled, &[], 5).climb(5), Climb::Top);
    }
}
