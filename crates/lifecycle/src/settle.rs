//! The completion gate: one pure function that decides, once and from evidence alone, how an attempt ended.
//!
//! The first rule that applies decides: contract R3.5. Each decision names its [`Rule`], whose word is the row of the
//! table; what counts as marker, output and question is contract R4.

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::SpanRef;
use skillrun_model::status::{Continuation, EndedBy, ExecutionMode};
use skillrun_model::verdict::{EngineLimit, Rule, RunError, Verdict, VerdictEvidence};
use skillrun_model::{CompletionState, RunStatus, TurnState};
use skillrun_parse::last_lines::LastWords;
use skillrun_parse::record::{EndKind, EndPolicy};
use skillrun_parse::text::marker::MarkerForm;
use skillrun_parse::{Span, classify};
use skillrun_translate::Facts;
use skillrun_translate::builder::span_ref;

use crate::advice;
use crate::control::{CompletionLayer, Control, ProcessExit};
use crate::output::Output;
use crate::pending;
use crate::reading::{self, GateNotice, Reading};

/// The decision, and the notices.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub verdict: Verdict,
    pub notices: Vec<GateNotice>,
    /// How the marker is placed in its message; none when there is no marker.
    pub marker: Option<MarkerForm>,
    pub output_errors: Vec<String>,
    /// The answer without the envelope of its question, and without a marker that cannot be parsed.
    pub prompt: Option<String>,
}

/// The engine's last statement about the end of its turn, in whichever way its profile reports it.
struct TurnEnd {
    kind: EndKind,
    message: Option<String>,
    category: ErrorCategory,
    limit: Option<EngineLimit>,
    confidence: f64,
    span: Option<Span>,
}

fn turn_end(facts: &Facts, control: &Control<'_>) -> Option<TurnEnd> {
    match facts.end_policy {
        EndPolicy::Event => facts.end.as_ref().filter(|end| end.kind != EndKind::Retracted).map(|end| TurnEnd {
            kind: end.kind,
            message: end.message.clone(),
            category: end.category,
            limit: end.limit,
            confidence: end.confidence,
            span: Some(end.span),
        }),
        EndPolicy::Exit { confidence } => match (&control.exit, &facts.error) {
            (ProcessExit::Code(0), _) => Some(TurnEnd {
                kind: EndKind::Success,
                message: None,
                category: ErrorCategory::Engine,
                limit: None,
                confidence,
                span: None,
            }),
            // An error keyword and a bad exit together are a failure end.
            (ProcessExit::Code(_), Some(error)) => Some(TurnEnd {
                kind: EndKind::Failure,
                message: Some(error.message.clone()),
                category: error.category,
                limit: None,
                confidence,
                span: None,
            }),
            (ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::Unknown, _) => None,
        },
    }
}

/// Whether the host ended the process only after the success end. Acts are recorded between the chunks; where a
/// recording has none, the act came after everything that was read.
fn ended_after_success(facts: &Facts, control: &Control<'_>, clean_end: bool) -> bool {
    let Some(ended_by) = control.ended_by else { return false };
    match facts.end_policy {
        EndPolicy::Event => {}
        // The exit is the success end, and the host's act came before the exit.
        EndPolicy::Exit { .. } => return false,
    }
    match ended_by {
        EndedBy::Linger
        | EndedBy::HardTimeout
        | EndedBy::Stall
        | EndedBy::WaitTimeout
        | EndedBy::MemoryLimit
        | EndedBy::ProcessLimit
        | EndedBy::CpuLimit
        | EndedBy::DiskLimit
        | EndedBy::Budget
        | EndedBy::Interrupted => {
            let recorded = facts.acts.iter().find(|act| act.act == ended_by);
            clean_end && recorded.is_none_or(|act| act.after == Some(EndKind::Success))
        }
        EndedBy::Exited | EndedBy::Canceled | EndedBy::HostError | EndedBy::HostLost | EndedBy::NotStarted => false,
    }
}

