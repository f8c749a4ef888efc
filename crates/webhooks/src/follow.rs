//! Reads the Log from the last position on, and makes drafts of messages.

use serde::Deserialize;
use skillrun_log::{EventLog, Limits, LogError, LogErrorKind, LogLine, LogRead};
use skillrun_model::RunId;
use skillrun_model::rasp::Event;

use super::message::{Draft, Facts};
use super::record::Position;

/// The Log is read in pieces of about this size.
const LIMITS: Limits = Limits { events: 4_096, bytes: 1024 * 1024 };

/// The result of reading one piece of the Log.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) position: Position,
    pub(super) drafts: Vec<Draft>,
    pub(super) rest: FollowRest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowRest {
    /// There may be more.
    More,
    /// Everything was read.
    Nothing,
}

/// Why no piece could be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// There is no Log, or no longer.
    Missing,
    Failed(LogError),
}

pub(super) fn read_on(log: &impl EventLog, run: RunId, from: &Position) -> Result<Piece, Unread> {
    let page = match log.read(run, from.cursor(), LIMITS) {
        Ok(LogRead::Page(page)) => page,
        // Seqs were lost. Messages already sent are not repeated: a message that is made again has the same id.
        Ok(LogRead::Reset(_)) => {
            return Ok(Piece { position: Position::default(), drafts: Vec::new(), rest: FollowRest::More });
        }
        Err(error) if matches!(error.kind, LogErrorKind::NotFound | LogErrorKind::Gone) => return Err(Unread::Missing),
        Err(error) => return Err(Unread::Failed(error)),
    };
    let mut position = from.clone();
    if page.is_empty() {
        return Ok(Piece { position, drafts: Vec::new(), rest: FollowRest::Nothing });
    }
    let drafts = page.lines().filter_map(|line| position.facts.add(&wanted(line)?)).collect();
    position.moved_to(page.cursor());
    Ok(Piece { position, drafts, rest: FollowRest::More })
}

/// The event of a line, if it matters here. Most events do not, and are not parsed completely.
fn wanted(line: LogLine<'_>) -> Option<Event> {
    #[derive(Deserialize)]
    struct Glance<'a> {
        #[serde(borrow)]
        event: Kind<'a>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        event_type: &'a str,
    }
    let glance: Glance<'_> = serde_json::from_slice(line.json()).ok()?;
    // An event of a later version that this version does not know cannot be reported.
    Facts::wants(glance.event.event_type).then(|| line.event().ok()).flatten()
}
