//! Times, sizes and states as text for people. JSON output has the exact values.

pub(crate) use skillrun_base::text::lasting;
use skillrun_model::{RunStatus, Timestamp};
use skillrun_runtime::{Clock, SystemClock};

use crate::output::Ink;
use crate::visible::visible;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// About events of a Log that this version skips.
pub(crate) fn newer_events(count: u64) -> String {
    let (events, are) = if count == 1 { ("event", "is") } else { ("events", "are") };
    format!(
        "its Log has {count} {events} of a newer version of skillrun, which {are} not shown; use that version for this run"
    )
}

/// About how long, in one unit.
pub(crate) fn about(ms: u64) -> String {
    let count = |unit: u64, one: &str, many: &str| match ms / unit {
        1 => format!("1 {one}"),
        more => format!("{more} {many}"),
    };
    match ms {
        0..MINUTE => count(SECOND, "s", "s"),
        MINUTE..HOUR => count(MINUTE, "min", "min"),
        HOUR..DAY => count(HOUR, "h", "h"),
        DAY.. => count(DAY, "day", "days"),
    }
}

/// How long ago, or how long until.
pub(crate) fn from_now(moment: Timestamp, now: Timestamp) -> String {
    match (now.millis_since(moment), moment.millis_since(now)) {
        (Some(ms), _) if ms >= SECOND => format!("{} ago", about(ms)),
        (_, Some(ms)) if ms >= SECOND => format!("in {}", about(ms)),
        (_, _) => "now".to_owned(),
    }
}

/// To the second.
pub(crate) fn moment(moment: Timestamp) -> String {
    let text = moment.to_string();
    let second = text.split('.').next().unwrap_or(&text);
    format!("{} UTC", second.replace('T', " "))
}

pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    // In tenths of a unit, so that nothing is rounded into a unit too many.
    let (mut tenths, mut unit) = (bytes / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        (tenths, unit) = (tenths / 1_000, unit + 1);
    }
    match tenths {
        0..1_000 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
        1_000.. => format!("{} {}", tenths / 10, UNITS[unit]),
    }
}

/// An amount of money. Small amounts keep four digits after the point: a turn often costs less than a cent.
pub(crate) fn dollars(usd: f64) -> String {
    if usd >= 1.0 {
        format!("${usd:.2}")
    } else if usd == 0.0 || usd >= 0.000_05 {
        format!("${usd:.4}")
    } else {
        "less than $0.0001".to_owned()
    }
}

/// One thing, or several of them.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

pub(crate) fn status_ink(status: RunStatus) -> Ink {
    match status {
        RunStatus::Queued => Ink::Dim,
        RunStatus::Running => Ink::Bold,
        RunStatus::WaitingUser | RunStatus::Canceled => Ink::Warning,
        RunStatus::Succeeded | RunStatus::Closed => Ink::Good,
        RunStatus::Failed => Ink::Bad,
    }
}

/// Text of several lines, without characters that a terminal obeys, or that hide or reverse the text around them.
pub(crate) fn plain_lines(text: &str) -> String {
    visible(text, |character| matches!(character, '\n' | '\t'))
}

/// The same, with each line indented.
pub(crate) fn indented(text: &str, by: &str) -> String {
    plain_lines(text.trim_end()).lines().map(|line| format!("{by}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_be_turned_around() {
        assert_eq!(plain_lines("a\n\tb\u{202e}c\u{1b}\u{2069}\n"), "a\n\tb\\u{202e}c\\u{1b}\\u{2069}\n");
    }

    #[test]
    fn times_in_words() {
        let cases = [
            (0, "0 ms", "0 s"),
            (999, "999 ms", "0 s"),
            (1_250, "1.2 s", "1 s"),
            (59_999, "59 s", "59 s"),
            (60_000, "1 min", "1 min"),
            (125_000, "2 min 5 s", "2 min"),
            (3_600_000, "1 h", "1 h"),
            (5_400_000, "1 h 30 min", "1 h"),
            (90_000_000, "1 d 1 h", "1 day"),
            (u64::MAX, "213503982334 d 14 h", "213503982334 days"),
        ];
        for (ms, long, short) in cases {
            assert_eq!((lasting(ms).as_str(), about(ms).as_str()), (long, short), "{ms}");
        }
    }

    #[test]
    fn moments_are_shown_relative_to_now() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a moment") };
        let now = at("2026-01-02T03:04:05Z");
        let cases = [
            ("2026-01-02T03:04:04.500Z", "now"),
            ("2026-01-02T03:01:05Z", "3 min ago"),
            ("2025-12-31T03:04:05Z", "2 days ago"),
            ("2026-01-02T03:24:05Z", "in 20 min"),
        ];
        for (moment, words) in cases {
            assert_eq!(from_now(at(moment), now), words);
        }
        assert_eq!(moment(now), "2026-01-02 03:04:05 UTC");
    }

    #[test]
    fn sizes_in_words() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (99_999, "99.9 kB"),
            (100_000, "100 kB"),
            (999_999, "999 kB"),
            (1_000_000, "1.0 MB"),
            (4_294_967_296, "4.2 GB"),
            (u64::MAX, "18446744 TB"),
        ];
        for (bytes, words) in cases {
            assert_eq!(size(bytes), words);
        }
    }

    #[test]
    fn small_amounts_are_not_rounded_to_nothing() {
        let cases = [
            (0.0, "$0.0000"),
            (0.000_001, "less than $0.0001"),
            (0.0012, "$0.0012"),
            (0.25, "$0.2500"),
            (12.345, "$12.35"),
        ];
        for (usd, words) in cases {
            assert_eq!(dollars(usd), words);
        }
    }

    #[test]
    fn a_terminal_obeys_nothing_in_text() {
        assert_eq!(plain_lines("a\n\tb\u{1b}[2J\r\u{9b}c"), "a\n\tb\\u{1b}[2J\\r\\u{9b}c");
        assert_eq!(indented("a\nb\n\n", "  "), "  a\n  b\n");
    }
}
