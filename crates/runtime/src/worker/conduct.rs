//! Carries out a workflow: asks the reducer for the one thing to do next, and does it, until there is nothing to do but to
//! wait for a child, the user or a moment. Then the worker leaves; the end of a child, an answer or the moment brings it
//! back, and it goes on from the Log.

use skillrun_lifecycle::run::{Input, RunStep};
use skillrun_lifecycle::workflow::{
    Beginning, ConductorStep, UnjudgedChild, WorkflowContext, WorkflowState, ended, judged, next, scheduled,
};
use skillrun_model::codes::Code;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::workflow::WorkflowPlan;
use skillrun_model::{RunId, Timestamp};

use super::outside::PreparedStep;
use super::{Alarm, Timer, Worker, WorkerExit};
use crate::error::RuntimeError;
use crate::run::Run;

/// What the conductor does after a step.
enum Conducted {
    Again,
    Left(WorkerExit),
    /// The run is over.
    Over,
}

fn context<'a>(
    run: &'a Run,
    plan: &'a WorkflowPlan,
    workflow: &'a WorkflowState,
    postponed: &'a [RunId],
) -> WorkflowContext<'a> {
    WorkflowContext {
        run_id: run.id,
        run: &run.state,
        workflow,
        plan,
        options: run.options(),
        permission: run.record.request.permission,
        reuses: run.record.request.reuses,
        postponed,
        now: run.now(),
    }
}

impl Worker<'_> {
    /// Works on a workflow until it waits or is over.
    pub(super) fn conduct(&mut self) -> Result<WorkerExit, RuntimeError> {
        // Children whose question to the user waits until another one is answered.
        let mut postponed = Vec::new();
        let mut is_canceling = false;
        loop {
            while let Some(step) = self.handle_mail()? {
                if matches!(step, RunStep::LetGo) {
                    return Ok(WorkerExit::LetGo);
                }
            }
            self.look_after_children()?;
            match self.conduct_step(&mut postponed, &mut is_canceling)? {
                Conducted::Again => {}
                Conducted::Left(exit) => {
                    self.write_waiting_views();
                    return Ok(exit);
                }
                Conducted::Over => return self.conduct_over(),
            }
        }
    }

    /// The workflow is over.
    pub(super) fn conduct_over(&mut self) -> Result<WorkerExit, RuntimeError> {
        self.run.finish_views();
        self.files.write_views(self.run.id);
        Ok(WorkerExit::Over)
    }

    fn conduct_step(&mut self, postponed: &mut Vec<RunId>, is_canceling: &mut bool) -> Result<Conducted, RuntimeError> {
        let record = self.run.record.clone();
        let (Some(plan), Some(workflow)) = (record.workflow(), self.run.state.workflow.as_deref()) else {
            return Ok(Conducted::Over);
        };
        match next(&context(&self.run, plan, workflow, postponed)) {
            ConductorStep::Write(decision) => {
                let effects = self.run.conduct(decision)?;
                self.carry_out(effects)?;
                postponed.clear();
            }
            ConductorStep::Judge(child) => self.judge(plan, child, postponed)?,
            ConductorStep::Begin(beginning) => self.begin_step(&beginning)?,
            ConductorStep::CancelChildren { until } => {
                if !*is_canceling {
                    *is_canceling = true;
                    let open: Vec<_> = self.run.state.open_children().cloned().collect();
                    open.iter().for_each(|child| self.children.cancel(child));
                    return Ok(Conducted::Again);
                }
                return Ok(Conducted::Left(self.rest(Some(until))));
            }
            ConductorStep::Detach => {
                let now = self.run.now();
                let open: Vec<_> = self.run.state.open_children().cloned().collect();
                for child in open {
                    let end = child.ended(SubagentStatus::Detached, Code::ParentEnded, now);
                    self.run.apply(Input::ChildEnded(Box::new(end)))?;
                }
            }
            ConductorStep::Rest { until } => return Ok(Conducted::Left(self.rest(until))),
            ConductorStep::End => {
                let output = self.steps.outputs(&self.run);
                let decision = {
                    let Some(workflow) = self.run.state.workflow.as_deref() else { return Ok(Conducted::Over) };
                    ended(&context(&self.run, plan, workflow, postponed), output)
                };
                self.run.conduct(decision)?;
            }
            ConductorStep::Over => return Ok(Conducted::Over),
        }
        Ok(Conducted::Again)
    }

    fn judge(
        &mut self,
        plan: &WorkflowPlan,
        child: UnjudgedChild,
        postponed: &mut Vec<RunId>,
    ) -> Result<(), RuntimeError> {
        let left = self.steps.checkpoint(&self.run, &child);
        let Some(workflow) = self.run.state.workflow.as_deref() else { return Ok(()) };
        match judged(&context(&self.run, plan, workflow, postponed), &child, &left) {
            ConductorStep::Write(decision) => {
                self.run.conduct(decision)?;
                postponed.clear();
                Ok(())
            }
            ConductorStep::Begin(beginning) => self.begin_step(&beginning),
            ConductorStep::Judge(_)
            | ConductorStep::CancelChildren { .. }
            | ConductorStep::Detach
            | ConductorStep::Rest { .. }
            | ConductorStep::End
            | ConductorStep::Over => {
                postponed.push(child.run_id);
                Ok(())
            }
        }
    }

    /// A step begins: the request of its child is in the Log before the child is made.
    fn begin_step(&mut self, beginning: &Beginning) -> Result<(), RuntimeError> {
        let prepared = self.steps.prepare(&self.run, beginning)?;
        let decision = match prepared {
            PreparedStep::Child { child, items, fingerprint, asked } => {
                let beginning = Beginning { items: items.or(beginning.items), ..beginning.clone() };
                let event = beginning.child.is_none().then(|| scheduled(&beginning, child, fingerprint));
                skillrun_lifecycle::workflow::requested(&beginning, event, *asked)
            }
            PreparedStep::Ended(end) => skillrun_lifecycle::workflow::ended_at_once(*end),
        };
        let effects = self.run.conduct(decision)?;
        self.carry_out(effects).map(drop)
    }

    /// The worker leaves until something happens.
    fn rest(&self, until: Option<Timestamp>) -> WorkerExit {
        let conductor = until.map(|at| Timer { at: self.run.moment_at(at), alarm: Alarm::Conductor });
        let question = self.run.state.question.as_ref().and_then(|question| {
            let alarm = Alarm::Question(question.interaction_id);
            Some(Timer { at: self.run.time_up_at(question.deadline?), alarm })
        });
        let timer = [question, conductor].into_iter().flatten().min_by_key(|timer| timer.at);
        WorkerExit::Waiting { timer }
    }
}
