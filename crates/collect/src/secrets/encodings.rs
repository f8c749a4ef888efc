//! Other spellings of a value: base64, hexadecimal digits, and percent encoding as in a URL.
//!
//! Base64 has three alignments, because three bytes become four letters and a value may be anywhere in the encoded
//! data. For each alignment only the letters count that depend on the value alone.

use std::collections::BTreeSet;

use super::pieces::{LineEnds, Pattern};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// The value as it is, and in every encoding that is searched for.
pub(super) fn patterns(value: &[u8]) -> Vec<Pattern> {
    let mut plain = BTreeSet::from([value.to_vec()]);
    for digits in [LOWER, UPPER] {
        for kept in [b"-_.~".as_slice(), b"-_.~/", b"-_.~!*'()"] {
            plain.insert(in_address(value, digits, kept, b"%20"));
            plain.insert(in_address(value, digits, kept, b"+"));
        }
    }
    // Programs insert line breaks into these, and readers join the lines again.
    let mut broken = BTreeSet::from([LOWER, UPPER].map(|digits| hexadecimal(value, digits)));
    for letters in [STANDARD, URL_SAFE] {
        broken.extend((0..3).map(|before| base64(value, letters, before)));
    }
    let plain = plain.into_iter().map(|bytes| Pattern { bytes, line_ends: LineEnds::Part });
    let broken = broken.into_iter().map(|bytes| Pattern { bytes, line_ends: LineEnds::Gap });
    plain.chain(broken).collect()
}

fn hexadecimal(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    value.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]).collect()
}

fn in_address(value: &[u8], digits: &[u8; 16], kept: &[u8], space: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b' ' => written.extend_from_slice(space),
            _ if byte.is_ascii_alphanumeric() || kept.contains(&byte) => written.push(byte),
            _ => written.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
        }
    }
    written
}

/// The letters that depend on the value alone, given the number of bytes before it in its group of three.
fn base64(value: &[u8], letters: &[u8; 64], before: usize) -> Vec<u8> {
    let first = (before * 8).div_ceil(6);
    let end = (before + value.len()) * 8 / 6;
    let bit = |at: usize| {
        let byte = value[at / 8 - before];
        byte >> (7 - at % 8) & 1
    };
    let letter = |at: usize| (0..6).fold(0, |bits, n| bits << 1 | usize::from(bit(at * 6 + n)));
    (first..end).map(|at| letters[letter(at)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).expect("ASCII")
    }

    #[test]
    fn base64_has_three_alignments() {
        // echo -n 'hunter22!' | base64, and with one and two bytes before it.
        assert_eq!(text(base64(b"hunter22!", STANDARD, 0)), "aHVudGVyMjIh");
        assert_eq!(text(base64(b"hunter22!", STANDARD, 1)), "h1bnRlcjIyI");
        assert_eq!(text(base64(b"hunter22!", STANDARD, 2)), "odW50ZXIyMi");
        assert_eq!(text(base64(b"\xfb\xff\xbf", STANDARD, 0)), "+/+/");
        assert_eq!(text(base64(b"\xfb\xff\xbf", URL_SAFE, 0)), "-_-_");
    }

    #[test]
    fn digits_and_addresses() {
        assert_eq!(text(hexadecimal(b"a/\xff", LOWER)), "612fff");
        assert_eq!(text(hexadecimal(b"a/\xff", UPPER)), "612FFF");
        assert_eq!(text(in_address(b"a /\xff-", UPPER, b"-_.~", b"+")), "a+%2F%FF-");
        assert_eq!(text(in_address(b"a /\xff-", LOWER, b"-_.~/", b"%20")), "a%20/%ff-");
    }
}
