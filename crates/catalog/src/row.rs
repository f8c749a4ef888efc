//! What the catalog shows of a run.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_model::codes::Code;
use skillrun_model::delegation::{ParentLink, SubagentStatus};
use skillrun_model::interaction::{AskOption, InteractionKind, OnDeadline, Pending, Scope};
use skillrun_model::{AttemptNumber, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};

use super::fold::{EndError, Folded};

/// Number of characters of a text that are shown in a list.
const BEGINNING: usize = 200;

/// One run, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunSummary")]
pub struct Row {
    pub run_id: RunId,
    /// None when its Log cannot be read far enough.
    pub status: Option<RunStatus>,
    /// The name of the skill; null for a run without one.
    pub skill: Option<String>,
    /// The beginning of the prompt of a run without a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of the engine.
    pub engine: Option<String>,
    pub mode: Option<ExecutionMode>,
    /// Time of the first event.
    pub created_at: Option<Timestamp>,
    /// Time of the last event.
    pub updated_at: Option<Timestamp>,
    /// Time of the terminal record.
    pub ended_at: Option<Timestamp>,
    /// The number of the last attempt that began, which is also the number of attempts.
    pub attempt: AttemptNumber,
    /// The pending question.
    pub question: Option<RowQuestion>,
    /// Whether the run waits only for a user.
    pub rests: bool,
    /// From the terminal record, before that from the last settled attempt.
    pub reason_code: Option<Code>,
    /// From the same source.
    pub error_code: Option<Code>,
    /// The beginning of the error's message, on one line: what the engine or the program reported about this run.
    #[serde(default)]
    pub error_message: Option<String>,
    /// The beginning of the last answer of the agent: of a message that a completed turn names. Text of a turn that broke
    /// off is not an answer.
    pub last_words: Option<String>,
    /// None while no engine has reported any.
    pub usage: Option<TokenUsage>,
    /// The same as `auto_decision_count`, under the name that 0.1.0 had for it.
    pub auto_decisions: u32,
    /// How many questions were answered automatically.
    #[serde(default)]
    pub auto_decision_count: u32,
    /// Time of the last automatic answer; null when there is none.
    #[serde(default)]
    pub last_auto_decision_at: Option<Timestamp>,
    /// The run does not begin before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The automatic retry of this run, which failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_as: Option<RunId>,
    /// The run that has asked for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentLink>,
    /// Warnings of the last settled attempt.
    pub warnings: u64,
    /// Number of bytes of its Log that are in this row.
    pub log_bytes: u64,
    /// Why the rest of its Log is not in this row.
    pub damage: Option<String>,
    /// Events that a newer version of skillrun wrote. They are not in this row, and this version cannot continue the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_events: Option<u64>,
}

/// Tokens of all turns together, and their cost, as far as engines report them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunUsage")]
pub struct TokenUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// In US dollars, as the engine estimates it.
    #[serde(default)]
    pub cost_usd: Option<f64>,
}

impl TokenUsage {
    pub(super) fn add(&mut self, input: Option<u64>, output: Option<u64>) {
        for (sum, more) in [(&mut self.input_tokens, input), (&mut self.output_tokens, output)] {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        }
    }
}

/// A question in a list, truncated if it is long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunQuestion")]
pub struct RowQuestion {
    pub interaction_id: InteractionId,
    pub scope: Scope,
    pub kind: InteractionKind,
    /// Its beginning.
    pub prompt: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    pub options: Vec<AskOption>,
    pub deadline: Option<Timestamp>,
    pub on_deadline: OnDeadline,
}

/// A run in the tree of its family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RunInTree")]
pub struct TreeRow {
    #[serde(flatten)]
    pub row: Row,
    /// What the Log of its parent says of its end; absent for the first run, and while the parent says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_says: Option<SubagentStatus>,
    /// The parent has ended before it and says `detached`; `status` is how it has really ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reconciled: bool,
}

/// A run that waits for an answer, and the whole question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "WaitingRun")]
pub struct Waiting {
    pub run_id: RunId,
    pub skill: Option<String>,
    /// The beginning of the prompt of a run without a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub engine: Option<String>,
    pub question: Pending,
}

impl Waiting {
    pub fn position(&self) -> WaitingPosition {
        WaitingPosition { deadline: self.question.deadline, run_id: self.run_id }
    }
}

