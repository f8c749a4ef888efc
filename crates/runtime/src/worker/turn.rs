//! Follows a running attempt: reads its output as it comes, notifies its host when the turn is over, and handles
//! messages to the run meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use skillrun_collect::protocol::Request;
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{Found, ProcessLeft, SessionLeft};
use skillrun_model::rasp::data::RunHeartbeat;
use skillrun_model::rasp::{Correlation, Data, Level};
use skillrun_model::status::Continuation;
use skillrun_model::{ExecutionMode, RunStatus};

use super::calls::Calls;
use super::{Next, Worker, next};
use crate::attempt::reading::Reading;
use crate::error::RuntimeError;
use crate::record::seconds;

/// After this long without an event, an event reports that the attempt is still running.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What the host was notified of about the end of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// The process has a moment to exit.
    Over,
    /// Output from now on belongs to the next attempt.
    Next,
}

impl Worker<'_> {
    pub(super) fn follow(&mut self) -> Result<Next, RuntimeError> {
        let attempt = self.run.state.attempt;
        let _attempt_span = tracing::info_span!("attempt", number = attempt.0).entered();
        let mut reading = if self.begun == Some(attempt) {
            self.begun = None;
            Reading::begin(&self.run, attempt)?
        } else {
            Reading::open(&self.run, attempt)?
        };
        // Sent again, because an earlier owner may not have sent it.
        let waits = self.run.state.status == Some(RunStatus::WaitingUser);
        let deadline: Option<Duration> = self.timer.map(|timer| timer.left(self.run.running()));
        let time = seconds(self.run.record.request.timeouts.hard_sec);
        if let Some(host) = &mut self.host {
            host.begins_turn();
            host.send(&Request::Start);
            if waits {
                host.send(&Request::Wait { deadline });
            }
        }
        let mut calls = Calls { known: self.run.state.calls, seen: 0, waiting: VecDeque::new(), dropped: 0 };
        let begin = Instant::now();
        let (mut told, mut last_seq, mut silent_since) = (Told::Nothing, self.run.state.last_seq, Instant::now());
        loop {
            let Some(host) = &mut self.host else { return Ok(Next::Settle) };
            let news = host.hear(attempt)?;
            let extent = news.turned.unwrap_or(host.extent);
            reading.advance(&mut self.run, extent)?;
            if news.turned.is_some() {
                return self.settle(reading, ProcessLeft::Living);
            }
            if news.is_gone {
                tracing::debug!("the host process closed its connection");
                self.bury_host();
                return self.after_host(reading);
            }
            if news.refused && told == Told::Next {
                // It is about to exit; its record has the rest. If its wrapper was killed, it may continue, and is
                // ended.
                host.send(&Request::CloseStdin);
                host.send(&Request::TurnOver { linger: None });
                told = Told::Over;
            }
            if news.took_input && self.run.state.status == Some(RunStatus::WaitingUser) {
                // Input restarts its clocks, while the user has not answered yet.
                let deadline = self.timer.map(|timer| timer.left(self.run.running()));
                host.send(&Request::Wait { deadline });
            }
            match self.run.state.status {
                Some(RunStatus::WaitingUser) => host.begins_turn(),
                Some(
                    RunStatus::Queued
                    | RunStatus::Running
                    | RunStatus::Succeeded
                    | RunStatus::Failed
                    | RunStatus::Canceled,
                )
                | None => host.turn_takes(time),
            }
            reading.take_sends().into_iter().for_each(|send| host.say(send.id, send.line));
            told = self.tell(&reading, told);
            calls.take(&mut reading);
            self.see_to_cancel(&reading, &mut calls);
            self.ask_next(&mut calls)?;
            while let Some(next) = self.heed()? {
                if !matches!(next, Next::Follow) {
                    return Ok(next);
                }
            }
            if let Some(due) = self.is_due() {
                let next = self.expire(due)?;
                if !matches!(next, Next::Follow) {
                    return Ok(next);
                }
            }
            if self.run.state.last_seq != last_seq {
                (last_seq, silent_since) = (self.run.state.last_seq, Instant::now());
            } else if silent_since.elapsed() >= HEARTBEAT {
                let elapsed_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
                let bytes = extent.stdout + extent.stderr;
                let beat = Data::RunHeartbeat(RunHeartbeat { elapsed_ms, bytes });
                // It carries no information of its own; on a full disk it is left out.
                self.run
                    .note(ControlEvent { level: Level::Info, data: beat, correlation: Correlation::default() })
                    .ok();
                silent_since = Instant::now();
                last_seq = self.run.state.last_seq;
            }
            self.see_to_deaf_host();
            self.wait(Some(silent_since + HEARTBEAT))?;
        }
    }

    /// Notifies the host that the turn is over, or that it continues after all.
    fn tell(&mut self, reading: &Reading, told: Told) -> Told {
        let record = &self.run.record;
        let goes_on =
            record.engine.continuation == Continuation::Sticky && record.request.mode == ExecutionMode::Interactive;
        let asks = self.run.state.question.is_some();
        let Some(host) = &mut self.host else { return told };
        if host.is_ending() {
            return told;
        }
        if asks && reading.end_so_far().is_some() && told == Told::Nothing {
            // The turn ended with an open question; its clocks run again, so that it is not waited for.
            host.send(&Request::GoOn);
        }
        match (reading.end_so_far(), told) {
            (Some(_), Told::Nothing) if goes_on => {
                host.send(&Request::NextAttempt { attempt: next(reading.attempt) });
                Told::Next
            }
            (Some(_), Told::Nothing) => {
                host.send(&Request::CloseStdin);
                host.send(&Request::TurnOver { linger: None });
                Told::Over
            }
            (None, Told::Over) => {
                host.send(&Request::TurnGoesOn);
                Told::Nothing
            }
            (Some(_), Told::Over | Told::Next) | (None, Told::Nothing | Told::Next) => told,
        }
    }

    /// The host has closed its connection.
    fn after_host(&mut self, reading: Reading) -> Result<Next, RuntimeError> {
        let state = self.look_at(reading.attempt)?;
        tracing::debug!(host = ?state, "looked for the host process");
        match state {
            // Where its process continues in the next attempt, there is a host.
            Found::Ended if self.host.is_some() => self.settle(reading, ProcessLeft::Living),
            Found::Ended | Found::Lost if self.is_free_for_another(reading.attempt) => Ok(Next::Start(reading.attempt)),
            Found::Ended | Found::Lost => self.settle(reading, ProcessLeft::Gone),
            // It is running, and everything is sent to it again: earlier requests may not have reached it.
            Found::Alive => self.recover(Found::Alive, SessionLeft::Lost),
            // The request to start came too late.
            Found::NoClaim => Ok(Next::Start(reading.attempt)),
        }
    }
}
