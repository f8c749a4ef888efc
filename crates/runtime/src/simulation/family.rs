//! The children of the run: each exists once it is made, outlives the owner, and ends by itself or when it is canceled.

use skillrun_lifecycle::run::ChildRun;
use skillrun_model::delegation::{OnParentEnd, SubagentEnded, SubagentRequested, SubagentStatus};
use skillrun_model::rasp::data::TextBlob;
use skillrun_model::{Code, RunId, Timestamp};

use super::clients::{Response, Said};
use super::laws::Broken;
use super::world::SimulatedWorld;
use crate::worker::outside::ChildFault;

/// Requests of one story.
const ASKED_MAX: usize = 4;

/// Keys that the process uses: fewer than requests, so that some are repeated.
const KEYS: [&str; 3] = ["a", "b", "c"];

/// The number that the end event of every child has.
const CHILD_SEQ: u64 = 7;

/// A request of the process for a child.
#[derive(Debug, Clone)]
pub(crate) struct AskedChild {
    pub(crate) run_id: RunId,
    key: &'static str,
    policy: OnParentEnd,
    pub(crate) response: Response,
}

/// A child that was made.
#[derive(Debug)]
struct SimulatedChild {
    run_id: RunId,
    is_canceled: bool,
    ended: Option<SubagentStatus>,
}

#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) asked: Vec<AskedChild>,
    made: Vec<SimulatedChild>,
}

impl Family {
    pub(crate) fn may_ask(&self) -> bool {
        self.asked.len() < ASKED_MAX
    }

    pub(crate) fn request(&self, at: usize) -> SubagentRequested {
        let asked = &self.asked[at];
        SubagentRequested {
            child_run_id: asked.run_id,
            key: asked.key.to_owned(),
            engine: "claude".to_owned(),
            title: "a task".to_owned(),
            on_parent_end: asked.policy,
            timeout_ms: None,
            request: TextBlob { path: String::new(), bytes: 0, hash: String::new() },
        }
    }

    pub(crate) fn is_made(&self, run: RunId) -> bool {
        self.made.iter().any(|child| child.run_id == run)
    }

    pub(crate) fn is_canceled(&self, run: RunId) -> bool {
        self.made.iter().any(|child| child.run_id == run && child.is_canceled)
    }

    /// How a child ended, if it has.
    pub(crate) fn ended(&self, run: RunId) -> Option<SubagentStatus> {
        self.made.iter().find(|child| child.run_id == run)?.ended
    }

    pub(crate) fn has_working(&self) -> bool {
        self.made.iter().any(|child| child.ended.is_none())
    }

    /// What the Log of a child says of its end.
    pub(crate) fn ending(&self, child: &ChildRun, now: Timestamp) -> Option<SubagentEnded> {
        let status = self.ended(child.run_id)?;
        let reason = match status {
            SubagentStatus::Completed => Code::CleanFinal,
            SubagentStatus::Failed | SubagentStatus::Detached => Code::EngineFailed,
            SubagentStatus::TimedOut => Code::Timeout,
            SubagentStatus::Cancelled => Code::Canceled,
        };
        Some(SubagentEnded { child_seq: Some(CHILD_SEQ), ..child.ended(status, reason, now) })
    }
}

impl SimulatedWorld {
    /// The process asks for a child, or once more for one that it has asked for.
    pub(super) fn asks_for_child(&mut self) {
        let key = KEYS[self.tape.pick(KEYS.len())];
        let policy = [OnParentEnd::Cancel, OnParentEnd::Wait, OnParentEnd::Detach][self.tape.pick(3)];
        let at = self.family.asked.len();
        let number = u8::try_from(at).unwrap_or(u8::MAX);
        // Another id than those of runs that were asked for by a run before this one.
        let run_id = RunId::new(2 + u64::from(self.tally_of_runs), [number; 10]);
        self.family.asked.push(AskedChild { run_id, key, policy, response: Response::Nothing });
        self.put_in_mail(Said::Spawn(at));
    }

    /// The owner makes a child, or finds it made.
    pub(crate) fn make_child(&mut self, child: &ChildRun) -> Result<Result<(), ChildFault>, Broken> {
        if self.family.is_made(child.run_id) {
            self.tally.mark("a child is found made");
            if self.tape.pick(4) == 3 {
                self.tally.mark("a child that was made has no owner for now");
                self.narrate(|| format!("the owner finds child {} made, and cannot take it up", child.key));
                return Ok(Err(ChildFault::Later("it has other variables".to_owned())));
            }
            self.narrate(|| format!("the owner finds child {} made", child.key));
            return Ok(Ok(()));
        }
        self.laws.may_make(child.run_id)?;
        if self.tape.pick(8) == 7 {
            self.tally.mark("a child cannot be made");
            self.narrate(|| format!("child {} cannot be made", child.key));
            return Ok(Err(ChildFault::Never("it cannot".to_owned())));
        }
        self.narrate(|| format!("the owner makes child {}", child.key));
        self.family.made.push(SimulatedChild { run_id: child.run_id, is_canceled: false, ended: None });
        Ok(Ok(()))
    }

    pub(crate) fn cancel_child(&mut self, run: RunId) {
        self.tally.mark("a child is canceled");
        self.narrate(|| "the owner cancels a child".to_owned());
        let children = self.family.made.iter_mut().filter(|child| child.run_id == run && child.ended.is_none());
        children.for_each(|child| child.is_canceled = true);
    }

    /// One of the children ends. Its owner reports that, unless one of the two dies.
    pub(super) fn child_ends(&mut self) {
        let working: Vec<usize> =
            (0..self.family.made.len()).filter(|at| self.family.made[*at].ended.is_none()).collect();
        let at = working[self.tape.pick(working.len())];
        let ends = match self.family.made[at].is_canceled {
            true => [SubagentStatus::Cancelled, SubagentStatus::Completed, SubagentStatus::Failed],
            false => [SubagentStatus::Completed, SubagentStatus::Failed, SubagentStatus::TimedOut],
        };
        let status = ends[self.tape.pick(3)];
        self.family.made[at].ended = Some(status);
        self.narrate(|| format!("a child ends ({status})"));
        if self.owner.is_some() && self.tape.pick(3) != 2 {
            self.put_in_mail(Said::ChildNews);
        } else {
            self.tally.mark("the end of a child is not reported");
        }
    }
}
