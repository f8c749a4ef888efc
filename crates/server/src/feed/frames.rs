//! Events as sent over the wire, rendered once for all readers.
//!
//! ```text
//! id: 42
//! event: run_event
//! data: {"protocol_version":"rasp/1.0",...}
//!
//! ```
//!
//! A line of the Log contains no line break, so it is used unchanged as one `data:` line.

use std::io::Write;

use bytes::Bytes;
use skillrun_log::{Epoch, Head};

use super::position::Position;

/// States how long a client waits before it reconnects; the first piece of every stream.
pub(crate) const OPENING: &str = "retry: 1000\n\n";

/// Keeps proxies and clients from closing the connection.
pub(crate) const HEARTBEAT: &str = ": still here\n\n";

/// Whether the last event of some frames is the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Here,
    NotYet,
}

/// Events in a row, some of which may have been left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frames {
    epoch: Epoch,
    /// The seq up to which they go, including omitted events.
    to: u64,
    bytes: Bytes,
    /// Seq and end in `bytes` of each.
    ends: Vec<(u64, usize)>,
    pub(crate) ends_run: Ends,
}

impl Frames {
    pub(crate) fn to(&self) -> Position {
        Position { epoch: self.epoch, after: self.to }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The frames after `after`.
    pub(crate) fn bytes_after(&self, after: u64) -> Bytes {
        let first = self.ends.partition_point(|(seq, _)| *seq <= after);
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.bytes.slice(start..)
    }
}

/// Puts frames together.
#[derive(Debug)]
pub(crate) struct Rendering {
    event: &'static str,
    epoch: Epoch,
    to: u64,
    bytes: Vec<u8>,
    ends: Vec<(u64, usize)>,
}

impl Rendering {
    pub(crate) fn new(event: &'static str, position: Position) -> Self {
        Self { event, epoch: position.epoch, to: position.after, bytes: Vec::new(), ends: Vec::new() }
    }

    /// Starts at another position; nothing was shown yet.
    pub(crate) fn at(&mut self, position: Position) {
        (self.epoch, self.to) = (position.epoch, position.after);
    }

    pub(crate) fn show(&mut self, seq: u64, json: &[u8]) {
        let id = Position { epoch: self.epoch, after: seq };
        // Writing to memory does not fail.
        let _ = write!(self.bytes, "id: {id}\nevent: {}\ndata: ", self.event);
        self.bytes.extend_from_slice(json);
        self.bytes.extend_from_slice(b"\n\n");
        self.ends.push((seq, self.bytes.len()));
        self.to = seq;
    }

    pub(crate) fn leave_out(&mut self, seq: u64) {
        self.to = seq;
    }

    pub(crate) fn done(self, ends_run: Ends) -> Frames {
        let Self { epoch, to, bytes, ends, .. } = self;
        Frames { epoch, to, bytes: bytes.into(), ends, ends_run }
    }
}

/// The client must discard all it has; the stream restarts from the beginning.
pub(crate) fn reset(head: Head) -> Bytes {
    let last = head.next_seq.0.saturating_sub(1);
    Bytes::from(format!("id: 0\nevent: reset\ndata: {{\"epoch\":{},\"last_seq\":{last}}}\n\n", head.epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_what_it_has_not() {
        let mut rendering = Rendering::new("run_event", Position { epoch: Epoch(2), after: 4 });
        rendering.show(5, b"{\"a\":1}");
        rendering.leave_out(6);
        rendering.show(7, b"{}");
        rendering.leave_out(8);
        let frames = rendering.done(Ends::NotYet);
        let (five, seven) =
            ("id: 5.2\nevent: run_event\ndata: {\"a\":1}\n\n", "id: 7.2\nevent: run_event\ndata: {}\n\n");
        let text = |after| String::from_utf8(frames.bytes_after(after).to_vec()).unwrap();
        assert_eq!(text(4), format!("{five}{seven}"));
        assert_eq!((text(5), text(6)), (seven.to_owned(), seven.to_owned()));
        assert_eq!((text(7), text(8)), (String::new(), String::new()));
        assert_eq!(frames.to(), Position { epoch: Epoch(2), after: 8 });
    }
}
