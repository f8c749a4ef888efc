//! Lines with offsets. A line ends at `\n` alone; U+2028 and its like are text.

use memchr::memchr;

/// Longest line that is parsed; of a longer one only the range is kept.
pub const LINE_BUDGET: usize = 8 * 1024 * 1024;

/// A line at its place in the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawLine<'a> {
    /// Offset of its first byte.
    pub(crate) start: u64,
    /// Offset behind its terminator.
    pub(crate) end: u64,
    /// Without the terminator; none when it is over budget.
    pub(crate) bytes: Option<&'a [u8]>,
    /// Whether it has a terminator. Only the last one of a stream may lack it.
    pub(crate) terminated: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// Offset of the first byte of the current line.
    start: u64,
    partial: Vec<u8>,
    /// Length of the current line so far, when it is over budget and no longer kept.
    overlong: Option<u64>,
}

/// Memory of a long line is released after it.
const KEEP_CAPACITY: usize = 64 * 1024;

impl Splitter {
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(RawLine<'_>)) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (head, rest) = (&bytes[..at], &bytes[at + 1..]);
            bytes = rest;
            self.finish_line(head, true, &mut line);
        }
        self.keep(bytes);
    }

    /// The stream is over; what is left is a line without terminator.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(RawLine<'_>)) {
        if !self.partial.is_empty() || self.overlong.is_some() {
            self.finish_line(&[], false, &mut line);
        }
    }

    fn finish_line(&mut self, head: &[u8], terminated: bool, line: &mut impl FnMut(RawLine<'_>)) {
        let terminator = u64::from(terminated);
        let start = self.start;
        if self.overlong.is_none() && self.partial.is_empty() && head.len() <= LINE_BUDGET {
            self.start = start + head.len() as u64 + terminator;
            line(RawLine { start, end: self.start, bytes: Some(head), terminated });
            return;
        }
        self.keep(head);
        let len = self.overlong.take().unwrap_or(self.partial.len() as u64);
        self.start = start + len + terminator;
        let whole = (len == self.partial.len() as u64).then_some(self.partial.as_slice());
        line(RawLine { start, end: self.start, bytes: whole, terminated });
        if self.partial.capacity() > KEEP_CAPACITY {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(len) = &mut self.overlong {
            *len += bytes.len() as u64;
        } else if self.partial.len() + bytes.len() > LINE_BUDGET {
            self.overlong = Some((self.partial.len() + bytes.len()) as u64);
            self.partial = Vec::new();
        } else {
            let need = self.partial.len() + bytes.len();
            if need > self.partial.capacity() {
                // Doubling, but never past the budget: a line of 8 MiB must not cost 16.
                let target = (2 * self.partial.capacity()).clamp(need, LINE_BUDGET);
                self.partial.reserve_exact(target - self.partial.len());
            }
            self.partial.extend_from_slice(bytes);
        }
    }
}
