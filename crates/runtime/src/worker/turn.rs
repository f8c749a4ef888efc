//! Follows a running attempt: reads its output as it comes, notifies its host when the turn is over, and handles
//! messages to the run meanwhile.

use std::collections::VecDeque;
use std::time::Duration;

use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{HostState, ProcessLeft, RunStep, SessionLeft};
use skillrun_model::rasp::data::RunHeartbeat;
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::Continuation;
use skillrun_model::{ExecutionMode, IgnoredError, RunStatus};
use skillrun_runs::record::seconds;

use super::calls::Calls;
use super::{Worker, next};
use crate::attempt::reading::Reading;
use crate::error::RuntimeError;

/// After this long without an event, an event reports that the attempt is still running.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What the host was notified of about the end of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEndSignal {
    Nothing,
    /// The process has a moment to exit.
    Over,
    /// Output from now on belongs to the next attempt.
    Next,
}

impl Worker<'_> {
    pub(super) fn follow(&mut self) -> Result<RunStep, RuntimeError> {
        let attempt = self.run.state.attempt;
        let _attempt_span = tracing::info_span!("attempt", number = attempt.0).entered();
        let mut reading = if self.begun == Some(attempt) {
            self.begun = None;
            Reading::begin(&self.run, attempt, self.files.evidence(&self.run, attempt)?)?
        } else {
            self.reading(attempt)?
        };
        self.start_again()?;
        let waits = self.run.state.status == Some(RunStatus::WaitingUser);
        let deadline: Option<Duration> = self.timer.map(|timer| timer.left(self.run.running()));
        let time = seconds(self.run.record.request.timeouts.hard_sec);
        if let Some(host) = &mut self.host {
            host.begins_turn();
            if waits {
                host.send(&HostRequest::Wait { deadline });
            }
        }
        let mut calls = Calls { known: self.run.state.calls, seen: 0, waiting: VecDeque::new(), dropped: 0 };
        let clock = self.run.clock().clone();
        let begin = clock.awake();
        let (mut signal, mut last_seq, mut silent_since) = (TurnEndSignal::Nothing, self.run.state.last_seq, begin);
        loop {
            let Some(host) = &mut self.host else { return Ok(RunStep::Settle) };
            let news = host.poll_events(attempt)?;
            let extent = news.turned.unwrap_or(host.extent);
            reading.advance(&mut self.run, extent)?;
            if news.turned.is_some() {
                host.ends_turn();
                return self.settle(reading, ProcessLeft::Living);
            }
            if news.is_gone {
                tracing::debug!("the host process closed its connection");
                self.reap_host();
                return self.after_host(reading);
            }
            if news.refused && signal == TurnEndSignal::Next {
                // It is about to exit; its record has the rest. If its wrapper was killed, it may continue, and is
                // ended.
                host.send(&HostRequest::CloseStdin);
                host.send(&HostRequest::TurnOver { linger: None });
                signal = TurnEndSignal::Over;
            }
            if news.took_input && self.run.state.status == Some(RunStatus::WaitingUser) {
                // Input restarts its clocks, while the user has not answered yet.
                let deadline = self.timer.map(|timer| timer.left(self.run.running()));
                host.send(&HostRequest::Wait { deadline });
            }
            match self.run.state.status {
                Some(RunStatus::WaitingUser) => host.begins_turn(),
                Some(
                    RunStatus::Queued
                    | RunStatus::Running
                    | RunStatus::Succeeded
                    | RunStatus::Closed
                    | RunStatus::Failed
                    | RunStatus::Canceled,
                )
                | None => host.turn_takes(time),
            }
            reading.take_sends().into_iter().for_each(|send| host.send_line(send.id, send.line));
            signal = self.signal_turn_end(&reading, signal);
            calls.take(&mut reading);
            self.look_after_children()?;
            self.finish_cancel(&reading, &mut calls);
            self.ask_next(&mut calls)?;
            while let Some(next) = self.handle_mail()? {
                if !matches!(next, RunStep::Follow) {
                    return Ok(next);
                }
            }
            if let Some(due) = self.is_due() {
                let next = self.expire(due)?;
                if !matches!(next, RunStep::Follow) {
                    return Ok(next);
                }
            }
            if self.run.state.last_seq != last_seq {
                (last_seq, silent_since) = (self.run.state.last_seq, clock.awake());
            } else if clock.awake().saturating_sub(silent_since) >= HEARTBEAT {
                let elapsed = clock.awake().saturating_sub(begin);
                let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                let bytes = extent.stdout + extent.stderr;
                let beat = ControlData::RunHeartbeat(RunHeartbeat { elapsed_ms, bytes });
                // It carries no information of its own; on a full disk it is left out.
                self.run
                    .note(ControlEvent { level: Level::Info, data: beat, correlation: Correlation::default() })
                    .ignored();
                silent_since = clock.awake();
                last_seq = self.run.state.last_seq;
            }
            self.check_host_responsive();
            let heartbeat = silent_since + HEARTBEAT;
            self.wait(Some(self.next_child_check().map_or(heartbeat, |at| at.min(heartbeat))));
        }
    }

    /// The request to start is sent again, because an earlier owner may not have sent it.
    fn start_again(&mut self) -> Result<(), RuntimeError> {
        planted!(DoesNotStartAgain => { return Ok(()); });
        self.note_missing_message()?;
        self.ask_to_start();
        Ok(())
    }

    /// Notifies the host that the turn is over, or that it continues after all.
    fn signal_turn_end(&mut self, reading: &Reading, signal: TurnEndSignal) -> TurnEndSignal {
        let record = &self.run.record;
        let has_turns = match record.request.mode {
            ExecutionMode::Auto => false,
            ExecutionMode::Interactive | ExecutionMode::Conversation => true,
        };
        let goes_on = record.engine.continuation == Continuation::Sticky && has_turns;
        let asks = self.run.state.question.is_some();
        let Some(host) = &mut self.host else { return signal };
        if host.is_ending() {
            return signal;
        }
        if asks && reading.end_so_far().is_some() && signal == TurnEndSignal::Nothing {
            // The turn ended with an open question; its clocks run again, so that it is not waited for.
            host.send(&HostRequest::GoOn);
        }
        match (reading.end_so_far(), signal) {
            (Some(_), TurnEndSignal::Nothing) if goes_on => {
                host.send(&HostRequest::NextAttempt { attempt: next(reading.attempt) });
                TurnEndSignal::Next
            }
            (Some(_), TurnEndSignal::Nothing) => {
                host.send(&HostRequest::CloseStdin);
                host.send(&HostRequest::TurnOver { linger: None });
                TurnEndSignal::Over
            }
            (None, TurnEndSignal::Over) => {
                host.send(&HostRequest::TurnGoesOn);
                TurnEndSignal::Nothing
            }
            (Some(_), TurnEndSignal::Over | TurnEndSignal::Next)
            | (None, TurnEndSignal::Nothing | TurnEndSignal::Next) => signal,
        }
    }

    /// The host has closed its connection.
    fn after_host(&mut self, reading: Reading) -> Result<RunStep, RuntimeError> {
        let state = self.find_host(reading.attempt)?;
        tracing::debug!(host = ?state, "looked for the host process");
        match state {
            // Where its process continues in the next attempt, there is a host.
            HostState::Ended if self.host.is_some() => self.settle(reading, ProcessLeft::Living),
            HostState::Ended | HostState::Lost if self.is_free_for_another(reading.attempt) => {
                Ok(RunStep::Start(reading.attempt))
            }
            HostState::Ended | HostState::Lost => self.settle(reading, ProcessLeft::Gone),
            // It is running, and everything is sent to it again: earlier requests may not have reached it.
            HostState::Alive => self.recover(HostState::Alive, SessionLeft::Lost),
            // The request to start came too late.
            HostState::NoClaim => Ok(RunStep::Start(reading.attempt)),
        }
    }
}
