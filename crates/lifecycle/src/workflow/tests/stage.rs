//! A workflow with its Log, and children that end as they are told. It drives the real functions: `next`, `judged`,
//! `ended` and the folds; only the machine is played.

use std::collections::BTreeMap;

use skillrun_model::codes::Code;
use skillrun_model::delegation::{OnParentEnd, SubagentEnded, SubagentRequested, SubagentStatus};
use skillrun_model::rasp::data::{RunStarted, TextBlob, Versions};
use skillrun_model::rasp::{ControlData, Event, EventType};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{
    AskMoment, OnStepFailure, RetryCause, StepId, StepOutput, StepRetries, StepState, StepTask, StepWorkspace,
    WorkflowEnded, WorkflowOutcome, WorkflowPlan, WorkflowStep,
};
use skillrun_model::{EngineName, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};
use skillrun_translate::EventBuilder;

use crate::closing::{self, ControlEvent};
use crate::run::{Decision, Effect, Input, Refusal, RunOptions, State, decide};
use crate::workflow::{
    Beginning, Checkpoint, CheckpointOutput, ConductorStep, TrialCause, UnjudgedChild, WorkflowContext, WorkflowState,
    end_without_run, ended, ended_at_once, judged, next, requested, scheduled,
};

pub(super) fn step(id: &str) -> WorkflowStep {
    WorkflowStep {
        id: StepId(id.to_owned()),
        task: StepTask::Prompt(format!("Do {id}.")),
        engines: vec!["scripted".to_owned()],
        model: None,
        needs: Vec::new(),
        with: serde_json::Map::new(),
        for_each: None,
        required: true,
        timeout_sec: None,
        retries: StepRetries::default(),
        on_failure: OnStepFailure::Stop,
        ask: None,
        permission: None,
        workspace: StepWorkspace::Own,
        output: StepOutput::default(),
        checks: Vec::new(),
    }
}

pub(super) fn needing(id: &str, needs: &[&str]) -> WorkflowStep {
    WorkflowStep { needs: needs.iter().map(|need| StepId((*need).to_owned())).collect(), ..step(id) }
}

pub(super) fn repeated(id: &str, needs: &[&str]) -> WorkflowStep {
    WorkflowStep { for_each: Some(serde_json::json!([])), ..needing(id, needs) }
}

pub(super) fn asking(id: &str, needs: &[&str], ask: AskMoment) -> WorkflowStep {
    WorkflowStep { ask: Some(ask), ..needing(id, needs) }
}

pub(super) fn plan(steps: Vec<WorkflowStep>) -> WorkflowPlan {
    WorkflowPlan {
        name: "test".to_owned(),
        description: None,
        inputs: BTreeMap::new(),
        steps,
        outputs: serde_json::Map::new(),
        concurrency: 8,
        timeout_sec: None,
        origin: None,
    }
}

/// How a child ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Ready,
    /// Its run succeeded; the output says that it is partial, and fits its schema.
    Partial,
    /// Its run succeeded; a required file is missing.
    Missing,
    /// Its run succeeded; the output does not fit.
    Unfit,
    Failed,
    TimedOut,
    Quota,
    EngineMissing,
    Unanswered,
}

/// Everything around the reducer.
pub(super) struct Stage {
    pub(super) plan: WorkflowPlan,
    pub(super) options: RunOptions,
    pub(super) log: Vec<Event>,
    pub(super) state: State,
    pub(super) now: u64,
    builder: EventBuilder,
    /// Children that were made, with how they will end, by their key.
    pub(super) made: BTreeMap<RunId, String>,
    /// Children that were told to end by a cancel.
    canceled: Vec<RunId>,
    children: u64,
    /// How many items each list has.
    pub(super) items: u32,
    postponed: Vec<RunId>,
    /// The batch is cut after this many more events; none: never.
    pub(super) cut_after: Option<usize>,
    /// A cut has happened: the owner is dead.
    pub(super) is_cut: bool,
}

pub(super) fn run_id() -> RunId {
    RunId::new(1, [1; 10])
}

impl Stage {
    pub(super) fn new(plan: WorkflowPlan) -> Self {
        let mut stage = Self {
            plan,
            options: RunOptions { mode: ExecutionMode::Auto, ..RunOptions::default() },
            log: Vec::new(),
            state: State::default(),
            now: 1,
            builder: EventBuilder::new(run_id(), EngineName::new("workflow")),
            made: BTreeMap::new(),
            canceled: Vec::new(),
            children: 0,
            items: 2,
            postponed: Vec::new(),
            cut_after: None,
            is_cut: false,
        };
        let versions = Versions { skillrun: "1".to_owned(), engine: None, profile: 1 };
        let started = RunStarted {
            workflow: Some("test".to_owned()),
            ..RunStarted::new("workflow", ExecutionMode::Auto, versions)
        };
        stage.append(vec![
            closing::control(skillrun_model::rasp::Level::Info, ControlData::RunStarted(started)),
            closing::status(RunStatus::Queued),
        ]);
        stage
    }

    pub(super) fn moment(&self) -> Timestamp {
        Timestamp::EPOCH.plus_nanos(self.now * 1_000_000_000)
    }

