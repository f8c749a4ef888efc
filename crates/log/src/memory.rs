//! A Log in memory: the same lines and the same answers, but not persistent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use skillrun_base::sync::lock;
use skillrun_model::rasp::Event;
use skillrun_model::{RunId, Timestamp};

use crate::bells::{Bells, NoOutside, Subscription, Wake};
use crate::chain::LineHash;
use crate::cursor::{Cursor, Epoch, Head, Seq};
use crate::error::{LogError, LogErrorKind};
use crate::event_log::{Durability, EventLog, IndexState, Recovered};
use crate::lines::{Batch, LineReader};
use crate::page::{Limits, LogRead, Page};

/// For tests and embedders.
#[derive(Debug)]
pub struct MemoryLog {
    runs: Mutex<HashMap<RunId, Kept>>,
    bells: Arc<Bells<NoOutside>>,
}

#[derive(Debug)]
enum Kept {
    Log(Lines),
    Removed,
}

#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Ends of the lines.
    ends: Vec<usize>,
    is_open: bool,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self { runs: Mutex::default(), bells: Arc::new(Bells::new(NoOutside)) }
    }
}

impl Lines {
    fn head(&self) -> Head {
        Head { epoch: Epoch::FIRST, next_seq: Seq::FIRST.plus(self.ends.len() as u64) }
    }

    fn line(&self, i: usize) -> &[u8] {
        let start = self.start(i);
        &self.bytes[start..self.ends[i]]
    }

    fn last_hash(&self, run: RunId) -> LineHash {
        match self.ends.len().checked_sub(1) {
            Some(last) => LineHash::of(self.line(last).strip_suffix(b"\n").unwrap_or(self.line(last))),
            None => LineHash::before_first(run),
        }
    }

    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    fn read(&self, run: RunId, cursor: Cursor, limits: Limits) -> LogRead {
        let head = self.head();
        if !cursor.fits(head.epoch) || cursor.after >= head.next_seq {
            return LogRead::Reset(head);
        }
        // Not beyond the end, so it is the number of an existing line.
        let first = usize::try_from(cursor.after.0).unwrap_or(self.ends.len());
        let mut page = Page::new(run, head.epoch, cursor.after.plus(1), self.start(first) as u64);
        for i in first..self.ends.len() {
            if !page.has_room(self.line(i), limits) || !page.push(self.line(i), limits) {
                break;
            }
        }
        LogRead::Page(page)
    }
}

impl MemoryLog {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Kept>> {
        lock(&self.runs)
    }

    fn with<T>(&self, run: RunId, act: impl FnOnce(&mut Lines) -> Result<T, LogErrorKind>) -> Result<T, LogError> {
        match self.lock().get_mut(&run) {
            Some(Kept::Log(lines)) => act(lines),
            Some(Kept::Removed) => Err(LogErrorKind::Gone),
            None => Err(LogErrorKind::NotFound),
        }
        .map_err(|kind| kind.of(run))
    }
}

impl EventLog for MemoryLog {
    fn create(&self, run: RunId) -> Result<Head, LogError> {
        let mut runs = self.lock();
        match runs.get(&run) {
            Some(Kept::Log(_)) => Err(LogErrorKind::Exists.of(run)),
            Some(Kept::Removed) => Err(LogErrorKind::Gone.of(run)),
            None => {
                let lines = Lines { is_open: true, ..Lines::default() };
                let head = lines.head();
                runs.insert(run, Kept::Log(lines));
                Ok(head)
            }
        }
    }

    fn open(&self, run: RunId) -> Result<Recovered, LogError> {
        self.with(run, |lines| {
            if std::mem::replace(&mut lines.is_open, true) {
                return Err(LogErrorKind::Held { pid: Some(std::process::id()) });
            }
            let head = lines.head();
            Ok(Recovered { head, torn: None, damage: None, is_new_epoch: false, index: IndexState::Good })
        })
    }

    fn release(&self, run: RunId) {
        // Without a Log there is no writer either.
        if self.with(run, |lines| Ok(std::mem::take(&mut lines.is_open))).is_ok_and(|was_open| was_open) {
            self.bells.ring(run);
        }
    }

    fn append(&self, run: RunId, expected_next: Seq, batch: &[Event], _: Durability) -> Result<Seq, LogError> {
        let next = self.with(run, |lines| {
            if !lines.is_open {
                return Err(LogErrorKind::NotOpen);
            }
            let actual = lines.head().next_seq;
            if actual != expected_next {
                return Err(LogErrorKind::Stale { expected: expected_next, actual });
            }
            let batch = Batch::new(run, expected_next, lines.last_hash(run), batch)?;
            let from = lines.bytes.len();
            lines.bytes.extend_from_slice(&batch.bytes);
            lines.ends.extend(batch.lines.iter().map(|line| from + line.end));
            Ok(lines.head().next_seq)
        })?;
        self.bells.ring(run);
        Ok(next)
    }

    fn head(&self, run: RunId) -> Result<Head, LogError> {
        self.with(run, |lines| Ok(lines.head()))
    }

    fn read(&self, run: RunId, cursor: Cursor, limits: Limits) -> Result<LogRead, LogError> {
        self.with(run, |lines| Ok(lines.read(run, cursor, limits)))
    }

    fn first_at(&self, run: RunId, moment: Timestamp) -> Result<Option<Seq>, LogError> {
        let reader = LineReader::new(run);
        let moment = moment.to_micros();
        self.with(run, |lines| {
            let at = |i: usize| {
                let line = lines.line(i);
                reader.glance(&line[..line.len() - 1], Seq::FIRST.plus(i as u64)).ok()?.ts()
            };
            Ok((0..lines.ends.len()).find(|i| at(*i).is_some_and(|ts| ts >= moment)).map(|i| Seq(i as u64 + 1)))
        })
    }

    fn subscribe(&self, run: RunId, wake: Wake) -> Result<Subscription, LogError> {
        self.with(run, |_| Ok(()))?;
        Ok(self.bells.subscribe(run, wake))
    }

    fn remove(&self, run: RunId, _: Timestamp) -> Result<(), LogError> {
        self.with(run, |_| Ok(()))?;
        self.lock().insert(run, Kept::Removed);
        self.bells.ring(run);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    conformance::conform!(|| (MemoryLog::default(), ()));
}
