//! Bytes of a stream as readers will see them: escapes of JSON strings resolved, with the range that each byte came from.
//!
//! Nothing is known of the format. A backslash counts as the beginning of an escape anywhere, and several backslashes
//! as one: that is how an escape looks in JSON inside of JSON. Text with literal backslashes is decoded wrongly here; a
//! value in such a text is found by its exact spellings.

/// One byte of text, or the end or beginning of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    pub(super) from: u64,
    pub(super) to: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    Byte(u8),
    /// A quotation mark without a backslash before it.
    Quote,
}

/// Represents bytes that are not text. It does not occur in UTF-8, so few values contain it.
const NONE: u8 = 0xff;
/// Maximum number of backslashes that are read as one.
const SLASHES_MAX: u64 = 64;

#[derive(Debug, Clone, Default)]
pub(super) struct Decoder {
    escape: Option<Escape>,
    /// The first half of a character that needs two escapes, and where it began.
    high: Option<(u32, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Escape {
    from: u64,
    /// None before the letter that determines its kind.
    digits: Option<Digits>,
}

#[derive(Debug, Clone, Copy)]
struct Digits {
    value: u32,
    left: u32,
}

impl Decoder {
    /// Nothing has begun.
    pub(super) fn is_idle(&self) -> bool {
        self.escape.is_none() && self.high.is_none()
    }

    /// The start of the escape that has begun.
    pub(super) fn begun(&self) -> Option<u64> {
        let escape = self.escape.map(|escape| escape.from);
        self.high.map(|(_, from)| from).or(escape)
    }

    /// The same in a stream that is counted from here.
    pub(super) fn restart_count(&mut self) {
        if let Some(escape) = &mut self.escape {
            escape.from = 0;
        }
        if let Some((_, from)) = &mut self.high {
            *from = 0;
        }
    }

    pub(super) fn push(&mut self, byte: u8, at: u64, mut give: impl FnMut(Unit)) {
        let to = at + 1;
        let Some(escape) = &mut self.escape else {
            if byte == b'\\' {
                self.escape = Some(Escape { from: at, digits: None });
                return;
            }
            self.break_off(&mut give);
            let kind = if byte == b'"' { UnitKind::Quote } else { UnitKind::Byte(byte) };
            return give(Unit { kind, from: at, to });
        };
        let from = escape.from;
        match &mut escape.digits {
            None => match byte {
                b'\\' if at - from < SLASHES_MAX => {}
                b'u' => escape.digits = Some(Digits { value: 0, left: 4 }),
                b'x' => escape.digits = Some(Digits { value: 0, left: 2 }),
                _ => {
                    self.escape = None;
                    let letter = match byte {
                        b'"' | b'/' => Some(byte),
                        b'n' => Some(b'\n'),
                        b'r' => Some(b'\r'),
                        b't' => Some(b'\t'),
                        b'b' => Some(8),
                        b'f' => Some(12),
                        _ => None,
                    };
                    self.break_off(&mut give);
                    match letter {
                        Some(byte) => give(Unit { kind: UnitKind::Byte(byte), from, to }),
                        None => {
                            give(Unit { kind: UnitKind::Byte(b'\\'), from, to: at });
                            self.push(byte, at, give);
                        }
                    }
                }
            },
            Some(digits) => match char::from(byte).to_digit(16) {
                Some(digit) => {
                    digits.value = digits.value << 4 | digit;
                    digits.left -= 1;
                    if digits.left == 0 {
                        let value = digits.value;
                        self.escape = None;
                        self.unit(value, from, to, give);
                    }
                }
                None => {
                    self.escape = None;
                    self.break_off(&mut give);
                    give(Unit { kind: UnitKind::Byte(b'\\'), from, to: at });
                    self.push(byte, at, give);
                }
            },
        }
    }

    /// A whole escape; some characters need two.
    fn unit(&mut self, value: u32, from: u64, to: u64, mut give: impl FnMut(Unit)) {
        let (character, from) = match (self.high, value) {
            (Some((high, begun)), 0xdc00..=0xdfff) => {
                self.high = None;
                (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00)), begun)
            }
            (_, 0xd800..=0xdbff) => {
                self.break_off(&mut give);
                self.high = Some((value, from));
                return;
            }
            (_, _) => {
                self.break_off(&mut give);
                (char::from_u32(value), from)
            }
        };
        match character {
            Some(character) => {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    give(Unit { kind: UnitKind::Byte(byte), from, to });
                }
            }
            None => give(Unit { kind: UnitKind::Byte(NONE), from, to }),
        }
    }

    /// The second half of a character is missing.
    fn break_off(&mut self, give: &mut impl FnMut(Unit)) {
        if let Some((_, from)) = self.high.take() {
            give(Unit { kind: UnitKind::Byte(NONE), from, to: from + 1 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        let mut decoder = Decoder::default();
        let (mut bytes, mut end) = (Vec::new(), 0);
        for (at, byte) in text.bytes().enumerate() {
            decoder.push(byte, at as u64, |unit| {
                assert!(unit.from >= end || unit.to == end, "{unit:?} in {text}");
                end = unit.to;
                bytes.push(match unit.kind {
                    UnitKind::Byte(byte) => byte,
                    UnitKind::Quote => b'|',
                });
            });
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn escapes_are_resolved_at_any_depth() {
        assert_eq!(decoded(r#""a\u002Bb\"\/\n""#), "|a+b\"/\n|");
        assert_eq!(decoded(r#""a\\u002bb\\\"\\n""#), "|a+b\"\n|");
        assert_eq!(decoded(r"\u00e4\ud83d\ude00\x2b"), "ä😀+");
    }

    #[test]
    fn bytes_that_are_not_an_escape_are_text() {
        assert_eq!(decoded(r"a\b\c\\d"), "a\u{8}\\c\\d");
        assert_eq!(decoded(r"\u12zq"), "\\zq");
        assert_eq!(decoded(r"\ud83dx"), "\u{fffd}x");
        assert_eq!(decoded(r"\ud83d\n"), "\u{fffd}\n");
        assert_eq!(decoded(&format!("{}x", "\\".repeat(200))).chars().filter(|c| *c == '\\').count(), 3);
    }
}
