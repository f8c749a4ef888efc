//! The output of a process, as facts for the gate; and the expected result, computed a second time without the gate.

use serde_json::{Map, Value};
use skillrun_lifecycle::{OutputValidator, ProcessExit};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::{EndedBy, ExecutionMode, RunStatus, Stream};
use skillrun_parse::Span;
use skillrun_parse::record::{EndKind, EndPolicy};
use skillrun_translate::Facts;
use skillrun_translate::facts::{EndFact, FinalMessage, HostAct, ParseCounts};

use crate::scene::Scene;

/// A line of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Said,
    /// A question inside the turn.
    Asked,
    End(End),
}

/// How a process ends its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Question,
    /// Done, with an output that does not match.
    Misfit,
    Failure,
    Quota,
    Limit,
}

/// How a process exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Good,
    Bad,
    Killed,
    Unknown,
}

/// The record that a host leaves of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) exit: Exit,
    /// The process continues with the next attempt.
    pub(crate) continues: bool,
    /// The turn was over when the host acted.
    pub(crate) after_end: bool,
}

impl Record {
    /// What is known of an attempt whose host is gone without a record.
    pub(crate) const LOST: Self =
        Self { ended_by: Some(EndedBy::HostLost), exit: Exit::Unknown, continues: false, after_end: false };

    pub(crate) fn process_exit(self) -> ProcessExit {
        match self.exit {
            Exit::Good => ProcessExit::Code(0),
            Exit::Bad => ProcessExit::Code(1),
            Exit::Killed => ProcessExit::Signal("SIGKILL".to_owned()),
            Exit::Unknown => ProcessExit::Unknown,
        }
    }
}

/// `answer` is a number.
#[derive(Debug)]
pub(crate) struct Schema;

impl OutputValidator for Schema {
    fn errors(&self, output: &Map<String, Value>) -> Vec<String> {
        match output.get("answer") {
            Some(Value::Number(_)) => Vec::new(),
            Some(_) | None => vec!["answer is no number".to_owned()],
        }
    }
}

pub(crate) fn end_of(lines: &[Line]) -> Option<End> {
    lines.iter().rev().find_map(|line| match line {
        Line::End(end) => Some(*end),
        Line::Said | Line::Asked => None,
    })
}

fn kind(end: End) -> EndKind {
    match end {
        End::Done | End::Question | End::Misfit => EndKind::Success,
        End::Failure | End::Quota => EndKind::Failure,
        End::Limit => EndKind::Limit,
    }
}

pub(crate) fn facts(lines: &[Line], record: Record) -> Facts {
    let end = end_of(lines);
    let text = match end {
        Some(End::Done) => Some(r#"{"__SKILL_DONE__": true, "answer": 42}"#),
        Some(End::Misfit) => Some(r#"{"__SKILL_DONE__": true, "answer": "no"}"#),
        Some(End::Question) => Some("Which colour?"),
        Some(End::Failure | End::Quota | End::Limit) | None => None,
    };
    let span = Span { stream: Stream::Stdout, from: 0, to: 1 };
    let message = |text: &str| FinalMessage {
        message_id: "m1".to_owned(),
        text: text.to_owned(),
        truncated: false,
        after_tool: false,
        confidence: 1.0,
        spans: vec![span],
    };
    let category = if end == Some(End::Quota) { ErrorCategory::Quota } else { ErrorCategory::Engine };
    let ended = |end: End| EndFact { kind: kind(end), message: None, category, confidence: 1.0, span };
    let after = end.filter(|_| record.after_end).map(kind);
    Facts {
        end_policy: EndPolicy::Event,
        session_id: Some("s".to_owned()),
        messages: text.map(message).into_iter().collect(),
        tool_follows: false,
        end: end.map(ended),
        has_text: text.is_some(),
        error: None,
        reset_at: None,
        profile: None,
        session_refused: false,
        usage: None,
        acts: record.ended_by.map(|act| HostAct { act, after }).into_iter().collect(),
        parse: ParseCounts::default(),
    }
}

/// The expected status of the run after an attempt that left this, regardless of which owners died. Not the gate's
/// code: a second, smaller version of contract R3.5.
pub(crate) fn expected(scene: &Scene, attempt: u32, lines: &[Line], record: Record, was_canceled: bool) -> RunStatus {
    if was_canceled {
        return RunStatus::Canceled;
    }
    let lingered = record.after_end && record.exit == Exit::Killed;
    let fine = match record.exit {
        Exit::Good | Exit::Unknown => true,
        Exit::Bad | Exit::Killed => lingered,
    };
    let is_lost = record.ended_by == Some(EndedBy::HostLost);
    match (end_of(lines), scene.mode) {
        (Some(End::Misfit | End::Failure | End::Quota | End::Limit) | None, _) => RunStatus::Failed,
        (Some(End::Done), ExecutionMode::Interactive) => RunStatus::Succeeded,
        (Some(End::Done), ExecutionMode::Auto) if fine => RunStatus::Succeeded,
        (Some(End::Question), ExecutionMode::Interactive)
            if fine && !is_lost && scene.max_attempt.is_none_or(|max| attempt < max) =>
        {
            RunStatus::WaitingUser
        }
        (Some(End::Done | End::Question), _) => RunStatus::Failed,
    }
}
