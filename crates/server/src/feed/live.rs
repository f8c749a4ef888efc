//! Feeds: while a stream has readers, one task reads its source and keeps the last frames for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use skillrun_base::sync::lock;
use skillrun_log::{EventLog, FileLog, LogError, Subscription};
use skillrun_model::RunId;
use skillrun_runs::DataFolder;
use tokio::sync::{Notify, Semaphore, watch};

use super::conversation::Conversation;
use super::frames::Ends;
use super::kept::Kept;
use super::position::Position;
use super::reader::Reader;
use super::ring::{Ring, RingRead};
use super::source::{Kind, StreamRead, StreamSource};
use crate::blocking::blocking;

/// Maximum number of lagging readers that read at the same time.
const CATCHING_UP: usize = 8;

/// Maximum number of pieces that are rendered on a thread that must not be busy for long.
const PIECES: usize = 4;

/// All streams of the service.
#[derive(Debug)]
pub(crate) struct Feeds {
    log: Arc<FileLog>,
    data: DataFolder,
    live: Mutex<HashMap<(RunId, Kind), Weak<Feed>>>,
    conversations: Mutex<Kept<Conversation>>,
    pub(super) catching_up: Arc<Semaphore>,
    stop: watch::Sender<bool>,
}

/// One stream that has readers.
#[derive(Debug)]
pub(crate) struct Feed {
    ring: Mutex<Ring>,
    news: watch::Sender<State>,
    bell: Arc<Notify>,
    _subscription: Subscription,
}

/// The state that readers are woken with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Going {
        times: u64,
    },
    /// The last event is in the ring.
    Over,
    /// The stream cannot be read any more, for example because it was removed; a reader determines the reason itself.
    Broken,
}

impl Feeds {
    pub(crate) fn new(log: Arc<FileLog>, data: DataFolder) -> Arc<Self> {
        Arc::new(Self {
            log,
            data,
            live: Mutex::default(),
            conversations: Mutex::default(),
            catching_up: Arc::new(Semaphore::new(CATCHING_UP)),
            stop: watch::Sender::new(false),
        })
    }

    /// Ends all streams; their clients reconnect with a cursor.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Blocking.
    pub(crate) fn source(&self, run: RunId, kind: Kind) -> Result<StreamSource, LogError> {
        Ok(match kind {
            Kind::Events => StreamSource::events(self.log.clone(), run),
            Kind::Frontend => StreamSource::frontend(self.log.clone(), run),
            Kind::Chat => StreamSource::chat(self.log.clone(), run, self.conversation(run)?),
        })
    }

    /// Blocking.
    pub(crate) fn conversation(&self, run: RunId) -> Result<Arc<Conversation>, LogError> {
        // A removed run has none, and a repaired one has another epoch.
        let head = self.log.head(run);
        let found = lock(&self.conversations).take(run);
        let epoch = head?.epoch;
        if let Some(found) = found
            && found.epoch()? == epoch
        {
            return Ok(lock(&self.conversations).put(run, found));
        }
        let opened = Conversation::open(self.log.clone(), run, &self.data.run(run), self.data.root())?;
        Ok(lock(&self.conversations).put(run, Arc::new(opened)))
    }

    /// Drops conversations without readers; called every few seconds. Blocking.
    pub(crate) fn let_go(&self) {
        let unwanted = lock(&self.conversations).let_go();
        // Closing a large unnamed file takes time, and no other task must wait for it.
        drop(unwanted);
    }

    /// A reader of a stream that has readers already, and is not over. It is opened without a system call: many clients
    /// may reconnect at once.
    pub(crate) fn read_going(self: &Arc<Self>, run: RunId, kind: Kind, position: Position) -> Option<Reader> {
        let source = match kind {
            Kind::Events => StreamSource::events(self.log.clone(), run),
            Kind::Frontend => StreamSource::frontend(self.log.clone(), run),
            Kind::Chat => return None,
        };
        let feed = self.going((run, kind))?;
        Some(Reader::new(self.clone(), source, feed, position))
    }

    /// A reader from `position` on. It is subscribed before anything is read.
    pub(crate) async fn read(self: &Arc<Self>, source: StreamSource, position: Position) -> Result<Reader, LogError> {
        let feed = self.feed(&source).await?;
        Ok(Reader::new(self.clone(), source, feed, position))
    }

