//! The neutral items of a conversation, and the result of the fold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
pub use skillrun_model::continues::{LeftOut, LeftOutCount};
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::rasp::data::{Foreign, MessageOrigin};
use skillrun_model::{AttemptNumber, RunId, TurnState, word_enum};

word_enum! {
    /// How a tool call ended.
    #[derive(Serialize, JsonSchema)]
    pub ToolOutcome {
        #[serde(rename = "ok")]
        Ok = "ok",
        #[serde(rename = "failed")]
        Failed = "failed",
    }
}

/// One part of a conversation, independent of any API. `truncated` marks a part of which the Log has only the beginning.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ReplayItem")]
pub enum Item {
    /// The message that began a turn.
    User {
        text: String,
        origin: MessageOrigin,
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// A message of the agent.
    Agent {
        text: String,
        /// The answer of its turn; the other messages are texts on the way to it.
        #[serde(default, skip_serializing_if = "is_false")]
        answer: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// A tool call. Its result is the next item.
    ToolCall {
        /// As the engine wrote it; engines may use an id again in a later turn.
        id: String,
        name: String,
        /// As the engine wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Foreign>,
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// The result of the call before it.
    ToolResult {
        id: String,
        outcome: ToolOutcome,
        output: String,
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// A run that the agent had asked for has ended. It stands behind the calls that began before its end.
    Child {
        run_id: RunId,
        status: SubagentStatus,
        /// In the form of every such item, with the answer of the child quoted as data.
        text: String,
    },
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What was left out, for people, as the end of a sentence that begins with a number.
pub fn left_out_words(reason: LeftOut, count: u64) -> &'static str {
    let words = match reason {
        LeftOut::PartialMessage => ["message that was cut off", "messages that were cut off"],
        LeftOut::VoidedMessage => ["message that the engine retracted", "messages that the engine retracted"],
        LeftOut::EmptyMessage => ["message without text", "messages without text"],
        LeftOut::TextOfBrokenTurn => {
            ["message of a turn that did not complete", "messages of turns that did not complete"]
        }
        LeftOut::Reasoning => ["summary of reasoning", "summaries of reasoning"],
        LeftOut::OpenCall => ["tool call without a result", "tool calls without a result"],
        LeftOut::ResultWithoutCall => ["tool result without its call", "tool results without their calls"],
        LeftOut::RefusedTurn => ["turn that was refused", "turns that were refused"],
        LeftOut::OpenTurn => ["turn that is not over", "turns that are not over"],
        LeftOut::EarlierTurn => ["earlier turn", "earlier turns"],
    };
    words[usize::from(count != 1)]
}
/// Counts of one turn or of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOutCounts(BTreeMap<LeftOut, u64>);

impl LeftOutCounts {
    pub(crate) fn add(&mut self, reason: LeftOut, count: u64) {
        if count > 0 {
            *self.0.entry(reason).or_default() += count;
        }
    }

    pub(crate) fn add_all(&mut self, counts: &[LeftOutCount]) {
        for LeftOutCount { reason, count } in counts {
            self.add(*reason, *count);
        }
    }

    pub(crate) fn list(&self) -> Vec<LeftOutCount> {
        self.0.iter().map(|(reason, count)| LeftOutCount { reason: *reason, count: *count }).collect()
    }
}

word_enum! {
    /// Something about a replay that its reader has to know.
    #[derive(Serialize, JsonSchema)]
    #[schemars(rename = "ReplayNoticeKind")]
    pub NoticeKind {
        /// A turn was recorded by a version that did not record the message that began it.
        #[serde(rename = "user_message_missing")]
        UserMessageMissing = "user_message_missing",
        /// The file with the exact text of a message is missing or was changed, so only its beginning is replayed.
        #[serde(rename = "user_message_unreadable")]
        UserMessageUnreadable = "user_message_unreadable",
        /// The Log has events that a newer version wrote. They are skipped.
        #[serde(rename = "newer_event")]
        NewerEvent = "newer_event",
        /// The Log is damaged, and was read up to the damage.
        #[serde(rename = "damaged_log")]
        DamagedLog = "damaged_log",
    }
}

impl NoticeKind {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::UserMessageMissing => "turns whose first message was not recorded by the version that ran them",
            Self::UserMessageUnreadable => {
                "messages of which only the beginning is replayed, because the file with the text is missing or was changed"
            }
            Self::NewerEvent => "events of a newer version of skillrun were skipped",
            Self::DamagedLog => "the Log is damaged, and was replayed up to the damage",
        }
    }
}

/// A notice, and how often it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ReplayNotice")]
pub struct Notice {
    pub kind: NoticeKind,
    pub count: u64,
    /// The first event that it is about.
    pub seq: u64,
}

word_enum! {
    /// How close a replay is to what the model has received.
    #[derive(Serialize, JsonSchema)]
    #[schemars(rename = "ReplayFidelity")]
    pub Fidelity {
        /// What the model received.
        #[serde(rename = "exact")]
        Exact = "exact",
        /// What the engine has shown of it. The engine's own instructions, its tools and its summaries are not known.
        #[serde(rename = "shown")]
        Shown = "shown",
    }
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayedTurn {
    pub turn: AttemptNumber,
    pub state: TurnState,
    /// The event that ended the turn.
    pub end_seq: u64,
    pub items: Vec<Item>,
    pub left_out: Vec<LeftOutCount>,
    /// Identifies the items of this turn and of all turns before it: BLAKE3 of the hash before it and of the turn's
    /// items as JSON. A turn without items has the hash before it.
    pub hash: String,
}

/// What a model would see again of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    pub fidelity: Fidelity,
    /// The hash of the last turn; that of no bytes where there is none.
    pub hash: String,
    pub turns: Vec<ReplayedTurn>,
    /// Of all turns, including a turn that is not over.
    pub left_out: Vec<LeftOutCount>,
    pub notices: Vec<Notice>,
}

impl Replay {
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.turns.iter().flat_map(|turn| &turn.items)
    }

    /// The event that ended the last turn; 0 where there is none.
    pub fn end_seq(&self) -> u64 {
        self.turns.last().map_or(0, |turn| turn.end_seq)
    }
}
