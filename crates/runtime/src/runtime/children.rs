//! Runs that other runs ask for: made by the worker of their parent, whose Log has the request; reported to it when they
//! end. A parent that waits for them lends its slot.

use std::sync::Arc;

use skillrun_collect::tree;
use skillrun_lifecycle::run::{ChildProgress, ChildRun, Input, State};
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::delegation::{ChildRequest, ParentLink, SubagentStatus};
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::children::ChildLog;
use skillrun_runs::events::read_all;
use skillrun_runs::record::RunRecord;
use skillrun_runs::request_entries::was_made;

use super::threads::demand;
use super::{Inner, TakenUp};
use crate::accept::{self, AcceptError};
use crate::conductor;
use crate::delegation::DelegationSocket;
use crate::delegation::make::{self, Parent};
use crate::error::RuntimeError;
use crate::mailbox::RunCommand;
use crate::queue::Slot;
use crate::run::Run;
use crate::worker::outside::ChildFault;
use skillrun_model::IgnoredError;

/// Families whose sizes are remembered.
const FAMILIES_MAX: usize = 10_000;

impl Inner {
    /// The socket of a run that may delegate.
    pub(super) fn delegation_socket(self: &Arc<Self>, run: &Run) -> Option<DelegationSocket> {
        run.record.request.delegation.as_ref()?;
        match DelegationSocket::begin(self, run.id, &run.state) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(run = %run.id, %error, "the run cannot delegate: its socket cannot be bound");
                None
            }
        }
    }

    /// Makes a child that the Log of its parent has, or finds it made, with an owner.
    pub(crate) fn make_child(self: &Arc<Self>, parent: &Run, child: &ChildRun) -> Result<(), ChildFault> {
        let never = |error: &dyn std::fmt::Display| ChildFault::Never(error.to_string());
        let tools = &self.config.tools;
        if was_made(&tools.log, child.run_id).map_err(|error| never(&error))? {
            return match self.take_up(child.run_id) {
                Ok(
                    TakenUp::Working
                    | TakenUp::Waiting
                    | TakenUp::Over
                    | TakenUp::TriedAgain(_)
                    | TakenUp::Stuck
                    | TakenUp::OwnedElsewhere,
                ) => Ok(()),
                // It was removed after its end.
                Err(error) if error.class() == ErrorClass::Gone => Ok(()),
                Err(error) => Err(ChildFault::Later(error.to_string())),
            };
        }
        // An earlier owner may have died while it made the child. No other process makes it now: that needs the parent.
        let folder = tools.data.run(child.run_id);
        tree::remove(folder.root()).map_err(|error| never(&error))?;
        let known = Parent { record: &parent.record, folder: &parent.folder, attempt: child.attempt };
        let checked = if let Some(plan) = parent.record.workflow() {
            conductor::make::check(&self.config, known, plan, child).map_err(|fault| never(&fault))?
        } else {
            let request: ChildRequest = make::stored(&parent.folder, &child.request).map_err(|fault| never(&fault))?;
            make::check(&self.config, known, &request, child.run_id).map_err(|fault| never(&fault))?
        };
        let made = accept::make(&self.config, checked).map_err(|error| never(&error))?;
        tools.counters.accepted();
        self.enqueue(made);
        Ok(())
    }

    /// A child has ended, or asks something. The Log of its parent gets the end.
    pub(super) fn notify_parent(self: &Arc<Self>, link: &ParentLink, child: RunId) {
        let parent = link.run_id;
        if link.step_id.is_some() {
            return self.wake_conductor(parent);
        }
        let mailbox = self.table().mailbox(parent);
        let is_delivered = mailbox.is_some_and(|mailbox| mailbox.put(RunCommand::ChildNews).is_some());
        if is_delivered {
            return;
        }
        match self.open(parent) {
            Ok(run) => self.record_child_end(run, child),
            // Its owner looks at the Log of the child by itself.
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. } | LogErrorKind::Gone, .. })) => {}
            Err(error) => tracing::warn!(%parent, %child, %error, "the end of a child is not in the Log of its parent"),
        }
    }

    /// A workflow has something to do: a child has ended, or a moment has come. The caller may be the worker of this
    /// workflow, which has canceled a child that had not begun, so that it must not wait for an answer of that worker.
    pub(super) fn wake_conductor(self: &Arc<Self>, workflow: RunId) {
        let mailbox = self.table().mailbox(workflow);
        if mailbox.is_some_and(|mailbox| mailbox.put(RunCommand::ChildNews).is_some()) {
            return;
        }
        match self.open_with_retry(workflow) {
            Ok(run) => drop(self.take_up_run(run)),
            // Another process conducts it, and looks at its children by itself; or it is gone.
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. } | LogErrorKind::Gone, .. })) => {}
            Err(error) => self.failed(&mut self.table(), workflow, &error),
        }
    }

    /// No worker has the parent: it rests, or its owner died.
    fn record_child_end(self: &Arc<Self>, parent: Run, child: RunId) {
        let tools = &self.config.tools;
        // Nothing follows the end of a run: of a child that was detached with it, views read the child's own Log.
        if parent.state.is_over() {
            return;
        }
        let detached = ChildProgress::Ended(SubagentStatus::Detached);
        let is_wanted = |child: &&ChildRun| child.is_open() || child.progress == detached;
        let Some(known) = parent.state.child(child).filter(is_wanted) else { return };
        let read = ChildLog::read(&tools.log, &tools.data, known);
        let Some(end) = read.ok().flatten().and_then(|log| log.ending(known)) else { return };
        // If it fails, the next worker of the parent does the same.
        self.apply_unowned(parent, Input::ChildEnded(Box::new(end))).ignored();
    }

    /// Whether another child may be queued.
    pub(crate) fn room_for_child(&self) -> Result<(), AcceptError> {
        self.table().queue.room().map_err(|full| AcceptError::QueueFull { queued: full.queued })
    }

    /// A place for one more run below `root`, unless there are `limit` already.
    pub(crate) fn family_place(self: &Arc<Self>, root: RunId, limit: u32) -> Option<FamilyPlace> {
        let known = self.table().families.get(&root).copied();
        let size = known.unwrap_or_else(|| self.family_size(root));
        let mut table = self.table();
        if table.families.len() >= FAMILIES_MAX {
            // They are counted again when they matter.
            table.families.clear();
        }
        let size = *table.families.entry(root).or_insert(size);
        if size >= limit {
            return None;
        }
        table.families.insert(root, size + 1);
        Some(FamilyPlace { inner: self.clone(), root, is_used: false })
    }

    /// The number of runs below a run, from the Logs.
    fn family_size(&self, root: RunId) -> u32 {
        let tools = &self.config.tools;
        let (mut open, mut count) = (vec![root], 0);
        while let Some(run) = open.pop() {
            let mut state = State::default();
            let read = read_all(&tools.log, run, |event| {
                state.evolve(&event);
                Ok::<(), LogError>(())
            });
            if read.is_ok() {
                count += u32::try_from(state.children.len()).unwrap_or(u32::MAX);
                open.extend(state.children.iter().map(|child| child.run_id));
            }
        }
        count
    }

    /// A run waits for its children, which need its slot more.
    pub(crate) fn lend_slot(self: &Arc<Self>, run: RunId) -> LentSlot {
        let record = RunRecord::read(&self.config.tools.data.run(run).record());
        let number = record.ok().map(|record| self.table().lend(run, &demand(&record)));
        self.dispatch(None);
        LentSlot { inner: self.clone(), run, number }
    }
}

/// A place in a family. Dropped unused, it is free again.
pub(crate) struct FamilyPlace {
    inner: Arc<Inner>,
    root: RunId,
    is_used: bool,
}

impl FamilyPlace {
    pub(crate) fn keep(mut self) {
        self.is_used = true;
    }
}

impl Drop for FamilyPlace {
    fn drop(&mut self) {
        if !self.is_used
            && let Some(size) = self.inner.table().families.get_mut(&self.root)
        {
            *size = size.saturating_sub(1);
        }
    }
}

/// The slot of a parent that waits. When this is dropped the parent has it again, before any new run gets one.
pub(crate) struct LentSlot {
    inner: Arc<Inner>,
    run: RunId,
    number: Option<LoanNumber>,
}

impl Drop for LentSlot {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.inner.table().take_back(self.run, number);
        }
    }
}

/// Distinguishes the loans of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoanNumber(pub(super) u64);

/// A slot that a parent has lent, and for how many waits.
#[derive(Debug)]
pub(super) struct Loan {
    pub(super) number: LoanNumber,
    pub(super) waits: usize,
    pub(super) slot: Slot,
}
