//! The conversation with a running host.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::{HostRequest, InputAnswer, InterruptedProcess, Notice, RecordedSizes};
use skillrun_collect::{CollectError, HostResponse};
use skillrun_evidence::live_feed::Extent;
use skillrun_model::AttemptNumber;

use super::outside::HostLink;
use crate::clock::Clock;
use crate::error::RuntimeError;
use skillrun_model::IgnoredError;

/// How long an input that was not accepted waits before it is sent again.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// How long an agent that was asked to cancel its turn has, before its process is ended.
const CANCEL_MOMENT: Duration = Duration::from_millis(500);

/// How long an agent that was asked to stop its turn has, before its process is ended.
const INTERRUPT_MOMENT: Duration = Duration::from_secs(5);

/// How long a host whose process is to be ended may be silent, before it is checked whether it responds at all.
const RESPONSE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// How long a host at its end may take to sync its files to disk, where it cannot be asked any more.
const FINAL_SYNC_TIMEOUT: Duration = Duration::from_secs(60);

/// How much longer than its time limit a turn may take; its host ends it, and then has to write everything to disk.
pub(super) const SLACK: Duration = Duration::from_secs(10);

/// A running host and the connection to it. Moments are of the clock without suspended time.
pub(super) struct Host {
    pub(super) link: Box<dyn HostLink>,
    clock: Arc<dyn Clock>,
    /// How far its streams can be read.
    pub(super) extent: Extent,
    /// Inputs that were not accepted yet, in order; one at a time is under way. There are never more than the messages
    /// of a driver in one attempt, which are bounded, and one answer.
    unsent: VecDeque<(String, String)>,
    /// When the first of them is sent again.
    again_at: Duration,
    ending: Ending,
    /// When the process of an interrupted turn is ended, if it has not stopped its turn by then.
    interrupt_until: Option<(Duration, AttemptNumber)>,
    /// When the turn should be over, whichever side ends it; none while the user is asked.
    turn_until: Option<Duration>,
    /// When it is checked whether it responds; none while it has nothing to do that has a time limit.
    check_at: Option<Duration>,
    /// Since when its process should be gone.
    overdue_since: Option<Duration>,
}

/// Whether the process is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// The agent was asked to cancel its turn; its process is ended at this moment.
    Asked(Duration),
    Requested,
    /// The turn was interrupted. A host whose process has ended the turn before ignores that, and the process stays.
    Interrupted,
}

/// What a host has reported since the last call.
#[derive(Debug, Default)]
pub(super) struct HostReport {
    /// The attempt before ended here, and the process continues.
    pub(super) turned: Option<Extent>,
    /// A request was not carried out.
    pub(super) refused: bool,
    /// The process has accepted an input.
    pub(super) took_input: bool,
    pub(super) is_gone: bool,
}

impl Host {
    pub(super) fn new(link: Box<dyn HostLink>, clock: Arc<dyn Clock>) -> Self {
        let (unsent, again_at) = (VecDeque::new(), clock.awake());
        Self {
            link,
            clock,
            extent: Extent::default(),
            unsent,
            again_at,
            ending: Ending::No,
            interrupt_until: None,
            turn_until: None,
            check_at: None,
            overdue_since: None,
        }
    }

    /// Sends a request. A host that has closed its connection has the reason in its record.
    pub(super) fn send(&mut self, request: &HostRequest) {
        self.link.send(request).ignored();
    }

    /// Writes a line to the process, after earlier ones. An id is written once, whichever owner sends it.
    pub(super) fn send_line(&mut self, id: String, line: String) {
        self.unsent.push_back((id, line));
        if self.unsent.len() == 1 {
            self.send_first();
        }
    }

    fn send_first(&mut self) {
        if let Some((id, line)) = self.unsent.front().cloned() {
            self.send(&HostRequest::Input { id, text: Some(line), hex: None });
            self.again_at = self.clock.awake() + TRY_AGAIN;
        }
    }