    /// The existing feed, if it is still active: one that is over or broken has nothing for a new reader.
    fn going(&self, key: (RunId, Kind)) -> Option<Arc<Feed>> {
        let found = lock(&self.live).get(&key).and_then(Weak::upgrade)?;
        let is_going = matches!(*found.news.borrow(), State::Going { .. });
        is_going.then_some(found)
    }

    async fn feed(self: &Arc<Self>, source: &StreamSource) -> Result<Arc<Feed>, LogError> {
        let key = (source.run(), source.kind());
        if let Some(feed) = self.going(key) {
            return Ok(feed);
        }
        let bell = Arc::new(Notify::new());
        let rung = bell.clone();
        let from = source.clone();
        let (subscription, standing) = blocking(move || {
            let subscription = from.subscribe(Arc::new(move || rung.notify_one()))?;
            Ok::<_, LogError>((subscription, from.standing()?))
        })
        .await?;
        let feed = Arc::new(Feed {
            ring: Mutex::new(Ring::new(standing.head)),
            news: watch::Sender::new(match standing.ends {
                Ends::Here => State::Over,
                Ends::NotYet => State::Going { times: 0 },
            }),
            bell,
            _subscription: subscription,
        });
        // Another task may have created one meanwhile; one is enough.
        if let Some(other) = self.going(key) {
            return Ok(other);
        }
        let mut live = lock(&self.live);
        live.retain(|_, feed| feed.strong_count() > 0);
        live.insert(key, Arc::downgrade(&feed));
        drop(live);
        // Events appended between the two ring the bell.
        feed.bell.notify_one();
        tokio::spawn(follow(Arc::downgrade(&feed), source.clone(), feed.bell.clone()));
        Ok(feed)
    }
}

impl Feed {
    pub(super) fn after(&self, position: Position) -> RingRead {
        lock(&self.ring).after(position)
    }

    pub(super) fn news(&self) -> watch::Receiver<State> {
        self.news.subscribe()
    }

    fn set_state(&self, state: State) {
        self.news.send_replace(state);
    }

    fn announce_more(&self) {
        self.news.send_modify(|state| {
            if let State::Going { times } = state {
                *times += 1;
            }
        });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // Wakes the task, which finds no reader left.
        self.bell.notify_one();
    }
}

/// Reads new events while there are readers.
async fn follow(feed: Weak<Feed>, source: StreamSource, bell: Arc<Notify>) {
    let _ending = Ending(feed.clone());
    let source = Arc::new(source);
    loop {
        bell.notified().await;
        // Most often a few events that are still in memory; a thread that may block is needed for all else.
        let mut going = read_all(&feed, PIECES, |at| source.read_recent(at).map(Ok));
        if let Going::Later = going {
            let (feed, source) = (feed.clone(), source.clone());
            going = blocking(move || read_all(&feed, usize::MAX, |at| Some(source.read(at)))).await;
        }
        match going {
            Going::On | Going::Later => {}
            Going::Over => return,
        }
    }
}

/// A feed whose task has ended, for whatever reason, reports it.
struct Ending(Weak<Feed>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(feed) = self.0.upgrade() {
            feed.news.send_modify(|state| match state {
                State::Going { .. } => *state = State::Broken,
                State::Over | State::Broken => {}
            });
        }
    }
}

/// Whether there is more to follow.
enum Going {
    On,
    /// Not everything was read.
    Later,
    Over,
}

/// Reads until nothing is left, and wakes the readers after every piece. At most `pieces`, and while `read` can.
fn read_all(
    feed: &Weak<Feed>,
    pieces: usize,
    read: impl Fn(Position) -> Option<Result<StreamRead, LogError>>,
) -> Going {
    for _ in 0..pieces {
        let Some(feed) = feed.upgrade() else { return Going::Over };
        let at = lock(&feed.ring).to();
        let Some(read) = read(at) else { return Going::Later };
        match read {
            Ok(StreamRead::Nothing) => return Going::On,
            Ok(StreamRead::Frames(frames)) => {
                let ends = frames.ends_run;
                lock(&feed.ring).push(frames);
                match ends {
                    Ends::NotYet => feed.announce_more(),
                    Ends::Here => {
                        feed.set_state(State::Over);
                        return Going::Over;
                    }
                }
            }
            Ok(StreamRead::Reset(head)) => {
                lock(&feed.ring).restart(head);
                feed.announce_more();
            }
            Err(_) => {
                feed.set_state(State::Broken);
                return Going::Over;
            }
        }
    }
    Going::Later
}
