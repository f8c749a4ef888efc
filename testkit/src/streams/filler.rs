//! Texts to fill events with. The same every time.

use serde_json::Value;

const WORDS: &[&str] = &[
    "the",
    "file",
    "src/main.rs",
    "has",
    "a",
    "test",
    "that",
    "fails",
    "with",
    "\"expected 3\"",
    "and",
    "then",
    "line",
    "42:",
    "naïve",
    "完成",
    "✅",
    "returns",
    "Result<(), Error>",
    "because",
    "of",
    "cargo",
    "build",
    "--release",
    "it's",
    "done",
    "{",
    "}",
    "value",
    "=",
    "0.25,",
    "C:\\temp",
    "| grep",
    "warning:",
    "unused",
    "variable",
];
const WORDS_PER_LINE: usize = 12;

/// Texts of different lengths, as they stand in JSON, quotes included.
#[derive(Debug)]
pub(super) struct Filler {
    texts: Vec<String>,
    state: u64,
}

impl Filler {
    /// Lengths are spread between nothing and `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        const TEXTS: usize = 64;
        let mut filler = Self { texts: Vec::new(), state: 1 };
        for number in 0..TEXTS {
            let text = filler.text(max * number / (TEXTS - 1));
            filler.texts.push(Value::from(text).to_string());
        }
        filler
    }

    fn text(&mut self, len: usize) -> String {
        let mut text = String::new();
        let mut words = 0;
        while text.len() < len {
            if words > 0 {
                text.push(if words % WORDS_PER_LINE == 0 { '\n' } else { ' ' });
            }
            text.push_str(WORDS[self.random() % WORDS.len()]);
            words += 1;
        }
        text
    }

    /// The next text, in no order that could be seen.
    pub(super) fn next(&mut self) -> &str {
        let at = self.random() % self.texts.len();
        &self.texts[at]
    }

    fn random(&mut self) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize
    }
}
