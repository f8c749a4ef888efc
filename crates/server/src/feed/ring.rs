//! The last frames of a feed, for readers that keep up.

use std::collections::VecDeque;
use std::sync::Arc;

use skillrun_log::Head;

use super::frames::Frames;
use super::position::Position;

/// Number of bytes that are kept; a reader that is further behind reads the source itself.
const BYTES: usize = 512 << 10;
const PIECES: usize = 256;

#[derive(Debug)]
pub(super) struct Ring {
    frames: VecDeque<Arc<Frames>>,
    bytes: usize,
    /// Where the first of them begins.
    from: u64,
    /// Where the last of them ends.
    to: Position,
}

/// The result of a read from the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RingRead {
    Frames(Arc<Frames>),
    /// The reader has every frame, or is ahead.
    Nothing,
    /// The reader needs frames that are no longer in the ring, or never were.
    Elsewhere,
}

impl Ring {
    /// The ring begins at the current end of the stream.
    pub(super) fn new(head: Head) -> Self {
        let to = Position { epoch: head.epoch, after: head.next_seq.0.saturating_sub(1) };
        Self { frames: VecDeque::new(), bytes: 0, from: to.after, to }
    }

    pub(super) fn to(&self) -> Position {
        self.to
    }

    /// Replaces all frames.
    pub(super) fn restart(&mut self, head: Head) {
        *self = Self { to: Position { epoch: head.epoch, after: 0 }, from: 0, ..Self::new(head) };
    }

    /// `frames` begin where the ring ends.
    pub(super) fn push(&mut self, frames: Frames) {
        self.to = frames.to();
        self.bytes += frames.len();
        self.frames.push_back(Arc::new(frames));
        // The last one stays whatever its size: all following readers need it now.
        while self.frames.len() > 1 && (self.bytes > BYTES || self.frames.len() > PIECES) {
            let Some(first) = self.frames.pop_front() else { return };
            self.bytes -= first.len();
            self.from = first.to().after;
        }
    }

    pub(super) fn after(&self, position: Position) -> RingRead {
        let is_other_epoch = position.after > 0 && position.epoch != self.to.epoch;
        if is_other_epoch || position.after < self.from {
            return RingRead::Elsewhere;
        }
        let at = self.frames.partition_point(|frames| frames.to().after <= position.after);
        self.frames.get(at).map_or(RingRead::Nothing, |frames| RingRead::Frames(frames.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::frames::{Ends, Rendering};
    use skillrun_log::{Epoch, Seq};

    fn at(after: u64) -> Position {
        Position { epoch: Epoch(2), after }
    }

    fn frames(after: u64, to: u64, size: usize) -> Frames {
        let mut rendering = Rendering::new("x", at(after));
        (after + 1..=to).for_each(|seq| rendering.show(seq, &vec![b'x'; size]));
        rendering.done(Ends::NotYet)
    }

    #[test]
    fn readers_near_the_end_are_served_and_others_sent_away() {
        let mut ring = Ring::new(Head { epoch: Epoch(2), next_seq: Seq(11) });
        assert_eq!(
            (ring.after(at(9)), ring.after(at(10)), ring.after(at(12))),
            (RingRead::Elsewhere, RingRead::Nothing, RingRead::Nothing)
        );
        ring.push(frames(10, 12, 1));
        ring.push(frames(12, 13, 1));
        let found = |position| match ring.after(position) {
            RingRead::Frames(frames) => Some(frames.to().after),
            RingRead::Nothing | RingRead::Elsewhere => None,
        };
        assert_eq!(found(at(10)), Some(12));
        assert_eq!(found(at(11)), Some(12), "in the middle of a piece");
        assert_eq!(found(at(12)), Some(13));
        assert_eq!(ring.after(at(13)), RingRead::Nothing);
        assert_eq!(ring.after(Position { epoch: Epoch(1), after: 11 }), RingRead::Elsewhere, "another epoch");
    }

    #[test]
    fn it_is_bounded() {
        let mut ring = Ring::new(Head { epoch: Epoch(2), next_seq: Seq(1) });
        (0..20).for_each(|n| ring.push(frames(n, n + 1, 100_000)));
        assert!(ring.bytes <= BYTES, "{}", ring.bytes);
        assert_eq!(ring.after(at(3)), RingRead::Elsewhere);
        assert!(matches!(ring.after(at(19)), RingRead::Frames(_)));
        ring.restart(Head { epoch: Epoch(3), next_seq: Seq(4) });
        assert_eq!(ring.after(at(19)), RingRead::Elsewhere);
        assert_eq!(ring.after(Position { epoch: Epoch(3), after: 0 }), RingRead::Nothing, "the feed reads it again");
    }
}
