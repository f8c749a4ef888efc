//! The conversation of a run (FCMP), translated from its Log page by page: the same for its file, its streams and the
//! terminal.

use std::borrow::Cow;

use skillrun_log::{Cursor, Epoch, EventLog, FileLog, Limits, LogError, LogRead, Page};
use skillrun_model::RunId;
use skillrun_model::fcmp::FcmpEvent;
use skillrun_model::rasp::Event;
use skillrun_translate::FcmpTranslator;

/// What a reader passes on: each event of the Log, followed by what it adds to the conversation.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an item is passed on and not stored")]
pub enum ConversationItem<'a> {
    Event(&'a Event),
    Said(FcmpEvent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationRead {
    Page {
        epoch: Epoch,
        /// Where its last line ends in the Log.
        log_bytes: u64,
    },
    /// There are no more events by now.
    End,
    /// What was passed on does not match the Log any more. The next page is the first one.
    Reset,
}

/// How far a Log was translated. After an error in the middle of a page, it must not be used again.
#[derive(Debug)]
pub struct ConversationReader {
    cursor: Cursor,
    translator: FcmpTranslator,
    newer_events: u64,
}

impl Default for ConversationReader {
    fn default() -> Self {
        Self { cursor: Cursor::BEGINNING, translator: FcmpTranslator::default(), newer_events: 0 }
    }
}

impl ConversationReader {
    /// Passes on the next page.
    pub fn page<E: From<LogError>>(
        &mut self,
        log: &FileLog,
        run: RunId,
        each: impl FnMut(ConversationItem<'_>) -> Result<(), E>,
    ) -> Result<ConversationRead, E> {
        match log.read(run, self.cursor, Limits::default())? {
            LogRead::Page(page) if page.is_empty() => Ok(ConversationRead::End),
            LogRead::Page(page) => {
                self.translate(&page, each)?;
                let log_bytes = page.lines().next_back().map_or(0, |line| line.end());
                Ok(ConversationRead::Page { epoch: page.epoch(), log_bytes })
            }
            LogRead::Reset(_) => {
                *self = Self::default();
                Ok(ConversationRead::Reset)
            }
        }
    }

    /// Events that a newer version of skillrun wrote, which were skipped.
    pub fn newer_events(&self) -> u64 {
        self.newer_events
    }

    /// After the last event that was passed on.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Passes on a page that follows what was read before.
    pub fn translate<E: From<LogError>>(
        &mut self,
        page: &Page,
        mut each: impl FnMut(ConversationItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for line in page.lines() {
            let Some(event) = line.known_event().map(Cow::into_owned) else {
                self.newer_events += 1;
                continue;
            };
            each(ConversationItem::Event(&event))?;
            let mut passed = Ok(());
            self.translator.push(event, &mut |said| {
                if passed.is_ok() {
                    passed = each(ConversationItem::Said(said));
                }
            });
            passed?;
        }
        self.cursor = page.cursor();
        Ok(())
    }
}
