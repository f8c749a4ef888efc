//! Reading a file, and when the hash from an earlier listing is still valid.

use std::fs::File;
use std::io::{self, Read};

use super::entry::{Entry, Hash};

/// Larger pieces hash no faster; a text fits into one with room to spare.
const BUFFER: usize = 128 << 10;

/// Number of bytes after which `breathe` is called.
const BREATHE_EVERY_BYTES: u64 = 1 << 20;

/// Reads files through one buffer.
#[derive(Debug)]
pub(super) struct FileReader {
    buffer: Box<[u8]>,
    /// How much of the buffer is the whole content of the last file; none if it did not fit.
    content: Option<usize>,
}

impl FileReader {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0; BUFFER].into_boxed_slice(), content: None }
    }

    /// The hash of a file's first `size` bytes. No more are read: a file to which a process keeps writing has no end.
    pub(super) fn hash(&mut self, file: &mut File, size: u64, breathe: &mut dyn FnMut()) -> io::Result<Hash> {
        self.content = None;
        if size <= self.buffer.len() as u64 {
            let filled = fill(file, &mut self.buffer[..size as usize])?;
            self.content = Some(filled);
            return Ok(Hash(blake3::hash(&self.buffer[..filled])));
        }
        let mut hasher = blake3::Hasher::new();
        let (mut left, mut since_breath) = (size, 0);
        while left > 0 {
            let piece = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            let filled = fill(file, &mut self.buffer[..piece])?;
            hasher.update(&self.buffer[..filled]);
            if filled < piece {
                break;
            }
            left -= filled as u64;
            since_breath += filled as u64;
            if since_breath >= BREATHE_EVERY_BYTES {
                since_breath = 0;
                breathe();
            }
        }
        Ok(Hash(hasher.finalize()))
    }

    /// The content of the last file that was hashed, if it is short.
    pub(super) fn content(&self) -> Option<&[u8]> {
        self.content.map(|len| &self.buffer[..len])
    }

    /// Discards it, so that it is not mistaken for the content of a file that was not read.
    pub(super) fn forget(&mut self) {
        self.content = None;
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A change this close to when the walk began may share its time stamp with one that came after the file was read: the
/// clock of file systems ticks in steps of up to 10 ms.
const FINE_MARGIN_NS: i64 = 100_000_000;
/// Some file systems count whole seconds, or two.
const COARSE_MARGIN_NS: i64 = 2_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// The hash of `then`, if `now` is the same file and cannot have changed since. `taken_ns`: when the walk that has it
/// began. The rule is that of git's index: equal stamps prove nothing if the file was changed too close to that moment.
///
/// A hash that was itself reused from an earlier walk is equally valid: any write to the file since that walk has a
/// later stamp. (Except writes through a memory mapping: these get their stamp when the kernel writes the page back.
/// Git has the same limitation.)
pub(super) fn reusable(now: &Entry, then: &Entry, taken_ns: u64) -> Option<Hash> {
    let (mtime, ctime) = (now.mtime_ns?, now.ctime_ns?);
    let same = now.kind == then.kind
        && now.ino == then.ino
        && now.size == then.size
        && then.mtime_ns == Some(mtime)
        && then.ctime_ns == Some(ctime);
    let margin = if ctime % SECOND_NS == 0 { COARSE_MARGIN_NS } else { FINE_MARGIN_NS };
    let settled = i64::try_from(taken_ns).unwrap_or(i64::MAX).saturating_sub(margin);
    if same && mtime < settled && ctime < settled { then.hash } else { None }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::snapshot::entry::Kind;

    const NOW: u64 = 1_000_000_000_000_000_000;

    fn entry(mtime_ns: i64, ctime_ns: i64) -> Entry {
        Entry {
            kind: Kind::File,
            size: Some(1),
            ino: Some(2),
            mtime_ns: Some(mtime_ns),
            ctime_ns: Some(ctime_ns),
            hash: Some(Hash(blake3::hash(b"x"))),
            ..Entry::unknown("a".into())
        }
    }

    fn holds(mtime_before: i64, ctime_before: i64) -> bool {
        let now = NOW as i64;
        let entry = entry(now - mtime_before, now - ctime_before);
        reusable(&entry, &entry, NOW).is_some()
    }

    #[test]
    fn a_file_changed_near_the_moment_it_was_hashed_is_hashed_again() {
        let (long, ms) = (3_600 * SECOND_NS + 1, 1_000_000);
        assert!(holds(long, long));
        assert!(holds(101 * ms, 101 * ms));
        assert!(!holds(99 * ms, long) && !holds(long, 99 * ms));
        assert!(!holds(-5 * ms, long) && !holds(long, -5 * ms), "later than the walk");
    }

    #[test]
    fn whole_seconds_need_a_wider_margin() {
        assert!(!holds(SECOND_NS + 1, SECOND_NS), "the stamp may be rounded");
        assert!(holds(SECOND_NS + 1, SECOND_NS + 1));
        assert!(holds(3 * SECOND_NS, 3 * SECOND_NS));
    }

    #[test]
    fn any_other_stamp_means_another_file() {
        let then = entry(10, 20);
        for change in [
            |e: &mut Entry| e.ino = Some(3),
            |e: &mut Entry| e.size = Some(2),
            |e: &mut Entry| e.mtime_ns = Some(11),
            |e: &mut Entry| e.ctime_ns = Some(21),
            |e: &mut Entry| e.kind = Kind::Symlink,
        ] {
            let mut now = then.clone();
            change(&mut now);
            assert_eq!(reusable(&now, &then, NOW), None, "{now:?}");
        }
        let unhashed = Entry { hash: None, ..then.clone() };
        assert_eq!(reusable(&then, &unhashed, NOW), None, "there was none to take over");
        assert_eq!(reusable(&unhashed, &then, NOW), then.hash);
    }

    #[test]
    fn a_file_is_read_to_its_known_size_with_regular_breathing() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        let bytes: Vec<u8> = (0..3_500_000_u32).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &bytes).expect("written");
        let mut reader = FileReader::new();
        let mut hash = |size: u64| {
            let mut breaths = 0;
            let mut file = File::open(&path).expect("opened");
            let hash = reader.hash(&mut file, size, &mut || breaths += 1).expect("read");
            (hash.0, breaths, reader.content().map(<[u8]>::len))
        };
        assert_eq!(hash(3_500_000), (blake3::hash(&bytes), 3, None));
        assert_eq!(hash(200_000), (blake3::hash(&bytes[..200_000]), 0, None), "it grew meanwhile");
        assert_eq!(hash(4_000_000), (blake3::hash(&bytes), 3, None), "it shrank meanwhile");
        assert_eq!(hash(131_072), (blake3::hash(&bytes[..131_072]), 0, Some(131_072)));
        assert_eq!(hash(0), (blake3::hash(b""), 0, Some(0)));
    }
}
