//! Replies and cancels: sent to the worker that has the run, or applied to the run itself where no process has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_lifecycle::run::{Input, State};
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::{IgnoredError, InteractionId, RunId};
use skillrun_runs::events::read_all;
use skillrun_runs::prompt::{self, TextKind};

use super::{Inner, Runtime};
use crate::error::RuntimeError;
use crate::mailbox::{Reply, RunCommand};
use crate::run::Run;
use crate::views;
use crate::worker::Alarm;

/// How long a run may be in transfer between two threads.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which a run that another process holds is checked again.
const HELD_PAUSE: Duration = Duration::from_secs(1);

impl Runtime {
    /// Answers a question. When this returns, the answer is on disk.
    pub fn reply(&self, run: RunId, reply: Reply) -> Result<(), RuntimeError> {
        self.check_reply(run, reply.interaction_id, &reply.text)?;
        self.inner.deliver(run, &RunCommand::Reply(reply))
    }

    /// Whether an engine can receive a text as the answer to this question, or as the next prompt. Nothing is written.
    pub fn check_reply(&self, run: RunId, interaction_id: InteractionId, text: &str) -> Result<(), RuntimeError> {
        if prompt::check(text).is_ok() {
            return Ok(());
        }
        // The Log is read only for a text that may have to be refused.
        let kind = self.kind_of_reply(run, interaction_id)?;
        prompt::check_kind(text, kind).map_err(|fault| RuntimeError::UnusableText { run, kind, fault })
    }

    fn kind_of_reply(&self, run: RunId, interaction_id: InteractionId) -> Result<TextKind, RuntimeError> {
        let mut state = State::default();
        read_all(self.log(), run, |event| {
            state.evolve(&event);
            Ok(())
        })?;
        let is_open = |question: &&Pending| question.interaction_id == interaction_id;
        Ok(match state.question.as_ref().filter(is_open).map(|question| question.scope) {
            Some(Scope::Prompt) => TextKind::Prompt,
            // Another one is refused because it is not open.
            Some(Scope::Turn | Scope::Call | Scope::Step) | None => TextKind::Answer,
        })
    }

    /// Cancels a run. When this returns, the cancel is on disk; its process may take a moment to end.
    pub fn cancel(&self, run: RunId, by: &str) -> Result<(), RuntimeError> {
        self.inner.deliver(run, &RunCommand::Cancel { by: by.to_owned() })
    }
}

impl Runtime {
    /// Stops the open turn of a run, which then waits for the next prompt. When this returns, the interrupt is on disk;
    /// whether the turn had ended before shows its record. `say` is the prompt that follows.
    pub fn interrupt(&self, run: RunId, by: &str, say: Option<String>) -> Result<(), RuntimeError> {
        let checked = say.as_deref().map_or(Ok(()), prompt::check);
        checked.map_err(|fault| RuntimeError::UnusableText { run, kind: TextKind::Prompt, fault })?;
        self.inner.deliver(run, &RunCommand::Interrupt { by: by.to_owned(), say })
    }

    /// Ends a conversation that waits for the next prompt.
    pub fn close(&self, run: RunId, by: &str) -> Result<(), RuntimeError> {
        self.inner.deliver(run, &RunCommand::Close { by: by.to_owned() })
    }
}

impl Inner {
    pub(crate) fn deliver(self: &Arc<Self>, id: RunId, command: &RunCommand) -> Result<(), RuntimeError> {
        let begin = Instant::now();
        loop {
            let mailbox = self.table().mailbox(id);
            if let Some(heard) = mailbox.and_then(|mailbox| mailbox.put(command.clone()))
                && let Ok(answer) = heard.recv()
            {
                return answer;
            }
            match self.open(id) {
                Ok(run) => return self.deliver_unowned(run, command),
                // A worker of this process takes it up or releases it at this moment.
                Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { pid }, .. }))
                    if pid == Some(std::process::id()) && begin.elapsed() < HANDOVER_TIMEOUT =>
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// No process has it, so this process becomes its owner.
    fn deliver_unowned(self: &Arc<Self>, run: Run, command: &RunCommand) -> Result<(), RuntimeError> {
        let Some(input) = command.clone().input() else { return Ok(()) };
        self.apply_unowned(run, input)
    }

    /// The deadline of a question has passed.
    pub(super) fn expire(self: &Arc<Self>, id: RunId, interaction_id: InteractionId) {
        let expired = self.open(id).and_then(|run| self.apply_unowned(run, Input::Expired { interaction_id }));
        match expired {
            Ok(()) => {}
            // The process that has it may leave the question open.
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. }, .. })) => {
                let again = self.config.tools.clock.running().saturating_add(HELD_PAUSE);
                self.table().arm(again, id, Alarm::Question(interaction_id));
            }
            Err(error) => self.failed(&mut self.table(), id, &error),
        }
    }

    /// Applies an input to a run that no worker has; the decision is carried out.
    pub(super) fn apply_unowned(self: &Arc<Self>, mut run: Run, input: Input<'_>) -> Result<(), RuntimeError> {
        let id = run.id;
        // The remaining work follows from the state.
        run.apply_idle(input, || self.end_left_process(id))?;
        self.table().disarm(id);
        if run.state.is_over() {
            self.table().queue.remove(id);
            views::write(&self.config.tools, id);
            let parent = run.record.parent.clone();
            drop(run);
            self.schedule_views(id);
            if let Some(parent) = parent {
                self.notify_parent(&parent, id);
            }
        } else {
            self.take_up_run(run);
        }
        self.ensure_timer_thread();
        self.changed.notify_all();
        Ok(())
    }

    pub(super) fn let_go(&self, id: RunId) {
        let mailbox = {
            let mut table = self.table();
            table.queue.remove(id);
            table.disarm(id);
            table.set_problem(id, None);
            table.mailbox(id)
        };
        if let Some(heard) = mailbox.and_then(|mailbox| mailbox.put(RunCommand::LetGo)) {
            heard.recv().ignored();
        }
        self.changed.notify_all();
    }
}
