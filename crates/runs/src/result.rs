//! `result.json`: how a run ended. A fold over its Log and nothing else, so that it is the same whether it was written
//! by a running owner, after a crash, or regenerated later.
//!
//! ```text
//! run_id       status          succeeded, failed or canceled
//! output       what the skill returns, or null
//! text         the answer as text, without the done marker; null when the last turn has none that counts
//! warnings     codes, each once
//! error        of a failed run
//! artifacts    [{path, size, hash, type, role}] by path; the hash is blake3
//! usage        tokens of all attempts together; `reported.total_cost_usd` is the cost of the run in US dollars
//! completion   {state, reason_code, confidence} of the last turn
//! timing       {created_at, started_at, ended_at, elapsed_ms}: elapsed from created to ended
//! attempts     how many
//! workflow     {outcome, ok, steps} of a workflow, whose outputs are `output`
//! checks       [{name, status, exit, elapsed_ms, evidence}] of the commands that were run after the turn
//! next_actions [{action, command}]
//! log_head     {seq, hash}: how far the Log had come when this was written, without its last event
//! ```

mod answer;
mod file;
mod from_log;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_lifecycle::advice;
use skillrun_lifecycle::output::without_markers;
use skillrun_log::{EventLog, LineHash};
use skillrun_model::checks::{CheckEnded, CheckStatus};
use skillrun_model::codes::NextAction;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::{
    ArtifactCreated, ArtifactIndexed, AttemptEnded, Diagnostic, Exit, FileChange, TurnUsage,
};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData, LogHead};
use skillrun_model::status::{CompletionState, TurnState};
use skillrun_model::verdict::{RunError, Verdict};
use skillrun_model::workflow::{StepSummary, WorkflowEnded, WorkflowOutcome};
use skillrun_model::{AttemptNumber, Code, RunId, RunStatus, Timestamp};

use answer::Messages;
pub use file::{MAX_BYTES, is_lacking, read, read_or_make, text, write};
pub use from_log::{finished_result, result_of};
use usage::RunUsage;

/// The result of a run. Written once, at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    pub run_id: RunId,
    pub status: RunStatus,
    /// The output of the skill, checked against its schema; null when there is none that matches.
    pub output: Option<Map<String, Value>>,
    /// The answer as text, where it ended cleanly.
    pub text: Option<String>,
    /// Codes of irregularities.
    pub warnings: Vec<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// The files of the result.
    pub artifacts: Vec<ArtifactIndexed>,
    /// Tokens of all turns, as far as the engine reported them.
    pub usage: Option<TurnUsage>,
    /// None when no turn was ever settled.
    pub completion: Option<Completion>,
    pub timing: Timing,
    /// The number of attempts.
    pub attempts: u32,
    /// Of a conversation that was closed: the number of turns that ended in each state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub turns: BTreeMap<TurnState, u32>,
    /// Of a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowResult>,
    /// The checks that have ended, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// What the user can do now.
    pub next_actions: Vec<NextAction>,
    /// How far the Log had come, with the hash that covers everything up to there: in `result.json` the event before
    /// the last one, in every response the last one. Absent where an older version wrote the Log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_head: Option<LogHead>,
}

impl RunResult {
    /// What the run has cost in US dollars, if the engine reports it.
    pub fn cost_usd(&self) -> Option<f64> {
        self.usage.as_ref()?.session_cost_usd()
    }
}

/// How a workflow ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowResult {
    pub outcome: WorkflowOutcome,
    /// True for a completed workflow alone.
    pub ok: bool,
    pub steps: Vec<StepSummary>,
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    pub name: String,
    pub status: CheckStatus,
    pub exit: Exit,
    pub elapsed_ms: u64,
    /// The folder with its output, in the folder of the run.
    pub evidence: String,
    /// The last lines of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
}

impl From<&CheckEnded> for CheckResult {
    fn from(end: &CheckEnded) -> Self {
        Self {
            name: end.name.clone(),
            status: end.status,
            exit: end.exit.clone(),
            elapsed_ms: end.elapsed_ms,
            evidence: end.evidence.clone(),
            output_tail: end.output_tail.clone(),
        }
    }
}

/// How the last turn was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunCompletion")]
pub struct Completion {
    pub state: CompletionState,
    pub reason_code: Code,
    /// 1.0 is an exact parse, below 0.7 is a guess.
    pub confidence: f64,
}

/// The times of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunTiming")]
pub struct Timing {
    pub created_at: Timestamp,
    /// When the first attempt began; none when none did.
    pub started_at: Option<Timestamp>,
    pub ended_at: Timestamp,
    /// From the first to the last of these, waiting included.
    pub elapsed_ms: u64,
}

