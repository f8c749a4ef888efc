//! The message with which another engine continues a conversation: the transcript, then the prompt.

use skillrun_model::RunId;
use skillrun_model::continues::{Continues, LeftOut};

use crate::dialect::Dialect;
use crate::item::{LeftOutCounts, Replay};

/// Bytes of the transcript as JSON, in which processes receive it. The oldest turns that do not fit are left out.
const TRANSCRIPT_MAX: usize = 384 * 1024;

/// Follows the transcript if the user gives no prompt.
pub const DEFAULT_PROMPT: &str = "Continue where the conversation ended.";

const BEFORE: &str = "Below is the transcript of a conversation between a user and another agent, which you continue. \
                      Lines that are not indented are headings; everything else is what was said and done. Answer only \
                      the request after the transcript.\n\n";
const CUT: &str = "[Earlier turns are left out.]\n\n";
const AFTER: &str = "\n--- End of the transcript ---\n\n";

/// The message, and what the new run records of the old one. None if there is nothing to continue.
pub fn message(run_id: RunId, replay: &Replay, prompt: &str) -> Option<(String, Continues)> {
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
    let text = format!("{BEFORE}{cut}{}{AFTER}{prompt}", parts.join("\n"));
    Some((text, Continues { run_id, seq: last.end_seq, hash: replay.hash.clone(), left_out: left_out.list() }))
}