/// The position of a question in the list of all questions: by deadline, those without one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingPosition {
    pub deadline: Option<Timestamp>,
    pub run_id: RunId,
}

/// Separates the parts of a position.
const BETWEEN: char = '_';

/// The deadline, or `none`, and the run.
impl fmt::Display for WaitingPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{BETWEEN}{}", asks_until(self.deadline), self.run_id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a position in the list of questions")]
pub struct NoPosition;

impl FromStr for WaitingPosition {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let (until, run) = text.split_once(BETWEEN).ok_or(NoPosition)?;
        let deadline = match until {
            NO_DEADLINE => None,
            until => Some(until.parse().map_err(|_| NoPosition)?),
        };
        Ok(Self { deadline, run_id: run.parse().map_err(|_| NoPosition)? })
    }
}

/// After every time in the order of texts.
const NO_DEADLINE: &str = "none";

/// A deadline as a text. The order of these texts is the order of the questions.
pub(super) fn asks_until(deadline: Option<Timestamp>) -> String {
    deadline.map_or_else(|| NO_DEADLINE.to_owned(), |deadline| deadline.to_string())
}

/// Unfinished runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unfinished {
    /// Runs that wait for a user, without an owner process.
    pub resting: Vec<Resting>,
    /// Runs that need an owner process, oldest first.
    pub restless: Vec<RunId>,
    /// Finished runs whose automatic retry does not exist. It may have been removed.
    pub unretried: Vec<RunId>,
}

/// A question that only an answer or its deadline can resolve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resting {
    pub run_id: RunId,
    pub interaction_id: InteractionId,
    pub deadline: Option<Timestamp>,
    /// When it was asked, by the wall clock at that time.
    pub asked_at: Option<Timestamp>,
}

impl Row {
    pub(super) fn of(run_id: RunId, folded: &Folded) -> Self {
        let Folded { fold, mark, damage } = folded;
        let state = &fold.state;
        let started = fold.started.as_ref();
        let verdict = state.verdict.as_ref();
        let (reason_code, error) = match (&fold.ended, verdict) {
            (Some(ended), _) => (Some(ended.reason_code), ended.error.clone()),
            (None, Some(verdict)) => (Some(verdict.reason_code), verdict.error.as_ref().map(EndError::of)),
            (None, None) => (None, None),
        };
        Self {
            run_id,
            status: state.status,
            skill: started.and_then(|run| run.skill.clone()),
            title: started.and_then(|run| run.title.clone()),
            engine: started.map(|run| run.engine.clone()),
            mode: started.map(|run| run.mode),
            created_at: fold.created_at,
            updated_at: fold.updated_at,
            ended_at: fold.ended.as_ref().map(|ended| ended.at),
            attempt: state.attempt,
            question: state.question.as_ref().map(RowQuestion::of),
            // The time of a workflow is not in a row: its Log is read at the start.
            rests: state.rests() && state.workflow_deadline().is_none(),
            reason_code,
            error_code: error.as_ref().map(|error| error.code),
            error_message: error.map(|error| error.message),
            last_words: fold.said.as_ref().map(|said| said.text.clone()),
            usage: fold.usage,
            auto_decisions: state.auto_decisions,
            auto_decision_count: state.auto_decisions,
            last_auto_decision_at: state.last_auto_decision_at,
            not_before: state.not_before,
            retried_as: state.retry.map(|retry| retry.run_id),
            parent: started.and_then(|run| run.parent.clone()),
            warnings: verdict.map_or(0, |verdict| verdict.warnings.len() as u64),
            log_bytes: mark.bytes,
            damage: damage.clone(),
            newer_events: Some(fold.newer_events).filter(|count| *count > 0),
        }
    }
}

impl RowQuestion {
    fn of(pending: &Pending) -> Self {
        let (prompt, truncated) = beginning(&pending.prompt);
        Self {
            interaction_id: pending.interaction_id,
            scope: pending.scope,
            kind: pending.kind,
            prompt: prompt.to_owned(),
            truncated,
            options: pending.options.clone(),
            deadline: pending.deadline,
            on_deadline: pending.on_deadline,
        }
    }
}

/// The part of a text that is shown, and whether it was truncated.
pub(super) fn beginning(text: &str) -> (&str, bool) {
    match text.char_indices().nth(BEGINNING) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}
