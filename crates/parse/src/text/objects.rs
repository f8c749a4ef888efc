//! Root JSON objects in a text that is mostly something else.
//!
//! The meaning is simple: left to right, at each `{` or `[`, if a complete strict JSON container starts there, take it
//! and continue after it; else continue with the next `{` or `[`. Arrays are taken only so that what lies in them is
//! not a root.
//!
//! Done literally this is quadratic (`{"a":{"a":{"a":…`), so the text is read once, by at most two *lanes*. A lane reads
//! the text as JSON from some opening on; an opening it meets where a value may stand is one more open frame of it, since
//! both would read the same bytes from there. An opening inside a string of a lane is not structure to that lane, so it
//! needs a second one. It never needs a third: of two living lanes one is inside a string and one outside (an unescaped
//! quote changes both, and a backslash ends the one that is outside), so every opening is structure to exactly one of them.

pub(crate) mod lane;
#[cfg(test)]
mod tests;

use lane::{Frame, Lane, LaneStep};
use memchr::memchr2;

/// Deeper containers count as incomplete. The bound keeps memory and later recursion small.
const MAX_DEPTH: usize = 128;

/// A complete root object: `text[start..end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundObject {
    pub start: usize,
    pub end: usize,
    /// It starts after a `{` that opens a string key and never completes, so it may be a part of a cut object.
    pub after_cut: bool,
}

/// All root objects of the text, in order.
pub fn find_objects(text: &str) -> Vec<FoundObject> {
    let mut found = Vec::new();
    each_object(text, |object| found.push(object));
    found
}

/// Hands out the root objects of the text in order, each as soon as it is certain: a text can contain millions.
pub fn each_object(text: &str, mut sink: impl FnMut(FoundObject)) {
    Finder::read(text, MAX_DEPTH, |cut, taken| {
        if taken.is_object {
            let after_cut = cut.is_some_and(|cut| cut < taken.start);
            sink(FoundObject { start: taken.start, end: taken.end, after_cut });
        }
    });
}

/// A container that is a root as far as the text has been read.
#[derive(Debug)]
struct Taken {
    start: usize,
    end: usize,
    is_object: bool,
}

#[derive(Debug)]
struct Finder {
    lanes: [Lane; 2],
    max_depth: usize,
    /// In order of start, disjoint.
    taken: Vec<Taken>,
    /// The leftmost tried `{"` that is known not to complete. Later ones make no difference.
    cut: Option<usize>,
    #[cfg(test)]
    steps: usize,
}

impl Finder {
    /// Reads the text; `sink` gets each root and the leftmost cut so far, which no later one can come before.
    fn read(text: &str, max_depth: usize, mut sink: impl FnMut(Option<usize>, &Taken)) -> Finder {
        let mut finder = Finder {
            lanes: [Lane::new(), Lane::new()],
            max_depth,
            taken: Vec::new(),
            cut: None,
            #[cfg(test)]
            steps: 0,
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if finder.lanes.iter().all(|lane| !lane.is_alive()) {
                finder.hand_out(&mut sink);
                match memchr2(b'{', b'[', &bytes[at..]) {
                    Some(ahead) => at += ahead,
                    None => break,
                }
            }
            finder.byte(bytes[at], at);
            at += 1;
        }
        finder.end_lane(0);
        finder.end_lane(1);
        finder.hand_out(&mut sink);
        finder
    }

    /// With no frame open, what was taken is certain.
    fn hand_out(&mut self, sink: &mut impl FnMut(Option<usize>, &Taken)) {
        for taken in self.taken.drain(..) {
            sink(self.cut, &taken);
        }
    }

    fn byte(&mut self, byte: u8, at: usize) {
        let mut is_structure = false;
        for which in 0..self.lanes.len() {
            if !self.lanes[which].is_alive() {
                continue;
            }
            self.count_step();
            match self.lanes[which].step(byte) {
                LaneStep::Continues => {}
                LaneStep::Opens => {
                    is_structure = true;
                    self.open(which, byte, at);
                }
                LaneStep::Closes(frame) => self.complete(frame, at + 1),
                LaneStep::Fails => self.end_lane(which),
            }
        }
        // Also when a lane has just failed at this byte: nothing before the byte helps, but it may begin something.
        if !is_structure && matches!(byte, b'{' | b'[') {
            let free = self.lanes.iter().position(|lane| !lane.is_alive());
            debug_assert!(free.is_some(), "two lanes outside or inside a string");
            if let Some(free) = free {
                self.open(free, byte, at);
            }
        }
    }

    fn open(&mut self, which: usize, byte: u8, start: usize) {
        self.count_step();
        let frame = Frame { start, is_object: byte == b'{', opens_key: false, taken_before: self.taken.len() };
        if let Some(too_deep) = self.lanes[which].push(frame, self.max_depth) {
            self.fail(too_deep);
        }
    }

    fn complete(&mut self, frame: Frame, end: usize) {
        if !self.is_eligible(frame) {
            return;
        }
        // What was taken or cut since it opened lies inside it.
        self.taken.truncate(frame.taken_before);
        if self.cut.is_some_and(|cut| cut > frame.start) {
            self.cut = None;
        }
        self.taken.push(Taken { start: frame.start, end, is_object: frame.is_object });
    }

    /// All open frames of a lane fail together: from where they stand they would read the same bytes.
    fn end_lane(&mut self, which: usize) {
        while let Some(frame) = self.lanes[which].pop_outermost() {
            self.count_step();
            self.fail(frame);
        }
    }

    fn fail(&mut self, frame: Frame) {
        if frame.opens_key && self.cut.is_none_or(|cut| frame.start < cut) && self.is_eligible(frame) {
            self.cut = Some(frame.start);
        }
    }

    /// False when the frame's opening lies inside a container that was taken while the frame was open. That one, of the
    /// other lane, is further left and wins; the frame was never tried and only carries the structure for what it holds.
    ///
    /// Such a container replaced one of the `taken_before` first, or came right after them but starts left of the frame.
    /// While nothing of the kind happens these stay as they were, end before the frame, and all later ones start in it.
    fn is_eligible(&self, frame: Frame) -> bool {
        let earlier_stand = frame
            .taken_before
            .checked_sub(1)
            .is_none_or(|last| self.taken.get(last).is_some_and(|taken| taken.end <= frame.start));
        let later_are_inside = self.taken.get(frame.taken_before).is_none_or(|taken| taken.start > frame.start);
        earlier_stand && later_are_inside
    }

    #[cfg(test)]
    fn count_step(&mut self) {
        self.steps += 1;
    }

    #[cfg(not(test))]
    fn count_step(&self) {}
}
