//! The read operations. Nothing here writes, and no lock is held for longer than it takes to copy three numbers.

use std::fs::File;

use skillrun_model::{RunId, Timestamp};

use super::append::Published;
use super::epoch;
use super::folder::{self, Folder, For, failed};
use super::index::{Index, Place};
use super::scan::{Item, Scan};
use crate::cursor::{Cursor, Epoch, Head, Seq};
use crate::error::{Damage, DamageKind, LogErrorKind};
use crate::lines::{LineHead, LineReader, MAX_LINE, Millis};
use crate::page::{Limits, LogRead, Page};

/// A Log as a reader finds it.
#[derive(Debug)]
pub(super) struct View {
    run: RunId,
    folder: Folder,
    log: File,
    epoch: Epoch,
    /// Where it ends: what the writer in this process published, or the end of the file.
    end: u64,
    /// Reported by the writer, if it is in this process.
    next: Option<Seq>,
}

/// What ended a walk over lines.
enum End {
    /// The reader needs no more.
    Enough,
    /// There are no more whole lines; this seq would be next.
    OfLog(Seq),
    Damage(Damage),
}

impl View {
    /// `NotFound` when there is no file.
    pub(super) fn open(run: RunId, folder: Folder, published: Option<Published>) -> Result<Self, LogErrorKind> {
        let path = folder.events();
        let log = folder::open(&path, For::Reading).map_err(|error| failed(&path, error))?;
        let (epoch, end, next) = match published {
            Some(published) => (published.epoch, published.len, Some(published.next)),
            None => {
                // Before anything is read, and again after it: see `epoch::raise`.
                let epoch = epoch::read(&folder)?;
                (epoch, log.metadata().map_err(|error| failed(&path, error))?.len(), None)
            }
        };
        Ok(Self { run, folder, log, epoch, end, next })
    }

    /// Whether everything read is of one epoch. With the writer in this process, published lines are never truncated.
    pub(super) fn still_holds(&self) -> Result<bool, LogErrorKind> {
        Ok(self.next.is_some() || epoch::read(&self.folder)? == self.epoch)
    }

    pub(super) fn head(&self) -> Result<Head, LogErrorKind> {
        let next_seq = match self.next {
            Some(next) => next,
            None => match self.walk(self.place(|_| true), Some(Seq::FIRST), |_, _| true)? {
                End::OfLog(next) => next,
                // The readable part ends here.
                End::Damage(damage) => damage.seq,
                End::Enough => Seq::FIRST,
            },
        };
        Ok(Head { epoch: self.epoch, next_seq })
    }

    pub(super) fn read(&self, cursor: Cursor, limits: Limits) -> Result<LogRead, LogErrorKind> {
        let first = cursor.after.plus(1);
        if !cursor.fits(self.epoch) {
            return Ok(LogRead::Reset(self.head()?));
        }
        if let Some(next_seq) = self.next.filter(|next| *next <= first) {
            return Ok(if next_seq == first {
                LogRead::Page(Page::new(self.run, self.epoch, first, self.end))
            } else {
                LogRead::Reset(Head { epoch: self.epoch, next_seq })
            });
        }
        let mut page = None;
        let end = self.walk(self.place(|place| place.seq <= first), Some(first), |walked, line| {
            if walked.head.seq < first {
                return true;
            }
            let page = page.get_or_insert_with(|| Page::new(self.run, self.epoch, first, walked.offset));
            page.has_room(line, limits) && page.push(line, limits)
        })?;
        match (page, end) {
            (Some(page), End::Enough | End::OfLog(_) | End::Damage(_)) => Ok(LogRead::Page(page)),
            (None, End::Damage(damage)) => Err(LogErrorKind::Damaged(damage)),
            (None, End::OfLog(next_seq)) if next_seq < first => {
                Ok(LogRead::Reset(Head { epoch: self.epoch, next_seq }))
            }
            (None, End::OfLog(_) | End::Enough) => Ok(LogRead::Page(Page::new(self.run, self.epoch, first, self.end))),
        }
    }

    pub(super) fn first_at(&self, moment: Timestamp) -> Result<Option<Seq>, LogErrorKind> {
        let moment = moment.to_micros();
        let millis = Millis::from(moment);
        let mut found = None;
        // All events before this place are older by at least a millisecond.
        let end = self.walk(self.place(|place| place.before < millis), None, |walked, _| {
            found = walked.head.ts().is_some_and(|ts| ts >= moment).then_some(walked.head.seq);
            found.is_none()
        })?;
        match end {
            End::Enough | End::OfLog(_) => Ok(found),
            End::Damage(damage) => Err(LogErrorKind::Damaged(damage)),
        }
    }

    fn place(&self, fits: impl Fn(&Place) -> bool) -> Place {
        Index::open(&self.folder, &self.log, self.end).map_or(Place::BEGINNING, |index| index.last(fits))
    }

    /// Walks the lines until `each` stops. Every line is checked to be the expected one; lines from `given` on, which
    /// leave this crate, are parsed completely.
    fn walk(
        &self,
        from: Place,
        given: Option<Seq>,
        mut each: impl FnMut(Walked<'_>, &[u8]) -> bool,
    ) -> Result<End, LogErrorKind> {
        let reader = LineReader::new(self.run);
        let mut scan = Scan::new(&self.log, from.offset, self.end);
        let mut next = from.seq;
        loop {
            let (offset, kind) = match scan.next().map_err(|error| failed(&self.folder.events(), error))? {
                Item::Line { offset, line } => {
                    let json = &line[..line.len() - 1];
                    let is_given = given.is_some_and(|given| given <= next);
                    match if is_given { reader.check(json, next) } else { reader.glance(json, next) } {
                        Ok(head) => {
                            if !each(Walked { head, offset }, line) {
                                return Ok(End::Enough);
                            }
                            next = next.plus(1);
                            continue;
                        }
                        Err(kind) => (offset, kind),
                    }
                }
                Item::TooLong { offset } => (offset, DamageKind::TooLong { limit: MAX_LINE }),
                Item::Rest { .. } => return Ok(End::OfLog(next)),
            };
            // A bad line that no event follows is a torn end, which the next writer moves aside. Readers need not wait
            // for that. If nothing is before it either, there is no run to show, and that is reported.
            let has_event = scan.has_event(&reader).map_err(|error| failed(&self.folder.events(), error))?;
            let is_damage = has_event || next == Seq::FIRST;
            return Ok(if is_damage { End::Damage(Damage { seq: next, offset, kind }) } else { End::OfLog(next) });
        }
    }
}

struct Walked<'a> {
    head: LineHead<'a>,
    offset: u64,
}
