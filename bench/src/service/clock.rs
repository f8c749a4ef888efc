//! Moments that two processes of one machine can compare.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the clock that never goes back and is the same in all processes.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// How a moment stands in a line.
pub(crate) fn marked(moment: u64) -> String {
    format!("at:{moment};")
}

/// How long ago the moment in a line was; none if the line has no moment.
pub(crate) fn age(line: &[u8], now: u64) -> Option<Duration> {
    let from = memchr::memmem::find(line, b"at:")? + 3;
    let to = from + memchr::memchr(b';', line.get(from..)?)?;
    let moment: u64 = str::from_utf8(line.get(from..to)?).ok()?.parse().ok()?;
    Some(Duration::from_nanos(now.saturating_sub(moment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_found_in_its_line() {
        let line = format!("{{\"text\":\"{} and so on\"}}", marked(5_000));
        assert_eq!(age(line.as_bytes(), 7_500), Some(Duration::from_nanos(2_500)));
        assert_eq!(age(b"at:x; at:5;", 9), None);
        assert_eq!((age(b"at:5", 9), age(b"", 9)), (None, None));
    }
}
