//! Summaries shared by all threads, and the thread that refreshes them.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use skillrun_base::sync::{lock, wait, wait_timeout};
use skillrun_catalog::{CatalogError, Counts, Query, Row, TreeRow, Waiting, WaitingPosition};
use skillrun_log::{FileLog, Subscription};
use skillrun_model::RunId;
use skillrun_model::interaction::Pending;
use skillrun_runs::DataFolder;

use super::book::{Book, RunPart, Since};
use super::epoch::Epoch;
use super::turns::{Turn, Turns};

/// Maximum number of parts of one Log that are read for one query.
const PARTS: u32 = 1000;

/// Interval between two reads of a run that writes much.
const BUSY_RUN_INTERVAL: Duration = Duration::from_millis(2);

/// Minimum interval between two notifications of changes by this process while there are listeners.
const TOGETHER: Duration = Duration::from_millis(50);

/// Interval at which changes by other processes are looked for while there are listeners or queries.
const OTHERS: Duration = Duration::from_secs(1);

/// Interval between two refreshes while this process changes runs, and there are neither listeners nor queries. A query
/// refreshes by itself; this bounds how much it finds.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(5);

/// If more runs than this have changed, all are scanned.
const NEWS_MAX: usize = 10_000;

/// Called when there may be changes. It must be quick, and must not call the summaries.
type Wake = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum SummariesError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("failed to start the thread that lists all runs: {0}; free some memory and try again")]
    System(#[from] io::Error),
}

/// Summaries of all runs. Blocking.
#[derive(Debug)]
pub struct Summaries {
    shared: Arc<Shared>,
    epoch: Epoch,
    /// While it lives, every append is reported to this.
    _news: Subscription,
}

struct Shared {
    book: Turns<Book>,
    news: Mutex<News>,
    has_news: Condvar,
    listeners: Mutex<Listeners>,
    /// The number of the last change in the book, so that readers without new changes need not wait for the book.
    last: AtomicU64,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// The runs to refresh.
#[derive(Debug, Default)]
struct News {
    runs: HashSet<RunId>,
    /// Too many runs to list: all are scanned.
    is_all: bool,
    /// Some of them have more data than is read at once.
    is_behind: bool,
    is_over: bool,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    all: Vec<(u64, Wake)>,
}

/// What the thread has to refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingNews {
    Nothing,
    Changes,
    /// The rest of a run that writes much.
    Rest,
}

impl News {
    fn pending(&self) -> PendingNews {
        match self.is_all || !self.runs.is_empty() {
            true if self.is_behind => PendingNews::Rest,
            true => PendingNews::Changes,
            false => PendingNews::Nothing,
        }
    }
}

/// The last refresh by the thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastRefresh {
    pub(super) at: Instant,
    /// The last look for changes by other processes, by any thread.
    pub(super) all_at: Instant,
    /// How long changes are collected.
    pub(super) pause: Duration,
}

/// When the thread refreshes next; none until something happens.
pub(super) fn refresh_due(news: PendingNews, has_listeners: bool, last: LastRefresh) -> Option<Instant> {
    match (news, has_listeners) {
        (PendingNews::Rest, _) => Some(last.at + BUSY_RUN_INTERVAL),
        (PendingNews::Changes, true) => Some((last.at + last.pause).min(last.all_at + OTHERS)),
        (PendingNews::Nothing, true) => Some(last.all_at + OTHERS),
        (PendingNews::Changes, false) => Some(last.at + UNWATCHED_INTERVAL.max(last.pause)),
        (PendingNews::Nothing, false) => None,
    }
}

