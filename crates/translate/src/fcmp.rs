//! RASP to FCMP: a pure function of the Log, with bounded memory for waiting lines and for the names of tools.

use std::collections::HashMap;

use skillrun_model::fcmp::data::{
    ArtifactCreated, AssistantDelta, AssistantFinal, AssistantReasoning, AssistantToolCall, AutoDecided, CheckEnded,
    ConversationEnded, ConversationStarted, ConversationStatus, DiagnosticWarning, RawLine, StepEnded, StepStarted,
    SubagentEnded, SubagentStarted, TimedOut, ToolCallStatus, TurnEnded, TurnStarted, UserInputReplied, UserMessage,
    WorkflowEnded,
};
use skillrun_model::fcmp::{FcmpData, FcmpEvent, Meta};
use skillrun_model::presenters::is_answer;
use skillrun_model::rasp::data::Diagnostic;
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EvidenceData, Level, RawRef, SourceStream, SpanRef};
use skillrun_model::{AttemptNumber, Code, EngineName, InteractionId, RunId, RunStatus, Timestamp};

use crate::echo::{Decided, Waiting};

/// Tool names that are remembered, so that the end of a call can name its tool.
const TOOL_NAMES: usize = 10_000;

/// Translates one run. Events are passed by value, in order of `seq`; none is changed.
#[derive(Debug)]
pub struct FcmpTranslator {
    seq: u64,
    /// The attempt of the last event. An attempt may end without an end event, so the next attempt ends it too.
    attempt: AttemptNumber,
    waiting: Waiting,
    tool_names: HashMap<String, String>,
    is_over: bool,
}

impl Default for FcmpTranslator {
    fn default() -> Self {
        Self {
            seq: 0,
            attempt: AttemptNumber::BEFORE_FIRST,
            waiting: Waiting::default(),
            tool_names: HashMap::new(),
            is_over: false,
        }
    }
}

impl FcmpTranslator {
    /// Takes the next event. Nothing follows the end of a run.
    pub fn push(&mut self, event: Event, out: &mut impl FnMut(FcmpEvent)) {
        if self.is_over {
            return;
        }
        if std::mem::replace(&mut self.attempt, event.attempt_number) != event.attempt_number {
            let decided = self.waiting.end();
            self.release(decided, out);
        }
        match &event.data {
            Data::Evidence(EvidenceData::RawStdout(_) | EvidenceData::RawStderr(_)) => {
                let decided = self.waiting.push(event);
                self.release(decided, out);
            }
            Data::Evidence(EvidenceData::MessageFinal(message)) => {
                let decided = self.waiting.message(&message.text);
                self.release(decided, out);
                self.translate(event, out);
            }
            Data::Evidence(_) => self.translate(event, out),
            Data::Control(data) => {
                let is_end = data.end().is_some();
                if is_end || matches!(data, ControlData::AttemptEnded(_)) {
                    let decided = self.waiting.end();
                    self.release(decided, out);
                }
                self.translate(event, out);
                self.is_over = is_end;
            }
        }
    }

    fn release(&mut self, decided: Vec<Decided>, out: &mut impl FnMut(FcmpEvent)) {
        for decided in decided {
            match decided {
                Decided::Show(event) => self.translate(*event, out),
                Decided::LeaveOut(run) => self.left_out(run, out),
            }
        }
    }

    /// One warning in place of a run of raw lines.
    fn left_out(&mut self, run: Vec<Event>, out: &mut impl FnMut(FcmpEvent)) {
        let count = run.len() as u64;
        let range = |e: &Event| match e.source.stream {
            SourceStream::Stderr => (e.raw_ref.stderr_from, e.raw_ref.stderr_to),
            SourceStream::Stdout | SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => {
                (e.raw_ref.stdout_from, e.raw_ref.stdout_to)
            }
        };
        let (from, to) = run.iter().map(range).fold((u64::MAX, 0), |(a, b), (from, to)| (a.min(from), b.max(to)));
        let Some(first) = run.into_iter().next() else { return };
        let span = SpanRef { stream: first.source.stream, from, to };
        let (mut envelope, _) = split(first);
        match span.stream {
            SourceStream::Stderr => envelope.raw_ref.stderr_to = to,
            SourceStream::Stdout | SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => {
                envelope.raw_ref.stdout_to = to;
            }
        }
        let warning = DiagnosticWarning {
            code: Code::RawDuplicateSuppressed,
            message: format!("{count} raw lines only repeat a message and are left out"),
            severity: Level::Info,
            count: Some(count),
            spans: vec![span],
        };
        self.emit(envelope, FcmpData::DiagnosticWarning(warning), out);
    }

    fn translate(&mut self, event: Event, out: &mut impl FnMut(FcmpEvent)) {
        let (envelope, data) = split(event);
        let level = envelope.level;
        let tool_call_id = envelope.correlation.tool_call_id.clone();
        let data = match data {
            Data::Control(data) => control(data, level, envelope.correlation.interaction_id),
            Data::Evidence(data) => Some(self.evidence(data, level, tool_call_id)),
        };
        if let Some(data) = data {
            self.emit(envelope, data, out);
        }
    }

