//! When the host terminates a process by itself. Pure: times are nanoseconds of one monotonic clock, and are passed in.

use std::time::Duration;

use skillrun_model::EndedBy;

use crate::plan::Limits;

/// A time, in nanoseconds since the host started.
pub(crate) type Moment = u64;

#[derive(Debug, Clone)]
pub(crate) struct Deadlines {
    limits: Limits,
    /// The hard limit counts from here.
    begun: Moment,
    last_byte: Moment,
    /// Set when the owner has seen the end of the turn.
    linger_until: Option<Moment>,
    waiting: Option<Waiting>,
    /// The time counts from the next input.
    awaits_input: bool,
    /// Since when no owner is attached.
    alone_since: Option<Moment>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Moment,
    until: Option<Moment>,
}

pub(crate) fn after(moment: Moment, pause: Duration) -> Moment {
    moment.saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX))
}

impl Deadlines {
    pub(crate) fn new(limits: Limits, now: Moment) -> Self {
        Self {
            limits,
            begun: now,
            last_byte: now,
            linger_until: None,
            waiting: None,
            awaits_input: false,
            alone_since: Some(now),
        }
    }

    /// A sticky process continues with its next attempt, which waits for its first input.
    pub(crate) fn next_attempt(&mut self, now: Moment) {
        self.begin(now);
        self.awaits_input = true;
    }

    /// Input was written. The first one of an attempt begins the turn; a process that receives input continuously has
    /// no more time than others.
    pub(crate) fn input(&mut self, now: Moment) {
        self.resume(now);
        if std::mem::replace(&mut self.awaits_input, false) {
            self.begin(now);
        } else {
            self.byte(now);
        }
    }

    fn begin(&mut self, now: Moment) {
        self.begun = now;
        self.last_byte = now;
        self.linger_until = None;
        if let Some(waiting) = &mut self.waiting {
            waiting.since = now;
        }
    }

    pub(crate) fn byte(&mut self, now: Moment) {
        self.last_byte = now;
    }

    pub(crate) fn turn_over(&mut self, now: Moment, linger: Option<Duration>) {
        self.linger_until = Some(after(now, linger.unwrap_or(self.limits.linger)));
    }

    pub(crate) fn turn_continues(&mut self) {
        self.linger_until = None;
    }

    pub(crate) fn turn_is_over(&self) -> bool {
        self.linger_until.is_some()
    }

    /// A user is asked; from now on the other deadlines are suspended.
    pub(crate) fn wait(&mut self, now: Moment, deadline: Option<Duration>) {
        let since = self.waiting.map_or(now, |waiting| waiting.since);
        self.waiting = Some(Waiting { since, until: deadline.map(|deadline| after(now, deadline)) });
    }

    /// The user has answered; the other deadlines resume where they were.
    pub(crate) fn resume(&mut self, now: Moment) {
        if let Some(waiting) = self.waiting.take() {
            let stood = now.saturating_sub(waiting.since);
            let later = |moment: &mut Moment| *moment = moment.saturating_add(stood);
            later(&mut self.begun);
            // After a byte that arrived while the clock was suspended, no silence has been counted yet.
            self.last_byte = if self.last_byte < waiting.since { self.last_byte.saturating_add(stood) } else { now };
            if let Some(until) = &mut self.linger_until {
                later(until);
            }
        }
    }

    pub(crate) fn owner_came(&mut self) {
        self.alone_since = None;
    }

    pub(crate) fn owner_left(&mut self, now: Moment) {
        self.alone_since = Some(now);
    }

    /// The next deadline that terminates the process.
    pub(crate) fn next(&self) -> Option<(Moment, EndedBy)> {
        match self.waiting {
            Some(Waiting { until: Some(until), .. }) => {
                Some((after(until, self.limits.wait_grace), EndedBy::WaitTimeout))
            }
            Some(Waiting { until: None, .. }) => {
                self.alone_since.map(|since| (after(since, self.limits.ownerless), EndedBy::WaitTimeout))
            }
            None => {
                let hard = (self.hard_limit(), EndedBy::HardTimeout);
                let stall = (after(self.last_byte, self.limits.stall), EndedBy::Stall);
                let linger = self.linger_until.map(|until| (until, EndedBy::Linger));
                // After the end of a turn nothing is missing any more, so silence is not a stall.
                let others = linger.unwrap_or(stall);
                Some(if others.0 <= hard.0 { others } else { hard })
            }
        }
    }

