//! What the owner asks for.

use skillrun_model::EndedBy;

use super::deadlines::Moment;
use super::desk::Event;
use super::record;
use super::run::{Host, Running, progress};
use crate::protocol::{Notice, Request};

impl Host {
    pub(super) fn desk_event(&mut self, running: &mut Running, now: Moment, event: Event) {
        match event {
            Event::Came => {
                running.deadlines.owner_came();
                self.desk.progress(progress(&running.streams.part));
                if let Some((exit, _)) = running.exit {
                    let (exit_code, signal) = record::told(Some(exit));
                    self.desk.tell(&Notice::Exited { exit_code, signal });
                }
            }
            Event::Left => running.deadlines.owner_left(now),
            Event::Asked(request) => self.carry_out(running, now, request),
        }
    }

    fn carry_out(&mut self, running: &mut Running, now: Moment, request: Request) {
        match request {
            Request::Input { id, text, hex } => match running.inputs.accept(id.clone(), text, hex.as_deref()) {
                Some(answer) => self.desk.tell(&Notice::Input { id, answer }),
                None => {
                    running.deadlines.input(now);
                    self.write_input(running);
                }
            },
            Request::CloseStdin => running.inputs.close(),
            Request::NextAttempt { attempt } => {
                if let Err(reason) = self.begin_next(running, now, attempt) {
                    self.desk.tell(&Notice::Refused { reason });
                }
            }
            Request::Cancel { ladder } => {
                let rungs = ladder.unwrap_or_else(|| self.plan.ladder.clone());
                match &mut running.ladder {
                    Some(ladder) => ladder.restart(&rungs, now),
                    None => self.end(running, now, EndedBy::Canceled, &rungs),
                }
            }
            Request::TurnOver { linger } => running.deadlines.turn_over(now, linger),
            Request::TurnGoesOn => running.deadlines.turn_goes_on(),
            Request::Wait { deadline } => running.deadlines.wait(now, deadline),
            Request::GoOn => running.deadlines.go_on(now),
            // The desk sees to it.
            Request::Detach => {}
        }
    }
}
