//! The output of a process, and the expected result, computed a second time without the gate.

use skillrun_evidence::Meta;
use skillrun_model::{EndedBy, ExecutionMode, RunStatus, Timestamp, TurnState};

use super::scene::Scene;

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
pub(crate) enum SimulatedExit {
    Good,
    Bad,
    Killed,
    Unknown,
}

/// The record that a host leaves of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) ended_by: Option<EndedBy>,
    pub(crate) exit: SimulatedExit,
    /// The process continues with the next attempt.
    pub(crate) continues: bool,
    /// The turn was over when the host acted.
    pub(crate) after_end: bool,
}

impl Record {
    /// What is known of an attempt whose host is gone without a record.
    pub(crate) const LOST: Self =
        Self { ended_by: Some(EndedBy::HostLost), exit: SimulatedExit::Unknown, continues: false, after_end: false };

    /// An attempt whose process was never started, because its owner ended it before.
    pub(crate) const fn never_begun(ended_by: EndedBy) -> Self {
        Self { ended_by: Some(ended_by), exit: SimulatedExit::Unknown, continues: false, after_end: false }
    }

    /// As its host recorded it.
    pub(crate) fn meta(self, started_at: Timestamp) -> Meta {
        let (exit_code, signal) = match self.exit {
            SimulatedExit::Good => (Some(0), None),
            SimulatedExit::Bad => (Some(1), None),
            SimulatedExit::Killed => (None, Some("SIGKILL".to_owned())),
            SimulatedExit::Unknown => (None, None),
        };
        Meta { exit_code, signal, ended_by: self.ended_by, started_at: Some(started_at), ..Meta::default() }
    }
}

pub(crate) fn end_of(lines: &[Line]) -> Option<End> {
    lines.iter().rev().find_map(|line| match line {
        Line::End(end) => Some(*end),
        Line::Said | Line::Asked => None,
    })
}

macro_rules! asked {
    ($id:literal) => {
        concat!(
            r#"{"type":"control_request","request_id":""#,
            $id,
            r#"","request":{"subtype":"can_use_tool","tool_name":"B"}}"#,
            "\n"
        )
    };
}

/// The questions that a turn can have.
const ASKED: [&str; 4] = [asked!("r1"), asked!("r2"), asked!("r3"), asked!("r4")];

/// A line as the process writes it, in claude's format. `at`: its place among all lines.
pub(crate) fn text_of(line: Line, at: usize) -> &'static str {
    match line {
        Line::Said => concat!(r#"{"type":"system","subtype":"init","session_id":"s"}"#, "\n"),
        Line::Asked => ASKED[at % ASKED.len()],
        Line::End(End::Done) => concat!(
            r#"{"type":"result","is_error":false,"session_id":"s","#,
            r#""result":"{\"__SKILL_DONE__\": true, \"answer\": 42}"}"#,
            "\n"
        ),
        Line::End(End::Misfit) => concat!(
            r#"{"type":"result","is_error":false,"session_id":"s","#,
            r#""result":"{\"__SKILL_DONE__\": true, \"answer\": \"no\"}"}"#,
            "\n"
        ),
        Line::End(End::Question) => {
            concat!(r#"{"type":"result","is_error":false,"session_id":"s","result":"Which colour?"}"#, "\n")
        }
        Line::End(End::Failure) => {
            concat!(r#"{"type":"result","is_error":true,"session_id":"s","result":"it broke"}"#, "\n")
        }
        Line::End(End::Quota) => concat!(
            r#"{"type":"result","is_error":true,"session_id":"s","api_error_status":429,"result":"no more"}"#,
            "\n"
        ),
        Line::End(End::Limit) => {
            concat!(r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}"#, "\n")
        }
    }
}

/// The length of all lines.
pub(crate) fn bytes_of(lines: &[Line]) -> u64 {
    lines.iter().enumerate().map(|(at, line)| text_of(*line, at).len() as u64).sum()
}

/// The expected end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) status: RunStatus,
    /// The interrupt came before the end.
    pub(crate) is_interrupted: bool,
    /// Whether the turn is completed, where only this shows how it ended.
    pub(crate) is_completed: Option<bool>,
}

impl Expected {
    fn of(status: RunStatus) -> Self {
        Self { status, is_interrupted: false, is_completed: None }
    }

    pub(crate) fn is(self, status: RunStatus, is_interrupted: bool, turn: TurnState) -> bool {
        let is_completed = turn == TurnState::Completed;
        let same_turn = self.is_completed.is_none_or(|expected| expected == is_completed);
        self.status == status && self.is_interrupted == is_interrupted && same_turn
    }
}

/// What is expected of an attempt that left this, regardless of which owners died. Not the gate's code: a second,
/// smaller version of contract R3.5. `interrupted_after`: the number of lines before the host was asked to interrupt.
pub(crate) fn expected(
    scene: &Scene,
    attempt: u32,
    lines: &[Line],
    record: Record,
    interrupted_after: Option<usize>,
    was_canceled: bool,
) -> Expected {
    if was_canceled {
        return Expected::of(RunStatus::Canceled);
    }
    let had_ended = |before: usize| lines.get(..before).is_some_and(|lines| end_of(lines).is_some());
    let is_interrupted =
        scene.mode != ExecutionMode::Auto && interrupted_after.is_some_and(|before| !had_ended(before));
    if is_interrupted {
        return Expected { status: RunStatus::WaitingUser, is_interrupted, is_completed: Some(false) };
    }
    let lingered = record.after_end && record.exit == SimulatedExit::Killed;
    let fine = match record.exit {
        SimulatedExit::Good | SimulatedExit::Unknown => true,
        SimulatedExit::Bad | SimulatedExit::Killed => lingered,
    };
    let is_lost = record.ended_by == Some(EndedBy::HostLost);
    let status = match (end_of(lines), scene.mode) {
        (end, ExecutionMode::Conversation) => {
            // A marker is text there.
            let has_answer = matches!(end, Some(End::Done | End::Question | End::Misfit));
            let is_completed = Some(has_answer && fine && !is_lost);
            return Expected { status: RunStatus::WaitingUser, is_interrupted, is_completed };
        }
        (Some(End::Misfit | End::Failure | End::Quota | End::Limit) | None, _) => RunStatus::Failed,
        (Some(End::Done), ExecutionMode::Interactive) => RunStatus::Succeeded,
        (Some(End::Done), ExecutionMode::Auto) if fine => RunStatus::Succeeded,
        (Some(End::Question), ExecutionMode::Interactive)
            if fine && !is_lost && scene.max_attempt.is_none_or(|max| attempt < max) =>
        {
            RunStatus::WaitingUser
        }
        (Some(End::Done | End::Question), _) => RunStatus::Failed,
    };
    Expected::of(status)
}
