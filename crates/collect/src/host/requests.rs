//! The requests of the owner.

use skillrun_model::{AttemptNumber, EndedBy};

use super::deadlines::Moment;
use super::ladder::Ladder;
use super::owner_socket::Event;
use super::record;
use super::run::{Host, Running, progress};
use crate::given;
use crate::process::tree::Exit;
use crate::protocol::{
    HostHello, HostRequest, InputAnswer, InterruptedProcess, Notice, ProcessState, RecordedSizes, VERSION,
};

/// Interval at which a long operation checks for requests.
const REQUEST_CHECK_INTERVAL: Moment = 1_000_000;

/// Maximum number of requests that are queued while none can be handled.
const EARLY_MAX: usize = 1000;

impl Host {
    /// Serves the socket while a snapshot is taken: new owners are greeted, their requests are queued.
    pub(super) fn receive(&mut self) {
        if !self.is_breath_due() {
            return;
        }
        self.last_breath = self.clock.now();
        self.attend();
    }

    /// Accepts new owners, and queues their requests.
    pub(super) fn attend(&mut self) {
        let now = self.clock.now();
        self.keep_requests(now);
        self.owner_socket.accept(now, &self.hello());
        self.keep_requests(now);
        let events = self.owner_socket.flush(now);
        self.keep(events);
    }

    fn keep_requests(&mut self, now: Moment) {
        let events = self.owner_socket.read(now);
        self.keep(events);
    }

    fn keep(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Came => self.owner_socket.progress(nothing_yet(self.record.attempt_number)),
                Event::Left => {}
                Event::Asked(HostRequest::Start) => self.process = ProcessState::Started,
                Event::Asked(request) if self.early.len() < EARLY_MAX => self.early.push(request),
                Event::Asked(_) => {}
            }
        }
    }

    /// Whether it is time to check for requests.
    pub(super) fn is_breath_due(&self) -> bool {
        self.clock.now() >= self.last_breath.saturating_add(REQUEST_CHECK_INTERVAL)
    }

    /// Handles the queued requests.
    pub(super) fn catch_up(&mut self, running: &mut Running) {
        let now = self.clock.now();
        if self.owner_socket.has_owner() {
            self.desk_event(running, now, Event::Came);
        } else {
            running.deadlines.owner_left(now);
        }
        for request in std::mem::take(&mut self.early) {
            self.carry_out(running, now, request);
        }
    }

    /// How an owner has ended an attempt that has not begun.
    pub(super) fn ended_early(&self) -> Option<EndedBy> {
        self.early.iter().find_map(|request| match request {
            HostRequest::Cancel { .. } => Some(EndedBy::Canceled),
            HostRequest::Interrupt { .. } => Some(EndedBy::Interrupted),
            HostRequest::Start
            | HostRequest::Input { .. }
            | HostRequest::CloseStdin
            | HostRequest::NextAttempt { .. }
            | HostRequest::TurnOver { .. }
            | HostRequest::TurnGoesOn
            | HostRequest::Wait { .. }
            | HostRequest::GoOn
            | HostRequest::StopWaiting
            | HostRequest::Detach => None,
        })
    }

    /// The act is recorded once for an attempt, before anything that the process writes because of it. The turn of an
    /// attempt that the process has left, or is leaving, had ended before: nothing is left to be interrupted.
    fn interrupt(&mut self, running: &mut Running, now: Moment, attempt: AttemptNumber, process: InterruptedProcess) {
        let is_over = attempt != self.record.attempt_number || running.streams.is_changing_over();
        if is_over || running.ladder.is_some() {
            return;
        }
        let is_recorded = self.interrupted == Some(attempt);
        self.interrupted = Some(attempt);
        match process {
            InterruptedProcess::Stays if is_recorded => {}
            InterruptedProcess::Stays => running.streams.act(now, EndedBy::Interrupted),
            InterruptedProcess::Ends if is_recorded => {
                let rungs = self.plan.ladder.clone();
                running.ladder = Some(Ladder::new(EndedBy::Interrupted, &rungs, now));
            }
            InterruptedProcess::Ends => {
                let rungs = self.plan.ladder.clone();
                self.end(running, now, EndedBy::Interrupted, &rungs);
            }
        }
    }

    /// Before the first input of an attempt.
    fn mark_input(&mut self) -> std::io::Result<()> {
        let attempt = self.record.attempt_number;
        if self.marked != Some(attempt) {
            given::mark(&self.audit, attempt)?;
            self.marked = Some(attempt);
        }
        Ok(())
    }

    pub(super) fn hello(&self) -> HostHello {
        HostHello {
            skillrun_host: VERSION,
            run_id: self.plan.run_id,
            attempt: self.record.attempt_number,
            pid: std::process::id(),
            process: self.process,
        }
    }

    pub(super) fn send_exit(&mut self, exit: Exit) {
        let (exit_code, signal) = record::exit_fields(Some(exit));
        self.owner_socket.send_notice(&Notice::Exited { exit_code, signal });
    }

    pub(super) fn desk_event(&mut self, running: &mut Running, now: Moment, event: Event) {
        match event {
            Event::Came => {
                running.deadlines.owner_came();
                self.owner_socket.progress(progress(&running.streams.part));
                if let Some((exit, _)) = running.exit {
                    self.send_exit(exit);
                }
            }
            Event::Left => running.deadlines.owner_left(now),
            Event::Asked(request) => self.carry_out(running, now, request),
        }
    }

    pub(super) fn carry_out(&mut self, running: &mut Running, now: Moment, request: HostRequest) {
        match request {
            HostRequest::Input { id, text, hex } => match running.inputs.accept(id.clone(), text, hex.as_deref()) {
                Some(answer) => self.owner_socket.send_notice(&Notice::Input { id, answer }),
                // The mark is on the disk before any input is written, so that it can be checked if the host dies now.
                None if self.mark_input().is_err() => {
                    running.inputs.take_back();
                    self.owner_socket.send_notice(&Notice::Input { id, answer: InputAnswer::Busy });
                }
                None => {
                    running.deadlines.input(now);
                    self.write_input(running);
                }
            },
            HostRequest::CloseStdin => running.inputs.close(),
            HostRequest::NextAttempt { attempt } => {
                if let Err(reason) = self.begin_next(running, now, attempt) {
                    self.owner_socket.send_notice(&Notice::Refused { reason });
                }
            }
            HostRequest::Cancel { ladder } => {
                let rungs = ladder.unwrap_or_else(|| self.plan.ladder.clone());
                match &mut running.ladder {
                    Some(ladder) => ladder.restart(&rungs, now),
                    None => self.end(running, now, EndedBy::Canceled, &rungs),
                }
            }
            HostRequest::Interrupt { attempt, process } => self.interrupt(running, now, attempt, process),
            HostRequest::TurnOver { linger } => running.deadlines.turn_over(now, linger),
            HostRequest::TurnGoesOn => running.deadlines.turn_continues(),
            HostRequest::Wait { deadline } => running.deadlines.wait(now, deadline),
            HostRequest::GoOn => running.deadlines.resume(now),
            HostRequest::StopWaiting if running.ladder.is_none() => {
                let rungs = self.plan.ladder.clone();
                self.end(running, now, EndedBy::WaitTimeout, &rungs);
            }
            // It is being terminated.
            HostRequest::StopWaiting => {}
            // The socket handles one of these; the other was handled before.
            HostRequest::Detach | HostRequest::Start => {}
        }
    }
}

fn nothing_yet(attempt: AttemptNumber) -> RecordedSizes {
    RecordedSizes { attempt, stdout: 0, stderr: 0, pty: 0 }
}
