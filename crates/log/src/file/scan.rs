//! Lines of a file, one after the other, in bounded memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::lines::{LineReader, MAX_LINE};

/// Size of the first read, which is small since most readers need little, and the maximum to which it doubles.
const FIRST_CHUNK: usize = 32 * 1024;
const CHUNK: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Scan<'f> {
    file: &'f File,
    /// Nothing is read beyond this.
    end: u64,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    base: u64,
    /// Where the next line begins in the buffer.
    at: usize,
    chunk: usize,
}

#[derive(Debug)]
pub(super) enum Item<'a> {
    /// A whole line, terminator included.
    Line { offset: u64, line: &'a [u8] },
    /// A line longer than [`MAX_LINE`]; the next item comes after it.
    TooLong { offset: u64 },
    /// The rest has no terminator; often it is empty.
    Rest { offset: u64 },
}

impl<'f> Scan<'f> {
    pub(super) fn new(file: &'f File, from: u64, end: u64) -> Self {
        Self { file, end, buffer: Vec::new(), base: from, at: 0, chunk: FIRST_CHUNK }
    }

    pub(super) fn next(&mut self) -> io::Result<Item<'_>> {
        loop {
            let offset = self.base + self.at as u64;
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[self.at..]) {
                let start = self.at;
                self.at += len + 1;
                if len >= MAX_LINE {
                    return Ok(Item::TooLong { offset });
                }
                return Ok(Item::Line { offset, line: &self.buffer[start..self.at] });
            }
            let have = self.buffer.len() - self.at;
            if offset + have as u64 >= self.end {
                return Ok(Item::Rest { offset });
            }
            if have >= MAX_LINE {
                return Ok(if self.skip_line(offset)? { Item::TooLong { offset } } else { Item::Rest { offset } });
            }
            self.refill(offset, have)?;
        }
    }

    /// Whether an event of the run comes later. After a bad line this distinguishes a damage from a torn end.
    pub(super) fn has_event(&mut self, reader: &LineReader) -> io::Result<bool> {
        loop {
            match self.next()? {
                Item::Line { line, .. } if reader.is_event(&line[..line.len() - 1]) => return Ok(true),
                Item::Line { .. } | Item::TooLong { .. } => {}
                Item::Rest { .. } => return Ok(false),
            }
        }
    }

    /// Reads more. The partial line is read again: a line assembled from two reads could consist of two lines, if a
    /// torn end was truncated and overwritten in between.
    fn refill(&mut self, offset: u64, have: usize) -> io::Result<()> {
        let left = usize::try_from(self.end - offset).unwrap_or(usize::MAX);
        let want = self.chunk.max(have * 2).min(MAX_LINE + CHUNK).min(left);
        self.chunk = (self.chunk * 2).min(CHUNK);
        self.buffer.resize(want, 0);
        (self.base, self.at) = (offset, 0);
        let read = read_at(self.file, &mut self.buffer, offset)?;
        if read < want {
            // The file is shorter than it was.
            self.buffer.truncate(read);
            self.end = offset + read as u64;
        }
        Ok(())
    }

    /// Skips to the end of a line that is not kept; false when it has none.
    fn skip_line(&mut self, offset: u64) -> io::Result<bool> {
        let mut from = offset;
        self.buffer.resize(CHUNK, 0);
        while from < self.end {
            let want = usize::try_from(self.end - from).unwrap_or(CHUNK).min(CHUNK);
            let read = read_at(self.file, &mut self.buffer[..want], from)?;
            if read == 0 {
                break;
            }
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[..read]) {
                (self.base, self.at) = (from + len as u64 + 1, 0);
                self.buffer.clear();
                return Ok(true);
            }
            from += read as u64;
        }
        Ok(false)
    }
}

/// Fills the buffer as far as there is data.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn items(bytes: &[u8], from: u64) -> Vec<(u64, Option<usize>)> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        let mut scan = Scan::new(&file, from, bytes.len() as u64);
        let mut items = Vec::new();
        loop {
            match scan.next().expect("read") {
                Item::Line { offset, line } => {
                    assert_eq!(line, &bytes[usize::try_from(offset).expect("small")..][..line.len()]);
                    items.push((offset, Some(line.len())));
                }
                Item::TooLong { offset } => items.push((offset, None)),
                Item::Rest { offset } => {
                    items.push((offset, Some(0)));
                    return items;
                }
            }
        }
    }

    #[test]
    fn lines_across_chunks_are_whole() {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for i in 0..400 {
            let len = (i * 7919) % 90_000;
            expected.push((bytes.len() as u64, Some(len + 1)));
            bytes.extend(std::iter::repeat_n(b'x', len));
            bytes.push(b'\n');
        }
        expected.push((bytes.len() as u64, Some(0)));
        assert_eq!(items(&bytes, 0), expected);
        assert_eq!(items(&bytes, expected[7].0), expected[7..]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_in_bounded_memory() {
        let mut bytes = b"a\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', MAX_LINE + 5 * CHUNK));
        bytes.extend(b"\nb\nc");
        let end = bytes.len() as u64;
        assert_eq!(items(&bytes, 0), [(0, Some(2)), (2, None), (end - 3, Some(2)), (end - 1, Some(0))]);
        bytes.truncate(bytes.len() - 4);
        assert_eq!(items(&bytes, 0), [(0, Some(2)), (2, Some(0))], "and one without an end is the rest");
    }
}
