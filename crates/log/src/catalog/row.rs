//! What the catalog shows of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_model::codes::Code;
use skillrun_model::interaction::{AskOption, InteractionKind, OnDeadline, Pending, Scope};
use skillrun_model::{AttemptNumber, ExecutionMode, InteractionId, RunId, RunStatus, Timestamp};

use super::fold::Folded;

/// So many characters of a text are shown in a list.
const BEGINNING: usize = 200;

/// One run, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunSummary")]
pub struct Row {
    pub run_id: RunId,
    /// None when its Log cannot be read that far.
    pub status: Option<RunStatus>,
    /// Its name.
    pub skill: Option<String>,
    /// Its name.
    pub engine: Option<String>,
    pub mode: Option<ExecutionMode>,
    /// Moment of the first event.
    pub created_at: Option<Timestamp>,
    /// Moment of the last event.
    pub updated_at: Option<Timestamp>,
    /// Moment of the terminal record.
    pub ended_at: Option<Timestamp>,
    /// The last one that began, which is also how many there were.
    pub attempt: AttemptNumber,
    /// The question that waits.
    pub question: Option<Question>,
    /// It waits for a person and for nothing else.
    pub rests: bool,
    /// Of the terminal record, before that of the last settled attempt.
    pub reason_code: Option<Code>,
    /// From the same place.
    pub error_code: Option<Code>,
    /// The beginning of the last finished message of the agent.
    pub last_words: Option<String>,
    /// None while no engine has told any.
    pub usage: Option<Usage>,
    /// The same as `auto_decision_count`, under the name that 0.1.0 had for it.
    pub auto_decisions: u32,
    /// How many questions were decided without a person.
    #[serde(default)]
    pub auto_decision_count: u32,
    /// Moment of the last of these decisions; null when there is none.
    #[serde(default)]
    pub last_auto_decision_at: Option<Timestamp>,
    /// It does not begin before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The run that takes the place of this one, which failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_as: Option<RunId>,
    /// Warnings of the last settled attempt.
    pub warnings: u64,
    /// So much of its Log is in this row.
    pub log_bytes: u64,
    /// Why the rest of its Log is not.
    pub damage: Option<String>,
}

/// Tokens of all turns together, as far as engines tell them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunUsage")]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

impl Usage {
    pub(super) fn add(&mut self, input: Option<u64>, output: Option<u64>) {
        for (sum, more) in [(&mut self.input_tokens, input), (&mut self.output_tokens, output)] {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        }
    }
}

/// A question in a list, cut where it is long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunQuestion")]
pub struct Question {
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

/// A run that waits for an answer, and the whole question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "WaitingRun")]
pub struct Waiting {
    pub run_id: RunId,
    pub skill: Option<String>,
    pub engine: Option<String>,
    pub question: Pending,
}

/// Runs that are not over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unfinished {
    /// They wait for a person, and no process waits with them.
    pub resting: Vec<Resting>,
    /// Somebody must look after them. The oldest first.
    pub restless: Vec<RunId>,
    /// They are over, and the run that takes their place is not there. It may have been removed.
    pub unretried: Vec<RunId>,
}

/// A question that only an answer or its time can bring on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resting {
    pub run_id: RunId,
    pub interaction_id: InteractionId,
    pub deadline: Option<Timestamp>,
    /// When it was asked, by the wall clock of that moment.
    pub asked_at: Option<Timestamp>,
}

impl Row {
    pub(super) fn of(run_id: RunId, folded: &Folded) -> Self {
        let Folded { fold, mark, damage } = folded;
        let state = &fold.state;
        let started = fold.started.as_ref();
        let verdict = state.verdict.as_ref();
        let (reason_code, error_code) = match (&fold.ended, verdict) {
            (Some(ended), _) => (Some(ended.reason_code), ended.error),
            (None, Some(verdict)) => (Some(verdict.reason_code), verdict.error.as_ref().map(|error| error.code)),
            (None, None) => (None, None),
        };
        Self {
            run_id,
            status: state.status,
            skill: started.and_then(|run| run.skill.clone()),
            engine: started.map(|run| run.engine.clone()),
            mode: started.map(|run| run.mode),
            created_at: fold.created_at,
            updated_at: fold.updated_at,
            ended_at: fold.ended.as_ref().map(|ended| ended.at),
            attempt: state.attempt,
            question: state.question.as_ref().map(Question::of),
            rests: state.rests(),
            reason_code,
            error_code,
            last_words: fold.said.as_ref().map(|said| said.text.clone()),
            usage: fold.usage,
            auto_decisions: state.auto_decisions,
            auto_decision_count: state.auto_decisions,
            last_auto_decision_at: state.last_auto_decision_at,
            not_before: state.not_before,
            retried_as: state.retry.map(|retry| retry.run_id),
            warnings: verdict.map_or(0, |verdict| verdict.warnings.len() as u64),
            log_bytes: mark.bytes,
            damage: damage.clone(),
        }
    }
}

impl Question {
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

/// What is shown of a text, and whether that is not all of it.
pub(super) fn beginning(text: &str) -> (&str, bool) {
    match text.char_indices().nth(BEGINNING) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}
