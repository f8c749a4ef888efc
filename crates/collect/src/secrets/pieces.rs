//! Finds values in pieces: split by bytes that readers remove, and across the strings of several records.
//!
//! ```text
//! escapes            sk-li\u0076e-0123          read as by [`super::decoder`]
//! removed in views   sk-\u001b[1mlive-\u00000123  escape sequences and control characters between two bytes
//! several strings    {"delta":"sk-li"}\n{"delta":"ve-0123"}
//! ```
//!
//! The last is found without knowing the format: the first piece ends where a string ends, each further one begins
//! where a string begins, and all but the last are whole strings. The bytes between two strings do not matter, as long
//! as there are at most [`WINDOW`]. Only a complete value is hidden, all pieces of it.
//!
//! So the end of a string that is the beginning of a value (at least [`ARMED`] bytes of it) has to be held back until
//! it is clear what follows. That ends with the window, or when [`Pieces::release`] is called because nothing arrives.
//! Fewer bytes are not held back and not hidden; what follows them is.
//!
//! The result depends only on the bytes, never on how they are split into reads. Memory is bounded, and each byte costs
//! a bounded number of steps: there are at most [`ACTIVE_MAX`] and [`WAITING_MAX`] partial matches.

use std::ops::Range;
use std::sync::Arc;

use super::decoder::{Decoder, Unit, UnitKind};
use super::encodings;

/// Maximum length of a value that is searched in pieces and in other encodings.
pub(super) const LONGEST: usize = 8 << 10;
/// Minimum length of a beginning at the end of a string that is held back.
const ARMED: usize = 4;
/// Maximum number of bytes between the strings of two pieces.
const WINDOW: u64 = 64 << 10;
/// Maximum number of removed characters and sequences between two bytes of a value.
const GAP_MAX: u32 = 1024;
const ACTIVE_MAX: usize = 128;
const WAITING_MAX: usize = 64;

const ESC: u8 = 0x1b;

/// A search pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) bytes: Vec<u8>,
    pub(super) line_ends: LineEnds,
}

/// What an end of line between two bytes means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// It is part of the value, or the value does not match.
    Part,
    /// Programs insert line breaks into this encoding.
    Gap,
}

/// All search patterns, by first byte.
pub(super) struct Patterns {
    all: Vec<Pattern>,
    /// Patterns by their first byte.
    by_first: Vec<Vec<usize>>,
    /// Bytes at which something may begin when nothing has: first bytes, and the backslash of an escape.
    begins: [bool; 256],
    /// By first byte: the bytes that may follow it. Empty if no pattern begins with it.
    follows: Vec<Vec<bool>>,
}

impl Default for Patterns {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Patterns {
    pub(super) fn of_values<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut all = Vec::new();
        for value in values.into_iter().filter(|value| value.len() <= LONGEST) {
            for pattern in encodings::patterns(value) {
                if !all.contains(&pattern) {
                    all.push(pattern);
                }
            }
        }
        Self::new(all)
    }

    fn new(all: Vec<Pattern>) -> Self {
        let mut by_first = vec![Vec::new(); 256];
        let mut begins = [false; 256];
        let mut follows = vec![Vec::new(); 256];
        for (number, pattern) in all.iter().enumerate() {
            let first = usize::from(pattern.bytes[0]);
            by_first[first].push(number);
            begins[first] = true;
            if follows[first].is_empty() {
                follows[first] = (0..=u8::MAX).map(|byte| is_control(byte) || matches!(byte, b'\\' | b'"')).collect();
            }
            follows[first][usize::from(pattern.bytes[1])] = true;
            if pattern.line_ends == LineEnds::Gap {
                follows[first][usize::from(b'\n')] = true;
            }
        }
        begins[usize::from(b'\\')] = !all.is_empty();
        Self { all, by_first, begins, follows }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a pattern can begin with the first of these bytes, judging by these bytes.
    fn can_begin(&self, bytes: &[u8]) -> bool {
        let first = usize::from(bytes[0]);
        self.begins[first]
            && (bytes[0] == b'\\'
                || match bytes.get(1) {
                    Some(second) => self.follows[first][usize::from(*second)],
                    None => true,
                })
    }
}

/// Follows one stream. Every call must get the same [`Patterns`].
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    offset: u64,
    decoder: Decoder,
    active: Vec<Active>,
    waiting: Vec<Waiting>,
    /// Bytes with which a waiting match continues; sometimes others too.
    goes_on: ByteSet,
    sequence: Option<Sequence>,
}

