//! One reader of a stream. It takes the frames that the feed has, and reads older ones from the source itself.

use std::sync::Arc;

use bytes::Bytes;
use skillrun_log::LogError;
use tokio::sync::watch;

use super::frames::{self, Ends, Frames};
use super::live::{Feed, Feeds, State};
use super::position::Position;
use super::ring::RingRead;
use super::source::{StreamRead, StreamSource};
use crate::blocking::blocking;

#[derive(Debug)]
pub(crate) struct Reader {
    feeds: Arc<Feeds>,
    source: StreamSource,
    feed: Arc<Feed>,
    news: watch::Receiver<State>,
    position: Position,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was read yet.
    New,
    Reading,
    Over,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Next {
    Bytes(Bytes),
    /// The last event was given.
    End,
    /// The stream cannot be read; a client that reconnects gets the reason.
    Failed,
}

impl Reader {
    pub(super) fn new(feeds: Arc<Feeds>, source: StreamSource, feed: Arc<Feed>, position: Position) -> Self {
        let news = feed.news();
        Self { feeds, source, feed, news, position, stage: Stage::New }
    }

    /// The next frames. The future may be dropped while it waits; nothing is lost then.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if self.stage == Stage::Over {
                return Next::End;
            }
            // Read before the ring: later changes wake this reader.
            let state = self.news.borrow_and_update().clone();
            let found = match self.stage {
                // The feed does not know whether a position belongs to it.
                Stage::New if self.position.after > 0 => RingRead::Elsewhere,
                Stage::New | Stage::Reading | Stage::Over => self.feed.after(self.position),
            };
            let bytes = match (found, state) {
                (RingRead::Frames(frames), _) => self.takes(&frames),
                (RingRead::Elsewhere, _) | (RingRead::Nothing, State::Broken) => match self.by_itself().await {
                    Ok(bytes) => bytes,
                    Err(_) => return Next::Failed,
                },
                (RingRead::Nothing, State::Over) => return Next::End,
                (RingRead::Nothing, State::Going { .. }) => {
                    // A feed reports that it is over or broken before it is dropped.
                    if self.news.changed().await.is_err() {
                        return Next::End;
                    }
                    continue;
                }
            };
            if !bytes.is_empty() {
                return Next::Bytes(bytes);
            }
        }
    }

    fn takes(&mut self, frames: &Frames) -> Bytes {
        let bytes = frames.bytes_after(self.position.after);
        self.position = frames.to();
        self.stage = match frames.ends_run {
            Ends::Here => Stage::Over,
            Ends::NotYet => Stage::Reading,
        };
        bytes
    }

    async fn by_itself(&mut self) -> Result<Bytes, LogError> {
        // The semaphore is never closed, so there is always a permit.
        let turn = self.feeds.catching_up.clone().acquire_owned().await.ok();
        let (source, position) = (self.source.clone(), self.position);
        let read = move || {
            // Held until the work is done, even if the client has disconnected.
            let _turn = turn;
            source.read(position)
        };
        Ok(match (blocking(read).await?, self.stage) {
            (StreamRead::Frames(frames), _) => self.takes(&frames),
            (StreamRead::Nothing, Stage::New) => {
                self.stage = Stage::Reading;
                Bytes::new()
            }
            // The feed cannot continue and the reason is unknown: the client reconnects and gets another feed.
            (StreamRead::Nothing, Stage::Reading | Stage::Over) => {
                self.stage = Stage::Over;
                Bytes::new()
            }
            (StreamRead::Reset(head), _) => {
                (self.position, self.stage) = (Position::BEGINNING, Stage::Reading);
                frames::reset(head)
            }
        })
    }
}
