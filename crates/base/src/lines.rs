//! The line on which a part of a JSON text begins. The reader of JSON keeps no positions, and they are needed for error
//! messages alone; the text is read again for them.

/// One step of the way to a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPart<'a> {
    Key(&'a str),
    Index(usize),
}

/// The line, from 1, of the part to which a path leads, or of the last part on the way that exists. The text is JSON;
/// of a text that is not, any line may be returned.
pub fn line_of(text: &str, path: &[PathPart<'_>]) -> usize {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    scanner.skip_space();
    let mut found = scanner.at;
    for part in path {
        let entered = match part {
            PathPart::Key(key) => scanner.enter_key(key),
            PathPart::Index(index) => scanner.enter_item(*index),
        };
        match entered {
            Some(at) => found = at,
            None => break,
        }
    }
    crate::fields::line_of(text, found)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Moves over a byte and the space behind it.
    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| {
            self.at += 1;
            self.skip_space();
        })
    }

    /// Moves to the value of a key of the object here. Returns the position of the key; of keys that are there twice,
    /// of the last, as readers of JSON take it.
    fn enter_key(&mut self, wanted: &str) -> Option<usize> {
        self.skip(b'{')?;
        let mut found = None;
        while self.peek() == Some(b'"') {
            let start = self.at;
            self.skip_text();
            let key = self.text.get(start..self.at).and_then(|key| serde_json::from_slice::<String>(key).ok());
            self.skip_space();
            self.skip(b':')?;
            if key.as_deref() == Some(wanted) {
                found = Some((start, self.at));
            }
            self.skip_value();
            if self.skip(b',').is_none() {
                break;
            }
        }
        let (key, value) = found?;
        self.at = value;
        Some(key)
    }

    /// Moves to an item of the list here.
    fn enter_item(&mut self, index: usize) -> Option<usize> {
        self.skip(b'[')?;
        for _ in 0..index {
            self.skip_value();
            self.skip(b',')?;
        }
        self.peek().filter(|byte| *byte != b']').map(|_| self.at)
    }

    fn skip_text(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
    }

    /// Moves over a value and the space behind it, however deep it is.
    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_text(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'}' | b']' | b',' if depth == 0 => break,
                _ => self.at += 1,
            }
        }
        self.skip_space();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_a_part_is_that_of_its_key_or_item() {
        let text = "\n{\"a\": 1,\n \"l\\u0069st\": [\n  {\"x\": \"]\\\"}\",\n   \"y\": {\n    \"z\": []}},\n  {\"x\": 3}\n ],\n \"a\": 2}\n";
        serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
        let (list, z) = (PathPart::Key("list"), PathPart::Key("z"));
        let cases: [(&[PathPart<'_>], usize); 10] = [
            (&[], 2),
            (&[list], 3),
            (&[list, PathPart::Index(0)], 4),
            (&[list, PathPart::Index(0), PathPart::Key("y")], 5),
            (&[list, PathPart::Index(0), PathPart::Key("y"), z], 6),
            (&[list, PathPart::Index(1)], 7),
            (&[list, PathPart::Index(1), z], 7),
            (&[list, PathPart::Index(2)], 3),
            (&[PathPart::Key("a")], 9),
            (&[PathPart::Key("none"), list], 2),
        ];
        for (path, line) in cases {
            assert_eq!(line_of(text, path), line, "{path:?}");
        }
    }

    #[test]
    fn text_that_is_not_json_ends_the_search() {
        for text in ["", "{", "{\"a\"", "{\"a\":", "[1,", "\"", "{\"a\": \"\\", "]"] {
            for path in [[PathPart::Key("a")], [PathPart::Index(1)]] {
                assert_eq!(line_of(text, &path), 1, "{text}");
            }
        }
    }
}
