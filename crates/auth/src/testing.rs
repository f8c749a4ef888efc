//! Moments, and texts that are almost right.

use skillrun_model::Timestamp;

pub(crate) fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub(crate) fn after(seconds: u64) -> Timestamp {
    now().plus_nanos(seconds * 1_000_000_000)
}

/// Every cut of a text, and the text with every one of its bits flipped.
pub(crate) fn almost(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let cuts = (0..text.len()).map(|cut| text.as_bytes()[..cut].to_vec());
    let flips = (0..text.len() * 8).map(|bit| {
        let mut flipped = text.as_bytes().to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    });
    cuts.chain(flips)
}