    /// All lines have reached the process.
    pub(super) fn has_sent_all(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The next moment at which there is something to do.
    pub(super) fn due(&self) -> Option<Duration> {
        let again = (!self.unsent.is_empty()).then_some(self.again_at);
        let ending = match self.ending {
            Ending::Asked(until) => Some(until),
            Ending::No | Ending::Requested | Ending::Interrupted => None,
        };
        let interrupt = self.interrupt_until.map(|(until, _)| until);
        [again, ending, interrupt, self.turn_until, self.check_at].into_iter().flatten().min()
    }

    /// Another turn begins, or its time does not count for now.
    pub(super) fn begins_turn(&mut self) {
        self.turn_until = None;
    }

    /// The turn is over, and the process stays: nothing of the turn is left to be interrupted, and its time limit does
    /// not count while the process waits for the next turn.
    pub(super) fn ends_turn(&mut self) {
        (self.interrupt_until, self.turn_until) = (None, None);
        match self.ending {
            Ending::Interrupted => {
                self.ending = Ending::No;
                (self.check_at, self.overdue_since) = (None, None);
            }
            Ending::No | Ending::Asked(_) | Ending::Requested => {}
        }
    }

    /// Records the interrupt; the process has a moment to stop its turn, and stays if it does.
    pub(super) fn interrupt_soon(&mut self, attempt: AttemptNumber) {
        self.interrupt_until = Some((self.clock.awake() + INTERRUPT_MOMENT, attempt));
        self.send(&HostRequest::Interrupt { attempt, process: InterruptedProcess::Stays });
    }

    /// Records the interrupt, and ends the process and everything it started.
    pub(super) fn interrupt_now(&mut self, attempt: AttemptNumber) {
        self.interrupt_until = None;
        self.ending = Ending::Interrupted;
        self.expect_exit();
        self.send(&HostRequest::Interrupt { attempt, process: InterruptedProcess::Ends });
    }

    /// It was asked to stop its turn, and has a moment for that.
    pub(super) fn is_interrupting(&self) -> bool {
        self.interrupt_until.is_some()
    }

    /// The time limit of the turn, counted from the last time that the user was asked. The host enforces it, if it can.
    pub(super) fn turn_takes(&mut self, time: Duration) {
        if self.turn_until.is_none() {
            self.turn_until = self.clock.awake().checked_add(time.saturating_add(SLACK));
        }
    }

    /// Its process should be gone soon.
    pub(super) fn expect_exit(&mut self) {
        self.check_at.get_or_insert_with(|| self.clock.awake() + RESPONSE_CHECK_INTERVAL);
    }

    /// It is time to check whether it responds.
    pub(super) fn is_check_due(&self) -> bool {
        [self.turn_until, self.check_at].into_iter().flatten().any(|at| at <= self.clock.awake())
    }

    /// Whether it is to be terminated itself, after its response; if not, it is checked again later.
    pub(super) fn should_terminate(&mut self, response: HostResponse) -> bool {
        let now = self.clock.awake();
        let since = *self.overdue_since.get_or_insert(now);
        self.turn_until = self.turn_until.map(|_| now + RESPONSE_CHECK_INTERVAL);
        self.check_at = self.check_at.map(|_| now + RESPONSE_CHECK_INTERVAL);
        match response {
            HostResponse::Yes => {
                self.overdue_since = None;
                false
            }
            HostResponse::No => true,
            HostResponse::NoSocket => now.saturating_sub(since) >= FINAL_SYNC_TIMEOUT,
        }
    }

    /// Does what is due.
    fn run_due(&mut self) {
        if !self.unsent.is_empty() && self.clock.awake() >= self.again_at {
            self.send_first();
        }
        if let Ending::Asked(until) = self.ending
            && self.clock.awake() >= until
        {
            self.end_now();
        }
        if let Some((_, attempt)) = self.interrupt_until.filter(|(until, _)| self.clock.awake() >= *until) {
            self.interrupt_now(attempt);
        }
    }

    /// The agent was informed that its turn is canceled; it has a moment. Called again, it has none.
    pub(super) fn end_soon(&mut self) {
        match self.ending {
            Ending::No => self.ending = Ending::Asked(self.clock.awake() + CANCEL_MOMENT),
            Ending::Asked(_) | Ending::Requested | Ending::Interrupted => self.end_now(),
        }
    }

    /// Ends the process and everything it started.
    pub(super) fn end_now(&mut self) {
        self.ending = Ending::Requested;
        self.expect_exit();
        planted!(NeverEnds => { return; });
        self.send(&HostRequest::Cancel { ladder: None });
    }

    /// Ends a process that has waited long enough for the next prompt.
    pub(super) fn stop_waiting(&mut self) {
        self.ending = Ending::Requested;
        self.expect_exit();
        self.send(&HostRequest::StopWaiting);
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending != Ending::No
    }

    /// It was asked to cancel, and has not been ended yet.
    pub(super) fn has_a_moment(&self) -> bool {
        matches!(self.ending, Ending::Asked(_))
    }

    /// Reads everything it has reported about `attempt`.
    pub(super) fn poll_events(&mut self, attempt: AttemptNumber) -> Result<HostReport, RuntimeError> {
        let mut news = HostReport::default();
        self.run_due();
        loop {
            match self.link.receive() {
                Ok(HostMessage::Notice(Notice::Progress(progress))) if progress.attempt == attempt => {
                    self.extent = extent(&progress);
                }
                Ok(HostMessage::Notice(Notice::Progress(_))) => {}
                Ok(HostMessage::Notice(Notice::NextAttempt(progress))) => {
                    news.turned = Some(extent(&progress));
                    return Ok(news);
                }
                Ok(HostMessage::Notice(Notice::Input { id, answer })) => news.took_input |= self.answered(&id, answer),
                Ok(HostMessage::Notice(Notice::Refused { .. })) => news.refused = true,
                Ok(HostMessage::Notice(Notice::Exited { .. } | Notice::Ended { .. } | Notice::Closed { .. })) => {}
                Ok(HostMessage::Nothing) => return Ok(news),
                Ok(HostMessage::Gone) | Err(CollectError::Silent(_)) => {
                    news.is_gone = true;
                    return Ok(news);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The response to an input; true when the process has accepted it.
    fn answered(&mut self, id: &str, answer: InputAnswer) -> bool {
        // An input that was sent twice is answered twice.
        if self.unsent.front().is_none_or(|(first, _)| first != id) {
            return answer == InputAnswer::Written;
        }
        match answer {
            // It is sent again.
            InputAnswer::Busy => return false,
            InputAnswer::Written | InputAnswer::Repeated | InputAnswer::Closed => {}
            InputAnswer::TooLarge | InputAnswer::Unreadable | InputAnswer::LineTooLong => {
                // It will never get its answer, so it is not waited for.
                self.send(&HostRequest::TurnOver { linger: None });
            }
        }
        self.unsent.pop_front();
        self.send_first();
        answer == InputAnswer::Written
    }
}

fn extent(progress: &RecordedSizes) -> Extent {
    Extent { stdout: progress.stdout, stderr: progress.stderr, pty: progress.pty }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    /// A host that never says anything.
    struct SilentLink;

    impl HostLink for SilentLink {
        fn host_pid(&self) -> u32 {
            1
        }

        fn attempt(&self) -> AttemptNumber {
            AttemptNumber(1)
        }

        fn send(&mut self, _: &HostRequest) -> Result<(), CollectError> {
            Ok(())
        }

        fn receive(&mut self) -> Result<HostMessage, CollectError> {
            Ok(HostMessage::Nothing)
        }

        fn wait(&self, _: Option<Duration>) {}

        fn reap(self: Box<Self>) {}
    }

    /// What stays due and is never done keeps a waiting worker from sleeping.
    #[test]
    fn nothing_of_a_turn_is_due_while_the_process_waits_for_the_next_one() {
        let mut host = Host::new(Box::new(SilentLink), Arc::new(SystemClock));
        host.turn_takes(Duration::from_secs(1));
        host.interrupt_soon(AttemptNumber(1));
        host.interrupt_now(AttemptNumber(1));
        assert!(host.due().is_some(), "the turn has a limit, and its process should exit");
        host.ends_turn();
        assert_eq!(host.due(), None);
    }
}
