//! Builds Logs event by event.

use serde_json::value::RawValue;
use skillrun_model::codes::Code;
use skillrun_model::delegation::{
    OnParentEnd, SubagentEnded, SubagentObserved, SubagentRequested, SubagentStarted, SubagentStatus,
};
use skillrun_model::rasp::data::{
    AttemptEnded, AttemptStarted, Diagnostic, Exit, Foreign, MessageDelta, MessageFinal, MessageOrigin,
    ReasoningSummary, RunHeartbeat, TextBlob, ToolCallCompleted, ToolCallFailed, ToolCallStarted, TurnUsage,
    UserMessage,
};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData, SourceStream};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{AttemptNumber, CompletionState, EngineName, ProfileId, RunId, RunStatus, Timestamp, TurnState};

/// A Log under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    turn: u32,
}

/// What a turn ends with, beside its state.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ending<'a> {
    pub(crate) answer: Option<&'a str>,
    pub(crate) refused: bool,
}

/// Kinds of [`Log::audit`].
pub(crate) const AUDITS: usize = 9;

pub(crate) fn child_id(child: u8) -> RunId {
    RunId::new(2, [child; 10])
}

impl Log {
    pub(crate) fn add(mut self, data: impl Into<Data>, call: Option<&str>) -> Self {
        let data = data.into();
        let (seq, engine) = (self.events.len() as u64 + 1, EngineName::new("fake"));
        let run_id = RunId::new(1, [1; 10]);
        let mut event = Event::control(run_id, seq, Timestamp::EPOCH, engine, ControlData::status(RunStatus::Running));
        event.attempt_number = AttemptNumber(self.turn);
        event.correlation.tool_call_id = call.map(str::to_owned);
        if let Data::Evidence(_) = data {
            event.source.stream = SourceStream::Stdout;
        }
        event.data = data;
        self.events.push(event);
        self
    }

    fn evidence(self, data: EvidenceData, call: Option<&str>) -> Self {
        self.add(Data::Evidence(data), call)
    }

    /// A turn without the message that begins it.
    pub(crate) fn begin(mut self) -> Self {
        self.turn += 1;
        let started = AttemptStarted::new(ProfileId::PlainText, Timestamp::EPOCH);
        self.add(ControlData::AttemptStarted(started), None)
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.begin().add(ControlData::MessageUser(UserMessage::new(MessageOrigin::User, text)), None)
    }

    pub(crate) fn says(self, id: &str, text: &str) -> Self {
        self.evidence(EvidenceData::MessageFinal(MessageFinal::new(id, text)), None)
    }

    pub(crate) fn message(self, message: MessageFinal) -> Self {
        self.evidence(EvidenceData::MessageFinal(message), None)
    }

    pub(crate) fn delta(self, id: &str, text: &str) -> Self {
        let delta = MessageDelta { message_id: id.to_owned(), text: text.to_owned(), sanitized: false };
        self.evidence(EvidenceData::MessageDelta(delta), None)
    }

    pub(crate) fn voids(self, id: &str) -> Self {
        let warning = Diagnostic { message_id: Some(id.to_owned()), ..Diagnostic::new(Code::MessageVoided, "") };
        self.evidence(EvidenceData::ParserWarning(warning), None)
    }

    pub(crate) fn thinks(self, text: &str) -> Self {
        let summary = ReasoningSummary { text: text.to_owned(), sanitized: false, truncated: false };
        self.evidence(EvidenceData::ReasoningSummary(summary), None)
    }

    pub(crate) fn calls(self, id: &str, name: &str, input: &str) -> Self {
        let input = Some(Foreign(RawValue::from_string(input.to_owned()).expect("JSON")));
        let call = ToolCallStarted { name: name.to_owned(), input, truncated: false };
        self.evidence(EvidenceData::ToolCallStarted(call), Some(id))
    }

    pub(crate) fn returns(self, id: &str, output: &str) -> Self {
        let done = ToolCallCompleted { output: Some(output.to_owned()), sanitized: false, truncated: false };
        self.evidence(EvidenceData::ToolCallCompleted(done), Some(id))
    }