    fn evidence(&mut self, data: EvidenceData, level: Level, tool_call_id: Option<String>) -> FcmpData {
        match data {
            EvidenceData::RunStatus(said) => FcmpData::ConversationStatus(ConversationStatus {
                status: None,
                phase: said.phase,
                detail: said.detail,
            }),
            EvidenceData::MessageDelta(delta) => FcmpData::AssistantDelta(AssistantDelta {
                message_id: delta.message_id,
                text: delta.text,
                partial: true,
            }),
            EvidenceData::MessageFinal(message) => FcmpData::AssistantFinal(AssistantFinal {
                message_id: message.message_id,
                text: message.text,
                partial: message.partial,
                structured_payload: message.structured_payload,
            }),
            EvidenceData::ReasoningSummary(reasoning) => {
                FcmpData::AssistantReasoning(AssistantReasoning { text: reasoning.text })
            }
            EvidenceData::ToolCallStarted(call) => {
                self.remember_tool(tool_call_id.as_deref(), &call.name);
                FcmpData::AssistantToolCall(AssistantToolCall {
                    tool_call_id,
                    name: Some(call.name),
                    status: ToolCallStatus::Started,
                    input: call.input,
                    output: None,
                    reason: None,
                })
            }
            EvidenceData::ToolCallCompleted(call) => {
                self.tool_ended(tool_call_id, ToolCallStatus::Completed, call.output, None)
            }
            EvidenceData::ToolCallFailed(call) => {
                self.tool_ended(tool_call_id, ToolCallStatus::Failed, call.output, Some(call.reason))
            }
            EvidenceData::SubagentObserved(observed) => FcmpData::SubagentObserved(observed),
            EvidenceData::ParserWarning(diagnostic)
            | EvidenceData::ParserError(diagnostic)
            | EvidenceData::EngineError(diagnostic) => warning(diagnostic, level),
            EvidenceData::RawStdout(raw) => FcmpData::RawStdout(RawLine { text: raw.text, lines: raw.lines }),
            EvidenceData::RawStderr(raw) => FcmpData::RawStderr(RawLine { text: raw.text, lines: raw.lines }),
        }
    }

    fn emit(&mut self, envelope: Envelope, data: FcmpData, out: &mut impl FnMut(FcmpEvent)) {
        self.seq += 1;
        let Envelope { run_id, ts, engine, meta, correlation, raw_ref, level: _ } = envelope;
        out(FcmpEvent { run_id, seq: self.seq, ts, engine, data, meta, correlation, raw_ref });
    }

    /// Keeps the name of a call until it ends. When there are too many calls that never end, all of them are forgotten
    /// at once.
    fn remember_tool(&mut self, id: Option<&str>, name: &str) {
        if self.tool_names.len() >= TOOL_NAMES {
            self.tool_names.clear();
        }
        if let Some(id) = id {
            self.tool_names.insert(id.to_owned(), name.to_owned());
        }
    }

    fn tool_ended(
        &mut self,
        tool_call_id: Option<String>,
        status: ToolCallStatus,
        output: Option<String>,
        reason: Option<String>,
    ) -> FcmpData {
        let name = tool_call_id.as_ref().and_then(|id| self.tool_names.remove(id));
        FcmpData::AssistantToolCall(AssistantToolCall { tool_call_id, name, status, input: None, output, reason })
    }
}

/// What an FCMP event takes over from the RASP event it is made from.
struct Envelope {
    run_id: RunId,
    ts: Timestamp,
    engine: EngineName,
    level: Level,
    meta: Meta,
    correlation: Correlation,
    raw_ref: RawRef,
}

fn split(event: Event) -> (Envelope, Data) {
    let meta = Meta { attempt: event.attempt_number, confidence: event.source.confidence, rasp_seq: event.seq };
    let envelope = Envelope {
        run_id: event.run_id,
        ts: event.ts,
        engine: event.source.engine,
        level: event.level,
        meta,
        correlation: event.correlation,
        raw_ref: event.raw_ref,
    };
    (envelope, event.data)
}

