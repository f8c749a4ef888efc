//! Changes of bytes, as data, so that a failing case shrinks to the few changes that matter.

use std::fmt;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::drive::Input;

/// No case is larger, except by [`Change::Blow`].
const SIZE_MAX: usize = 256 << 10;
/// Over the longest line that anything here reads.
const LINE_BLOWN: usize = 9 << 20;
/// Many lines, for which no budget is needed to be too many.
const LINES_BLOWN: usize = 512 << 10;

/// Bytes beside which a format has its seams.
const SEAMS: &[u8] = b"\"{}[]:,\n \\<>-&*/=\r";

/// Where a change is made.
#[derive(Debug, Clone)]
pub(crate) enum At {
    Anywhere(Index),
    /// Behind one of the bytes that are equal to this one of [`SEAMS`].
    Seam(Index, Index),
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Flip(At, u8),
    Set(At, u8),
    Cut(At, usize),
    /// Nothing from here on.
    End(At),
    /// Repeats a stretch this many times.
    Double(At, usize, usize),
    /// Puts a stretch of another seed here.
    Splice(At, Index, Index, usize),
    /// Puts a word of the format here.
    Word(At, Index),
    /// The same, this many times.
    Words(At, Index, usize),
    /// Puts a stretch of this seed elsewhere.
    Move(At, At, usize),
    /// A word until there are megabytes of it.
    Blow(At, Index),
}

/// What changes begin with, and the words of the format.
#[derive(Clone)]
pub(crate) struct Material {
    pub(crate) seeds: Arc<Vec<Vec<u8>>>,
    pub(crate) words: Arc<Vec<Vec<u8>>>,
}

impl Material {
    /// `words` is one of the lists of [`crate::words`].
    pub(crate) fn new(seeds: Vec<Vec<u8>>, words: &str) -> Self {
        let words = crate::words::bytes(words);
        assert!(!seeds.is_empty() && !words.is_empty(), "changes need something to begin with");
        Self { seeds: Arc::new(seeds), words: Arc::new(words) }
    }

    fn word(&self, at: &Index) -> &[u8] {
        &self.words[at.index(self.words.len())]
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seeds, {} words", self.seeds.len(), self.words.len())
    }
}

/// Bytes that show their beginning alone; the rest is in the file that a failure leaves.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 600;
        let rest = self.0.len().saturating_sub(SHOWN);
        write!(f, "b\"{}\"", self.0[..self.0.len() - rest].escape_ascii())?;
        if rest > 0 { write!(f, " and {rest} more") } else { Ok(()) }
    }
}