    pub(crate) fn fails(self, id: &str, reason: &str, synthetic: bool) -> Self {
        let (reason, output) = (reason.to_owned(), None);
        let failed = ToolCallFailed { reason, output, sanitized: false, truncated: false, synthetic };
        self.evidence(EvidenceData::ToolCallFailed(failed), Some(id))
    }

    /// The events of the other kinds: none of them is part of the conversation.
    pub(crate) fn audit(self, kind: usize) -> Self {
        match kind % AUDITS {
            0 => self.add(ControlData::RunHeartbeat(RunHeartbeat { elapsed_ms: 1, bytes: 2 }), None),
            1 => self.add(ControlData::TurnUsage(TurnUsage { input_tokens: Some(7), ..TurnUsage::default() }), None),
            2 => self.add(ControlData::status(RunStatus::Running), None),
            3 => {
                let warning = Diagnostic::new(Code::EngineRetry, "audit");
                self.evidence(EvidenceData::ParserWarning(warning), None)
            }
            4 => {
                let observed = SubagentObserved {
                    subagent_id: "t1".to_owned(),
                    name: None,
                    task: Some("audit".to_owned()),
                    state: Some("completed".to_owned()),
                    text: Some("audit".to_owned()),
                    sanitized: false,
                    truncated: false,
                };
                self.evidence(EvidenceData::SubagentObserved(observed), None)
            }
            5 => self.add(ControlData::SubagentStarted(SubagentStarted { child_run_id: child_id(0) }), None),
            6 => self.add(
                ControlData::SubagentRequested(SubagentRequested {
                    child_run_id: child_id(1),
                    key: "audit".to_owned(),
                    engine: "audit".to_owned(),
                    title: "audit".to_owned(),
                    on_parent_end: OnParentEnd::Cancel,
                    timeout_ms: None,
                    request: TextBlob { path: "audit".to_owned(), bytes: 1, hash: "audit".to_owned() },
                }),
                None,
            ),
            7 => self.child_ends(2, SubagentStatus::Detached, "audit"),
            _ => {
                let raw = skillrun_model::rasp::data::RawText::new("audit");
                self.evidence(EvidenceData::RawStderr(raw), None)
            }
        }
    }

    /// The parent's record of the end of a child. Only a completed one has an answer.
    pub(crate) fn child_ends(self, child: u8, status: SubagentStatus, answer: &str) -> Self {
        let is_completed = status == SubagentStatus::Completed;
        let end = SubagentEnded {
            child_run_id: child_id(child),
            child_session_id: None,
            status,
            reason: Code::CleanFinal,
            child_seq: Some(9),
            summary: is_completed.then(|| answer.to_owned()),
            output_ref: None,
            details: None,
            elapsed_ms: 1,
            timeout_ms: Some(5_000),
            deadline_at: None,
            next_actions: Vec::new(),
        };
        self.add(ControlData::SubagentEnded(end), None)
    }

    pub(crate) fn ends(self, state: TurnState, ending: Ending<'_>) -> Self {
        let (completion, code) = (CompletionState::AwaitingUserInput, Code::CleanFinal);
        let verdict = Verdict {
            answer_message_id: ending.answer.map(str::to_owned),
            refused: ending.refused,
            ..Verdict::new(Rule::Waiting, state, completion, code, RunStatus::WaitingUser)
        };
        let exit = Exit { code: Some(0), signal: None, ended_by: None };
        self.add(ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit))), None)
    }

    pub(crate) fn completes(self, answer: &str) -> Self {
        self.ends(TurnState::Completed, Ending { answer: Some(answer), refused: false })
    }

    pub(crate) fn breaks(self) -> Self {
        self.ends(TurnState::PartialFailed, Ending::default())
    }

    pub(crate) fn refused(self) -> Self {
        self.ends(TurnState::Failed, Ending { answer: None, refused: true })
    }
}