/// Takes the events of a Log, in order, and returns the result once the run is over. Only those texts are kept that may
/// still be the answer.
#[derive(Debug, Clone, Default)]
pub struct ResultFold {
    created_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    attempts: u32,
    turns: BTreeMap<TurnState, u32>,
    messages: Messages,
    /// The run has no skill, and so no marker that would have to be removed from its answer.
    is_prompt: bool,
    /// The last settled turn, unless a later reply went to the engine.
    turn: Option<Turn>,
    completion: Option<Completion>,
    warnings: Vec<Code>,
    artifacts: BTreeMap<String, ArtifactIndexed>,
    usage: Option<RunUsage>,
    workflow: Option<WorkflowEnded>,
    checks: Vec<CheckResult>,
    end: Option<End>,
    /// Of the event before the last one.
    log_head: Option<LogHead>,
}

/// What a settled turn contributes to the result.
#[derive(Debug, Clone)]
struct Turn {
    attempt: AttemptNumber,
    run_status: RunStatus,
    text: Option<String>,
    output: Option<Map<String, Value>>,
    /// Size of an output that was too large for its event, until the caller supplies it.
    missing_output: Option<u64>,
}

#[derive(Debug, Clone)]
struct End {
    status: RunStatus,
    at: Timestamp,
    error: Option<RunError>,
    next_actions: Vec<NextAction>,
}

impl ResultFold {
    pub fn event(&mut self, event: &Event) {
        match &event.data {
            Data::Control(data) => self.control(event, data),
            Data::Evidence(EvidenceData::MessageFinal(message)) => self.messages.add(event, message),
            Data::Evidence(EvidenceData::ParserWarning(warning)) => {
                if let (Code::MessageVoided, Some(message_id)) = (warning.code, &warning.message_id) {
                    self.messages.void(message_id);
                }
            }
            Data::Evidence(_) => {}
        }
    }

    fn control(&mut self, event: &Event, data: &ControlData) {
        match data {
            ControlData::RunStarted(started) => {
                self.created_at = Some(event.ts.to_micros());
                self.is_prompt = started.title.is_some();
            }
            ControlData::AttemptStarted(started) => {
                self.started_at.get_or_insert_with(|| started.started_at.to_micros());
                self.attempts = self.attempts.max(event.attempt_number.0);
                self.turn = None;
                self.messages = Messages::default();
            }
            ControlData::AttemptEnded(ended) => self.attempt_ended(event.attempt_number, ended),
            // The engine continues: its earlier text is not final, whatever happens next.
            ControlData::InteractionReplied(_) => self.turn = None,
            ControlData::TurnUsage(usage) => self.usage.get_or_insert_default().turn(usage),
            ControlData::ArtifactCreated(created) => self.artifact_changed(created),
            ControlData::ArtifactIndexed(indexed) => {
                self.artifacts.insert(indexed.path.clone(), indexed.clone());
            }
            ControlData::ParserWarning(warning) => self.noticed(warning),
            ControlData::RunCompleted(completed) => self.end(event, completed.status(), None, &[]),
            ControlData::RunFailed(failed) => {
                self.end(event, RunStatus::Failed, Some(failed.error.clone()), &failed.next_actions);
            }
            ControlData::RunCanceled(_) => {
                self.end(event, RunStatus::Canceled, None, &advice::after_cancel(event.run_id));
            }
            ControlData::WorkflowEnded(ended) => self.workflow = Some(ended.as_ref().clone()),
            ControlData::WorkflowStarted(_) => {
                self.started_at.get_or_insert_with(|| event.ts.to_micros());
            }
            ControlData::CheckEnded(end) => self.checks.push(end.as_ref().into()),
            ControlData::RunStatus(_)
            | ControlData::RunHeartbeat(_)
            | ControlData::MessageUser(_)
            | ControlData::InteractionRequested(_)
            | ControlData::InteractionTimeout(_)
            | ControlData::AutoDecision(_)
            | ControlData::SubagentRequested(_)
            | ControlData::SubagentStarted(_)
            | ControlData::SubagentEnded(_)
            | ControlData::StepScheduled(_)
            | ControlData::StepHeld(_)
            | ControlData::StepEnded(_)
            | ControlData::ArtifactPreviewReady(_) => {}
        }
    }

    /// The same for an event whose place in the chain is known: `prev` is the hash of the line before it.
    pub fn linked(&mut self, event: &Event, prev: Option<LineHash>) {
        let was_over = self.end.is_some();
        self.event(event);
        if self.end.is_some() && !was_over {
            self.log_head = prev.map(|prev| LogHead { seq: event.seq.saturating_sub(1), hash: prev.to_string() });
        }
    }

