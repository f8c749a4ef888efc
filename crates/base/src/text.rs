//! Texts that are shown in part, and durations as text.

/// The first characters of a text, with a mark where more follow.
pub fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long something took, from milliseconds.
pub fn lasting(ms: u64) -> String {
    match ms {
        0..SECOND => format!("{ms} ms"),
        SECOND..10_000 => format!("{}.{} s", ms / SECOND, ms % SECOND / 100),
        10_000..MINUTE => format!("{} s", ms / SECOND),
        MINUTE..HOUR => with_rest(ms, (MINUTE, "min"), (SECOND, "s")),
        HOUR..DAY => with_rest(ms, (HOUR, "h"), (MINUTE, "min")),
        DAY.. => with_rest(ms, (DAY, "d"), (HOUR, "h")),
    }
}

fn with_rest(ms: u64, (large, unit): (u64, &str), (small, small_unit): (u64, &str)) -> String {
    match ms % large / small {
        0 => format!("{} {unit}", ms / large),
        rest => format!("{} {unit} {rest} {small_unit}", ms / large),
    }
}