/// Whether the host began to end the process before it wrote its end: what an engine reports about a turn that the host
/// interrupted (claude writes an error result when it is interrupted) is not a failure of the engine. Without a recorded
/// act the order is not known, and the engine's report counts.
fn ended_before_end(facts: &Facts, control: &Control<'_>) -> bool {
    let Some(ended_by) = control.ended_by else { return false };
    match ended_by {
        EndedBy::HardTimeout
        | EndedBy::Stall
        | EndedBy::WaitTimeout
        | EndedBy::MemoryLimit
        | EndedBy::ProcessLimit
        | EndedBy::CpuLimit
        | EndedBy::DiskLimit
        | EndedBy::Budget => {
            // An engine that continues after a limit had not ended its turn when the host ended it.
            let went_on = facts.end.as_ref().is_some_and(|end| end.kind == EndKind::ProvisionalLimit);
            went_on || facts.acts.iter().find(|act| act.act == ended_by).is_some_and(|act| act.after.is_none())
        }
        EndedBy::Linger
        | EndedBy::Exited
        | EndedBy::Canceled
        | EndedBy::Interrupted
        | EndedBy::HostError
        | EndedBy::HostLost
        | EndedBy::NotStarted => false,
    }
}

/// Whether the started process died of a signal before the turn had succeeded: then it was a wrapper, and a process that
/// it had started wrote the end. Hosts before 0.2.0 recorded no such act.
fn was_outlived(facts: &Facts) -> bool {
    facts.acts.iter().any(|act| act.act == EndedBy::Exited && act.after != Some(EndKind::Success))
}

/// Whether the user interrupted the turn before the engine ended it. The act is recorded between the chunks; where it is
/// missing and the process was ended for an interrupt, an end event counts if there is one.
fn was_interrupted(facts: &Facts, control: &Control<'_>, has_end: bool) -> bool {
    match control.mode {
        // Nothing would continue the run after it; such a run is canceled instead.
        ExecutionMode::Auto => return false,
        ExecutionMode::Interactive | ExecutionMode::Conversation => {}
    }
    match facts.acts.iter().find(|act| act.act == EndedBy::Interrupted) {
        Some(act) => match act.after {
            // An engine that continues after a limit had not ended its turn.
            None | Some(EndKind::ProvisionalLimit | EndKind::Retracted) => true,
            Some(EndKind::Success | EndKind::Failure | EndKind::Limit) => false,
        },
        None => control.ended_by == Some(EndedBy::Interrupted) && !has_end,
    }
}

/// Decides how an attempt ended.
pub fn settle(facts: &Facts, control: &Control<'_>) -> Settled {
    let end = turn_end(facts, control);
    let clean_end = end.as_ref().is_some_and(|e| e.kind == EndKind::Success);
    let reading = reading::read(facts, clean_end, control);
    let gate = Gate {
        lingered: ended_after_success(facts, control, clean_end),
        facts,
        control,
        end,
        clean_end,
        reading: &reading,
    };
    let decision = gate.decide();
    gate.settled(decision)
}

struct Gate<'a> {
    facts: &'a Facts,
    control: &'a Control<'a>,
    end: Option<TurnEnd>,
    clean_end: bool,
    /// The host ended the process, but after its success end: not a failure.
    lingered: bool,
    reading: &'a Reading<'a>,
}

/// A row of the table.
struct Decision {
    rule: Rule,
    turn: TurnState,
    completion: CompletionState,
    reason: Code,
    run: RunStatus,
    error: Option<RunError>,
    warnings: Vec<Code>,
    notices: Vec<GateNotice>,
    output: Option<serde_json::Map<String, serde_json::Value>>,
    output_errors: Vec<String>,
}

