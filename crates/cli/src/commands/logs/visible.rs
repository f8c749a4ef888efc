//! Bytes of an engine, made safe for a terminal: what it would obey is shown as it is spelled. The bytes come in pieces
//! that end anywhere, also inside a character.

use std::io::{self, Write};

/// First byte of the characters from U+0080 to U+00BF; the first half of them are controls.
const LEAD: u8 = 0xc2;

#[derive(Debug, Default)]
pub(super) struct Visible {
    /// The last piece ended with [`LEAD`].
    has_lead: bool,
}

impl Visible {
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        for byte in bytes {
            let after_lead = std::mem::take(&mut self.has_lead);
            match (after_lead, *byte) {
                (true, byte @ 0x80..=0x9f) => write!(out, "\\u{{{byte:x}}}")?,
                (true, byte) => {
                    out.write_all(&[LEAD])?;
                    self.one(byte, out)?;
                }
                (false, byte) => self.one(byte, out)?,
            }
        }
        Ok(())
    }

    fn one(&mut self, byte: u8, out: &mut impl Write) -> io::Result<()> {
        match byte {
            LEAD => self.has_lead = true,
            b'\n' | b'\t' => out.write_all(&[byte])?,
            0..0x20 | 0x7f => write!(out, "\\x{byte:02x}")?,
            0x20..0x7f | 0x80.. => out.write_all(&[byte])?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_however_it_is_cut() {
        let text = "é\u{a9}完\u{1b}[2J\r\n\t\u{9b}31m\u{7f}ok\u{c2}".as_bytes();
        let expected = "é\u{a9}完\\x1b[2J\\x0d\n\t\\u{9b}31m\\x7fok\u{c2}";
        for size in 1..text.len() {
            let (mut visible, mut out) = (Visible::default(), Vec::new());
            text.chunks(size).for_each(|piece| visible.write(piece, &mut out).expect("written"));
            assert_eq!(String::from_utf8_lossy(&out), expected, "pieces of {size}");
        }
    }
}
