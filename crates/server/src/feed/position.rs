//! The position of a reader, as written in `id:`, `Last-Event-ID` and `cursor`.
//!
//! ```text
//! 42      after event 42 of the first epoch
//! 42.3    after event 42 of the third epoch
//! 0       nothing yet
//! ```
//!
//! The epoch is omitted while there has been only one, which is nearly always the case; then the cursor is the seq.

use std::fmt;
use std::str::FromStr;

use skillrun_log::{Cursor, Epoch, Seq};

/// The pattern of cursors, for the OpenAPI description.
pub(crate) const CURSOR_PATTERN: &str = r"^[0-9]{1,19}(\.[1-9][0-9]{0,8})?$";

/// The last event a reader has. A position without an epoch belongs to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) epoch: Epoch,
    pub(crate) after: u64,
}

impl Position {
    pub(crate) const BEGINNING: Self = Self { epoch: Epoch::FIRST, after: 0 };

    pub(crate) fn cursor(self) -> Cursor {
        Cursor::new(self.epoch, Seq(self.after))
    }
}

impl From<Cursor> for Position {
    fn from(cursor: Cursor) -> Self {
        Self { epoch: cursor.epoch.unwrap_or(Epoch::FIRST), after: cursor.after.0 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.after)?;
        if self.epoch == Epoch::FIRST || self.after == 0 { Ok(()) } else { write!(f, ".{}", self.epoch) }
    }
}

/// The text is not a cursor of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor; use the id of the last event you have, or omit it to start from the beginning")]
pub(crate) struct NoCursor;

impl FromStr for Position {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let (after, epoch) = match text.split_once('.') {
            None => (number(text)?, 1),
            Some((after, epoch)) => (number(after)?, number(epoch)?),
        };
        let epoch = u32::try_from(epoch).ok().filter(|epoch| *epoch > 0).ok_or(NoCursor)?;
        Ok(Self { epoch: Epoch(epoch), after })
    }
}

/// Digits alone: no sign, no space.
fn number(text: &str) -> Result<u64, NoCursor> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or(NoCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_out_is_understood_again() {
        for (epoch, after, text) in [(1, 42, "42"), (3, 42, "42.3"), (1, 0, "0"), (1, u64::MAX, "18446744073709551615")]
        {
            let position = Position { epoch: Epoch(epoch), after };
            assert_eq!(position.to_string(), text);
            assert_eq!(text.parse(), Ok(position));
        }
        assert_eq!(Position { epoch: Epoch(7), after: 0 }.to_string(), "0", "a reader without events fits every epoch");
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", " ", "-1", "+1", "1 ", "1.", ".1", "1.0", "1.2.3", "1e3", "0x1", "18446744073709551616", "٣"]
        {
            assert_eq!(text.parse::<Position>(), Err(NoCursor), "{text:?}");
        }
    }
}
