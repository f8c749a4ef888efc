//! Where the events of a stream come from: the Log, or the conversation made from it. Blocking.

use std::sync::Arc;

use serde::Deserialize;
use skillrun_log::{EventLog, FileLog, Head, Limits, LogError, LogLine, LogRead, Page, Subscription, Wake};
use skillrun_model::RunId;
use skillrun_model::rasp::{Category, Event, EventType};

use super::conversation::Conversation;
use super::frames::{Ends, Frames, Rendering};
use super::position::Position;

/// Size of one read. A lagging reader holds this much memory, and there may be hundreds.
pub(crate) const LIMITS: Limits = Limits { events: 500, bytes: 64 << 10 };

/// Which stream of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// RASP, all of it.
    Events,
    /// RASP without internal events of the runtime.
    Frontend,
    /// FCMP.
    Chat,
}

impl Kind {
    fn event_name(self) -> &'static str {
        match self {
            Self::Events | Self::Frontend => "run_event",
            Self::Chat => "chat_event",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct StreamSource {
    log: Arc<FileLog>,
    run: RunId,
    from: StreamOrigin,
}

#[derive(Debug, Clone)]
enum StreamOrigin {
    Log(Shown),
    Conversation(Arc<Conversation>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    Frontend,
}

/// The events after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamRead {
    Frames(Frames),
    Nothing,
    /// The position is not one of this Log.
    Reset(Head),
}

/// The state of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    pub(crate) head: Head,
    pub(crate) ends: Ends,
}

impl StreamSource {
    pub(crate) fn events(log: Arc<FileLog>, run: RunId) -> Self {
        Self { log, run, from: StreamOrigin::Log(Shown::All) }
    }

    pub(crate) fn frontend(log: Arc<FileLog>, run: RunId) -> Self {
        Self { log, run, from: StreamOrigin::Log(Shown::Frontend) }
    }

    pub(crate) fn chat(log: Arc<FileLog>, run: RunId, conversation: Arc<Conversation>) -> Self {
        Self { log, run, from: StreamOrigin::Conversation(conversation) }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.from {
            StreamOrigin::Log(Shown::All) => Kind::Events,
            StreamOrigin::Log(Shown::Frontend) => Kind::Frontend,
            StreamOrigin::Conversation(_) => Kind::Chat,
        }
    }

    pub(crate) fn subscribe(&self, wake: Wake) -> Result<Subscription, LogError> {
        self.log.subscribe(self.run, wake)
    }

    /// Where it currently ends, and whether that is final.
    pub(crate) fn standing(&self) -> Result<StreamPosition, LogError> {
        match &self.from {
            StreamOrigin::Conversation(conversation) => conversation.standing(),
            StreamOrigin::Log(_) => {
                let head = self.log.head(self.run)?;
                let last = head.next_seq.0.saturating_sub(1);
                let before = Position { epoch: head.epoch, after: last.saturating_sub(1) };
                let ends = match self.log.read(self.run, before.cursor(), Limits { events: 1, bytes: 1 })? {
                    LogRead::Page(page) if last > 0 => ends(&page),
                    LogRead::Page(_) | LogRead::Reset(_) => Ends::NotYet,
                };
                Ok(StreamPosition { head, ends })
            }
        }
    }

    pub(crate) fn read(&self, position: Position) -> Result<StreamRead, LogError> {
        match &self.from {
            StreamOrigin::Conversation(conversation) => {
                let mut rendering = Rendering::new(self.kind().event_name(), position);
                conversation.read(position, LIMITS, &mut rendering).map(|found| found.frames(rendering))
            }
            StreamOrigin::Log(_) => Ok(self.frames(position, self.log.read(self.run, position.cursor(), LIMITS)?)),
        }
    }

    /// The same if everything needed is in memory. It does not block.
    pub(crate) fn read_recent(&self, position: Position) -> Option<StreamRead> {
        match &self.from {
            StreamOrigin::Conversation(_) => None,
            StreamOrigin::Log(_) => {
                let read = self.log.read_recent(self.run, position.cursor(), LIMITS)?;
                Some(self.frames(position, read))
            }
        }
    }

    fn frames(&self, position: Position, read: LogRead) -> StreamRead {
        let page = match read {
            LogRead::Reset(head) => return StreamRead::Reset(head),
            LogRead::Page(page) if page.is_empty() => return StreamRead::Nothing,
            LogRead::Page(page) => page,
        };
        let position = Position { epoch: page.epoch(), after: position.after };
        let mut rendering = Rendering::new(self.kind().event_name(), position);
        for line in page.lines() {
            let is_shown = match self.from {
                StreamOrigin::Log(Shown::All) | StreamOrigin::Conversation(_) => true,
                StreamOrigin::Log(Shown::Frontend) => {
                    type_of(&line).is_none_or(|event_type| event_type.category() != Category::Runtime)
                }
            };
            if is_shown { rendering.show(line.seq.0, line.json()) } else { rendering.leave_out(line.seq.0) }
        }
        StreamRead::Frames(rendering.done(ends(&page)))
    }
}

/// Nothing comes after the end of a run, so only the last line is checked.
fn ends(page: &Page) -> Ends {
    let last = page.lines().next_back().and_then(|line| type_of(&line));
    match last {
        Some(EventType::RunCompleted | EventType::RunFailed | EventType::RunCanceled) => Ends::Here,
        Some(_) | None => Ends::NotYet,
    }
}

fn type_of(line: &LogLine<'_>) -> Option<EventType> {
    line.parsed().map(Event::event_type).or_else(|| event_type(line.json()))
}

/// Only the type, without parsing the rest twice.
pub(crate) fn event_type(json: &[u8]) -> Option<EventType> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        event: Named<'a>,
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        r#type: &'a str,
    }
    serde_json::from_slice::<Line<'_>>(json).ok()?.event.r#type.parse().ok()
}