#[derive(Debug, Clone)]
struct ByteSet([bool; 256]);

impl Default for ByteSet {
    fn default() -> Self {
        Self([false; 256])
    }
}

/// A value that has begun in the current string.
#[derive(Debug, Clone)]
struct Active {
    pattern: usize,
    /// Number of its bytes that were found.
    matched: usize,
    /// Number of those in this string.
    here: usize,
    from: u64,
    to: u64,
    gap: u32,
    /// The ranges in earlier strings that are hidden with it.
    earlier: Arc<[Range<u64>]>,
    /// That was more than half of the value.
    earlier_is_most: bool,
}

/// A value that has begun, and continues in another string or not at all.
#[derive(Debug, Clone)]
struct Waiting {
    pattern: usize,
    matched: usize,
    /// More than half of the value.
    is_most: bool,
    /// The ranges that are hidden if it continues. Held back until then; none if it is not held back.
    pieces: Arc<[Range<u64>]>,
    since: u64,
}

/// An escape sequence that has begun after a part of a value. If it turns out to be one, the value continues after it.
#[derive(Debug, Clone)]
struct Sequence {
    kind: SequenceKind,
    len: usize,
    saved: Vec<Active>,
}

/// As in the views, which remove them: crate `parse`, `ansi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SequenceKind {
    Escape,
    Intermediates,
    Control,
    Text,
    TextEscape,
}

enum Next {
    Inside(SequenceKind),
    Over,
    None,
}

impl SequenceKind {
    fn next(self, len: usize, byte: u8) -> Next {
        match (self, byte) {
            (Self::Escape, b'[') => Next::Inside(Self::Control),
            (Self::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Next::Inside(Self::Text),
            (Self::Escape, 0x20..=0x2f) => Next::Inside(Self::Intermediates),
            (Self::Escape | Self::Intermediates, 0x30..=0x7e) => Next::Over,
            (Self::Intermediates, 0x20..=0x2f) if len < 4 => Next::Inside(self),
            (Self::Control, 0x20..=0x3f) if len < 66 => Next::Inside(self),
            (Self::Control, 0x40..=0x7e) | (Self::Text, 0x07) | (Self::TextEscape, b'\\') => Next::Over,
            (Self::Text, ESC) => Next::Inside(Self::TextEscape),
            (Self::Text, byte) if len < 4098 && byte != b'\n' => Next::Inside(self),
            (Self::Escape | Self::Intermediates | Self::Control | Self::Text | Self::TextEscape, _) => Next::None,
        }
    }
}

/// What views remove from a text.
fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

impl Pieces {
    /// Takes the next bytes and adds the ranges of complete values. Returns up to where the stream may be announced.
    pub(super) fn push(&mut self, patterns: &Patterns, bytes: &[u8], found: &mut Vec<Range<u64>>) -> u64 {
        let begin = self.offset;
        self.offset += bytes.len() as u64;
        if patterns.is_empty() {
            return self.offset;
        }
        let mut at = 0;
        while at < bytes.len() {
            if self.is_idle() {
                let Some(next) = self.next_beginning(patterns, &bytes[at..]) else { break };
                at += next;
            }
            let mut decoder = std::mem::take(&mut self.decoder);
            decoder.push(bytes[at], begin + at as u64, |unit| self.unit(patterns, unit, found));
            self.decoder = decoder;
            at += 1;
        }
        let end = self.offset;
        self.waiting.retain(|waiting| end - waiting.since <= WINDOW);
        self.clear()
    }

    /// Where a match can begin or continue, when none has begun in the current string. Only speed depends on this.
    fn next_beginning(&self, patterns: &Patterns, bytes: &[u8]) -> Option<usize> {
        let waits = !self.waiting.is_empty();
        let mut from = 0;
        loop {
            let is_next = |byte: u8| patterns.begins[usize::from(byte)] || (byte == b'"' && waits);
            let at = from + bytes[from..].iter().position(|byte| is_next(*byte))?;
            let rest = &bytes[at..];
            let goes_on = || match rest.get(1) {
                Some(second) => self.goes_on.0[usize::from(*second)] || is_control(*second) || *second == b'\\',
                None => true,
            };
            if (rest[0] == b'"' && waits && goes_on()) || patterns.can_begin(rest) {
                return Some(at);
            }
            from = at + 1;
        }
    }