/// Of a control event; none where the conversation does not show it.
fn control(data: ControlData, level: Level, interaction_id: Option<InteractionId>) -> Option<FcmpData> {
    Some(match data {
        ControlData::RunStarted(started) => FcmpData::ConversationStarted(ConversationStarted {
            title: (started.skill.or(started.title)).unwrap_or_else(|| format!("{} recording", started.engine)),
            mode: started.mode,
            engine: started.engine,
        }),
        ControlData::RunStatus(change) => FcmpData::ConversationStatus(ConversationStatus {
            status: change.status,
            phase: change.phase,
            detail: change.detail,
        }),
        ControlData::RunHeartbeat(beat) => FcmpData::ConversationStatus(ConversationStatus {
            status: Some(RunStatus::Running),
            phase: None,
            detail: Some(format!("{} s, {} bytes", beat.elapsed_ms / 1000, beat.bytes)),
        }),
        ControlData::AttemptStarted(_) => FcmpData::TurnStarted(TurnStarted {}),
        ControlData::MessageUser(message) => FcmpData::UserMessage(UserMessage {
            // The file of a message with a replay has more than the text, which may be complete.
            truncated: message.is_cut(),
            replayed: message.replayed.is_some(),
            text: message.text,
            origin: message.origin,
            interaction_id,
            files: message.files,
        }),
        ControlData::AttemptEnded(ended) => {
            let is_answered = is_answer(ended.terminal_status);
            FcmpData::TurnEnded(TurnEnded {
                state: ended.terminal_status,
                reason_code: ended.verdict.reason_code,
                answer_message_id: ended.verdict.answer_message_id.filter(|_| is_answered),
                error: ended.verdict.error,
                limit: ended.limit,
                deadline_at: ended.deadline_at,
                next_actions: ended.next_actions,
            })
        }
        ControlData::InteractionRequested(pending) => FcmpData::UserInputRequired(pending),
        ControlData::InteractionReplied(reply) => FcmpData::UserInputReplied(UserInputReplied {
            interaction_id: reply.interaction_id,
            text: reply.text,
            resolution_mode: reply.resolution_mode,
        }),
        ControlData::AutoDecision(decision) => FcmpData::AutoDecided(AutoDecided {
            interaction_id: decision.interaction_id,
            source: decision.source,
            reason: decision.reason,
            policy: decision.policy,
            instruction: decision.instruction,
        }),
        ControlData::InteractionTimeout(timeout) => {
            FcmpData::TimedOut(TimedOut { interaction_id: timeout.interaction_id })
        }
        ControlData::ArtifactIndexed(artifact) => FcmpData::ArtifactCreated(ArtifactCreated {
            path: artifact.path,
            size: artifact.size,
            media_type: artifact.media_type,
        }),
        ControlData::RunCompleted(done) => FcmpData::ConversationCompleted(ConversationEnded {
            warnings: done.warnings.clone(),
            ..ended(done.status(), done.reason_code)
        }),
        ControlData::RunFailed(failed) => FcmpData::ConversationFailed(ConversationEnded {
            error: Some(failed.error),
            next_actions: failed.next_actions,
            ..ended(RunStatus::Failed, failed.reason_code)
        }),
        ControlData::RunCanceled(canceled) => {
            FcmpData::ConversationCanceled(ended(RunStatus::Canceled, canceled.reason_code))
        }
        ControlData::ParserWarning(diagnostic) => warning(diagnostic, level),
        ControlData::SubagentRequested(asked) => FcmpData::SubagentStarted(SubagentStarted {
            child_run_id: asked.child_run_id,
            engine: asked.engine,
            title: asked.title,
        }),
        ControlData::SubagentEnded(end) => FcmpData::SubagentEnded(SubagentEnded {
            child_run_id: end.child_run_id,
            status: end.status,
            reason_code: end.reason,
            summary: end.summary,
            elapsed_ms: end.elapsed_ms,
        }),
        ControlData::StepScheduled(step) => FcmpData::StepStarted(StepStarted {
            step_id: step.step_id,
            item: step.item,
            trial: step.trial,
            child_run_id: step.child_run_id,
        }),
        ControlData::StepEnded(step) => FcmpData::StepEnded(StepEnded {
            step_id: step.step_id,
            item: step.item,
            state: step.state,
            reason_code: step.reason,
            child_run_id: step.child_run_id,
            details: step.details,
        }),
        ControlData::WorkflowEnded(end) => FcmpData::WorkflowEnded(WorkflowEnded { outcome: end.outcome, ok: end.ok }),
        ControlData::CheckEnded(end) => FcmpData::CheckEnded(CheckEnded {
            command: end.command.shown(),
            name: end.name,
            status: end.status,
            exit_code: end.exit.code,
            signal: end.exit.signal,
            output_tail: end.output_tail,
            details: end.details,
            elapsed_ms: end.elapsed_ms,
        }),
        // The question that follows a held step says all of it.
        ControlData::ArtifactCreated(_)
        | ControlData::ArtifactPreviewReady(_)
        | ControlData::TurnUsage(_)
        | ControlData::SubagentStarted(_)
        | ControlData::WorkflowStarted(_)
        | ControlData::StepHeld(_) => return None,
    })
}

fn warning(diagnostic: Diagnostic, severity: Level) -> FcmpData {
    let Diagnostic { code, message, count, spans, .. } = diagnostic;
    FcmpData::DiagnosticWarning(DiagnosticWarning { code, message, severity, count, spans })
}

fn ended(state: RunStatus, reason_code: Code) -> ConversationEnded {
    ConversationEnded { state, reason_code, warnings: Vec::new(), error: None, next_actions: Vec::new() }
}