    /// Appends a batch, or its beginning if the owner dies in the middle.
    fn append(&mut self, events: Vec<ControlEvent>) -> bool {
        for event in events {
            if self.cut_after == Some(0) {
                (self.cut_after, self.is_cut) = (None, true);
                return false;
            }
            self.cut_after = self.cut_after.map(|left| left - 1);
            let ControlEvent { level, data, correlation } = event;
            let event = self.builder.control(self.moment(), level, data, correlation);
            self.state.evolve(&event);
            self.log.push(event);
        }
        true
    }

    fn carry_out(&mut self, decision: Decision) {
        let Decision { events, effects, .. } = decision;
        if !self.append(events) {
            return;
        }
        for effect in effects {
            if let Effect::MakeChild { child } = effect {
                self.make(child);
            }
        }
    }

    fn make(&mut self, child: RunId) {
        let Some(known) = self.state.child(child).filter(|child| child.is_open()) else { return };
        self.made.entry(child).or_insert_with(|| known.key.clone());
        let decision = decide(&self.state, self.options, run_id(), self.moment(), Input::ChildStarted { child });
        let events = decision.expect("a child begins").events;
        self.append(events);
    }

    pub(super) fn context_for_tests(&self) -> WorkflowContext<'_> {
        self.context()
    }

    fn context(&self) -> WorkflowContext<'_> {
        WorkflowContext {
            run_id: run_id(),
            run: &self.state,
            workflow: self.workflow(),
            plan: &self.plan,
            options: self.options,
            permission: Permission::Workspace,
            reuses: None,
            postponed: &self.postponed,
            now: self.moment(),
        }
    }

    pub(super) fn workflow(&self) -> &WorkflowState {
        self.state.workflow.as_deref().expect("a workflow")
    }

    /// Works like the conductor, until there is nothing to do or the owner dies. `fates` says what each child has left.
    pub(super) fn conduct(&mut self, fates: &dyn Fn(&str) -> Fate) {
        self.is_cut = false;
        self.postponed.clear();
        // A new owner makes the children that the Log has.
        for child in self.state.open_children().map(|child| child.run_id).collect::<Vec<_>>() {
            self.make(child);
            if self.is_cut {
                return;
            }
        }
        for _ in 0..100_000 {
            if self.is_cut {
                return;
            }
            match next(&self.context()) {
                ConductorStep::Write(decision) => {
                    assert!(!decision.events.is_empty(), "the conductor would turn in a circle: {:?}", self.told());
                    self.carry_out(decision);
                    self.postponed.clear();
                }
                ConductorStep::Judge(child) => self.judge(&child, fates),
                ConductorStep::Begin(beginning) => self.begin(&beginning),
                ConductorStep::CancelChildren { .. } => {
                    let open: Vec<RunId> = self.state.open_children().map(|child| child.run_id).collect();
                    self.canceled.extend(open);
                    return;
                }
                ConductorStep::Detach => {
                    let open: Vec<_> = self.state.open_children().cloned().collect();
                    for child in open {
                        let end = child.ended(SubagentStatus::Detached, Code::ParentEnded, self.moment());
                        self.happens(Input::ChildEnded(Box::new(end))).expect("a child is left");
                    }
                }
                ConductorStep::Rest { .. } | ConductorStep::Over => return,
                ConductorStep::End => {
                    let decision = ended(&self.context(), None);
                    self.carry_out(decision);
                }
            }
        }
        panic!("the conductor does not come to rest: {:?}", self.told());
    }

    fn judge(&mut self, child: &UnjudgedChild, fates: &dyn Fn(&str) -> Fate) {
        let left = checkpoint(fates(&self.made[&child.run_id]), child.status);
        match judged(&self.context(), child, &left) {
            ConductorStep::Write(decision) => {
                self.carry_out(decision);
                self.postponed.clear();
            }
            ConductorStep::Begin(beginning) => self.begin(&beginning),
            ConductorStep::Rest { .. } => self.postponed.push(child.run_id),
            other @ (ConductorStep::Judge(_)
            | ConductorStep::CancelChildren { .. }
            | ConductorStep::Detach
            | ConductorStep::End
            | ConductorStep::Over) => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, beginning: &Beginning) {
        let items = if beginning.wants_items { Some(self.items) } else { beginning.items };
        if items == Some(0) {
            let end = end_without_run(&beginning.step_id, StepState::Ready, Code::WorkflowCompleted, "empty");
            return self.carry_out(ended_at_once(end));
        }
        let beginning = Beginning { items, ..beginning.clone() };
        let child = beginning.child.unwrap_or_else(|| {
            self.children += 1;
            RunId::new(1000 + self.children, [7; 10])
        });
        let asked = SubagentRequested {
            child_run_id: child,
            key: WorkflowState::key(&beginning.step_id, beginning.item, beginning.trial),
            engine: "scripted".to_owned(),
            title: "a step".to_owned(),
            on_parent_end: OnParentEnd::Cancel,
            timeout_ms: None,
            request: TextBlob { path: "x".to_owned(), bytes: 1, hash: "x".to_owned() },
        };
        let event = beginning.child.is_none().then(|| scheduled(&beginning, child, format!("of {}", asked.key)));
        self.carry_out(requested(&beginning, event, asked));
    }

    /// Children that work.
    pub(super) fn working(&self) -> Vec<RunId> {
        self.state.open_children().map(|child| child.run_id).filter(|child| self.made.contains_key(child)).collect()
    }

    /// A child ends, as its fate says, or because it was canceled.
    pub(super) fn child_ends(&mut self, child: RunId, fates: &dyn Fn(&str) -> Fate) {
        let (status, reason) = if self.canceled.contains(&child) {
            (SubagentStatus::Cancelled, Code::Canceled)
        } else {
            match fates(&self.made[&child]) {
                Fate::Ready | Fate::Partial | Fate::Missing | Fate::Unfit => {
                    (SubagentStatus::Completed, Code::OutputValid)
                }
                Fate::Failed | Fate::Quota => (SubagentStatus::Failed, Code::EngineFailed),
                Fate::EngineMissing => (SubagentStatus::Failed, Code::ChildNotMade),
                Fate::TimedOut => (SubagentStatus::TimedOut, Code::Timeout),
                Fate::Unanswered => (SubagentStatus::TimedOut, Code::InteractionWaitTimeout),
            }
        };
        let known = self.state.child(child).expect("a child").clone();
        let end: SubagentEnded = known.ended(status, reason, self.moment());
        self.happens(Input::ChildEnded(Box::new(end))).expect("a child ends");
    }

    pub(super) fn happens(&mut self, input: Input<'_>) -> Result<(), Refusal> {
        let decision = decide(&self.state, self.options, run_id(), self.moment(), input)?;
        self.carry_out(decision);
        Ok(())
    }

    pub(super) fn answer(&mut self, text: &str) -> Result<(), Refusal> {
        let interaction_id = InteractionId(self.state.interactions);
        self.happens(Input::Reply { interaction_id, text: text.to_owned(), files: Vec::new(), request_id: None })
    }

    /// Lets everything happen until the workflow is over or waits for the user.
    pub(super) fn play(&mut self, fates: &dyn Fn(&str) -> Fate) {
        for _ in 0..10_000 {
            self.conduct(fates);
            let Some(child) = self.working().first().copied() else { return };
            self.now += 1;
            self.child_ends(child, fates);
        }
        panic!("the workflow does not end: {:?}", self.told());
    }

    pub(super) fn end(&self) -> &WorkflowEnded {
        self.workflow().ended.as_ref().unwrap_or_else(|| panic!("it is not over: {:?}", self.told()))
    }

    pub(super) fn outcome(&self) -> WorkflowOutcome {
        self.end().outcome
    }

    /// The states of all steps, in the order of the file.
    pub(super) fn states(&self) -> Vec<StepState> {
        self.end().steps.iter().map(|step| step.state).collect()
    }

    /// One word per event.
    pub(super) fn told(&self) -> Vec<String> {
        let word = |event: &Event| {
            let name = event.correlation.step_id.as_deref().unwrap_or_default();
            format!("{} {name}", event.event_type().as_str()).trim().to_owned()
        };
        self.log.iter().map(word).collect()
    }

    pub(super) fn count(&self, event_type: EventType) -> usize {
        self.log.iter().filter(|event| event.event_type() == event_type).count()
    }
}