    fn is_idle(&self) -> bool {
        self.active.is_empty() && self.sequence.is_none() && self.decoder.is_idle()
    }

    /// Up to where the stream may be announced.
    pub(super) fn clear(&self) -> u64 {
        let held = self.held().flat_map(|pieces| pieces.first()).map(|piece| piece.start);
        held.chain(self.begun()).min().unwrap_or(self.offset)
    }

    /// Pieces in strings that have ended. A piece may occur several times.
    fn held(&self) -> impl Iterator<Item = &Arc<[Range<u64>]>> {
        let saved = self.sequence.iter().flat_map(|sequence| &sequence.saved);
        let earlier = self.active.iter().chain(saved).map(|active| &active.earlier);
        self.waiting.iter().map(|waiting| &waiting.pieces).chain(earlier)
    }

    /// The start of the matches in the current string.
    fn begun(&self) -> Option<u64> {
        let saved = self.sequence.iter().flat_map(|sequence| &sequence.saved);
        let active = self.active.iter().chain(saved).filter(|active| active.here > 0).map(|active| active.from);
        active.chain(self.decoder.begun()).min()
    }

    /// Whether bytes are held back until another string arrives.
    pub(super) fn holds_strings(&self) -> bool {
        self.held().any(|pieces| !pieces.is_empty())
    }

    /// Nothing arrives: ends of strings are no longer held back. If they are most of a value they are hidden; otherwise
    /// they are not, and what may follow is.
    pub(super) fn release(&mut self, found: &mut Vec<Range<u64>>) {
        for waiting in &mut self.waiting {
            if waiting.is_most {
                found.extend(waiting.pieces.iter().cloned());
            }
            waiting.pieces = Arc::default();
        }
        let saved = self.sequence.iter_mut().flat_map(|sequence| &mut sequence.saved);
        for active in self.active.iter_mut().chain(saved) {
            if active.earlier_is_most {
                found.extend(active.earlier.iter().cloned());
            }
            active.earlier = Arc::default();
        }
    }

    /// Continues with the same stream, but counts from here: of a partial match only the rest will be in its ranges.
    pub(super) fn continued(&self) -> Self {
        let mut next = self.clone();
        next.offset = 0;
        next.decoder.restart_count();
        let saved = next.sequence.iter_mut().flat_map(|sequence| &mut sequence.saved);
        for active in next.active.iter_mut().chain(saved) {
            (active.from, active.to, active.earlier) = (0, 0, Arc::default());
        }
        for waiting in &mut next.waiting {
            (waiting.since, waiting.pieces) = (0, Arc::default());
        }
        next
    }

    fn unit(&mut self, patterns: &Patterns, unit: Unit, found: &mut Vec<Range<u64>>) {
        match unit.kind {
            UnitKind::Byte(byte) => self.byte(patterns, byte, unit, found),
            UnitKind::Quote => {
                self.sequence = None;
                let strings = self.string_ends(patterns, unit);
                self.byte(patterns, b'"', unit, found);
                self.string_begins(unit);
                let mut is_new = false;
                strings.into_iter().for_each(|waiting| is_new |= self.wait(waiting));
                if is_new {
                    self.goes_on = ByteSet::default();
                    for waiting in &self.waiting {
                        let pattern = &patterns.all[waiting.pattern];
                        self.goes_on.0[usize::from(pattern.bytes[waiting.matched])] = true;
                        self.goes_on.0[usize::from(b'\n')] |= pattern.line_ends == LineEnds::Gap;
                    }
                }
            }
        }
    }

