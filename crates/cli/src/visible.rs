//! Characters that must not reach a terminal unescaped: those it obeys, and those that are invisible or that reverse the
//! text around them. The page marks the same ones, see `web/src/parts/visible.ts`.

const JOINER: char = '\u{200d}';

/// The text with everything hidden written as an escape such as `\u{202e}`, except the characters that are to stay.
pub(crate) fn visible(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        // A joiner between two pictures makes one of them.
        let joins =
            character == JOINER && before.is_some_and(is_picture) && rest.peek().copied().is_some_and(is_picture);
        if joins || stays(character) || !is_hidden(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
        if !is_modifier(character) {
            before = Some(character);
        }
    }
    shown
}

fn is_picture(character: char) -> bool {
    matches!(character,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}'
    )
}

/// Variation selectors of emoji, and skin tones.
fn is_modifier(character: char) -> bool {
    matches!(character, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Whether a character is written as an escape such as `\\u{202e}`.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control() || is_invisible(character)
}

/// Format characters (category Cf), separators of lines and paragraphs, and fillers that look like nothing.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}'
        | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_text_around_or_cannot_be_seen_is_hidden() {
        for hidden in
            "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}".chars()
        {
            assert!(is_hidden(hidden), "{hidden:?}");
        }
        for hidden in "\u{200b}\u{2060}\u{feff}\u{ad}\u{2028}\u{e0041}\u{3164}\u{1b}\u{9b}\u{7f}\0".chars() {
            assert!(is_hidden(hidden), "{hidden:?}");
        }
        for shown in "a é 字 😀 ا ש ∀ ─ …\u{301}\u{fe0f}".chars() {
            assert!(!is_hidden(shown), "{shown:?}");
        }
    }

    #[test]
    fn hidden_characters_are_spelled_and_joined_pictures_stay() {
        let nothing = |_| false;
        assert_eq!(visible("a\u{202e}txt.exe\u{202c}", nothing), "a\\u{202e}txt.exe\\u{202c}");
        assert_eq!(visible("a\u{200d}b", nothing), "a\\u{200d}b");
        for picture in
            ["\u{1f469}\u{200d}\u{1f467}", "\u{1f469}\u{1f3fd}\u{200d}\u{1f680}", "\u{2764}\u{fe0f}\u{200d}\u{1f525}"]
        {
            assert_eq!(visible(picture, nothing), picture);
        }
        assert_eq!(visible("a\nb", |character| character == '\n'), "a\nb");
    }
}
