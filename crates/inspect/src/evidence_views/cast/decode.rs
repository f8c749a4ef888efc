//! Bytes of a stream to text for a terminal, however they were split.

/// How line ends are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// The process wrote to a terminal.
    AsTheyAre,
    /// It wrote to a pipe: a terminal would have put a carriage return before each line end that has none.
    WithReturn,
}

/// Decodes one stream.
#[derive(Debug)]
pub(super) struct Decoder {
    line_ends: LineEnds,
    /// The beginning of a character, at most three bytes.
    held: Vec<u8>,
    is_after_return: bool,
}

impl Decoder {
    pub(super) fn new(line_ends: LineEnds) -> Self {
        Self { line_ends, held: Vec::new(), is_after_return: false }
    }

    /// The text of the next bytes. An incomplete character comes with a later call.
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut rest = joined.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    self.add(valid, &mut text);
                    return text;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    self.add(&String::from_utf8_lossy(valid), &mut text);
                    let Some(count) = error.error_len() else {
                        self.held = bad.to_vec();
                        return text;
                    };
                    self.add("\u{fffd}", &mut text);
                    rest = &bad[count..];
                }
            }
        }
    }

    /// The stream is over: bytes held back are not a character.
    pub(super) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.held).is_empty() { "" } else { "\u{fffd}" }
    }

    fn add(&mut self, valid: &str, text: &mut String) {
        match self.line_ends {
            LineEnds::AsTheyAre => text.push_str(valid),
            LineEnds::WithReturn => {
                for line in valid.split_inclusive('\n') {
                    match line.strip_suffix('\n') {
                        Some(content) => {
                            text.push_str(content);
                            let has_return = content.ends_with('\r') || (content.is_empty() && self.is_after_return);
                            text.push_str(if has_return { "\n" } else { "\r\n" });
                            self.is_after_return = false;
                        }
                        None => {
                            text.push_str(line);
                            self.is_after_return = line.ends_with('\r');
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn decoded<'a>(line_ends: LineEnds, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut decoder = Decoder::new(line_ends);
        let mut text = String::new();
        for piece in pieces {
            text += &decoder.take(piece);
            assert!(decoder.held.len() <= 3);
        }
        text + decoder.end()
    }

    #[test]
    fn a_character_in_two_pieces_comes_whole() {
        let mut decoder = Decoder::new(LineEnds::AsTheyAre);
        assert_eq!(decoder.take(b"a\xf0\x9f"), "a");
        assert_eq!(decoder.take(b"\x98"), "");
        assert_eq!(decoder.take(b"\x80b\xc3"), "😀b");
        assert_eq!(decoder.end(), "\u{fffd}");
        assert_eq!(decoder.end(), "");
    }

    #[test]
    fn ends_of_lines() {
        let pieces: [&[u8]; 5] = [b"a\nb\r\n\n", b"c\r", b"\nd\r", b"e", b"\n"];
        assert_eq!(decoded(LineEnds::WithReturn, pieces), "a\r\nb\r\n\r\nc\r\nd\re\r\n");
        assert_eq!(decoded(LineEnds::AsTheyAre, pieces), "a\nb\r\n\nc\r\nd\re\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// How a stream was split makes no difference, and the text is what any other decoder gives.
        #[test]
        fn pieces_make_no_difference(
            words in vec(select(vec![&b"a"[..], b"\r", b"\n", b"\r\n", "ä".as_bytes(), "😀".as_bytes(), b"\xff", b"\xe2\x82", b"\x80"]), 0..30),
            size in 1usize..7,
        ) {
            let bytes = words.concat();
            let text = decoded(LineEnds::AsTheyAre, bytes.chunks(size));
            prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
            let returns = decoded(LineEnds::WithReturn, bytes.chunks(size));
            prop_assert_eq!(returns, text.replace("\r\n", "\n").replace('\n', "\r\n"));
        }
    }
}
