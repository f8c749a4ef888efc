//! Sends a reply or a cancel to a run wherever its owner is: here, in another process, or nowhere.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_collect::start::random_nonce;
use skillrun_lifecycle::run::Refusal;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::RunId;

use super::{Inner, Runtime};
use crate::error::RuntimeError;
use crate::mailbox::{Reply, RunCommand};
use crate::owners::{OwnerErrorKind, OwnerReply, OwnerRequest, ask};
use skillrun_model::IgnoredError;

/// An owner may release a run while it is being looked for.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// No owner is asked again after this.
const OWNER_SEARCH_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a message was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// This process owns the run now.
    Here,
    /// Its owner, another process.
    Elsewhere,
    /// The same message was accepted before.
    Before,
}

impl Runtime {
    /// Answers a question of any run. When this returns, the answer is on disk.
    pub fn reply_anywhere(&self, run: RunId, reply: Reply) -> Result<Delivery, RuntimeError> {
        self.check_reply(run, reply.interaction_id, &reply.text)?;
        self.inner.reply_anywhere(run, reply)
    }

    /// Cancels any run. When this returns, the cancel is on disk; its process may take a moment to end.
    pub fn cancel_anywhere(&self, run: RunId, by: &str) -> Result<Delivery, RuntimeError> {
        self.inner.cancel_anywhere(run, by)
    }

    /// Interrupts the open turn of any run. When this returns, the interrupt is on disk.
    pub fn interrupt_anywhere(&self, run: RunId, by: &str, say: Option<&str>) -> Result<Delivery, RuntimeError> {
        let say = || say.map(ToOwned::to_owned);
        let elsewhere = || OwnerRequest::Interrupt { run, by: by.to_owned(), say: say() };
        self.inner.deliver_anywhere(|| self.interrupt(run, by, say()), elsewhere)
    }

    /// Closes any conversation that waits for the next prompt. When this returns, its end is on disk.
    pub fn close_anywhere(&self, run: RunId, by: &str) -> Result<Delivery, RuntimeError> {
        self.inner.deliver_anywhere(|| self.close(run, by), || OwnerRequest::Close { run, by: by.to_owned() })
    }
}

impl Inner {
    pub(crate) fn reply_anywhere(self: &Arc<Self>, run: RunId, reply: Reply) -> Result<Delivery, RuntimeError> {
        // So that an answer that is sent again after a missing reply is recognized as the same.
        let request_id = reply.request_id.or_else(|| random_nonce().ok());
        let reply = Reply { request_id, ..reply };
        let here = || self.deliver(run, &RunCommand::Reply(reply.clone()));
        self.deliver_anywhere(here, || OwnerRequest::Reply { run, reply: reply.clone() })
    }

    pub(crate) fn cancel_anywhere(self: &Arc<Self>, run: RunId, by: &str) -> Result<Delivery, RuntimeError> {
        let tools = &self.config.tools;
        let before = tools.log.last_writer(run).filter(|pid| *pid != std::process::id());
        let here = || self.deliver(run, &RunCommand::Cancel { by: by.to_owned() });
        let heard = self.deliver_anywhere(here, || OwnerRequest::Cancel { run, by: by.to_owned() })?;
        if let (Delivery::Here, Some(pid)) = (heard, before) {
            // The process that made the run may keep it in its queue, for hours if it waits for quota. If no process
            // answers, none does.
            ask(&tools.data, pid, OwnerRequest::TakeUp { run }).ignored();
        }
        Ok(heard)
    }

    fn deliver_anywhere(
        &self,
        here: impl Fn() -> Result<(), RuntimeError>,
        elsewhere: impl Fn() -> OwnerRequest,
    ) -> Result<Delivery, RuntimeError> {
        let begin = Instant::now();
        let mut tries = 0;
        loop {
            let (run, pid) = match here() {
                Ok(()) => return Ok(Delivery::Here),
                Err(RuntimeError::Refused { refusal: Refusal::Repeated { .. }, .. }) => return Ok(Delivery::Before),
                Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { pid }, run })) => (run, pid),
                Err(error) => return Err(error),
            };
            // The threads of this process have been waited for already.
            let owner = pid.filter(|pid| *pid != std::process::id());
            match owner.map(|pid| ask(&self.config.tools.data, pid, elsewhere())) {
                Some(Ok(OwnerReply::Done { .. })) => return Ok(Delivery::Elsewhere),
                Some(Ok(OwnerReply::Failed { error })) => match error.kind {
                    OwnerErrorKind::Repeated => return Ok(Delivery::Before),
                    // It has released the run, or is about to.
                    OwnerErrorKind::Held => {}
                    OwnerErrorKind::Stale
                    | OwnerErrorKind::Over
                    | OwnerErrorKind::WrongState
                    | OwnerErrorKind::NotFound
                    | OwnerErrorKind::OtherVariables
                    | OwnerErrorKind::Version
                    | OwnerErrorKind::Other => {
                        return Err(RuntimeError::Owner(error));
                    }
                },
                // The owner does not answer any more, or not yet.
                Some(Ok(OwnerReply::Delegated { .. }) | Err(_)) | None => {}
            }
            tries += 1;
            if tries >= TRIES || begin.elapsed() >= OWNER_SEARCH_TIMEOUT {
                return Err(match pid {
                    Some(pid) => RuntimeError::OwnerSilent { run, pid },
                    None => LogError { kind: LogErrorKind::Held { pid }, run }.into(),
                });
            }
            thread::sleep(PAUSE);
        }
    }
}