impl Decision {
    fn new(rule: Rule, turn: TurnState, completion: CompletionState, reason: Code, run: RunStatus) -> Self {
        Self {
            rule,
            turn,
            completion,
            reason,
            run,
            error: None,
            warnings: Vec::new(),
            notices: Vec::new(),
            output: None,
            output_errors: Vec::new(),
        }
    }

    fn failed(rule: Rule, turn: TurnState, reason: Code, error: RunError) -> Self {
        let decision = Self::new(rule, turn, CompletionState::Interrupted, reason, RunStatus::Failed);
        Self { error: Some(error), ..decision }
    }
}

impl Gate<'_> {
    fn decide(&self) -> Decision {
        if self.control.cancel_recorded {
            let (turn, completion) = (TurnState::Interrupted, CompletionState::Interrupted);
            return Decision::new(Rule::Canceled, turn, completion, Code::Canceled, RunStatus::Canceled);
        }
        if was_interrupted(self.facts, self.control, self.end.is_some()) {
            let (turn, completion) = (TurnState::Interrupted, CompletionState::Interrupted);
            return Decision::new(Rule::Interrupted, turn, completion, Code::Interrupted, RunStatus::WaitingUser);
        }
        let decision = self.decide_by_evidence();
        match self.control.mode {
            ExecutionMode::Auto | ExecutionMode::Interactive => decision,
            // However a turn ends, a conversation waits for the next prompt.
            ExecutionMode::Conversation => Decision { run: RunStatus::WaitingUser, ..decision },
        }
    }

    fn decide_by_evidence(&self) -> Decision {
        match self.end.as_ref().map(|end| end.kind).filter(|_| !ended_before_end(self.facts, self.control)) {
            Some(EndKind::Limit | EndKind::ProvisionalLimit) => {
                return Decision::failed(
                    Rule::Limit,
                    self.broken_turn(),
                    Code::LimitReached,
                    advice::limit(self.end_words()),
                );
            }
            Some(EndKind::Failure) => {
                return Decision::failed(Rule::Failure, self.broken_turn(), Code::EngineFailed, self.engine_error());
            }
            Some(EndKind::Success) => {
                if let Some(error) = self.server_error() {
                    return Decision::failed(Rule::Failure, self.broken_turn(), Code::EngineFailed, error);
                }
            }
            Some(EndKind::Retracted) | None => {}
        }
        if self.reading.carrier.is_some() {
            return self.marked();
        }
        if let Some(decision) = self.broken_process() {
            return decision;
        }
        match self.control.mode {
            ExecutionMode::Auto => self.auto(),
            ExecutionMode::Interactive => self.interactive(),
            ExecutionMode::Conversation => self.conversation(),
        }
    }

    /// A clean final with a marker: `Rule::MarkerOutputInvalid`, `MarkerInteractive` or `MarkerAuto`.
    fn marked(&self) -> Decision {
        let completed =
            |rule, reason, run| Decision::new(rule, TurnState::Completed, CompletionState::Completed, reason, run);
        let output = match &self.reading.output {
            Output::Valid(output) => output.clone(),
            Output::Invalid(_) | Output::Missing => {
                let errors = self.output_errors();
                let decision = completed(Rule::MarkerOutputInvalid, Code::DoneMarkerOutputInvalid, RunStatus::Failed);
                return Decision { error: Some(self.output_error(&errors)), output_errors: errors, ..decision };
            }
        };
        match self.control.mode {
            // A conversation has no marker.
            ExecutionMode::Interactive | ExecutionMode::Conversation => {
                let decision = completed(Rule::MarkerInteractive, Code::DoneMarkerFound, RunStatus::Succeeded);
                Decision { output: Some(output), warnings: self.process_warnings(), ..decision }
            }
            ExecutionMode::Auto => {
                let good_exit = match &self.control.exit {
                    ProcessExit::Code(0) | ProcessExit::Unknown => true,
                    ProcessExit::Code(_) | ProcessExit::Signal(_) => self.lingered,
                };
                if good_exit {
                    let decision = completed(Rule::MarkerAuto, Code::DoneMarkerFound, RunStatus::Succeeded);
                    Decision { output: Some(output), warnings: self.process_warnings(), ..decision }
                } else {
                    let decision = completed(Rule::MarkerAuto, Code::DoneMarkerFound, RunStatus::Failed);
                    let outlived = was_outlived(self.facts);
                    let error = advice::bad_exit(&self.control.exit, outlived, Code::EngineExitNonzero);
                    Decision { output: Some(output), error: Some(error), ..decision }
                }
            }
        }
    }

    /// The process did not end as it should: from `Rule::TimedOut` to `Rule::ExitUnknown`. None: the turn is settled by
    /// its content.
    fn broken_process(&self) -> Option<Decision> {
        match self.control.ended_by {
            // What the host did after the success end is not a failure.
            Some(
                EndedBy::Linger
                | EndedBy::HardTimeout
                | EndedBy::Stall
                | EndedBy::WaitTimeout
                | EndedBy::MemoryLimit
                | EndedBy::ProcessLimit
                | EndedBy::CpuLimit
                | EndedBy::DiskLimit
                | EndedBy::Budget
                | EndedBy::Interrupted,
            ) if self.lingered => {
                return None;
            }
            Some(EndedBy::HardTimeout | EndedBy::Stall | EndedBy::WaitTimeout) => {
                let error = advice::timeout(self.control.ended_by);
                return Some(Decision::failed(Rule::TimedOut, TurnState::TimedOut, Code::Timeout, error));
            }
            Some(EndedBy::HostLost) => return Some(self.host_ended(Code::AttemptLost)),
            Some(EndedBy::Budget) => return Some(self.host_ended(Code::EvidenceBudget)),
            Some(EndedBy::MemoryLimit) => return Some(self.host_ended(Code::MemoryLimit)),
            Some(EndedBy::ProcessLimit) => return Some(self.host_ended(Code::ProcessLimit)),
            Some(EndedBy::CpuLimit) => return Some(self.host_ended(Code::CpuLimit)),
            Some(EndedBy::DiskLimit) => return Some(self.host_ended(Code::DiskLimit)),
            Some(EndedBy::HostError) => return Some(self.host_ended(Code::HostError)),
            Some(EndedBy::NotStarted) => {
                let not_found = self.control.exit == ProcessExit::Code(127);
                let reason = if not_found { Code::EngineNotFound } else { Code::EngineNotStarted };
                return Some(Decision::failed(
                    Rule::NotStarted,
                    TurnState::Failed,
                    reason,
                    advice::not_started(reason, self.control.host_words),
                ));
            }
            Some(EndedBy::Exited | EndedBy::Linger | EndedBy::Canceled | EndedBy::Interrupted) | None => {}
        }
        match &self.control.exit {
            ProcessExit::Code(0) => {}
            ProcessExit::Code(_) | ProcessExit::Signal(_) => {
                return Some(Decision::failed(
                    Rule::BadExit,
                    self.broken_turn(),
                    Code::EngineFailed,
                    self.server_error().unwrap_or_else(|| self.engine_error()),
                ));
            }
            ProcessExit::Unknown if self.end.is_none() => {
                let error = advice::plain(ErrorCategory::Host, Code::ExitUnknown);
                let decision = Decision::new(
                    Rule::ExitUnknown,
                    TurnState::Interrupted,
                    CompletionState::Unknown,
                    Code::ExitUnknown,
                    RunStatus::Failed,
                );
                return Some(Decision { error: Some(error), ..decision });
            }
            ProcessExit::Unknown => {}
        }
        if self.end.is_none() {
            let error = if self.session_refused() {
                self.engine_error()
            } else {
                advice::end_missing(self.facts.last_words.as_ref())
            };
            return Some(Decision::failed(Rule::EndMissing, self.broken_turn(), Code::EngineEndMissing, error));
        }
        None
    }

    fn host_ended(&self, reason: Code) -> Decision {
        let error = advice::host(reason, self.control.host_words);
        Decision::failed(Rule::HostEnded, TurnState::Interrupted, reason, error)
    }

    fn auto(&self) -> Decision {
        if self.reading.answer.is_none() {
            let error = advice::plain(ErrorCategory::Engine, Code::AnswerMissing);
            return Decision::failed(Rule::AnswerMissing, TurnState::Failed, Code::AnswerMissing, error);
        }
        match self.control.layer {
            CompletionLayer::OfSkill => {}
            CompletionLayer::Absent => return self.answered(Rule::AutoValid),
        }
        if self.reading.denied {
            let decision = Decision::new(
                Rule::AgentNotDone,
                TurnState::Completed,
                CompletionState::Unknown,
                Code::AgentNotDone,
                RunStatus::Failed,
            );
            let error = advice::plain(ErrorCategory::Output, Code::AgentNotDone);
            return Decision { error: Some(error), warnings: self.process_warnings(), ..decision };
        }
        match &self.reading.output {
            Output::Valid(output) => {
                let reason = if self.control.schema.is_some() { Code::OutputValid } else { Code::CleanFinal };
                let completed = |run| {
                    let (turn, completion) = (TurnState::Completed, CompletionState::Completed);
                    let decision = Decision::new(Rule::AutoValid, turn, completion, reason, run);
                    Decision { output: Some(output.clone()), warnings: self.process_warnings(), ..decision }
                };
                if self.control.require_marker {
                    let error = advice::plain(ErrorCategory::Output, Code::DoneMarkerMissing);
                    return Decision { error: Some(error), ..completed(RunStatus::Failed) };
                }
                let mut decision = completed(RunStatus::Succeeded);
                decision.warnings.push(Code::CompletedWithoutDoneMarker);
                decision
            }
            Output::Invalid(_) | Output::Missing => {
                let reason = match self.reading.output {
                    Output::Invalid(_) => Code::OutputInvalid,
                    Output::Missing | Output::Valid(_) => Code::OutputMissing,
                };
                let errors = self.output_errors();
                let decision = Decision::new(
                    Rule::AutoInvalid,
                    TurnState::Completed,
                    CompletionState::Unknown,
                    reason,
                    RunStatus::Failed,
                );
                Decision {
                    error: Some(self.output_error(&errors)),
                    output_errors: errors,
                    warnings: self.process_warnings(),
                    notices: vec![reading::notice(
                        Code::UnexpectedCompletionState,
                        "an auto turn should be completed or interrupted; this one is neither",
                    )],
                    ..decision
                }
            }
        }
    }

    /// A clean final of a run without a skill.
    fn answered(&self, rule: Rule) -> Decision {
        let (turn, completion) = (TurnState::Completed, CompletionState::Completed);
        let decision = Decision::new(rule, turn, completion, Code::CleanFinal, RunStatus::Succeeded);
        Decision { warnings: self.process_warnings(), ..decision }
    }

    fn interactive(&self) -> Decision {
        match self.control.layer {
            CompletionLayer::Absent if self.reading.answer.is_some() && !self.reading.asks => {
                return self.answered(Rule::SoftCompletion);
            }
            CompletionLayer::Absent | CompletionLayer::OfSkill => {}
        }
        if let (Some(_), Output::Valid(output)) = (self.control.schema, &self.reading.soft_output)
            && !self.reading.asks
            && !self.reading.answer_denied
        {
            let decision = Decision::new(
                Rule::SoftCompletion,
                TurnState::Completed,
                CompletionState::Completed,
                Code::OutputValid,
                RunStatus::Succeeded,
            );
            let mut warnings = self.process_warnings();
            warnings.push(Code::InteractiveCompletedWithoutDoneMarker);
            return Decision { output: Some(output.clone()), warnings, ..decision };
        }
        let turn = if self.reading.answer.is_some() { TurnState::Completed } else { TurnState::Failed };
        let waiting = |rule, run| {
            let (completion, reason) = (CompletionState::AwaitingUserInput, Code::TurnEndedWithoutMarker);
            Decision { warnings: self.process_warnings(), ..Decision::new(rule, turn, completion, reason, run) }
        };
        if self.control.max_attempt.is_some_and(|max| self.control.attempt.0 >= max) {
            let error = advice::plain(ErrorCategory::Interaction, Code::InteractiveMaxAttemptExceeded);
            return Decision { error: Some(error), ..waiting(Rule::MaxAttempt, RunStatus::Failed) };
        }
        let session = self.facts.session_id.as_deref().or(self.control.known_session);
        if self.control.continuation == Continuation::Resumable && session.is_none() {
            let error = advice::plain(ErrorCategory::Session, Code::SessionIdMissing);
            return Decision { error: Some(error), ..waiting(Rule::SessionMissing, RunStatus::Failed) };
        }
        waiting(Rule::Waiting, RunStatus::WaitingUser)
    }

    /// A turn of a conversation that ended cleanly: `Rule::Waiting`, with or without an answer.
    fn conversation(&self) -> Decision {
        let warnings = self.process_warnings();
        if self.reading.answer.is_none() {
            let error = advice::plain(ErrorCategory::Engine, Code::AnswerMissing);
            let decision = Decision::failed(Rule::Waiting, TurnState::Failed, Code::AnswerMissing, error);
            return Decision { warnings, ..decision };
        }
        let (turn, completion) = (TurnState::Completed, CompletionState::AwaitingUserInput);
        let decision = Decision::new(Rule::Waiting, turn, completion, Code::CleanFinal, RunStatus::WaitingUser);
        Decision { warnings, ..decision }
    }

    /// A turn that was interrupted, with or without a message.
    fn broken_turn(&self) -> TurnState {
        if self.facts.has_text { TurnState::PartialFailed } else { TurnState::Failed }
    }

    fn end_words(&self) -> Option<&str> {
        self.end.as_ref().and_then(|end| end.message.as_deref())
    }

    fn engine_error(&self) -> RunError {
        let told = self.facts.error.as_ref();
        let words = self.end_words().or_else(|| told.map(|e| e.message.as_str()));
        let category = match &self.end {
            Some(end) if end.kind == EndKind::Failure && end.category != ErrorCategory::Engine => end.category,
            Some(_) | None => told.map_or(ErrorCategory::Engine, |e| e.category),
        };
        let category = match (category, &self.control.exit, self.facts.profile) {
            (ErrorCategory::Engine, ProcessExit::Code(code), Some(profile)) => {
                classify::by_exit(profile, *code).unwrap_or(category)
            }
            (_, _, _) => category,
        };
        let stderr = self.facts.last_words.as_ref().filter(|_| words.is_none());
        let category = match (category, stderr) {
            (ErrorCategory::Engine, Some(LastWords::Reason { category, .. })) => *category,
            (category, _) => category,
        };
        let error = advice::engine(self.session_refused(), category, words, stderr, &self.control.exit);
        let reset_at = self.facts.reset_at.filter(|_| error.category == ErrorCategory::Quota);
        RunError { reset_at, ..error }
    }

    /// A server that the run requires did not start. An engine that names no server means any of them.
    fn server_error(&self) -> Option<RunError> {
        let servers = self.control.mcp_servers?;
        let failed = &self.facts.failed_servers;
        let required: Vec<&str> = servers.iter().filter(|(_, server)| server.required).map(|(name, _)| name).collect();
        let named = required.iter().find(|name| failed.contains(&Some((**name).to_owned())));
        let means_any = failed.contains(&None) && required.len() == servers.iter().count();
        named.or_else(|| required.first().filter(|_| means_any)).map(|name| advice::server(name))
    }

    /// The engine does not know the session that it was asked to resume.
    fn session_refused(&self) -> bool {
        self.facts.session_refused || self.end.as_ref().is_some_and(|end| end.category == ErrorCategory::Session)
    }

    /// A missing output is not reported as one that does not match.
    fn output_error(&self, errors: &[String]) -> RunError {
        let code = match &self.reading.output {
            Output::Missing => Code::OutputMissing,
            Output::Invalid(_) | Output::Valid(_) => Code::OutputSchemaInvalid,
        };
        advice::output(code, errors)
    }

    fn output_errors(&self) -> Vec<String> {
        match &self.reading.output {
            Output::Invalid(errors) => errors.clone(),
            Output::Missing | Output::Valid(_) => {
                let missing = "the answer has no JSON object that could be the output".to_owned();
                let broken = self.reading.broken_marker.as_ref();
                let broken =
                    broken.map(|problem| format!("the object with the done marker is not valid JSON: {problem}"));
                [missing].into_iter().chain(broken).collect()
            }
        }
    }

    /// What happened to the process after a clean end; worth reporting, but not a failure.
    fn process_warnings(&self) -> Vec<Code> {
        let mut warnings = Vec::new();
        if self.lingered {
            warnings.push(Code::LingerEnded);
        } else if self.control.ended_by == Some(EndedBy::HostLost) {
            warnings.push(Code::HostLostAfterDone);
        } else if !matches!(self.control.exit, ProcessExit::Code(0) | ProcessExit::Unknown) {
            let outlived = was_outlived(self.facts);
            warnings.push(if outlived { Code::WrapperEnded } else { Code::ExitNonzeroAfterDone });
        }
        warnings
    }

    /// What the run waits for: the answer to a question, or the next prompt.
    fn pending(&self, rule: Rule) -> Pending {
        let rests = rule == Rule::Interrupted || self.control.mode == ExecutionMode::Conversation;
        if rests { pending::at_rest(self.control) } else { pending::build(self.reading, self.control) }
    }

    fn settled(&self, decision: Decision) -> Settled {
        let waits = decision.run == RunStatus::WaitingUser;
        let answer = self.reading.answer;
        let confidences = [self.end.as_ref().map(|e| e.confidence), answer.map(|a| a.confidence)];
        let spans = |spans: &[Span]| spans.iter().map(span_ref).collect::<Vec<SpanRef>>();
        let mut notices = self.reading.notices.clone();
        notices.extend(decision.notices);
        let Decision { rule, turn, completion, reason, run, .. } = decision;
        let engine_limit = self.end.as_ref().filter(|_| rule == Rule::Limit).and_then(|end| end.limit);
        let verdict = Verdict {
            confidence: confidences.into_iter().flatten().fold(1.0, f64::min),
            error: decision.error,
            warnings: decision.warnings,
            output: decision.output,
            pending: waits.then(|| self.pending(rule)),
            answer_message_id: answer.map(|a| a.message_id.clone()).filter(|_| decision.turn == TurnState::Completed),
            refused: engine_limit == Some(EngineLimit::Refusal),
            engine_limit,
            evidence: VerdictEvidence {
                end: self.end.as_ref().and_then(|e| e.span).iter().map(span_ref).collect(),
                marker: self.reading.carrier.map(|(message, _)| spans(&message.spans)).unwrap_or_default(),
                answer: answer.map(|a| spans(&a.spans)).unwrap_or_default(),
            },
            ..Verdict::new(rule, turn, completion, reason, run)
        };
        Settled {
            verdict,
            notices,
            marker: self.reading.carrier.map(|(_, form)| form),
            output_errors: decision.output_errors,
            prompt: answer.filter(|_| self.clean_end).map(|_| self.reading.prompt.clone()),
        }
    }
}
