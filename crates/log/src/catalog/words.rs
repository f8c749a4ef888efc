//! Finding runs by a piece of text. The words of a run are kept in lower case, and looked for in lower case, so that no
//! character has a meaning of its own: there is no pattern that would have to be escaped.

use skillrun_model::codes::Code;
use skillrun_model::interaction::Pending;

use super::row::Row;

/// So many characters of a text are looked for; it is cut there.
pub const TEXT_MAX: usize = 200;

/// So many characters of a question are looked through.
const PROMPT_MAX: usize = 4_000;

/// Between two words. A text that has it in it finds nothing.
const BETWEEN: char = '\u{1f}';

/// Everything a run is found by.
pub(super) fn of(row: &Row, question: Option<&Pending>) -> String {
    let prompt: Option<String> = question.map(|question| question.prompt.chars().take(PROMPT_MAX).collect());
    let id = row.run_id.to_string();
    let codes = [row.reason_code, row.error_code].map(|code| code.map(Code::as_str));
    let words = [Some(id.as_str()), row.skill.as_deref(), row.engine.as_deref(), prompt.as_deref(), codes[0], codes[1]];
    let mut all = String::new();
    for word in words.into_iter().flatten() {
        // Whatever stands between words stands nowhere else, and never twice in a row.
        let before = all.len();
        all.extend(word.to_lowercase().chars().filter(|character| !is_apart(*character)));
        if all.len() > before {
            all.push(BETWEEN);
        }
    }
    all
}

/// A text as it stands in the words of a run, if it does.
pub(super) fn wanted(text: &str) -> String {
    let text = text.chars().take(TEXT_MAX).collect::<String>().to_lowercase();
    // Two of them stand nowhere.
    text.chars().flat_map(|c| if is_apart(c) { vec![BETWEEN, BETWEEN] } else { vec![c] }).collect()
}

/// SQLite may take a NUL for the end of a text.
fn is_apart(character: char) -> bool {
    matches!(character, BETWEEN | '\0')
}
