//! Output of an engine, made safe for a terminal: characters that it would obey, or that would hide or reverse the text
//! around them, are escaped. The bytes come in pieces that end anywhere, also inside a character.

use std::io::{self, Write};

use crate::visible::is_hidden;

/// Most bytes of a character.
const MOST: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Visible {
    /// The beginning of a character of several bytes.
    begun: [u8; MOST],
    length: usize,
    /// How many bytes it will have.
    whole: usize,
}

impl Visible {
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        bytes.iter().try_for_each(|byte| self.one(*byte, out))
    }

    fn one(&mut self, byte: u8, out: &mut impl Write) -> io::Result<()> {
        if self.length > 0 && matches!(byte, 0x80..=0xbf) {
            return self.next(byte, out);
        }
        // The bytes so far are not a character.
        let broken = std::mem::take(&mut self.length);
        out.write_all(&self.begun[..broken])?;
        match byte {
            b'\n' | b'\t' | 0x20..0x7f => out.write_all(&[byte]),
            0..0x20 | 0x7f => write!(out, "\\x{byte:02x}"),
            0xc2..=0xdf => self.begin(byte, 2),
            0xe0..=0xef => self.begin(byte, 3),
            0xf0..=0xf4 => self.begin(byte, 4),
            0x80..=0xc1 | 0xf5..=0xff => out.write_all(&[byte]),
        }
    }

    fn begin(&mut self, byte: u8, whole: usize) -> io::Result<()> {
        self.begun[0] = byte;
        (self.length, self.whole) = (1, whole);
        Ok(())
    }

    fn next(&mut self, byte: u8, out: &mut impl Write) -> io::Result<()> {
        self.begun[self.length] = byte;
        self.length += 1;
        if self.length < self.whole {
            return Ok(());
        }
        let bytes = &self.begun[..std::mem::take(&mut self.length)];
        match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
            Some(character) if is_hidden(character) => write!(out, "{}", character.escape_default()),
            Some(_) | None => out.write_all(bytes),
        }
    }
}

/// A writer to a terminal that escapes what the terminal would obey.
pub(in crate::commands) struct VisibleOutput<W> {
    out: W,
    visible: Visible,
}

impl<W: Write> VisibleOutput<W> {
    pub(in crate::commands) fn new(out: W) -> Self {
        Self { out, visible: Visible::default() }
    }
}

impl<W: Write> Write for VisibleOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.visible.write(bytes, &mut self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &[u8], expected: &[u8]) {
        for size in 1..=text.len() {
            let (mut visible, mut out) = (Visible::default(), Vec::new());
            text.chunks(size).for_each(|piece| visible.write(piece, &mut out).expect("written"));
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected), "pieces of {size}");
        }
    }

    #[test]
    fn a_terminal_obeys_nothing_however_it_is_cut() {
        let text = "é\u{a9}完\u{1b}[2J\r\n\t\u{9b}31m\u{7f}ok\u{c2}";
        shown(text.as_bytes(), "é\u{a9}完\\x1b[2J\\x0d\n\t\\u{9b}31m\\x7fok\u{c2}".as_bytes());
    }

    #[test]
    fn nothing_turns_the_text_around_however_it_is_cut() {
        let text = "a\u{202e}b\u{2066}😀\u{e0041}\u{feff}c";
        shown(text.as_bytes(), "a\\u{202e}b\\u{2066}😀\\u{e0041}\\u{feff}c".as_bytes());
        // Bytes that are not characters pass, and hide nothing after them.
        shown(b"\xe2\x80\x1b\xf0\x9f\xe2\x80\xae\xff.", b"\xe2\x80\\x1b\xf0\x9f\\u{202e}\xff.");
    }
}
