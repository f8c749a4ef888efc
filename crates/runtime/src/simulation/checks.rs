//! Checks of the world against the laws: after each step, while the owner is idle, and at the end of a story.

use std::sync::Arc;

use skillrun_lifecycle::run::State;
use skillrun_model::{ExecutionMode, RunStatus};

use super::evidence::{End, end_of};
use super::host::Phase;
use super::laws::{Broken, Law};
use super::scene::{IDLE, SESSION_TIMEOUT};
use super::world::{SimulatedWorld, Spot};
use crate::worker::Alarm;

/// How long the owner may not look at its children, in milliseconds.
const CHILD_CHECK: u64 = 2_001;

impl SimulatedWorld {
    /// Checks against the laws which answers processes received, and which processes began.
    pub(crate) fn look_at_processes(&mut self) -> Result<(), Broken> {
        while let Some(given) = self.hosts.given.pop() {
            self.tally.mark("an answer reaches a process");
            self.narrate(|| format!("the process has the answer to question {}", given.interaction));
            self.laws.given(given)?;
        }
        while let Some((attempt, words)) = self.hosts.began.pop() {
            self.narrate(|| format!("the process of attempt {attempt} begins"));
            let starts = self.hosts.attempt(attempt).starts;
            self.laws.began(attempt, starts, words.as_ref())?;
        }
        Ok(())
    }

    /// Whether the owner may report to the process that no more input comes.
    pub(crate) fn may_end(&mut self) -> bool {
        let state = &self.disk.state;
        if state.is_over() || state.is_ending() {
            return true;
        }
        let Some(host) = &self.hosts.living else { return true };
        if host.ladder.is_some() {
            return true;
        }
        let ended = if host.awaits_input && !host.is_changing { host.attempt - 1 } else { host.attempt };
        let has_next = match self.scene.mode {
            ExecutionMode::Auto | ExecutionMode::Interactive => self.scene.max_attempt.is_none_or(|max| ended < max),
            ExecutionMode::Conversation => true,
        };
        let goes_on = self.scene.goes_on() && has_next;
        match end_of(&self.hosts.attempt(ended).lines) {
            None => false,
            Some(End::Question) => !goes_on,
            Some(End::Done | End::Misfit | End::Failure | End::Quota | End::Limit) => match self.scene.mode {
                ExecutionMode::Auto | ExecutionMode::Interactive => true,
                // However a turn ends, the process waits for the next prompt.
                ExecutionMode::Conversation => !self.scene.goes_on(),
            },
        }
    }

    /// Whether the process has waited long enough for the next prompt.
    pub(crate) fn may_stop_waiting(&mut self) -> bool {
        self.tally.mark("a process waits too long for the next prompt");
        self.disk.state.is_at_rest() && self.rests_since.is_some_and(|since| self.now >= since + IDLE)
    }

    pub(crate) fn check(&mut self) -> Result<(), Broken> {
        if self.laws.end.is_some() && !self.disk.has_result {
            return Err(Law::Result.broken("there is none"));
        }
        if self.clients.has_canceled && !self.laws.is_canceling {
            return Err(Law::Canceled.broken("a client received the acknowledgement, and the Log does not contain it"));
        }
        if self.clients.has_closed && !self.laws.is_closing {
            return Err(Law::Closed.broken("a client received the acknowledgement, and the Log does not contain it"));
        }
        self.laws.check_asked(&self.family)?;
        self.clients.check(&self.laws.replies, &self.laws.says)
    }

