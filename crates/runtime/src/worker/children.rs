//! The children of a run: made, recorded when they end, and ended with their parent.

use std::mem;
use std::time::Duration;

use skillrun_lifecycle::run::{ChildProgress, ChildRun, Input, RunStep};
use skillrun_model::RunId;
use skillrun_model::codes::Code;
use skillrun_model::delegation::{OnParentEnd, SubagentEnded, SubagentStatus};
use skillrun_runs::record::seconds;

use super::Worker;
use super::outside::ChildFault;
use crate::error::RuntimeError;

/// How often the Logs of open children are looked at. The owner of a child in this process reports its end at once.
const CHILD_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How long a child that was canceled with its parent may take to end, before it counts as detached.
const CHILD_END_TIMEOUT: Duration = Duration::from_secs(60);

impl Worker<'_> {
    /// The Log has the request; makes the child, or finds it made.
    pub(super) fn make_child(&mut self, child: RunId) -> Result<(), RuntimeError> {
        let Some(known) = self.run.state.child(child).filter(|child| child.is_open()).cloned() else { return Ok(()) };
        let made = match self.children.make(&self.run, &known) {
            Ok(()) => Input::ChildStarted { child },
            // It exists, whatever the Log of this run has of it: an earlier owner may have died right after it made the
            // child. Only the Log of the child says how it ends.
            Err(ChildFault::Later(why)) => {
                tracing::warn!(%child, %why, "no owner for the child; its Log is looked at");
                Input::ChildStarted { child }
            }
            Err(ChildFault::Never(why)) => {
                let end = known.ended(SubagentStatus::Failed, Code::ChildNotMade, self.run.now());
                Input::ChildEnded(Box::new(SubagentEnded { details: Some(why), ..end }))
            }
        };
        self.run.apply(made).map(drop)?;
        self.post_children();
        Ok(())
    }

    /// Shows the children to the threads that answer requests of the process.
    pub(super) fn post_children(&self) {
        self.children.post(&self.run.state);
    }

    /// Records the ends of children, if it is time to look.
    pub(super) fn look_after_children(&mut self) -> Result<(), RuntimeError> {
        self.post_children();
        let has_news = mem::take(&mut self.has_child_news);
        if self.run.state.children.is_empty() {
            return Ok(());
        }
        let now = self.run.clock().awake();
        if !has_news && now < self.child_check_at {
            return Ok(());
        }
        self.child_check_at = now + CHILD_CHECK_INTERVAL;
        // How a detached child ended may be known by now.
        let is_wanted = |child: &&ChildRun| match child.progress {
            ChildProgress::Requested | ChildProgress::Started | ChildProgress::Ended(SubagentStatus::Detached) => true,
            ChildProgress::Ended(
                SubagentStatus::Completed
                | SubagentStatus::Failed
                | SubagentStatus::TimedOut
                | SubagentStatus::Cancelled,
            ) => false,
        };
        let wanted: Vec<ChildRun> = self.run.state.children.iter().filter(is_wanted).cloned().collect();
        for child in wanted {
            if let Some(end) = self.children.ending(&child) {
                planted!(CallsItCompleted => {
                    let end = SubagentEnded { status: SubagentStatus::Completed, ..end };
                    self.run.apply(Input::ChildEnded(Box::new(end)))?;
                    continue;
                });
                self.run.apply(Input::ChildEnded(Box::new(end)))?;
            }
        }
        self.post_children();
        Ok(())
    }

    /// When the children are looked at next, if there is one that has not ended. News is looked at now.
    pub(super) fn next_child_check(&self) -> Option<Duration> {
        if self.has_child_news {
            return Some(Duration::ZERO);
        }
        planted!(WaitsForNews => { return None; });
        self.run.state.open_children().next().map(|_| self.child_check_at)
    }

    /// The run is about to end: its children end before, as the policy of each says.
    pub(super) fn end_children(&mut self) -> Result<RunStep, RuntimeError> {
        let begin = self.run.clock().awake();
        let patience = seconds(self.run.record.request.timeouts.hard_sec);
        let mut canceled: Vec<(RunId, Duration)> = Vec::new();
        self.has_child_news = true;
        // A child may wait for it.
        let _slot = self.children.lend_slot();
        loop {
            if let Some(host) = &mut self.host {
                let attempt = host.link.attempt();
                if host.poll_events(attempt)?.is_gone {
                    self.reap_host();
                }
            }
            self.look_after_children()?;
            let open: Vec<ChildRun> = self.run.state.open_children().cloned().collect();
            if open.is_empty() {
                return Ok(RunStep::End);
            }
            let now = self.run.clock().awake();
            for child in open {
                planted!(LeavesChildren => {
                    let end = child.ended(SubagentStatus::Detached, Code::ParentEnded, self.run.now());
                    self.run.apply(Input::ChildEnded(Box::new(end)))?;
                    continue;
                });
                let is_late = now.saturating_sub(begin) >= patience;
                let policy = match child.on_parent_end {
                    _ if self.run.state.canceling.is_some() => OnParentEnd::Cancel,
                    OnParentEnd::Wait if is_late => OnParentEnd::Cancel,
                    policy @ (OnParentEnd::Cancel | OnParentEnd::Detach | OnParentEnd::Wait) => policy,
                };
                let asked = canceled.iter().find(|(run, _)| *run == child.run_id).map(|(_, at)| *at);
                match (policy, asked) {
                    (OnParentEnd::Wait, _) => {}
                    (OnParentEnd::Cancel, None) => {
                        canceled.push((child.run_id, now));
                        self.children.cancel(&child);
                    }
                    (OnParentEnd::Cancel, Some(at)) if now.saturating_sub(at) < CHILD_END_TIMEOUT => {}
                    (OnParentEnd::Cancel, Some(_)) | (OnParentEnd::Detach, _) => {
                        let end = child.ended(SubagentStatus::Detached, Code::ParentEnded, self.run.now());
                        self.run.apply(Input::ChildEnded(Box::new(end)))?;
                    }
                }
            }
            while let Some(next) = self.handle_mail()? {
                if matches!(next, RunStep::LetGo) {
                    return Ok(next);
                }
            }
            if self.run.state.open_children().next().is_none() {
                continue;
            }
            self.check_host_responsive();
            if !self.has_child_news {
                self.wait_for_children();
            }
        }
    }

    fn wait_for_children(&self) {
        let now = self.run.clock().awake();
        let time = self.child_check_at.saturating_sub(now).max(Duration::from_millis(1));
        match &self.host {
            Some(host) => {
                let due = host.due().map_or(time, |at| at.saturating_sub(now).min(time));
                host.link.wait(Some(due));
            }
            None => self.children.wait_for_mail(time),
        }
    }
}

/// A child as the Log would have it.
#[cfg(test)]
pub(super) fn child_of(asked: &skillrun_model::delegation::SubagentRequested) -> ChildRun {
    ChildRun {
        run_id: asked.child_run_id,
        key: asked.key.clone(),
        engine: asked.engine.clone(),
        title: asked.title.clone(),
        attempt: skillrun_model::AttemptNumber(1),
        requested_at: skillrun_model::Timestamp::EPOCH,
        on_parent_end: asked.on_parent_end,
        timeout_ms: asked.timeout_ms,
        request: asked.request.clone(),
        fault: None,
        progress: ChildProgress::Requested,
    }
}
