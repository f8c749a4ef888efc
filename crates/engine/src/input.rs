//! What a living process is told: one line of its standard input per turn.

use serde_json::json;
use skillrun_model::ProfileId;

/// The line that says `text` to an engine of this format.
pub fn line(profile: ProfileId, text: &str) -> String {
    match profile {
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let content = json!([{ "type": "text", "text": text }]);
            format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } }))
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText => {
            // A text that is not one plain line goes as a JSON string, which is.
            let is_plain =
                !text.is_empty() && !text.starts_with(['"', '{', '[']) && !text.chars().any(char::is_control);
            if is_plain { format!("{text}\n") } else { format!("{}\n", json!(text)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_always_one_line() {
        for profile in ProfileId::ALL {
            for text in ["blue", "", "two\nlines", "\"quoted\"", "{\"a\":1}", "\u{1b}[31m", "é"] {
                let line = line(*profile, text);
                assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{profile}: {line:?}");
            }
        }
        assert_eq!(line(ProfileId::CodexNdjson, "blue"), "blue\n");
        assert_eq!(line(ProfileId::CodexNdjson, "a\nb"), "\"a\\nb\"\n");
    }
}