impl Input for Bytes {
    fn bytes(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// Anything: noise, words of the format in any order, and most often a seed with changes.
pub(crate) fn bytes(material: &Material) -> impl Strategy<Value = Bytes> + use<> {
    prop_oneof![
        1 => vec(any::<u8>(), 0..300).prop_map(Bytes),
        2 => soup(material),
        7 => mutated(material),
    ]
}

fn soup(material: &Material) -> impl Strategy<Value = Bytes> + use<> {
    let words = material.words.clone();
    let word = any::<Index>().prop_map(move |at| at.get(&words).clone());
    let bit = prop_oneof![6 => word, 1 => vec(any::<u8>(), 1..4), 1 => Just(b"\n".to_vec())];
    vec(bit, 0..60).prop_map(|bits| Bytes(bits.concat()))
}

pub(crate) fn mutated(material: &Material) -> impl Strategy<Value = Bytes> + use<> {
    let material = material.clone();
    (any::<Index>(), changes()).prop_map(move |(seed, changes)| {
        let mut bytes = seed.get(&material.seeds).clone();
        apply(&mut bytes, &changes, &material);
        Bytes(bytes)
    })
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<Change>> {
    vec(change(), 0..10)
}

/// Makes the changes, one after the other.
pub(crate) fn apply(bytes: &mut Vec<u8>, changes: &[Change], material: &Material) {
    for change in changes {
        change.apply(bytes, material);
    }
}

fn at() -> impl Strategy<Value = At> {
    prop_oneof![
        any::<Index>().prop_map(At::Anywhere),
        (any::<Index>(), any::<Index>()).prop_map(|(byte, nth)| At::Seam(byte, nth)),
    ]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 1..8usize, 2 => 8..200usize, 1 => 200..20_000usize]
}

fn times() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1..4usize, 2 => 4..60usize, 1 => 60..3000usize]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        400 => (at(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        400 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        600 => (at(), length()).prop_map(|(at, length)| Change::Cut(at, length)),
        200 => at().prop_map(Change::End),
        400 => (at(), length(), times()).prop_map(|(at, length, times)| Change::Double(at, length, times)),
        600 => (at(), any::<Index>(), any::<Index>(), length()).prop_map(|(at, a, b, c)| Change::Splice(at, a, b, c)),
        1200 => (at(), any::<Index>()).prop_map(|(at, word)| Change::Word(at, word)),
        200 => (at(), any::<Index>(), times()).prop_map(|(at, word, times)| Change::Words(at, word, times)),
        400 => (at(), at(), length()).prop_map(|(from, to, length)| Change::Move(from, to, length)),
        // Slow, and there are few ways to do it.
        1 => (at(), any::<Index>()).prop_map(|(at, word)| Change::Blow(at, word)),
    ]
}

impl At {
    /// A place in the bytes, their end included.
    fn place(&self, bytes: &[u8]) -> usize {
        match self {
            Self::Anywhere(at) => at.index(bytes.len() + 1),
            Self::Seam(seam, nth) => {
                let seam = *seam.get(SEAMS);
                let count = bytes.iter().filter(|byte| **byte == seam).count();
                let Some(nth) = (count > 0).then(|| nth.index(count)) else { return nth.index(bytes.len() + 1) };
                bytes.iter().enumerate().filter(|(_, byte)| **byte == seam).nth(nth).map_or(0, |(at, _)| at + 1)
            }
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, material: &Material) {
        match self {
            Self::Flip(at, bit) => {
                let at = at.place(bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Set(at, to) => {
                let at = at.place(bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *to;
                }
            }
            Self::Cut(at, length) => {
                let (from, to) = stretch(at, *length, bytes);
                bytes.drain(from..to);
            }
            Self::End(at) => bytes.truncate(at.place(bytes)),
            Self::Double(at, length, times) => {
                let (from, to) = stretch(at, *length, bytes);
                let more = bytes[from..to].repeat(*times);
                insert(bytes, to, &more, SIZE_MAX);
            }
            Self::Splice(at, seed, from, length) => {
                let seed = seed.get(&material.seeds);
                let from = from.index(seed.len() + 1);
                let more = &seed[from..(from + length).min(seed.len())];
                insert(bytes, at.place(bytes), more, SIZE_MAX);
            }
            Self::Word(at, word) => insert(bytes, at.place(bytes), material.word(word), SIZE_MAX),
            Self::Words(at, word, times) => {
                insert(bytes, at.place(bytes), &material.word(word).repeat(*times), SIZE_MAX);
            }
            Self::Move(from, to, length) => {
                let (from, end) = stretch(from, *length, bytes);
                let moved: Vec<u8> = bytes.drain(from..end).collect();
                insert(bytes, to.place(bytes), &moved, SIZE_MAX);
            }
            Self::Blow(at, word) => {
                let word = material.word(word);
                let most = if word.contains(&b'\n') { LINES_BLOWN } else { LINE_BLOWN };
                insert(bytes, at.place(bytes), &word.repeat(most / word.len().max(1)), most);
            }
        }
    }
}

fn stretch(at: &At, length: usize, bytes: &[u8]) -> (usize, usize) {
    let from = at.place(bytes);
    (from, (from + length).min(bytes.len()))
}

/// As much of it as there is room for.
fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8], most: usize) {
    let room = most.saturating_sub(bytes.len()).min(more.len());
    bytes.splice(at..at, more[..room].iter().copied());
}