    /// Nothing is in progress: then every pending need of the run must be assigned to some process or timer.
    pub(super) fn check_idle(&mut self, spot: Spot) -> Result<(), Broken> {
        let Some(owner) = &self.owner else { return Ok(()) };
        let state = &self.disk.state;
        let is_waiting = matches!(spot, Spot::Desk | Spot::Wait { .. } | Spot::Children { .. });
        if state.is_over() && is_waiting && self.hosts.is_forgotten() {
            return Err(Law::ProcessLeft.broken("the run is over, and its process is not asked to end"));
        }
        if state.is_over() || self.disk.log.is_empty() {
            return Ok(());
        }
        let forgotten = |words: &str| Err(Law::Forgotten.broken(words));
        let waits_for_work = owner.is_queued || owner.again_at.is_some();
        if let Some(key) = self.laws.unmade_child(&self.family).filter(|_| is_waiting && !waits_for_work) {
            return Err(Law::ChildMade.broken(format!("child {key} was not made, and no owner makes it")));
        }
        let looks_at = match spot {
            Spot::Wait { until, .. } => until,
            Spot::Children { until } => Some(until),
            Spot::Desk | Spot::Busy | Spot::Append | Spot::Start => Some(self.now),
        };
        let is_unrecorded = self.laws.unrecorded_child(&self.family).is_some();
        if is_unrecorded && looks_at.is_none_or(|until| until > self.now + CHILD_CHECK) {
            return forgotten("a child has ended, and the owner does not look at it");
        }
        if matches!(spot, Spot::Children { .. }) {
            return Ok(());
        }
        let question = state.question.as_ref();
        let is_ending = state.is_ending();
        let has_deadline = question.is_some_and(|question| question.deadline.is_some());
        let Spot::Wait { until, .. } = spot else {
            let timer = owner.timer.and_then(|timer| match timer.alarm {
                Alarm::Question(interaction_id) => Some(interaction_id),
                Alarm::Conductor => None,
            });
            let deadline = question.filter(|_| has_deadline).map(|question| question.interaction_id);
            return match state.status {
                _ if owner.again_at.is_some() => Ok(()),
                Some(RunStatus::Queued) if owner.is_queued => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() && timer == deadline => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() => {
                    forgotten("no owner waits for the deadline of the question")
                }
                Some(_) | None => forgotten("no owner works on the run"),
            };
        };
        if has_deadline && !is_ending && state.status == Some(RunStatus::WaitingUser) {
            // By the clock that is never set; a millisecond is added where a time is cut.
            let latest = self.now + SESSION_TIMEOUT + 2;
            if until.is_none_or(|until| until > latest) {
                return forgotten("the owner does not wait for the deadline of the question");
            }
        }
        let Some(host) = &self.hosts.living else {
            return forgotten("there is no process, and the owner waits for one");
        };
        if host.phase == Phase::Held {
            return forgotten("the host waits for the start request, and the owner waits too");
        }
        // While children of a run that is closed end, its process may have a moment to exit.
        if is_ending && self.hosts.is_forgotten() {
            return forgotten("the process should end, and no owner ends it");
        }
        let is_at_turn = host.attempt == state.attempt.0 && !host.is_changing;
        if state.interrupting.is_some() && is_at_turn && host.ladder.is_none() {
            return forgotten("the turn should be interrupted, and no owner does it");
        }
        if state.is_at_rest() && host.ladder.is_none() && until.is_none_or(|until| until > self.now + IDLE + 1) {
            return forgotten("the owner lets the process wait without a limit");
        }
        let reply = state.reply.as_ref().filter(|_| question.is_none());
        let waits = matches!(host.phase, Phase::AsksCall | Phase::Between) && host.ladder.is_none();
        if let Some(reply) = reply
            && waits
            && !is_ending
            && !self.laws.was_given(reply.interaction_id.0)
        {
            let words = format!("question {} was answered, and its process waits", reply.interaction_id.0);
            return Err(Law::NotGiven.broken(words));
        }
        Ok(())
    }

    pub(crate) fn check_end(&mut self) -> Result<(), Broken> {
        if self.disk.log.is_empty() {
            return Ok(());
        }
        self.laws.check_says(&mut self.tally)?;
        let again = State::of(self.disk.read(self.scene.paper).iter().map(Arc::as_ref));
        if again != self.disk.state {
            return Err(Law::Text.broken("a process that reads it again gets another state"));
        }
        Ok(())
    }
}
