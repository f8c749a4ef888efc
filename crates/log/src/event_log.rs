//! The interface of every Log, whatever its storage. No file occurs here, so that a stream shared by several machines
//! can implement the same trait.

use std::ops::ControlFlow;

use skillrun_model::rasp::{Event, LogHead};
use skillrun_model::{RunId, Timestamp};

use crate::bells::{Subscription, Wake};
use crate::cursor::{Cursor, Head, Seq};
use crate::error::{Damage, LogError};
use crate::page::{Limits, LogLine, LogRead};

/// When an append may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written: it survives the death of every process. For events that are derived from evidence and can be derived
    /// again.
    Derived,
    /// On the disk, with everything before it. For changes of state, interactions and terminal records.
    Synced,
}

/// All Logs of one storage. Blocking; no method waits for a reader.
pub trait EventLog: Send + Sync {
    /// Creates an empty Log and becomes its writer.
    fn create(&self, run: RunId) -> Result<Head, LogError>;

    /// Becomes the writer of a Log, repairing its end if needed. There is one writer until [`release`] or the death of
    /// its process. A damaged Log is opened too: it can be read up to the damage, appends are refused.
    ///
    /// [`release`]: EventLog::release
    fn open(&self, run: RunId) -> Result<Recovered, LogError>;

    /// Stops being the writer; waits for an append that is under way. Does nothing if this is not the writer.
    fn release(&self, run: RunId);

    /// Appends events whose seqs begin with `expected_next`; all of them or none. Returns the next seq.
    ///
    /// An empty batch with `Synced` syncs everything appended before it.
    fn append(&self, run: RunId, expected_next: Seq, batch: &[Event], durability: Durability) -> Result<Seq, LogError>;

    /// Where the Log ends.
    fn head(&self, run: RunId) -> Result<Head, LogError>;

    /// The events after the cursor.
    fn read(&self, run: RunId, cursor: Cursor, limits: Limits) -> Result<LogRead, LogError>;

    /// The first event in the order of seq whose `ts` is at or after `moment`, to the microsecond, as it is written.
    ///
    /// `ts` need not grow with `seq`: events after this one may be older than `moment`, events before it are all older.
    /// So a reader that starts here misses nothing that happened at or after `moment`.
    fn first_at(&self, run: RunId, moment: Timestamp) -> Result<Option<Seq>, LogError>;

    /// Calls `wake` after every append, and when the Log is removed, released or changes its epoch, until the
    /// subscription is dropped; spurious calls are possible. It only says "look again": subscribe first, read second.
    fn subscribe(&self, run: RunId, wake: Wake) -> Result<Subscription, LogError>;

    /// Removes a Log permanently; from then on it is [`Gone`](crate::LogErrorKind::Gone). Refused while another process
    /// is its writer.
    fn remove(&self, run: RunId, at: Timestamp) -> Result<(), LogError>;

    /// Passes the events after the cursor to `each`, in order, until it breaks or the Log ends. The Log is read in pages
    /// of `limits`; events that are appended meanwhile are passed on too.
    fn for_each<E: From<LogError>>(
        &self,
        run: RunId,
        mut cursor: Cursor,
        limits: Limits,
        mut each: impl FnMut(LogLine<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<ReadEnd, E> {
        loop {
            let page = match self.read(run, cursor, limits)? {
                LogRead::Page(page) if page.is_empty() => return Ok(ReadEnd::At(cursor)),
                LogRead::Page(page) => page,
                LogRead::Reset(head) => return Ok(ReadEnd::Reset(head)),
            };
            for line in page.lines() {
                if each(line)?.is_break() {
                    return Ok(ReadEnd::At(Cursor::new(page.epoch(), line.seq)));
                }
            }
            cursor = page.cursor();
        }
    }

    fn next_seq(&self, run: RunId) -> Result<Seq, LogError> {
        self.head(run).map(|head| head.next_seq)
    }

    /// The last event and the hash of its line; none if the Log is empty or its last line is of a version before the
    /// chain, and so proves nothing about the lines before it.
    fn chain_head(&self, run: RunId) -> Result<Option<LogHead>, LogError> {
        let Some(before_last) = self.next_seq(run)?.0.checked_sub(2) else { return Ok(None) };
        let cursor = Cursor { epoch: None, after: Seq(before_last) };
        match self.read(run, cursor, Limits { events: 1, bytes: 1 })? {
            LogRead::Page(page) => {
                let last = page.lines().next().filter(|line| line.prev().is_some());
                Ok(last.map(|line| LogHead { seq: line.seq.0, hash: line.hash().to_string() }))
            }
            // It was truncated meanwhile.
            LogRead::Reset(_) => Ok(None),
        }
    }
}

/// Where [`EventLog::for_each`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// After the event at which the reader broke, or at the end of the Log.
    At(Cursor),
    /// See [`LogRead::Reset`]. Events may have been passed on that the Log does not have any more.
    Reset(Head),
}

/// What was found when a Log was opened for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub head: Head,
    /// The torn end of the Log, which was not an event and was never shown to a reader as one.
    pub torn: Option<Torn>,
    /// Set when nothing can be appended.
    pub damage: Option<Damage>,
    /// Seqs may have been lost that a reader saw: all cursors are answered with a reset.
    pub is_new_epoch: bool,
    pub index: IndexState,
}

/// The torn end of a Log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The name of the file in which it is kept.
    pub kept_as: String,
    /// Where it began.
    pub offset: u64,
    pub bytes: u64,
}

/// The state of the index. It is a view: losing it costs only time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    Good,
    /// Number of bytes that had to be read to rebuild what was missing.
    Completed {
        bytes: u64,
    },
}
