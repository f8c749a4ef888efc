//! Text that is made to hurt: cheap to write, and costly for a parser that reads it more than a few times.

use std::io::{self, Write};

/// A shape of text, repeated for as long as it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Letters,
    /// The beginning of an event, over and over.
    CutEvents,
    OpenBraces,
    OpenBrackets,
    /// `{"a":{"a":…`
    NestedObjects,
    SmallObjects,
    OpenFences,
    /// Fences that are longer and longer never close each other.
    MixedFences,
    Quotes,
    EscapedQuotes,
    Backslashes,
    LoneSurrogates,
    EscapeSequences,
    ExecutionInfo,
    AskUserYaml,
    AskUserFences,
    /// The marker's key, never where it counts.
    MarkerMentions,
    /// Words with which errors begin.
    Errors,
}

impl Shape {
    pub const ALL: [Self; 18] = [
        Self::Letters,
        Self::CutEvents,
        Self::OpenBraces,
        Self::OpenBrackets,
        Self::NestedObjects,
        Self::SmallObjects,
        Self::OpenFences,
        Self::MixedFences,
        Self::Quotes,
        Self::EscapedQuotes,
        Self::Backslashes,
        Self::LoneSurrogates,
        Self::EscapeSequences,
        Self::ExecutionInfo,
        Self::AskUserYaml,
        Self::AskUserFences,
        Self::MarkerMentions,
        Self::Errors,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Letters => "letters",
            Self::CutEvents => "cut events",
            Self::OpenBraces => "open braces",
            Self::OpenBrackets => "open brackets",
            Self::NestedObjects => "nested objects",
            Self::SmallObjects => "small objects",
            Self::OpenFences => "open fences",
            Self::MixedFences => "mixed fences",
            Self::Quotes => "quotes",
            Self::EscapedQuotes => "escaped quotes",
            Self::Backslashes => "backslashes",
            Self::LoneSurrogates => "lone surrogates",
            Self::EscapeSequences => "escape sequences",
            Self::ExecutionInfo => "open `<Execution Info>`",
            Self::AskUserYaml => "open `<ASK_USER_YAML>`",
            Self::AskUserFences => "ask_user fences",
            Self::MarkerMentions => "marker mentions",
            Self::Errors => "error words",
        }
    }

    /// What is repeated: pieces, each a line where there are lines.
    pub fn pieces(self) -> &'static [&'static str] {
        match self {
            Self::Letters => &["abcdefghijklmnopqrstuvwxyz0123456789"],
            Self::CutEvents => &[
                r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"half a te"#,
                r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","#,
                r#"{"type":"message","role":"assistant","content":"x","delta":tr"#,
                r#"{"session_id":"s","response":"#,
            ],
            Self::OpenBraces => &["{"],
            Self::OpenBrackets => &["["],
            Self::NestedObjects => &[r#"{"a":"#],
            Self::SmallObjects => &[r#"{"a":1}"#, r#"{"b":[{}]}"#],
            Self::OpenFences => &["```json", "text"],
            Self::MixedFences => &["```", "~~~~", "`````", "~~~~~~ x", "```````` y"],
            Self::Quotes => &[r#"""#],
            Self::EscapedQuotes => &[r#"{"a\"":"\""#],
            Self::Backslashes => &[r"\"],
            Self::LoneSurrogates => &[r#"{"a":"\ud83d \ude00 \ud800"}"#],
            Self::EscapeSequences => &["\u{1b}[3", "\u{1b}]0;title", "\u{1b}[1;31mred"],
            Self::ExecutionInfo => &["<Execution Info>", r#"{"session-id": "session-1","#],
            Self::AskUserYaml => &["<ASK_USER_YAML>", "ask_user:", "  prompt: x"],
            Self::AskUserFences => &["```yaml", "ask_user:", "  prompt: [x", "```", r#"{"ask_user":{"#],
            Self::MarkerMentions => &[r#"{"__SKILL_DONE__": false}"#, r#""__skill_done__": true"#, r#"{"x":"__SKILL"#],
            Self::Errors => {
                &["Error: no", "    at f (x)", "Traceback (most recent call last):", "  File x", "session-id: s-1"]
            }
        }
    }

    /// The shape as one line without an end, of this many bytes.
    pub fn write_line(self, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        write_repeated(self.pieces().concat().as_bytes(), bytes, out)
    }

    /// The shape as lines, of this many bytes in total.
    pub fn write_lines(self, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let lines: String = self.pieces().iter().map(|piece| format!("{piece}\n")).collect();
        write_repeated(lines.as_bytes(), bytes, out)
    }

    /// The shape as lines of a text of at most this many bytes, also when it is written as JSON.
    pub fn text(self, bytes: u64) -> String {
        let unit: String = self.pieces().iter().map(|piece| format!("{piece}\n")).collect();
        let written = serde_json::Value::from(unit.as_str()).to_string().len() - 2;
        unit.repeat(bytes as usize / written.max(unit.len()))
    }
}

/// Writes the same again and again, up to this many bytes.
pub fn write_repeated(unit: &[u8], bytes: u64, out: &mut dyn Write) -> io::Result<()> {
    const BLOCK: usize = 256 * 1024;
    let block = unit.repeat(BLOCK.div_ceil(unit.len()));
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len() as u64);
        out.write_all(&block[..part as usize])?;
        left -= part;
    }
    Ok(())
}
