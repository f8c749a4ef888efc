//! Logs for the tests, event by event.

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope};
use skillrun_model::rasp::data::{
    InteractionReplied, ResolutionMode, RunCanceled, RunCompleted, RunFailed, RunStarted, Versions,
};
use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, EngineName, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};

pub(in super::super) struct Story {
    run: RunId,
    pub(in super::super) events: Vec<Event>,
}

impl Story {
    pub(in super::super) fn new(number: u8) -> Self {
        Self { run: RunId::new(1_700_000_000_000, [number; 10]), events: Vec::new() }
    }

    pub(in super::super) fn events_run(&self) -> RunId {
        self.run
    }

    pub(in super::super) fn and(mut self, data: ControlData) -> Self {
        let seq = self.events.len() as u64 + 1;
        let ts = Timestamp::EPOCH.plus_nanos(seq * 1_000_000_000);
        let event = Event::control(self.run, seq, ts, EngineName::new("scripted"), data);
        self.events.push(Event { attempt_number: AttemptNumber(1), ..event });
        self
    }

    pub(in super::super) fn started(self) -> Self {
        let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
        let started = RunStarted::new("scripted", ExecutionMode::Interactive, versions);
        self.and(ControlData::RunStarted(RunStarted { skill: Some("sample".to_owned()), ..started }))
    }

    pub(in super::super) fn asked(self, question: Pending) -> Self {
        self.and(ControlData::InteractionRequested(question))
    }

    pub(in super::super) fn waits(self) -> Self {
        self.and(ControlData::status(RunStatus::WaitingUser))
    }

    pub(in super::super) fn replied(self, id: u32) -> Self {
        self.and(ControlData::InteractionReplied(InteractionReplied {
            interaction_id: InteractionId(id),
            resolution_mode: ResolutionMode::UserReply,
            text: "this".to_owned(),
            files: Vec::new(),
            file_hashes: Default::default(),
        }))
    }

    pub(in super::super) fn completed(self) -> Self {
        self.and(ControlData::RunCompleted(RunCompleted {
            reason_code: Code::OutputValid,
            warnings: Vec::new(),
            result: None,
        }))
    }

    pub(in super::super) fn failed(self) -> Self {
        let error = RunError {
            category: ErrorCategory::ALL[0],
            code: Code::EngineExitNonzero,
            message: "it failed".to_owned(),
            details: Vec::new(),
            reset_at: None,
        };
        self.and(ControlData::RunFailed(RunFailed {
            reason_code: Code::EngineFailed,
            error,
            next_actions: Vec::new(),
            retry: None,
        }))
    }

    pub(in super::super) fn canceled(self) -> Self {
        self.and(ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None }))
    }
}

pub(in super::super) fn question(id: u32, prompt: &str) -> Pending {
    Pending {
        interaction_id: InteractionId(id),
        scope: Scope::Turn,
        kind: InteractionKind::OpenText,
        prompt: prompt.to_owned(),
        options: Vec::new(),
        ui_hints: None,
        default_decision_policy: DecisionPolicy::EngineJudgement,
        policy_source: PolicySource::Default,
        context: None,
        deadline: None,
        on_deadline: OnDeadline::Wait,
        source_attempt: AttemptNumber(1),
    }
}