    /// The time after which nothing is waited for.
    pub(crate) fn hard_limit(&self) -> Moment {
        after(self.begun, self.limits.hard)
    }

    /// When streams that outlive the process have been silent long enough.
    pub(crate) fn streams_linger_until(&self, exited: Moment) -> Moment {
        after(self.last_byte.max(exited), self.limits.linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn deadlines() -> Deadlines {
        let seconds = Duration::from_secs;
        let limits = Limits {
            hard: seconds(100),
            stall: seconds(30),
            linger: seconds(10),
            wait_grace: seconds(60),
            ownerless: seconds(1000),
            max_bytes: 0,
        };
        Deadlines::new(limits, 0)
    }

    fn next(deadlines: &Deadlines) -> (u64, EndedBy) {
        let (moment, why) = deadlines.next().expect("a deadline");
        (moment / SECOND, why)
    }

    #[test]
    fn silence_ends_it_and_every_byte_puts_that_off() {
        let mut deadlines = deadlines();
        assert_eq!(next(&deadlines), (30, EndedBy::Stall));
        deadlines.byte(20 * SECOND);
        assert_eq!(next(&deadlines), (50, EndedBy::Stall));
    }

    #[test]
    fn the_hard_limit_is_not_put_off_by_bytes() {
        let mut deadlines = deadlines();
        deadlines.byte(90 * SECOND);
        assert_eq!(next(&deadlines), (100, EndedBy::HardTimeout));
        deadlines.input(95 * SECOND);
        assert_eq!(next(&deadlines), (100, EndedBy::HardTimeout), "nor by input");
        deadlines.next_attempt(96 * SECOND);
        deadlines.input(98 * SECOND);
        deadlines.input(120 * SECOND);
        deadlines.byte(190 * SECOND);
        assert_eq!(next(&deadlines), (198, EndedBy::HardTimeout), "it counts from the first input of an attempt");
    }

    #[test]
    fn after_the_turn_it_may_linger_and_a_new_turn_takes_that_back() {
        let mut deadlines = deadlines();
        deadlines.turn_over(5 * SECOND, None);
        assert_eq!(next(&deadlines), (15, EndedBy::Linger));
        assert!(deadlines.turn_is_over());
        deadlines.turn_continues();
        assert_eq!(next(&deadlines), (30, EndedBy::Stall));
        deadlines.turn_over(5 * SECOND, Some(Duration::from_secs(1)));
        assert_eq!(next(&deadlines), (6, EndedBy::Linger));
        deadlines.turn_over(0, Some(Duration::from_secs(500)));
        assert_eq!(next(&deadlines), (100, EndedBy::HardTimeout), "a long linger does not outlast the hard limit");
    }

    #[test]
    fn everything_stands_still_while_a_person_is_asked() {
        let mut deadlines = deadlines();
        deadlines.wait(10 * SECOND, None);
        deadlines.owner_came();
        assert_eq!(deadlines.next(), None, "as long as the owner is there it knows what to do");
        deadlines.resume(1010 * SECOND);
        assert_eq!(next(&deadlines), (1030, EndedBy::Stall), "ten seconds of thirty were used up");
        deadlines.byte(1090 * SECOND);
        assert_eq!(next(&deadlines), (1100, EndedBy::HardTimeout), "ten of a hundred were");
    }

    #[test]
    fn a_byte_that_comes_while_waiting_does_not_make_a_stall_sooner() {
        let mut deadlines = deadlines();
        deadlines.wait(10 * SECOND, None);
        deadlines.byte(50 * SECOND);
        deadlines.resume(60 * SECOND);
        assert_eq!(next(&deadlines), (90, EndedBy::Stall));
    }

    #[test]
    fn an_undecided_question_ends_the_process_a_minute_late() {
        let mut deadlines = deadlines();
        deadlines.wait(10 * SECOND, Some(Duration::from_secs(20)));
        assert_eq!(next(&deadlines), (90, EndedBy::WaitTimeout));
        deadlines.owner_came();
        assert_eq!(next(&deadlines), (90, EndedBy::WaitTimeout), "with an owner too: it may hang");
    }

    #[test]
    fn a_question_without_a_deadline_waits_for_an_owner_for_a_day() {
        let mut deadlines = deadlines();
        deadlines.owner_came();
        deadlines.wait(10 * SECOND, None);
        deadlines.owner_left(50 * SECOND);
        assert_eq!(next(&deadlines), (1050, EndedBy::WaitTimeout));
    }
}
