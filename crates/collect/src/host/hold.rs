//! Between the claim and the process: a host whose plan requires it waits for the request to start, or withdraws.
//!
//! The owner of an attempt first records that the process starts, and only then sends the request. If it dies before,
//! or between the two, the next owner finds a waiting host, and no unrecorded process.

use rustix::event::{PollFd, PollFlags};

use super::begin::Signals;
use super::deadlines::{Moment, after};
use super::run::Host;
use crate::plan::StartWhen;
use crate::protocol::{CloseReason, ProcessState};
use crate::withdraw::give_up;
use skillrun_model::IgnoredError;

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The process is to be started, or was canceled.
    Over,
    /// No request arrived in time, or the host received a signal to exit.
    TooLong,
}

impl Host {
    pub(super) fn hold(&mut self) -> Held {
        let until = match self.plan.start {
            StartWhen::AtOnce => return Held::Over,
            StartWhen::Told { within } => after(0, within),
        };
        loop {
            // Arrived requests are handled before the clock is checked.
            self.attend();
            if self.process == ProcessState::Started || self.ended_early().is_some() {
                return Held::Over;
            }
            if self.clock.now() >= until || Signals::came(&self.signals.end) {
                return Held::TooLong;
            }
            self.wait_for_start(until);
        }
    }

    fn wait_for_start(&self, until: Moment) {
        let mut fds = vec![PollFd::new(&self.signals.end, PollFlags::IN)];
        if let Some(fd) = self.owner_socket.listener(self.clock.now()) {
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        if let Some((fd, flags)) = self.owner_socket.seat() {
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        }
        let until = self.owner_socket.due().map_or(until, |due| due.min(until));
        // If there was too little memory for it, it is retried at once.
        self.clock.poll(&mut fds, Some(until)).ignored();
    }

    /// Withdraws without a trace. From here on a request comes too late: the connection of the owner is closed, and it
    /// finds an attempt that was not begun.
    pub(super) fn withdraw(mut self) {
        // While the claim exists no other host has a socket or files of this attempt; afterwards one may.
        self.owner_socket.remove_socket();
        // If the files cannot be removed, the attempt stays claimed, and its owner can try again.
        if give_up(&self.audit, self.plan.attempt, Some(&self.claim)).is_ok() {
            self.owner_socket.hang_up(CloseReason::Withdrawn);
        }
    }
}