impl Summaries {
    /// `log` is the Log that this process appends to, in `data`.
    pub fn start(log: Arc<FileLog>, data: &DataFolder) -> Result<Arc<Self>, SummariesError> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(io::Error::from)?;
        Self::in_epoch(log, data, Epoch(u64::from_ne_bytes(random)))
    }

    pub(super) fn in_epoch(log: Arc<FileLog>, data: &DataFolder, epoch: Epoch) -> Result<Arc<Self>, SummariesError> {
        let listener: Arc<Mutex<Weak<Shared>>> = Arc::default();
        let bell = listener.clone();
        // Before the first scan, so that nothing is missed in between.
        let news = log.subscribe_all(Arc::new(move |run| {
            let shared = lock(&bell).upgrade();
            if let Some(shared) = shared {
                shared.note_append(run);
            }
        }));
        let book = Book::open(log, &data.catalog(), epoch)?;
        let shared = Arc::new(Shared {
            book: Turns::new(book),
            // Appends during the first scan were not reported.
            news: Mutex::new(News { is_all: true, ..News::default() }),
            has_news: Condvar::new(),
            listeners: Mutex::default(),
            last: AtomicU64::new(0),
        });
        *lock(&listener) = Arc::downgrade(&shared);
        let own = shared.clone();
        thread::Builder::new().name("summaries".to_owned()).spawn(move || own.run())?;
        Ok(Arc::new(Self { shared, epoch, _news: news }))
    }

    /// The epoch of the numbers that are valid here.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn list(&self, query: &Query) -> Result<Vec<Row>, CatalogError> {
        self.shared.fresh(Turn::Ask, |book| book.catalog.list(query))
    }

    /// A run and all runs below it.
    pub fn tree(&self, run: RunId) -> Result<Vec<TreeRow>, CatalogError> {
        self.shared.fresh(Turn::Ask, |book| book.catalog.tree(run))
    }

    /// The runs of a family that name a parent, with it.
    pub fn linked(&self, run: RunId) -> Result<Vec<(RunId, RunId)>, CatalogError> {
        self.shared.fresh(Turn::Ask, |book| book.catalog.linked(run))
    }

    /// One run, whichever process owns it; none when there is no such run. Events that are appended after the call are
    /// not waited for: a run that floods its Log would be chased.
    pub fn get(&self, run: RunId) -> Result<Option<Row>, CatalogError> {
        read_to_head(|turn| self.shared.with_book(turn, |book| book.refresh_part(run)))
    }

    /// The complete question of one run; query the run first.
    pub fn pending(&self, run: RunId) -> Result<Option<Pending>, CatalogError> {
        self.shared.with_book(Turn::Ask, |book| book.catalog.pending(run))
    }

    /// The pending questions after a position, at most `limit`, those with a deadline first; and how many there are in
    /// total.
    pub fn waiting(&self, after: Option<WaitingPosition>, limit: usize) -> Result<(Vec<Waiting>, u64), CatalogError> {
        self.shared
            .fresh(Turn::Ask, |book| Ok((book.catalog.waiting(after, Some(limit))?, book.catalog.waiting_count()?)))
    }

    pub fn counts(&self) -> Result<Counts, CatalogError> {
        self.shared.fresh(Turn::Ask, |book| book.catalog.counts())
    }

    /// The number of the last change. Listeners are woken after it has changed.
    pub fn last(&self) -> u64 {
        self.shared.last.load(Ordering::SeqCst)
    }

    /// The changes after a cursor. Subscribe first, query second.
    pub fn since(&self, cursor: Option<(Epoch, u64)>) -> Result<Since, CatalogError> {
        self.shared.fresh(Turn::Ask, |book| book.since(cursor))
    }

    /// Calls `wake` when there are changes, until the guard is dropped; spurious calls are possible.
    pub fn subscribe(&self, wake: Wake) -> Guard {
        let id = {
            let mut listeners = lock(&self.shared.listeners);
            listeners.next += 1;
            let id = listeners.next;
            listeners.all.push((id, wake));
            id
        };
        // From now on changes by other processes are looked for too. The thread either has seen that there is a
        // listener, or is waiting by now.
        drop(lock(&self.shared.news));
        self.shared.has_news.notify_all();
        Guard { shared: Arc::downgrade(&self.shared), id }
    }
}

/// Reads a run in pieces, so that other queries have their turns while a large Log is read. Stops at the end that the
/// Log had when the first piece was read.
pub(super) fn read_to_head(
    mut read_part: impl FnMut(Turn) -> Result<RunPart, CatalogError>,
) -> Result<Option<Row>, CatalogError> {
    let (mut row, mut size) = read_part(Turn::Ask)?;
    let Some(head) = size else { return Ok(row) };
    for _ in 1..PARTS {
        let is_done = row.as_ref().is_none_or(|row| row.log_bytes >= head);
        if size.is_none() || is_done {
            break;
        }
        (row, size) = read_part(Turn::ReadOn)?;
    }
    Ok(row)
}

