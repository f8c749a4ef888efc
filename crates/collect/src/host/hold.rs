//! Between the claim and the process: a host whose plan says so waits for the word to start, or withdraws.
//!
//! Whoever owns an attempt notes in its own books that the process starts, and only then says so. If it dies before, or
//! between the two, the next owner finds a host that waits, and no process that nobody knows of.

use rustix::event::{PollFd, PollFlags};

use super::begin::Signals;
use super::deadlines::{Moment, after};
use super::run::Host;
use crate::plan::StartWhen;
use crate::protocol::{CloseReason, ProcessState};
use crate::withdraw::give_up;

/// How the wait came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The process is to be started, or was canceled.
    Over,
    /// Nobody said anything in time, or somebody told the host to end.
    TooLong,
}

impl Host {
    pub(super) fn hold(&mut self) -> Held {
        let until = match self.plan.start {
            StartWhen::AtOnce => return Held::Over,
            StartWhen::Told { within } => after(0, within),
        };
        loop {
            // What has come is looked at before the clock.
            self.attend();
            if self.process == ProcessState::Started || self.is_canceled_early() {
                return Held::Over;
            }
            if self.clock.now() >= until || Signals::came(&self.signals.end) {
                return Held::TooLong;
            }
            self.wait_for_word(until);
        }
    }

    fn wait_for_word(&self, until: Moment) {
        let mut fds = vec![PollFd::new(&self.signals.end, PollFlags::IN)];
        if let Some(fd) = self.desk.listener(self.clock.now()) {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        if let Some((fd, flags)) = self.desk.seat() {
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        }
        let until = self.desk.due().map_or(until, |due| due.min(until));
        // If there was too little memory for it, it is tried again at once.
        self.clock.poll(&mut fds, Some(until)).ok();
    }

    /// Leaves as if it had never come. From here on it is too late for a word: whoever says it is hung up on, and finds
    /// an attempt that nobody has begun.
    pub(super) fn withdraw(mut self) {
        // While the claim is there nobody else has a socket or files of this attempt; afterwards they may.
        self.desk.remove_socket();
        // What cannot be removed stays claimed, and whoever owns the attempt can try again.
        if give_up(&self.audit, self.plan.attempt, Some(&self.claim)).is_ok() {
            self.desk.hang_up(CloseReason::Withdrawn);
        }
    }
}
