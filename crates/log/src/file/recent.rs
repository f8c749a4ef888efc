//! The last events of a Log, kept in memory by its writer for the readers of the same process: a reader that keeps up
//! needs neither a system call nor a parse. One that lags reads the file.

use std::collections::VecDeque;
use std::sync::Arc;

use skillrun_model::RunId;
use skillrun_model::rasp::Event;

use super::append::Published;
use crate::cursor::{Cursor, Head, Seq};
use crate::lines::Batch;
use crate::page::{Limits, LogRead, Page};

/// Maximum number of bytes of lines, and of events, that are kept for one run.
const MAX_BYTES: usize = 2 * 1024 * 1024;
const MAX_EVENTS: usize = 4096;

/// Consecutive batches, up to the end of the Log.
#[derive(Debug, Default)]
pub(super) struct Recent {
    batches: VecDeque<Arc<RecentBatch>>,
    bytes: usize,
    events: usize,
}

#[derive(Debug)]
pub(super) struct RecentBatch {
    first: Seq,
    /// Where it begins in the file.
    offset: u64,
    lines: Batch,
    /// As a reader of the file finds them.
    events: Arc<[Event]>,
}

impl RecentBatch {
    /// `events` are those of the lines. None if a line cannot be parsed, so that its readers find out in the file.
    pub(super) fn new(first: Seq, offset: u64, lines: Batch, events: &Arc<[Event]>) -> Option<Self> {
        let is_exact = lines.lines.iter().all(|line| line.is_exact);
        let events = if is_exact { events.clone() } else { as_read(&lines, events)? };
        debug_assert_eq!(parsed(&lines).as_deref(), Some(&*events), "an event differs from its line");
        Some(Self { first, offset, lines, events })
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    fn next(&self) -> Seq {
        self.first.plus(self.events.len() as u64)
    }
}

/// The events of which a line is not exact are parsed.
fn as_read(lines: &Batch, events: &[Event]) -> Option<Arc<[Event]>> {
    let mut start = 0;
    let read = lines.lines.iter().zip(events).map(|(line, event)| {
        let json = &lines.bytes[std::mem::replace(&mut start, line.end)..line.end];
        if line.is_exact { Some(event.clone()) } else { Event::from_json(std::str::from_utf8(json).ok()?).ok() }
    });
    read.collect()
}

fn parsed(lines: &Batch) -> Option<Arc<[Event]>> {
    let text = std::str::from_utf8(&lines.bytes).ok()?;
    text.lines().map(|line| Event::from_json(line).ok()).collect()
}

impl Recent {
    /// Adds the batch that was appended; none if it cannot be kept.
    pub(super) fn add(&mut self, batch: Option<RecentBatch>) {
        let Some(batch) = batch else { return self.clear() };
        self.bytes += batch.lines.bytes.len();
        self.events += batch.events.len();
        self.batches.push_back(Arc::new(batch));
        while self.bytes > MAX_BYTES || self.events > MAX_EVENTS {
            let Some(oldest) = self.batches.pop_front() else { return };
            self.bytes -= oldest.lines.bytes.len();
            self.events -= oldest.events.len();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The batches that a page after the cursor needs; none when it needs older ones.
    pub(super) fn after(&self, cursor: Cursor, limits: Limits) -> Option<Vec<Arc<RecentBatch>>> {
        let first = cursor.after.plus(1);
        let at = self.batches.partition_point(|batch| batch.next() <= first);
        self.batches.get(at).filter(|batch| batch.first <= first)?;
        let (mut events, mut bytes) = (0, 0);
        let needed = self.batches.range(at..).take_while(|batch| {
            let is_needed = events <= limits.events && bytes <= limits.bytes;
            // Of the first batch the reader may have all but one event.
            events += if batch.first < first { 1 } else { batch.events.len() };
            bytes += if batch.first < first { 1 } else { batch.lines.bytes.len() };
            is_needed
        });
        Some(needed.cloned().collect())
    }
}

/// The answer to a reader where the file is not needed.
pub(super) fn read(
    run: RunId,
    end: Published,
    cursor: Cursor,
    limits: Limits,
    batches: Option<Vec<Arc<RecentBatch>>>,
) -> Option<LogRead> {
    let first = cursor.after.plus(1);
    if !cursor.fits(end.epoch) || first > end.next {
        return Some(LogRead::Reset(Head { epoch: end.epoch, next_seq: end.next }));
    }
    if first == end.next {
        return Some(LogRead::Page(Page::new(run, end.epoch, first, end.len)));
    }
    let batches = batches?;
    let start_in = |batch: &RecentBatch| {
        let skipped = usize::try_from(first.0.saturating_sub(batch.first.0)).ok()?;
        let start = if skipped == 0 { 0 } else { batch.lines.lines.get(skipped - 1)?.end };
        Some((skipped, start))
    };
    let oldest = batches.first()?;
    let mut page = Page::new(run, end.epoch, first, oldest.offset + start_in(oldest)?.1 as u64);
    for batch in &batches {
        let (skipped, mut start) = start_in(batch)?;
        page.add_parsed(batch.events.clone(), skipped);
        for line in batch.lines.lines.get(skipped..)? {
            let bytes = batch.lines.bytes.get(start..line.end)?;
            if !page.has_room(bytes, limits) || !page.push(bytes, limits) {
                return Some(LogRead::Page(page));
            }
            start = line.end;
        }
    }
    Some(LogRead::Page(page))
}