    /// The attempt whose output was too large for its event, and the size of it; it must be supplied before `finish`.
    pub fn missing_output(&self) -> Option<(AttemptNumber, u64)> {
        let turn = self.turn.as_ref()?;
        turn.missing_output.map(|bytes| (turn.attempt, bytes))
    }

    /// Supplies it. Does nothing where none is missing.
    pub fn large_output(&mut self, output: Map<String, Value>) {
        if let Some(turn) = &mut self.turn
            && turn.missing_output.take().is_some()
        {
            turn.output = Some(output);
        }
    }

    /// The answer of the last settled turn, if that turn completed and no later one has begun.
    pub fn turn_text(&self) -> Option<&str> {
        self.turn.as_ref()?.text.as_deref()
    }

    /// None while the run is not over.
    pub fn finish(self, run_id: RunId) -> Option<RunResult> {
        let end = self.end?;
        let turn = self.turn.filter(|turn| counts(turn.run_status, end.status));
        let (text, output) = turn.map_or((None, None), |turn| (turn.text, turn.output));
        let (output, workflow) = match self.workflow {
            Some(WorkflowEnded { outcome, ok, steps, output, .. }) => {
                (output, Some(WorkflowResult { outcome, ok, steps }))
            }
            None => (output, None),
        };
        let created_at = self.created_at.unwrap_or(end.at);
        let elapsed_ms = end.at.millis_since(created_at).unwrap_or(0);
        Some(RunResult {
            run_id,
            status: end.status,
            output,
            text,
            warnings: self.warnings,
            error: end.error,
            artifacts: self.artifacts.into_values().collect(),
            usage: self.usage.map(|usage| usage.total),
            completion: self.completion,
            timing: Timing { created_at, started_at: self.started_at, ended_at: end.at, elapsed_ms },
            attempts: self.attempts,
            turns: if end.status == RunStatus::Closed { self.turns } else { BTreeMap::new() },
            workflow,
            checks: self.checks,
            next_actions: end.next_actions,
            log_head: self.log_head,
        })
    }

    fn attempt_ended(&mut self, attempt: AttemptNumber, ended: &AttemptEnded) {
        let verdict = &ended.verdict;
        let Verdict { completion: state, reason_code, confidence, .. } = *verdict;
        self.completion = Some(Completion { state, reason_code, confidence });
        verdict.warnings.iter().for_each(|code| self.warn(*code));
        self.attempts = self.attempts.max(attempt.0);
        let answer = std::mem::take(&mut self.messages).answer(verdict);
        let answer = answer.map(|text| if self.is_prompt { text } else { without_markers(&text) });
        *self.turns.entry(verdict.turn).or_default() += 1;
        // A text that ends in a question is not an answer of the run.
        let asks = verdict.pending.as_ref().is_some_and(|pending| pending.scope != Scope::Prompt);
        let text = answer.filter(|_| !asks);
        self.turn = Some(Turn {
            attempt,
            run_status: verdict.run_status,
            text,
            output: verdict.output.clone(),
            missing_output: verdict.output_bytes.filter(|_| verdict.output.is_none()),
        });
    }

    fn artifact_changed(&mut self, created: &ArtifactCreated) {
        match created.change {
            // The `artifact.indexed` that follows adds it again, if its content is known.
            FileChange::Created | FileChange::Modified | FileChange::Deleted => self.artifacts.remove(&created.path),
        };
    }

    /// Of the diagnostics, those which say that the list of artifacts is incomplete.
    fn noticed(&mut self, warning: &Diagnostic) {
        let of_artifacts = [Code::ArtifactsCut, Code::ArtifactMissing, Code::ArtifactHardLink];
        if of_artifacts.contains(&warning.code) {
            self.warn(warning.code);
        }
    }

    fn warn(&mut self, code: Code) {
        if !self.warnings.contains(&code) {
            self.warnings.push(code);
        }
    }

    fn end(&mut self, event: &Event, status: RunStatus, error: Option<RunError>, next_actions: &[NextAction]) {
        // The first end event is final; events after it do not count.
        if self.end.is_none() {
            self.end = Some(End { status, at: event.ts.to_micros(), error, next_actions: next_actions.to_vec() });
        }
    }
}

/// A result as it is returned to clients: with the head of the whole Log, including its last event. `result.json` is
/// written before that event, and has the head before it.
pub fn answered(mut result: RunResult, log: &impl EventLog) -> RunResult {
    if let Ok(head) = log.chain_head(result.run_id) {
        result.log_head = head;
    }
    result
}

/// Whether the last turn's text and output are those of the run. A turn that would have ended it otherwise (a question
/// was not answered, or the run was canceled) does not count; one that only asked does, since nothing came after it.
fn counts(turn: RunStatus, run: RunStatus) -> bool {
    match turn {
        RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => turn == run,
        RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => true,
    }
}
