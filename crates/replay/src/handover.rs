//! Messages that begin with the replay of a conversation: with one, another engine continues it, or another session of
//! the same engine.

use skillrun_model::RunId;
use skillrun_model::continues::{Continues, LeftOut, LeftOutCount, ReplayedHistory};

use crate::dialect::Dialect;
use crate::item::{LeftOutCounts, Replay};

/// Bytes of the transcript as JSON, in which processes receive it. The oldest turns that do not fit are left out.
const TRANSCRIPT_MAX: usize = 384 * 1024;

/// Follows the transcript if the user gives no prompt.
pub const DEFAULT_PROMPT: &str = "Continue where the conversation ended.";

const OF_ANOTHER_AGENT: &str =
    "Below is the transcript of a conversation between a user and another agent, which you continue.";
const OF_LOST_SESSION: &str =
    "Below is the transcript of your conversation with a user. Its session was lost, and you continue it here.";
const HOW_TO_READ: &str = " Lines that are not indented are headings; everything else is what was said and done. Answer \
                           only the request after the transcript.\n\n";
const CUT: &str = "[Earlier turns are left out.]\n\n";
const AFTER: &str = "\n--- End of the transcript ---\n\n";

/// The message with which another engine continues, and what the new run records of the old one. None if there is
/// nothing to continue.
pub fn message(run_id: RunId, replay: &Replay, prompt: &str) -> Option<(String, Continues)> {
    let history = history(replay, OF_ANOTHER_AGENT)?;
    let bytes = Some(history.text.len() as u64);
    let hash = replay.hash.clone();
    let continues = Continues { run_id, seq: history.seq, hash, left_out: history.left_out, bytes };
    Some((history.text + prompt, continues))
}

/// The message with which another session of the same run continues, and what its event records of it. None if there is
/// nothing to continue.
pub fn after_lost_session(replay: &Replay, prompt: &str) -> Option<(String, ReplayedHistory)> {
    let mut history = history(replay, OF_LOST_SESSION)?;
    // The turn that begins with the message is open, if an earlier owner died before it wrote the message.
    history.left_out.retain(|left_out| left_out.reason != LeftOut::OpenTurn);
    let (bytes, hash) = (history.text.len() as u64, replay.hash.clone());
    let replayed = ReplayedHistory { seq: history.seq, hash, left_out: history.left_out, bytes };
    Some((history.text + prompt, replayed))
}

/// Everything before the prompt.
struct History {
    text: String,
    /// The end of the last turn.
    seq: u64,
    left_out: Vec<LeftOutCount>,
}

fn history(replay: &Replay, introduction: &str) -> Option<History> {
    let mut parts = Vec::new();
    let mut room = TRANSCRIPT_MAX;
    let mut left_out = LeftOutCounts::default();
    left_out.add_all(&replay.left_out);
    let turns: Vec<_> = replay.turns.iter().filter(|turn| !turn.items.is_empty()).collect();
    for turn in turns.iter().rev() {
        // A process cannot receive a NUL.
        let text = Dialect::transcript(&turn.items).replace('\0', "\u{fffd}");
        let size = serde_json::to_string(&text).map_or(usize::MAX, |spelled| spelled.len());
        let Some(rest) = room.checked_sub(size) else { break };
        room = rest;
        parts.push(text);
    }
    let last = turns.last()?;
    let earlier = (turns.len() - parts.len()) as u64;
    left_out.add(LeftOut::EarlierTurn, earlier);
    parts.reverse();
    let cut = if earlier > 0 { CUT } else { "" };
    let text = format!("{introduction}{HOW_TO_READ}{cut}{}{AFTER}", parts.join("\n"));
    Some(History { text, seq: last.end_seq, left_out: left_out.list() })
}
