//! `events.idx`: where to begin reading. The format is described in the parent module.
//!
//! It is a view: every record is verified against the line it points to before it is used.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::folder::{self, Folder, For};
use super::scan::read_at;
use crate::cursor::Seq;
use crate::lines::Millis;
use skillrun_model::IgnoredError;

/// Minimum distance in bytes between two lines that have a record: a reader skips at most this many bytes, and the
/// index takes a five-hundredth of the Log.
const INTERVAL: u64 = 16 * 1024;

const HEADER: &[u8; 32] = b"skillrun events.idx 1\n\0\0\0\0\0\0\0\0\0\0";
const RECORD: usize = 32;
/// Number of bytes of a line that identify it as the one a record was made for: they contain the run, the seq and the
/// time.
const PROOF: usize = 128;

/// A place in the Log where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) seq: Seq,
    pub(super) offset: u64,
    /// The latest time of all events before it.
    pub(super) before: Millis,
}

impl Place {
    pub(super) const BEGINNING: Self = Self { seq: Seq::FIRST, offset: 0, before: Millis(0) };

    fn encode(self, line: &[u8]) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(&self.seq.0.to_le_bytes());
        record[8..16].copy_from_slice(&self.offset.to_le_bytes());
        record[16..24].copy_from_slice(&self.before.0.to_le_bytes());
        let proof = proof(&record[..24], line);
        record[24..].copy_from_slice(&proof.to_le_bytes());
        record
    }

    fn decode(record: &[u8; RECORD]) -> (Self, u64) {
        let number = |i: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&record[i * 8..i * 8 + 8]);
            u64::from_le_bytes(bytes)
        };
        (Self { seq: Seq(number(0)), offset: number(1), before: Millis(number(2)) }, number(3))
    }
}

fn proof(numbers: &[u8], line: &[u8]) -> u64 {
    let line = &line[..line.len().min(PROOF)];
    numbers
        .iter()
        .chain(line)
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The index, to be read beside its Log.
#[derive(Debug)]
pub(super) struct Index<'l> {
    file: File,
    records: u64,
    log: &'l File,
    /// Where the Log ends for this reader.
    end: u64,
}

impl<'l> Index<'l> {
    /// None when there is no index, or the file is something else.
    pub(super) fn open(folder: &Folder, log: &'l File, end: u64) -> Option<Self> {
        Self::over(folder::open(&folder.index(), For::Reading).ok()?, log, end)
    }

    fn over(file: File, log: &'l File, end: u64) -> Option<Self> {
        let mut header = [0; HEADER.len()];
        let read = read_at(&file, &mut header, 0).ok()?;
        if read != header.len() || header != *HEADER {
            return None;
        }
        let records = (file.metadata().ok()?.len() - HEADER.len() as u64) / RECORD as u64;
        Some(Self { file, records, log, end })
    }

    /// The last place that `fits`, where those that fit come first. The beginning always fits. The returned place is
    /// verified; if the index is wrong it is an earlier place, and there is more to read.
    pub(super) fn last(&self, fits: impl Fn(&Place) -> bool) -> Place {
        let (mut low, mut high) = (0, self.records);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.record(middle) {
                Some((place, _)) if fits(&place) && place.offset < self.end => low = middle + 1,
                Some(_) | None => high = middle,
            }
        }
        // Wrong records come in large numbers, after a power failure or in the index of another Log.
        let mut step = 1;
        while low > 0 {
            if let Some(place) = self.proved(low - 1).filter(&fits) {
                return place;
            }
            low = low.saturating_sub(step);
            step *= 2;
        }
        Place::BEGINNING
    }

    fn record(&self, i: u64) -> Option<(Place, u64)> {
        let mut record = [0; RECORD];
        let read = read_at(&self.file, &mut record, HEADER.len() as u64 + i * RECORD as u64).ok()?;
        (read == RECORD).then(|| Place::decode(&record))
    }

    fn proved(&self, i: u64) -> Option<Place> {
        let (place, told) = self.record(i)?;
        if place.offset == 0 || place.offset >= self.end {
            return None;
        }
        let mut bytes = [0; 1 + PROOF];
        let read = read_at(self.log, &mut bytes, place.offset - 1).ok()?;
        let line = bytes[..read].strip_prefix(b"\n")?;
        let line = &line[..memchr::memchr(b'\n', line).map_or(line.len(), |end| end + 1)];
        let record = place.encode(line);
        (Place::decode(&record).1 == told).then_some(place)
    }
}

/// The index, to be written by the one writer.
#[derive(Debug)]
pub(super) struct IndexWriter {
    records: u64,
    /// Where the last record points.
    last: u64,
    /// The latest time so far.
    latest: Millis,
    /// Records not yet written.
    waiting: Vec<u8>,
}

impl IndexWriter {
    /// Resumes after the last record that can be verified, or from the beginning. Returns the place to read from.
    pub(super) fn resume(folder: &Folder, log: &File, end: u64) -> (Self, Place) {
        let index = Index::open(folder, log, end);
        let found = index.as_ref().and_then(|index| {
            let proved = |i: &u64| index.proved(*i);
            (0..index.records).rev().find_map(|i| Some((i + 1, proved(&i)?)))
        });
        let (records, place) = found.unwrap_or((0, Place::BEGINNING));
        let writer = Self { records, last: place.offset, latest: place.before, waiting: Vec::new() };
        // Records that cannot be verified are removed; if that fails they are overwritten later, and not trusted until
        // then.
        match index {
            Some(_) => drop(
                folder::open(&folder.index(), For::Mending)
                    .and_then(|file| file.set_len(HEADER.len() as u64 + records * RECORD as u64)),
            ),
            None => drop(fs::remove_file(folder.index())),
        }
        (writer, place)
    }

    /// Discards all records.
    pub(super) fn empty(folder: &Folder) -> Self {
        fs::remove_file(folder.index()).ignored();
        Self { records: 0, last: 0, latest: Millis(0), waiting: Vec::new() }
    }

    /// A line was appended to the Log. After [`IndexWriter::resume`] this is also called for lines that have a record
    /// already.
    pub(super) fn add(&mut self, seq: Seq, offset: u64, line: &[u8], moment: Millis) {
        if offset >= self.last + INTERVAL {
            let place = Place { seq, offset, before: self.latest };
            self.waiting.extend_from_slice(&place.encode(line));
            self.last = offset;
        }
        self.latest = self.latest.max(moment);
    }

    /// The number of records not yet written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() / RECORD
    }

    /// Writes the pending records. A view that cannot be written is not a reason to refuse an event: readers skip more.
    ///
    /// The file is opened for this, which is rare, and created with the first record: a short Log has none.
    pub(super) fn write(&mut self, folder: &Folder) {
        let written = folder::open(&folder.index(), For::Writing).and_then(|file| {
            if self.records == 0 {
                file.write_all_at(HEADER, 0)?;
            }
            // At its position, not at the end: what an earlier attempt left is overwritten.
            file.write_all_at(&self.waiting, HEADER.len() as u64 + self.records * RECORD as u64)
        });
        if written.is_ok() {
            self.records += self.waiting() as u64;
        }
        self.waiting.clear();
    }
}
