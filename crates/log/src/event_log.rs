//! What every Log can do, whatever it is kept in. No file stands here, so that a stream shared by several machines can
//! serve the same trait.

use skillrun_model::rasp::{Event, LogHead};
use skillrun_model::{RunId, Timestamp};

use crate::bells::{Subscription, Wake};
use crate::cursor::{Cursor, Head, Seq};
use crate::error::{Damage, LogError};
use crate::page::{Answer, Limits};

/// When an append may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written: it survives the death of every process. For events that are made from evidence and can be again.
    Derived,
    /// On the disk, with everything before it. For changes of state, interactions and terminal records.
    Synced,
}

/// All Logs of one place. Blocking; no method waits for a reader.
pub trait EventLog: Send + Sync {
    /// Makes an empty Log and becomes its writer.
    fn create(&self, run: RunId) -> Result<Head, LogError>;

    /// Becomes the writer of a Log, mending its end where that is needed. There is one writer until [`release`]
    /// or the death of its process. A damaged Log is opened too: it can be read up to the damage, appends are refused.
    ///
    /// [`release`]: EventLog::release
    fn open(&self, run: RunId) -> Result<Recovered, LogError>;

    /// Is the writer no longer; waits for an append that is under way. Nothing happens where this is not the writer.
    fn release(&self, run: RunId);

    /// Adds events whose seqs are `expected_next` and those after it; all of them or none. Returns the next seq.
    ///
    /// An empty batch that is `Synced` brings to the disk what was appended before it.
    fn append(&self, run: RunId, expected_next: Seq, batch: &[Event], durability: Durability) -> Result<Seq, LogError>;

    /// Where the Log ends.
    fn head(&self, run: RunId) -> Result<Head, LogError>;

    /// What comes after the cursor.
    fn read(&self, run: RunId, cursor: Cursor, limits: Limits) -> Result<Answer, LogError>;

    /// The first event in the order of seq whose `ts` is at or after `moment`, to the microsecond, as it is written.
    ///
    /// `ts` need not grow with `seq`: events after this one may be older than `moment`, events before it are all older.
    /// So whoever reads from here on misses nothing that happened at or after `moment`.
    fn first_at(&self, run: RunId, moment: Timestamp) -> Result<Option<Seq>, LogError>;

    /// Calls `wake` after every append, and when the Log is removed, released or changes its epoch, until the
    /// subscription is dropped; sometimes for nothing. It only says "look again": subscribe first, read second.
    fn subscribe(&self, run: RunId, wake: Wake) -> Result<Subscription, LogError>;

    /// Removes a Log for ever; from then on it is [`Gone`](crate::LogErrorKind::Gone). Refused while somebody else is
    /// its writer.
    fn remove(&self, run: RunId, at: Timestamp) -> Result<(), LogError>;

    fn next_seq(&self, run: RunId) -> Result<Seq, LogError> {
        self.head(run).map(|head| head.next_seq)
    }

    /// The last event and the hash of its line; none where the Log is empty or its last line is of a version before the
    /// chain, and so vouches for nothing before it.
    fn chain_head(&self, run: RunId) -> Result<Option<LogHead>, LogError> {
        let Some(before_last) = self.next_seq(run)?.0.checked_sub(2) else { return Ok(None) };
        let cursor = Cursor { epoch: None, after: Seq(before_last) };
        match self.read(run, cursor, Limits { events: 1, bytes: 1 })? {
            Answer::Page(page) => {
                let last = page.lines().next().filter(|line| line.prev().is_some());
                Ok(last.map(|line| LogHead { seq: line.seq.0, hash: line.hash().to_string() }))
            }
            // It was cut meanwhile.
            Answer::Reset(_) => Ok(None),
        }
    }
}

/// What was found when a Log was opened for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub head: Head,
    /// What the end of the Log had that was no event. It was never shown to anybody as one.
    pub torn: Option<Torn>,
    /// Set when nothing can be appended.
    pub damage: Option<Damage>,
    /// Seqs may have been lost that somebody saw: all cursors are answered with a reset.
    pub is_new_epoch: bool,
    pub index: IndexState,
}

/// The torn end of a Log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The name under which it is kept.
    pub kept_as: String,
    /// Where it began.
    pub offset: u64,
    pub bytes: u64,
}

/// What the index was good for. It is a view: nothing is lost with it but time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    Good,
    /// So many bytes had to be read to make up for what was missing.
    Completed {
        bytes: u64,
    },
}
