//! Bytes to flood with: every byte follows from its offset, so that a reader can detect what is missing or out of place.

/// Length of a line, with its newline. A power of two, so that lines and large writes end together.
const LINE: usize = 64;
const DIGITS: usize = 16;
const REST: &[u8; LINE - DIGITS] = b" the quick brown fox jumps over the lazy dog...\n";

/// Fills `buf` with what stands at `offset` of the pattern: lines of 64 bytes, each beginning with its number.
pub fn pattern(offset: u64, buf: &mut [u8]) {
    let mut number = offset / LINE as u64;
    let mut skip = (offset % LINE as u64) as usize;
    let mut rest = buf;
    while !rest.is_empty() {
        let line = line(number);
        let length = rest.len().min(LINE - skip);
        let (now, later) = rest.split_at_mut(length);
        now.copy_from_slice(&line[skip..skip + length]);
        rest = later;
        number += 1;
        skip = 0;
    }
}

fn line(number: u64) -> [u8; LINE] {
    let mut line = [b'0'; LINE];
    let mut left = number;
    for digit in line[..DIGITS].iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    line[DIGITS..].copy_from_slice(REST);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        let mut bytes = [0; 2 * LINE];
        pattern(0, &mut bytes);
        let text = str::from_utf8(&bytes).expect("ASCII");
        let expected = "0000000000000000 the quick brown fox jumps over the lazy dog...\n\
                        0000000000000001 the quick brown fox jumps over the lazy dog...\n";
        assert_eq!(text, expected);
        pattern(12_345 * LINE as u64, &mut bytes[..20]);
        assert_eq!(&bytes[..20], b"0000000000012345 the");
    }

    #[test]
    fn a_piece_is_the_same_as_the_whole_there() {
        let mut whole = [0; 1_000];
        pattern(0, &mut whole);
        for from in 0..200 {
            for length in [0, 1, 63, 64, 65, 200] {
                let mut piece = vec![0; length];
                pattern(from as u64, &mut piece);
                assert_eq!(piece, whole[from..from + length], "{length} bytes from {from}");
            }
        }
    }

    #[test]
    fn the_far_end_is_no_trouble() {
        pattern(u64::MAX - 10, &mut [0; 100]);
    }
}
