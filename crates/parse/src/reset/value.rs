//! Times as they are written: `1m30s`, `2 hours`, `2026-11-15T20:00:00Z`, `3pm (UTC)`. In lower case, and each within
//! the first bytes of what it is given.

use std::time::Duration;

use skillrun_model::Timestamp;

use super::Reset;

/// Characters that may stand between a phrase and a time: of JSON, of a header, of a sentence.
const SIGNS: usize = 8;

/// Longest spelling of a moment.
const MOMENT_MAX: usize = 40;

/// Most parts of a duration, such as days, hours, minutes and seconds.
const PARTS: usize = 6;

/// Longest number.
const DIGITS: usize = 13;

/// The text after such characters; none where a word continues or there are too many of them.
pub(super) fn after_signs(rest: &[u8]) -> Option<&[u8]> {
    let is_sign = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=' | b'\\' | b'(' | b'~' | b'|');
    let signs = rest.iter().take_while(is_sign).count();
    let goes_on = signs == 0 && rest.first().is_some_and(|byte| byte.is_ascii_alphabetic());
    (signs <= SIGNS && !goes_on).then_some(&rest[signs..])
}

/// An RFC 3339 moment. Without a zone it is not accepted.
pub(super) fn moment(text: &[u8]) -> Option<Reset> {
    let is_date = text.get(..5).is_some_and(|head| head[..4].iter().all(u8::is_ascii_digit) && head[4] == b'-');
    if !is_date {
        return None;
    }
    let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'+' | b'.' | b't' | b'z');
    let date: String = text.iter().take(MOMENT_MAX).take_while(is_part).map(|byte| *byte as char).collect();
    // A sentence ends with a full stop too.
    let date = date.trim_end_matches('.');
    let spelled = match text.get(date.len()..) {
        // Date and time with a space between, and the zone as a word.
        Some(rest) if date.len() == 10 && rest.first() == Some(&b' ') => {
            let time: String =
                rest[1..].iter().take(MOMENT_MAX).take_while(is_part).map(|byte| *byte as char).collect();
            let zone = rest.get(1 + time.len()..).filter(|rest| is_utc(rest)).map_or("", |_| "z");
            format!("{date}t{time}{zone}")
        }
        Some(_) | None => date.to_owned(),
    };
    spelled.to_ascii_uppercase().parse::<Timestamp>().ok().map(Reset::At)
}

/// A duration: numbers with units.
pub(super) fn wait(mut text: &[u8]) -> Option<Reset> {
    let mut millis: Option<u64> = None;
    for _ in 0..PARTS {
        let Some((part, rest)) = part(text) else { break };
        millis = Some(millis.unwrap_or(0).saturating_add(part));
        text = after_joint(rest);
    }
    millis.map(|millis| Reset::After(Duration::from_millis(millis)))
}

fn part(text: &[u8]) -> Option<(u64, &[u8])> {
    let (whole, rest) = digits(text)?;
    let (thousandths, rest) = match rest.split_first() {
        Some((b'.', rest)) if rest.first().is_some_and(u8::is_ascii_digit) => {
            let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let thousandths = (0..3).fold(0, |sum, at| {
                let digit = rest.get(at).filter(|_| at < count).map_or(0, |byte| u64::from(byte - b'0'));
                sum * 10 + digit
            });
            (thousandths, &rest[count..])
        }
        Some(_) | None => (0, rest),
    };
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let letters = rest.iter().take(13).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let unit: u64 = match &rest[..letters] {
        b"ms" | b"millisecond" | b"milliseconds" => 1,
        b"s" | b"sec" | b"secs" | b"second" | b"seconds" => 1000,
        b"m" | b"min" | b"mins" | b"minute" | b"minutes" => 60_000,
        b"h" | b"hr" | b"hrs" | b"hour" | b"hours" => 3_600_000,
        b"d" | b"day" | b"days" => 24 * 3_600_000,
        _ => return None,
    };
    let millis = whole.saturating_mul(unit).saturating_add(thousandths.saturating_mul(unit) / 1000);
    Some((millis, &rest[letters..]))
}

/// What joins the parts of a duration: nothing, a space, a comma, `and`.
fn after_joint(rest: &[u8]) -> &[u8] {
    let rest = rest.strip_prefix(b",").unwrap_or(rest);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    rest.strip_prefix(b"and ").unwrap_or(rest)
}

/// `3pm (utc)`, `3:05 pm utc`, `15:00 gmt`.
pub(super) fn time_of_day(text: &[u8]) -> Option<Reset> {
    let (hour, rest) = digits(text)?;
    let (minute, rest) = match rest.strip_prefix(b":") {
        Some(rest) => digits(rest).map(|(minute, rest)| (Some(minute), rest))?,
        None => (None, rest),
    };
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let (half, rest) = match rest.get(..2) {
        Some(b"am") => (Some(0), &rest[2..]),
        Some(b"pm") => (Some(12), &rest[2..]),
        Some(_) | None => (None, rest),
    };
    let hour = match (half, hour) {
        (Some(half), 1..=12) => hour % 12 + half,
        (None, 0..=23) if minute.is_some() => hour,
        (Some(_) | None, _) => return None,
    };
    let minutes = minute.unwrap_or(0);
    if minutes > 59 || !is_utc(rest) {
        return None;
    }
    u16::try_from(hour * 60 + minutes).ok().map(|minutes| Reset::Daily { minutes })
}

/// Whether the zone that follows is UTC.
fn is_utc(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let rest = rest.strip_prefix(b"(").unwrap_or(rest);
    [&b"utc"[..], b"gmt"].iter().any(|zone| {
        // `utc+2` is another zone.
        rest.strip_prefix(*zone).is_some_and(|after| {
            !after.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/'))
        })
    })
}

/// A number without anything that would give it another meaning.
pub(super) fn number_alone(text: &[u8]) -> Option<u64> {
    let (number, rest) = digits(text)?;
    let is_alone = match rest {
        [b'.' | b':' | b'-' | b',', next, ..] => !next.is_ascii_digit(),
        [next, ..] => !next.is_ascii_alphanumeric(),
        [] => true,
    };
    is_alone.then_some(number)
}

fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=DIGITS).contains(&count) {
        return None;
    }
    let number = text[..count].iter().fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    Some((number, &text[count..]))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sun, 15 Nov 2026 01:00:18 GMT`.
pub(super) fn http_date(value: &str) -> Option<Timestamp> {
    let (_, date) = value.split_once(", ")?;
    let mut parts = date.splitn(5, ' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let is_gmt = parts.next() == Some("GMT");
    is_gmt.then(|| format!("{year}-{month:02}-{day}T{time}Z").parse().ok()).flatten()
}
