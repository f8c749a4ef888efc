//! Messages to a run while its worker has it. The worker waits for its host and for these at the same time.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard};

use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};
use skillrun_base::sync::lock;
use skillrun_lifecycle::run::Input;
use skillrun_model::InteractionId;
use skillrun_model::delegation::SubagentRequested;

use crate::error::RuntimeError;
use skillrun_model::IgnoredError;

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub interaction_id: InteractionId,
    pub text: String,
    /// Names in `inputs/` of the run.
    pub files: Vec<String>,
    pub request_id: Option<String>,
}

impl From<Reply> for Input<'_> {
    fn from(reply: Reply) -> Self {
        let Reply { interaction_id, text, files, request_id } = reply;
        Input::Reply { interaction_id, text, files, request_id }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum RunCommand {
    Reply(Reply),
    Cancel {
        by: String,
    },
    Interrupt {
        by: String,
        say: Option<String>,
    },
    Close {
        by: String,
    },
    /// The open turn asks for a child.
    Spawn(Box<SubagentRequested>),
    /// A child has ended, or asks something.
    ChildNews,
    /// Leave it running, and stop being its owner.
    LetGo,
}

impl RunCommand {
    /// What it means for the run; none where it is for its owner alone.
    pub(crate) fn input(self) -> Option<Input<'static>> {
        match self {
            Self::Reply(reply) => Some(reply.into()),
            Self::Cancel { by } => Some(Input::Cancel { by }),
            Self::Interrupt { by, say } => Some(Input::Interrupt { by, say }),
            Self::Close { by } => Some(Input::Close { by }),
            Self::Spawn(asked) => Some(Input::ChildRequested(asked)),
            Self::ChildNews | Self::LetGo => None,
        }
    }
}

/// A message, and the channel for the reply. A sender that gets no reply tries another way: the worker has left.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) command: RunCommand,
    pub(crate) answer: Sender<Result<(), RuntimeError>>,
}

#[derive(Debug)]
pub(crate) struct Mailbox {
    waiting: Mutex<Waiting>,
    bell: OwnedFd,
}

#[derive(Debug, Default)]
struct Waiting {
    mail: VecDeque<Mail>,
    is_closed: bool,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::default(), bell })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// None when no worker will read it any more.
    pub(crate) fn put(&self, command: RunCommand) -> Option<Receiver<Result<(), RuntimeError>>> {
        let (answer, heard) = channel();
        let mut waiting = self.lock();
        if waiting.is_closed {
            return None;
        }
        waiting.mail.push_back(Mail { command, answer });
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).ignored();
        Some(heard)
    }

    pub(crate) fn take(&self) -> Option<Mail> {
        let mut waiting = self.lock();
        let mail = waiting.mail.pop_front();
        // The bell rings only for mail, and both change under the lock.
        if mail.is_some() && waiting.mail.is_empty() {
            rustix::io::read(&self.bell, &mut [0; 8]).ignored();
        }
        mail
    }

    /// Nothing is accepted any more; waiting messages stay unanswered. Returns whether there was news of a child among
    /// them: its sender does not wait for an answer, and sends it only once.
    pub(crate) fn close(&self) -> bool {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        let has_news = waiting.mail.iter().any(|mail| matches!(mail.command, RunCommand::ChildNews));
        waiting.mail.clear();
        has_news
    }
}

impl AsFd for Mailbox {
    /// Readable when there is mail.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
