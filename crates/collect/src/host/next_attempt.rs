//! A sticky process continues with its next attempt: the files of one are closed, those of the next opened, in one
//! step.

use std::time::Duration;

use rustix::process::Signal;
use skillrun_evidence::Recorder;
use skillrun_evidence::host_record::Drain;
use skillrun_model::AttemptNumber;

use super::deadlines::{Moment, after};
use super::part::{AttemptEvidence, RecordingProblem};
use super::record;
use super::run::{Host, Running, progress};
use crate::process::tree;
use crate::protocol::{HostRequest, Notice, RecordedSizes};
use crate::secrets::Secrets;
use crate::wiring::recorded_streams;

/// Time limit for streams to reach a line end.
const LINE_END_TIMEOUT: Duration = Duration::from_secs(1);

impl Host {
    /// Opens the next attempt of a sticky process.
    pub(super) fn begin_next(
        &mut self,
        running: &mut Running,
        now: Moment,
        attempt: AttemptNumber,
    ) -> Result<(), String> {
        let expected = AttemptNumber(self.record.attempt_number.0.saturating_add(1));
        if attempt != expected {
            return Err(format!("the next attempt is {expected}, not {attempt}"));
        }
        if running.streams.is_changing_over() {
            // An earlier owner has requested it. A refusal would mean that the process is about to exit.
            return Ok(());
        }
        if running.exit.is_some() || running.ladder.is_some() {
            return Err("the process has exited or is being terminated".to_owned());
        }
        let claim = self.claim.for_next(attempt);
        claim.take(&self.audit).map_err(|error| format!("failed to claim attempt {attempt} ({error})"))?;
        let streams = recorded_streams(self.plan.wiring, &self.plan.stdin);
        let recorder = Recorder::create(&self.audit, attempt, streams).map_err(|error| {
            // Nothing was started, so the claim is released.
            claim.release(&self.audit);
            format!("failed to record attempt {attempt}: {error}")
        })?;
        self.claim = claim;
        running.streams.begin_next(AttemptEvidence::new(recorder, now));
        running.change_over_by = Some(after(now, LINE_END_TIMEOUT));
        running.deadlines.next_attempt(now);
        if let Some(watch) = &mut running.watch {
            watch.next_attempt();
        }
        Ok(())
    }

    /// Closes the previous attempt and continues with the next.
    pub(super) fn change_over(&mut self, running: &mut Running, now: Moment) {
        running.change_over_by = None;
        let Some(old) = running.streams.change_over(now) else { return };
        let sizes = progress(&old);
        let number = AttemptNumber(self.record.attempt_number.0.saturating_add(1));
        self.snapshot_after(&mut |host| host.breathe(running));
        let mut next = record::opening(&self.plan, &Secrets::of(&self.plan), number, self.record.pid);
        next.started_at = self.record.started_at.plus_nanos(running.streams.part.begun.saturating_sub(old.begun));
        let mut before = std::mem::replace(&mut self.record, next);
        before.process_continues = true;
        // The reason for an end of the process during this step is recorded in the next attempt, unless it damaged the
        // files of the previous one.
        let ended_by = before.ended_by.take();
        self.record.deadline_at = before.deadline_at.take();
        before.ended_by = old.trouble.as_ref().map(RecordingProblem::ended_by);
        self.record.error = if old.trouble.is_some() { before.error.clone() } else { before.error.take() };
        before.ended_at = Some(before.started_at.plus_nanos(now.saturating_sub(old.begun)));
        let cache = before.attempt_number;
        self.write_record(before, old, Drain::default());
        self.record.ended_by = ended_by;
        self.snapshot_before(Some(cache), &mut |host| host.breathe(running));
        self.write_meta(running, now);
        self.catch_up(running);
        self.owner_socket.send_notice(&Notice::NextAttempt(RecordedSizes { attempt: number, ..sizes }));
        self.owner_socket.progress(progress(&running.streams.part));
    }

    /// Reads the output that has arrived meanwhile, and serves the socket. A cancel does not wait until a large
    /// workspace is listed.
    fn breathe(&mut self, running: &mut Running) {
        if !self.is_breath_due() {
            return;
        }
        let now = self.clock.now();
        running.breathe(now);
        self.look_at_limits(running, now);
        self.receive();
        let is_cancel = |request: &HostRequest| matches!(request, HostRequest::Cancel { .. });
        let (cancels, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.early).into_iter().partition(is_cancel);
        self.early = others;
        for cancel in cancels {
            self.carry_out(running, now, cancel);
        }
        let was_at_top = running.is_at_top;
        running.climb(now);
        if running.is_at_top && !was_at_top {
            // Processes that are missed here are terminated when the work is done.
            tree::signal(None, Signal::KILL);
        }
    }
}
