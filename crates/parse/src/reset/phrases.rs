//! The phrases that precede a time at which a quota is available again.

use super::{Reset, value};

/// A phrase, and the meaning of a number alone behind it.
struct Phrase {
    words: &'static str,
    alone: Alone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// Nothing: a unit must follow.
    Nothing,
    /// Seconds, or since 1970 where it is that large.
    Seconds,
    /// Since 1970.
    Epoch,
}

const fn phrase(words: &'static str, alone: Alone) -> Phrase {
    Phrase { words, alone }
}

/// Phrases about the reset of a quota come before phrases about when to retry: a service may ask for a retry long
/// before the reset. All in lower case, since the text is.
const PHRASES: &[Phrase] = &[
    phrase("resets_in_seconds", Alone::Seconds),
    phrase("resets_at", Alone::Epoch),
    phrase("resetsat", Alone::Epoch),
    phrase("unified-reset", Alone::Epoch),
    phrase("limit reached|", Alone::Epoch),
    phrase("reset after", Alone::Nothing),
    phrase("resets after", Alone::Nothing),
    phrase("reset in", Alone::Nothing),
    phrase("resets in", Alone::Nothing),
    phrase("reset at", Alone::Epoch),
    phrase("resets at", Alone::Epoch),
    phrase("resets", Alone::Nothing),
    phrase("try again in", Alone::Nothing),
    phrase("try again after", Alone::Nothing),
    phrase("try again at", Alone::Nothing),
    phrase("retry after", Alone::Seconds),
    phrase("retry-after", Alone::Seconds),
    phrase("retry_after", Alone::Seconds),
    phrase("retry in", Alone::Nothing),
    phrase("retrydelay", Alone::Nothing),
];

/// Most occurrences of one phrase that are examined; an error names its time near its beginning.
const PLACES: usize = 16;

/// The first value, in the order of the phrases, that `take` accepts.
pub(super) fn each<T>(text: &str, mut take: impl FnMut(Reset) -> Option<T>) -> Option<T> {
    for Phrase { words, alone } in PHRASES {
        for (at, _) in text.match_indices(words).take(PLACES) {
            let begins = !text.as_bytes()[..at].last().is_some_and(u8::is_ascii_alphanumeric);
            let rest = text.as_bytes().get(at + words.len()..).unwrap_or_default();
            if begins && let Some(taken) = value_after(rest, *alone).and_then(&mut take) {
                return Some(taken);
            }
        }
    }
    None
}

fn value_after(rest: &[u8], alone: Alone) -> Option<Reset> {
    let rest = value::after_signs(rest)?;
    if let Some(reset) = value::moment(rest).or_else(|| value::wait(rest)).or_else(|| value::time_of_day(rest)) {
        return Some(reset);
    }
    let number = value::number_alone(rest)?;
    match (alone, Reset::since_epoch(number)) {
        (Alone::Nothing, _) => None,
        (Alone::Seconds | Alone::Epoch, Some(reset)) => Some(reset),
        (Alone::Seconds, None) => {
            u32::try_from(number).ok().map(|seconds| Reset::After(std::time::Duration::from_secs(seconds.into())))
        }
        (Alone::Epoch, None) => None,
    }
}
