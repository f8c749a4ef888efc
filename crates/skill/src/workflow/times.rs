//! Times in a workflow file: seconds as a number, or a number with a unit.

/// Longest time: a year.
const SECONDS_MAX: f64 = 365.0 * 24.0 * 60.0 * 60.0;
/// What is expected where a time is wrong.
pub(super) const EXPECTED: &str = "a time above 0 of at most 365 days, in seconds or such as 90s, 10m, 2h or 1d";

/// The seconds of a text such as `90s`, `1.5h` or `30 min`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let unit = match text[digits..].trim_start() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 60.0 * 60.0,
        "d" => 24.0 * 60.0 * 60.0,
        _ => return None,
    };
    text[..digits].parse().ok().and_then(|number: f64| usable(number * unit))
}

pub(super) fn usable(seconds: f64) -> Option<f64> {
    (seconds.is_finite() && seconds > 0.0 && seconds <= SECONDS_MAX).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_limits() {
        let cases = [
            ("90s", Some(90.0)),
            ("90", Some(90.0)),
            ("10m", Some(600.0)),
            ("30 min", Some(1800.0)),
            ("1.5h", Some(5400.0)),
            ("365d", Some(SECONDS_MAX)),
            ("366d", None),
            ("0s", None),
            ("-1s", None),
            ("1w", None),
            ("s", None),
            ("1..5h", None),
            ("1e3", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), expected, "{text}");
        }
        assert_eq!((usable(f64::NAN), usable(f64::INFINITY), usable(0.5)), (None, None, Some(0.5)));
    }
}