    fn byte(&mut self, patterns: &Patterns, byte: u8, unit: Unit, found: &mut Vec<Range<u64>>) {
        let resumed = self.continue_after_sequence(byte);
        if byte == ESC && self.sequence.is_none() && !self.active.is_empty() {
            self.sequence = Some(Sequence { kind: SequenceKind::Escape, len: 1, saved: self.active.clone() });
        }
        let mut complete = Vec::new();
        self.active.retain_mut(|active| {
            let pattern = &patterns.all[active.pattern];
            if pattern.bytes[active.matched] == byte {
                if active.here == 0 {
                    active.from = unit.from;
                }
                (active.matched, active.here, active.to, active.gap) =
                    (active.matched + 1, active.here + 1, unit.to, 0);
                let is_complete = active.matched == pattern.bytes.len();
                if is_complete {
                    found.extend(active.earlier.iter().cloned());
                    found.push(active.from..active.to);
                    complete.push(active.pattern);
                }
                return !is_complete;
            }
            let is_gap = is_control(byte) || (byte == b'\n' && pattern.line_ends == LineEnds::Gap);
            active.gap += 1;
            is_gap && active.gap <= GAP_MAX
        });
        if !complete.is_empty() {
            // It is hidden; the matches that waited for it hold nothing back any more.
            self.waiting.retain(|waiting| !complete.contains(&waiting.pattern));
        }
        for &pattern in &patterns.by_first[usize::from(byte)] {
            self.begin(Active {
                pattern,
                matched: 1,
                here: 1,
                from: unit.from,
                to: unit.to,
                gap: 0,
                earlier: Arc::default(),
                earlier_is_most: false,
            });
        }
        resumed.into_iter().for_each(|active| self.begin(active));
    }

    /// The matches that continue after a sequence that this byte ends.
    fn continue_after_sequence(&mut self, byte: u8) -> Vec<Active> {
        let Some(mut sequence) = self.sequence.take() else { return Vec::new() };
        match sequence.kind.next(sequence.len, byte) {
            Next::Inside(kind) => {
                (sequence.kind, sequence.len) = (kind, sequence.len + 1);
                self.sequence = Some(sequence);
                Vec::new()
            }
            Next::Over => {
                sequence.saved.retain_mut(|active| {
                    active.gap += 1;
                    active.gap <= GAP_MAX
                });
                sequence.saved
            }
            Next::None => Vec::new(),
        }
    }

    fn begin(&mut self, active: Active) {
        if self.active.len() < ACTIVE_MAX {
            self.active.push(active);
        }
    }

    /// The matches that have begun in a string that ends here.
    fn string_ends(&self, patterns: &Patterns, unit: Unit) -> Vec<Waiting> {
        let here = self.active.iter().filter(|active| active.here > 0);
        let waiting = here.map(|active| {
            let pieces = if active.matched < ARMED {
                Arc::default()
            } else {
                active.earlier.iter().cloned().chain(std::iter::once(active.from..active.to)).collect()
            };
            let is_most = active.matched * 2 >= patterns.all[active.pattern].bytes.len();
            Waiting { pattern: active.pattern, matched: active.matched, is_most, pieces, since: unit.to }
        });
        waiting.collect()
    }

    /// Waiting matches may continue in the string that begins here.
    fn string_begins(&mut self, unit: Unit) {
        let room = ACTIVE_MAX.saturating_sub(self.active.len());
        let goes_on = self.waiting.iter().filter(|waiting| unit.to - waiting.since <= WINDOW);
        self.active.extend(goes_on.take(room).map(|waiting| Active {
            pattern: waiting.pattern,
            matched: waiting.matched,
            here: 0,
            from: unit.to,
            to: unit.to,
            gap: 0,
            earlier: Arc::clone(&waiting.pieces),
            earlier_is_most: waiting.is_most,
        }));
    }

    /// Whether nothing of the same value and length waited before.
    fn wait(&mut self, new: Waiting) -> bool {
        let is_same = |waiting: &&mut Waiting| (waiting.pattern, waiting.matched) == (new.pattern, new.matched);
        if let Some(waiting) = self.waiting.iter_mut().find(is_same) {
            *waiting = new;
            return false;
        }
        if self.waiting.len() >= WAITING_MAX {
            // The oldest that is not held back, else the oldest.
            let age = |(_, waiting): &(usize, &Waiting)| (!waiting.pieces.is_empty(), waiting.since);
            if let Some((at, _)) = self.waiting.iter().enumerate().min_by_key(age) {
                self.waiting.swap_remove(at);
            }
        }
        self.waiting.push(new);
        true
    }

    /// Bytes that may be part of a value and are not hidden yet, because the rest did not arrive.
    pub(super) fn unfinished(&self, found: &mut Vec<Range<u64>>) {
        found.extend(self.held().flat_map(|pieces| pieces.iter()).cloned());
        found.extend(self.begun().map(|from| from..self.offset));
    }
}
