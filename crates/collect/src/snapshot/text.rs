//! Differences of texts, within a budget of time and bytes. Both versions are masked first.

use std::time::{Duration, Instant};

use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::limits::SnapshotLimits;

/// Why a changed file has no line by line difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Omitted {
    /// One of the two versions is not a text: not UTF-8, or with a NUL in it.
    Binary,
    /// One of the two is longer than a text may be.
    TooLarge,
    /// The old text was not kept, the time is used up, or the limit of all differences is reached.
    Budget,
    /// One of the two could not be read.
    Unreadable,
    /// Only masked parts differ.
    Masked,
}

/// The difference of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffText {
    /// Unified, without a heading.
    pub(super) text: String,
    /// Whether a part of the texts is masked, so that the difference cannot be applied.
    pub(super) is_masked: bool,
}

/// Whether bytes are text, for the purpose of comparing lines.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok()
}

/// Compares texts until the budget is used up.
pub(super) struct TextDiffs<'a> {
    mask: &'a dyn Fn(&mut Vec<u8>),
    limits: &'a SnapshotLimits,
    time_left: Duration,
    bytes_left: u64,
}

impl<'a> TextDiffs<'a> {
    pub(super) fn new(mask: &'a dyn Fn(&mut Vec<u8>), limits: &'a SnapshotLimits) -> Self {
        Self { mask, limits, time_left: limits.texts_time, bytes_left: limits.diffs }
    }

    pub(super) fn compare(&mut self, mut old: Vec<u8>, mut new: Vec<u8>) -> Result<DiffText, Omitted> {
        if self.time_left.is_zero() || self.bytes_left == 0 {
            return Err(Omitted::Budget);
        }
        if !is_text(&old) || !is_text(&new) {
            return Err(Omitted::Binary);
        }
        // The clock of the machine, not of the caller: this bounds the cost of the work, and is not recorded.
        let began = Instant::now();
        let hashes = |old: &[u8], new: &[u8]| (blake3::hash(old), blake3::hash(new));
        let exact = hashes(&old, &new);
        (self.mask)(&mut old);
        (self.mask)(&mut new);
        let is_masked = hashes(&old, &new) != exact;
        let diff = match (String::from_utf8(old), String::from_utf8(new)) {
            (Ok(old), Ok(new)) => unified(&old, &new, self.limits.text_time.min(self.time_left)),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) | (Err(_), Err(_)) => return Err(Omitted::Binary),
        };
        self.time_left = self.time_left.saturating_sub(began.elapsed());
        if diff.is_empty() {
            return Err(Omitted::Masked);
        }
        if diff.len() as u64 > self.bytes_left {
            return Err(Omitted::Budget);
        }
        self.bytes_left -= diff.len() as u64;
        Ok(DiffText { text: diff, is_masked })
    }
}

/// After `time` the comparison is less precise, but still correct. Lines end only at `\n`, as everywhere here; the
/// formatter of `similar` would also treat a `\r` as a line end, and then omits the note below.
fn unified(old: &str, new: &str, time: Duration) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(time).diff_slices(&old, &new);
    let mut text = String::new();
    for hunk in diff.unified_diff().iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text.push_str(change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(old: &str, new: &str) -> Result<String, Omitted> {
        TextDiffs::new(&|_| {}, &SnapshotLimits::default()).compare(old.into(), new.into()).map(|diff| {
            assert!(!diff.is_masked);
            diff.text
        })
    }

    #[test]
    fn a_difference_reads_as_diff_writes_it() {
        assert_eq!(compare("a\nb\nc\n", "a\nB\nc\n").expect("texts"), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(compare("", "a\n").expect("texts"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(compare("a\nb\n", "").expect("texts"), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        let expected = "@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
        assert_eq!(compare("a\r", "b").expect("texts"), expected);
    }

    #[test]
    fn bytes_that_are_not_text_are_binary() {
        for bytes in [&b"a\0"[..], b"\xff", b"\xe2\x82"] {
            assert!(!is_text(bytes));
            let limits = SnapshotLimits::default();
            let mut diffs = TextDiffs::new(&|_| {}, &limits);
            assert_eq!(diffs.compare(b"a".to_vec(), bytes.to_vec()), Err(Omitted::Binary));
            assert_eq!(diffs.compare(bytes.to_vec(), b"a".to_vec()), Err(Omitted::Binary));
        }
        assert!(is_text("grün\r\n\u{1b}[0m".as_bytes()) && is_text(b""));
    }

    #[test]
    fn secrets_are_masked_in_both_versions() {
        let mask = |bytes: &mut Vec<u8>| {
            while let Some(at) = memchr::memmem::find(bytes, b"hunter2") {
                bytes[at..at + 7].fill(b'*');
            }
        };
        let limits = SnapshotLimits::default();
        let mut diffs = TextDiffs::new(&mask, &limits);
        let diff = diffs.compare(b"key=hunter2\na\n".to_vec(), b"key=hunter2\nb\n".to_vec()).expect("texts");
        assert_eq!((diff.text.as_str(), diff.is_masked), ("@@ -1,2 +1,2 @@\n key=*******\n-a\n+b\n", true));
        assert_eq!(diffs.compare(b"k=hunter2".to_vec(), b"k=*******".to_vec()), Err(Omitted::Masked));
        let breaks = |bytes: &mut Vec<u8>| bytes[0] = 0xff;
        let mut diffs = TextDiffs::new(&breaks, &limits);
        assert_eq!(diffs.compare(b"a".to_vec(), b"b".to_vec()), Err(Omitted::Binary), "a mask may cut a character");
    }

    #[test]
    fn an_exhausted_budget_is_reported() {
        let limits = SnapshotLimits { texts_time: Duration::ZERO, ..SnapshotLimits::default() };
        let mut diffs = TextDiffs::new(&|_| {}, &limits);
        assert_eq!(diffs.compare(b"a".to_vec(), b"b".to_vec()), Err(Omitted::Budget));
        let limits = SnapshotLimits { diffs: 30, ..SnapshotLimits::default() };
        let mut diffs = TextDiffs::new(&|_| {}, &limits);
        assert!(diffs.compare(b"a\n".to_vec(), b"b\n".to_vec()).is_ok());
        assert_eq!(diffs.compare(b"a\n".to_vec(), b"b\n".to_vec()), Err(Omitted::Budget));
    }

    /// Shapes that make comparing lines quadratic. Each must end close to its time limit, even on a busy machine.
    #[test]
    fn no_text_costs_much_more_than_its_time() {
        let size = 64 << 10;
        let repeat = |unit: &str| unit.repeat(size / unit.len());
        let numbered = |step: usize| (0..9_000).map(|i| format!("{}\n", i * step % 9_001)).collect::<String>();
        for (old, new) in [
            (repeat("\n"), repeat("a\n")),
            (repeat("a\nb\n"), repeat("b\na\na\n")),
            (repeat("\n"), repeat("\n\na\n")),
            (numbered(1), numbered(7)),
            (numbered(1), numbered(9_000)),
            (repeat("x"), repeat("y")),
        ] {
            let began = Instant::now();
            let diff = compare(&old, &new).expect("texts");
            assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
            assert!(diff.len() < 8 * size, "{}", diff.len());
        }
    }
}
