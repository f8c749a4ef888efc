//! The prompt of a run without a skill: what is accepted, and how it is shown where there is no room for all of it.

use skillrun_base::text::shortened;

/// Largest text to an engine, as a process receives it in JSON: control characters take six bytes each.
pub const PROMPT_MAX: usize = 512 * 1024;

/// Characters of a title.
const TITLE_CHARS: usize = 60;

/// What a text for an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// It begins a turn.
    Prompt,
    /// It answers a question of the agent.
    Answer,
}

impl TextKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
        }
    }
}

/// Why a text cannot be sent to an engine. Shown as a prompt; [`PromptFault::sentence`] names another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence(TextKind::Prompt))]
pub enum PromptFault {
    Empty,
    TooLong,
    Nul { at: usize },
    NotUtf8 { at: usize },
}

impl PromptFault {
    pub fn sentence(self, kind: TextKind) -> String {
        let what = kind.as_str();
        match self {
            Self::Empty => format!("the {what} is empty; give a text"),
            Self::TooLong => {
                format!("the {what} has more than {PROMPT_MAX} bytes (PROMPT_MAX); attach longer text as a file")
            }
            Self::Nul { at } => format!("the {what} contains a NUL character at byte {at}; remove it"),
            Self::NotUtf8 { at } => {
                format!("the {what} is not UTF-8: byte {at} is invalid; convert it to UTF-8, or attach it as a file")
            }
        }
    }
}

/// Checks a text that begins a turn.
pub fn check(text: &str) -> Result<(), PromptFault> {
    check_kind(text, TextKind::Prompt)
}

/// Checks a text. An answer may be blank: it may be all that a question needs.
pub fn check_kind(text: &str, kind: TextKind) -> Result<(), PromptFault> {
    match kind {
        TextKind::Prompt if text.trim().is_empty() => return Err(PromptFault::Empty),
        TextKind::Prompt | TextKind::Answer => {}
    }
    if !fits(text) {
        return Err(PromptFault::TooLong);
    }
    // A process cannot receive a NUL in an argument.
    text.find('\0').map_or(Ok(()), |at| Err(PromptFault::Nul { at }))
}

/// Checks bytes of unknown origin that begin a turn.
pub fn read(bytes: Vec<u8>) -> Result<String, PromptFault> {
    let text = decode(bytes)?;
    check(&text).map(|()| text)
}

/// The text of bytes of unknown origin. Its characters are not checked.
pub fn decode(bytes: Vec<u8>) -> Result<String, PromptFault> {
    if bytes.len() > PROMPT_MAX {
        return Err(PromptFault::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| PromptFault::NotUtf8 { at: error.utf8_error().valid_up_to() })
}

/// Whether a process can receive the text at once.
pub fn fits(text: &str) -> bool {
    serde_json::to_string(text).is_ok_and(|spelled| spelled.len() <= PROMPT_MAX)
}

/// The beginning of a prompt on one line, as the title of its run.
pub fn title(prompt: &str) -> String {
    // The beginning is enough, and it bounds the work for a long prompt.
    let mut line = String::new();
    for word in prompt.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()).take(TITLE_CHARS + 1));
        if line.chars().count() > TITLE_CHARS {
            break;
        }
    }
    shortened(&line, TITLE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_prompts_are_refused_with_their_reason() {
        let long = "x".repeat(PROMPT_MAX);
        let cases: [(&[u8], &str); 7] = [
            (b"", "the prompt is empty; give a text"),
            (b" \n\t", "the prompt is empty; give a text"),
            (b"a\0b", "the prompt contains a NUL character at byte 1; remove it"),
            (b"caf\xe9", "the prompt is not UTF-8: byte 3 is invalid; convert it to UTF-8, or attach it as a file"),
            // With its quotes it is two bytes longer than the limit.
            (long.as_bytes(), "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file"),
            (&[b'\n'; PROMPT_MAX / 2], "the prompt is empty; give a text"),
            (&[1; PROMPT_MAX / 4], "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file"),
        ];
        for (bytes, sentence) in cases {
            assert_eq!(read(bytes.to_vec()).expect_err("refused").to_string(), sentence);
        }
        assert_eq!(read(b"Why?\n".to_vec()).as_deref(), Ok("Why?\n"), "the exact text");
        assert_eq!(read(vec![b'x'; PROMPT_MAX - 2]).map(|text| text.len()), Ok(PROMPT_MAX - 2));
    }

    #[test]
    fn answers_may_be_blank_and_nothing_else() {
        let sentence =
            |text: &str| check_kind(text, TextKind::Answer).map_err(|fault| fault.sentence(TextKind::Answer));
        assert_eq!([sentence(""), sentence(" \n")], [Ok(()), Ok(())]);
        assert_eq!(sentence("\0"), Err("the answer contains a NUL character at byte 0; remove it".to_owned()));
        let long = "the answer has more than 524288 bytes (PROMPT_MAX); attach longer text as a file";
        assert_eq!(sentence(&"x".repeat(PROMPT_MAX)), Err(long.to_owned()));
    }

    #[test]
    fn titles_are_one_short_line() {
        assert_eq!(title("  Why is\n\nthe\tsky blue?\u{7} "), "Why is the sky blue?");
        assert_eq!(title(""), "");
        let long = title(&"ä".repeat(100_000));
        assert_eq!((long.chars().count(), long.ends_with("ä…")), (61, true), "{long}");
        let words = title(&"word ".repeat(100_000));
        assert!(words.starts_with("word word ") && words.chars().count() == 61, "{words}");
    }
}
