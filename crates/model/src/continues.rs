//! What a run knows of the conversation that it continues: that of another run, or its own in another session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::RunId;
use crate::status::wire_enum;

wire_enum! {
    /// Why a part of the Log is not replayed.
    #[schemars(rename = "ReplayLeftOut")]
    LeftOut {
        /// A message that was cut off.
        PartialMessage = "partial_message",
        /// A message that the engine retracted.
        VoidedMessage = "voided_message",
        /// A message without any text.
        EmptyMessage = "empty_message",
        /// A whole message of a turn that did not complete.
        TextOfBrokenTurn = "text_of_broken_turn",
        /// A summary of the reasoning.
        Reasoning = "reasoning",
        /// A tool call without a result of its tool.
        OpenCall = "open_call",
        /// A result whose call is not in the same turn.
        ResultWithoutCall = "result_without_call",
        /// A whole turn that the model or its service refused.
        RefusedTurn = "refused_turn",
        /// A whole turn that has no end yet.
        OpenTurn = "open_turn",
        /// A whole turn for which the message to another engine has no room: the oldest ones.
        EarlierTurn = "earlier_turn",
    }
}

/// How many parts were left out for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReplayLeftOutCount")]
pub struct LeftOutCount {
    pub reason: LeftOut,
    pub count: u64,
}

/// What precedes the user's own text in a message that begins another session of the same run, because the one before it
/// was lost: the replay of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedHistory {
    /// The event that ended the last turn of the replay.
    pub seq: u64,
    /// The hash of the replay up to that turn.
    pub hash: String,
    /// What the message does not have.
    pub left_out: Vec<LeftOutCount>,
    /// The length of the replay: the user's own text begins at this byte of the exact text.
    pub bytes: u64,
}

/// The run that a new one continues: its first message is the replay of that run, followed by a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Continues {
    pub run_id: RunId,
    /// The event that ended the last turn of the replay.
    pub seq: u64,
    /// The hash of the replay up to that turn.
    pub hash: String,
    /// What the message does not have.
    pub left_out: Vec<LeftOutCount>,
    /// The length of the transcript: the prompt begins at this byte of the message. Absent in records of versions that
    /// did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}