fn checkpoint(fate: Fate, status: SubagentStatus) -> Checkpoint {
    let reason = match (status, fate) {
        (SubagentStatus::Cancelled, _) => Code::Canceled,
        (SubagentStatus::Detached, _) => Code::ParentEnded,
        (_, Fate::Ready | Fate::Partial | Fate::Missing | Fate::Unfit) => Code::OutputValid,
        (_, Fate::Failed | Fate::Quota) => Code::EngineFailed,
        (_, Fate::EngineMissing) => Code::ChildNotMade,
        (_, Fate::TimedOut) => Code::Timeout,
        (_, Fate::Unanswered) => Code::InteractionWaitTimeout,
    };
    Checkpoint {
        child_seq: Some(9),
        reason,
        details: None,
        output: match fate {
            Fate::Unfit => CheckpointOutput::Invalid("it does not fit".to_owned()),
            Fate::Ready | Fate::Partial => CheckpointOutput::Valid,
            Fate::Missing | Fate::Failed | Fate::TimedOut | Fate::Quota | Fate::EngineMissing | Fate::Unanswered => {
                CheckpointOutput::NotDeclared
            }
        },
        is_partial: fate == Fate::Partial,
        missing: if fate == Fate::Missing { vec!["report.md".to_owned()] } else { Vec::new() },
        cause: match fate {
            Fate::Quota => Some(TrialCause::Retry(RetryCause::Quota)),
            Fate::EngineMissing => Some(TrialCause::EngineMissing),
            Fate::Ready
            | Fate::Partial
            | Fate::Missing
            | Fate::Unfit
            | Fate::Failed
            | Fate::TimedOut
            | Fate::Unanswered => None,
        },
        reset_at: None,
    }
}
