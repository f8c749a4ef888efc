//! Logs for the tests, event by event.

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::data::{
    InteractionReplied, ResolutionMode, RunCanceled, RunCompleted, RunFailed, RunStarted, Versions,
};
use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, EngineName, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};

pub(crate) struct LogStory {
    pub(crate) run: RunId,
    pub(crate) events: Vec<Event>,
}

impl LogStory {
    pub(crate) fn new(number: u8) -> Self {
        Self { run: RunId::new(1_700_000_000_000, [number; 10]), events: Vec::new() }
    }

    fn and(mut self, data: ControlData) -> Self {
        let seq = self.events.len() as u64 + 1;
        let ts = Timestamp::EPOCH.plus_nanos(seq * 1_000_000_000);
        let event = Event::control(self.run, seq, ts, EngineName::new("scripted"), data);
        self.events.push(Event { attempt_number: AttemptNumber(1), ..event });
        self
    }

    pub(crate) fn started(self) -> Self {
        let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
        let started = RunStarted::new("scripted", ExecutionMode::Interactive, versions);
        self.and(ControlData::RunStarted(RunStarted { skill: Some("sample".to_owned()), ..started }))
    }

    pub(crate) fn asked(self, question: Pending) -> Self {
        self.and(ControlData::InteractionRequested(question))
    }

    pub(crate) fn waits(self) -> Self {
        self.and(ControlData::status(RunStatus::WaitingUser))
    }

    pub(crate) fn replied(self, id: u32) -> Self {
        let (interaction_id, resolution_mode) = (InteractionId(id), ResolutionMode::UserReply);
        let (text, files, file_hashes) = ("this".to_owned(), Vec::new(), Default::default());
        let reply = InteractionReplied { interaction_id, resolution_mode, text, files, file_hashes };
        self.and(ControlData::InteractionReplied(reply))
    }

    pub(crate) fn completed(self) -> Self {
        let end = RunCompleted { reason_code: Code::OutputValid, warnings: Vec::new(), result: None };
        self.and(ControlData::RunCompleted(end))
    }

    pub(crate) fn failed(self) -> Self {
        let (category, code, message) = (ErrorCategory::ALL[0], Code::EngineExitNonzero, "it failed".to_owned());
        let error = RunError { category, code, message, details: Vec::new(), reset_at: None };
        let end = RunFailed { reason_code: Code::EngineFailed, error, next_actions: Vec::new(), retry: None };
        self.and(ControlData::RunFailed(end))
    }

    pub(crate) fn canceled(self) -> Self {
        self.and(ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None }))
    }
}

pub(crate) fn question(id: u32, prompt: &str) -> Pending {
    Pending::open_text(InteractionId(id), AttemptNumber(1), prompt)
}
