//! The replay of a run, read from its folder: what a model would see again.
//!
//! The Log is read twice. The first pass parses only the records of turns, which it finds by the name of their type; the
//! second one ends at the last of them. A damaged Log is replayed up to the damage.

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Serialize;
use skillrun_log::{Cursor, EventLog, FileLog, Limits, LogError, LogErrorKind, LogLine, ReadEnd};
use skillrun_model::RunId;
use skillrun_model::rasp::EventType;
use skillrun_model::rasp::data::UserMessage;
use skillrun_replay::{Fold, NoticeKind, Replay, TurnEnds};
use skillrun_runs::blobs;
use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::events::changed;

use crate::error::InspectError;

/// How often a Log is read again that its owner truncated in the meantime.
const READS: usize = 3;

/// The replay of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunReplay {
    pub run_id: RunId,
    #[serde(flatten)]
    pub replay: Replay,
}

/// What a model would see again of a run; with `upto`, of the turns that ended at or before that event.
pub fn replay(data: &DataFolder, log: &FileLog, run: RunId, upto: Option<u64>) -> Result<RunReplay, InspectError> {
    for _ in 0..READS {
        if let Some(replay) = read_once(data, log, run, upto)? {
            return Ok(RunReplay { run_id: run, replay });
        }
    }
    Err(changed(run).into())
}

/// None if the Log has changed in the meantime.
fn read_once(data: &DataFolder, log: &FileLog, run: RunId, upto: Option<u64>) -> Result<Option<Replay>, InspectError> {
    let Some((ends, unread)) = read_ends(log, run, upto)? else { return Ok(None) };
    let last = ends.last_seq();
    let mut fold = Fold::new(ends);
    let folder = data.run(run);
    let mut whole_text = |message: &UserMessage| blobs::read_prompt(&folder, message).ok();
    let end = log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        if line.seq.0 > last {
            return Ok(ControlFlow::Break(()));
        }
        match line.known_event() {
            Some(event) => fold.push(event.into_owned(), &mut whole_text),
            None => fold.notice(NoticeKind::NewerEvent, line.seq.0),
        }
        Ok::<_, LogError>(until(line, Some(last)))
    });
    let damage = match end {
        Ok(ReadEnd::At(_)) => None,
        Ok(ReadEnd::Reset(_)) => return Ok(None),
        Err(LogError { kind: LogErrorKind::Damaged(damage), .. }) => Some(damage.seq.0),
        Err(error) => return Err(error.into()),
    };
    for seq in unread.newer.into_iter().filter(|seq| *seq > last) {
        fold.notice(NoticeKind::NewerEvent, seq);
    }
    if let Some(seq) = damage.or(unread.damage) {
        fold.notice(NoticeKind::DamagedLog, seq);
    }
    Ok(Some(fold.finish()))
}

/// What the first pass could not read.
#[derive(Debug, Default)]
struct Unread {
    /// Records of turns that a newer version wrote.
    newer: Vec<u64>,
    /// Where the Log is damaged.
    damage: Option<u64>,
}

/// The first pass. None if the Log has changed in the meantime.
fn read_ends(log: &FileLog, run: RunId, upto: Option<u64>) -> Result<Option<(TurnEnds, Unread)>, InspectError> {
    let mut ends = TurnEnds::new(upto);
    let mut unread = Unread::default();
    let records = [EventType::AttemptStarted, EventType::AttemptEnded];
    // A text has its quotation marks escaped, so only JSON of a tool can contain the same bytes; such a line is
    // parsed without effect.
    let records = records.map(|kind| format!("\"type\":\"{kind}\""));
    let records = records.each_ref().map(Finder::new);
    let end = log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        if upto.is_some_and(|upto| line.seq.0 > upto) {
            return Ok(ControlFlow::Break(()));
        }
        if records.iter().any(|record| record.find(line.json()).is_some()) {
            match line.known_event() {
                Some(event) => ends.push(&event),
                None => unread.newer.push(line.seq.0),
            }
        }
        Ok::<_, LogError>(until(line, upto))
    });
    match end {
        Ok(ReadEnd::At(_)) => {}
        Ok(ReadEnd::Reset(_)) => return Ok(None),
        Err(LogError { kind: LogErrorKind::Damaged(damage), .. }) => unread.damage = Some(damage.seq.0),
        Err(error) => return Err(error.into()),
    }
    Ok(Some((ends, unread)))
}

/// Whether to read the line after this one, which may be damaged.
fn until(line: LogLine<'_>, last: Option<u64>) -> ControlFlow<()> {
    if last == Some(line.seq.0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
