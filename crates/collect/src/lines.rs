//! Splits reads of any size into lines of JSON.

use serde::de::DeserializeOwned;

use crate::protocol::LINE_MAX;

/// Collects bytes and returns whole lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Everything before this offset was returned.
    start: usize,
    /// No line end was found before this offset.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MessageLine<T> {
    Read(T),
    /// It is not a message of the protocol, or longer than any.
    Unreadable,
    /// There is no whole line.
    Missing,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Once for all lines of a read, not for each.
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> MessageLine<T> {
        let Some(end) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
            self.searched = self.bytes.len();
            return if self.bytes.len() - self.start > LINE_MAX {
                MessageLine::Unreadable
            } else {
                MessageLine::Missing
            };
        };
        let end = self.searched + end;
        let read = serde_json::from_slice(&self.bytes[self.start..end]);
        self.start = end + 1;
        self.searched = self.start;
        read.map_or(MessageLine::Unreadable, MessageLine::Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_whatever_the_reads_were() {
        let mut lines = Lines::default();
        lines.push(b"1");
        assert_eq!(lines.next::<u32>(), MessageLine::Missing);
        lines.push(b"2\n3\nx\n");
        assert_eq!(lines.next::<u32>(), MessageLine::Read(12));
        assert_eq!(lines.next::<u32>(), MessageLine::Read(3));
        assert_eq!(lines.next::<u32>(), MessageLine::Unreadable);
        assert_eq!(lines.next::<u32>(), MessageLine::Missing);
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut lines = Lines::default();
        lines.push(&vec![b'1'; LINE_MAX + 1]);
        assert_eq!(lines.next::<u32>(), MessageLine::Unreadable);
    }
}