impl Drop for Summaries {
    fn drop(&mut self) {
        lock(&self.shared.news).is_over = true;
        self.shared.has_news.notify_all();
    }
}

/// While it lives, its waker is called.
#[derive(Debug)]
#[must_use = "the waker is not called any more once this is dropped"]
pub struct Guard {
    shared: Weak<Shared>,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            // Dropped outside of the lock: a waker may own anything.
            let ended: Vec<_> = lock(&shared.listeners).all.extract_if(.., |(id, _)| *id == self.id).collect();
            drop(ended);
        }
    }
}

impl Shared {
    /// Called on the thread that appended.
    fn note_append(&self, run: RunId) {
        let mut news = lock(&self.news);
        if news.is_all {
            return;
        }
        let is_first = news.runs.is_empty();
        news.runs.insert(run);
        if news.runs.len() > NEWS_MAX {
            news.runs.clear();
            news.is_all = true;
        }
        if is_first {
            self.has_news.notify_all();
        }
    }

    /// These runs are read again soon.
    fn is_behind(&self, runs: Vec<RunId>) {
        if runs.is_empty() {
            return;
        }
        let mut news = lock(&self.news);
        news.runs.extend(runs);
        news.is_behind = true;
        self.has_news.notify_all();
    }

    /// Uses the book after the changes of this process, and the recent ones of other processes, are in it. A run that
    /// has written more than is read at once may be shown with a slight delay.
    fn fresh<T>(&self, turn: Turn, ask: impl FnOnce(&mut Book) -> Result<T, CatalogError>) -> Result<T, CatalogError> {
        self.with_book(turn, |book| {
            // Taken while the book is held: a run that is not listed here any more is in the book.
            let News { runs, is_all, .. } = {
                let mut news = lock(&self.news);
                News {
                    runs: mem::take(&mut news.runs),
                    is_all: mem::take(&mut news.is_all),
                    is_behind: mem::take(&mut news.is_behind),
                    is_over: false,
                }
            };
            let others_due = book.looked.elapsed() >= OTHERS;
            let behind = if is_all || others_due {
                book.refresh_all()
            } else {
                let runs: Vec<RunId> = runs.iter().copied().collect();
                book.glance_at(&runs)
            };
            let looked = behind.map(|behind| self.is_behind(behind));
            if looked.is_err() {
                // Read again by the next user of the book.
                let mut news = lock(&self.news);
                news.is_all |= is_all || others_due;
                news.runs.extend(runs);
            }
            looked?;
            ask(book)
        })
    }

    /// Uses the book, and wakes the listeners if it has changes afterwards.
    fn with_book<T>(
        &self,
        turn: Turn,
        act: impl FnOnce(&mut Book) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        let mut taken = self.book.take(turn);
        let book = &mut *taken.thing;
        let before = book.last();
        let done = act(book);
        let has_changed = book.last() != before;
        // While the book is held, so that the number never decreases.
        self.last.store(book.last(), Ordering::SeqCst);
        drop(taken);
        if has_changed {
            let wakes: Vec<Wake> = lock(&self.listeners).all.iter().map(|(_, wake)| wake.clone()).collect();
            wakes.iter().for_each(|wake| wake());
        }
        done
    }

    fn run(&self) {
        let mut last = LastRefresh { at: Instant::now(), all_at: Instant::now(), pause: TOGETHER };
        while self.wait(last) {
            let looked = self.fresh(Turn::ReadOn, |book| Ok(book.looked));
            let at = Instant::now();
            last = match looked {
                Ok(all_at) => LastRefresh { at, all_at, pause: TOGETHER },
                // An error may be temporary.
                Err(_) => LastRefresh { at, all_at: at, pause: OTHERS },
            };
        }
    }

    /// Waits until a refresh is due; false when the service stops.
    fn wait(&self, last: LastRefresh) -> bool {
        let mut news = lock(&self.news);
        loop {
            if news.is_over {
                return false;
            }
            let has_listeners = !lock(&self.listeners).all.is_empty();
            let Some(due) = refresh_due(news.pending(), has_listeners, last) else {
                news = wait(&self.has_news, news);
                continue;
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            news = wait_timeout(&self.has_news, news, left);
        }
    }
}
