//! Finds runs by a piece of text. The words of a run are stored and searched in lower case by plain comparison, so that
//! no character has a special meaning: there is no pattern that would have to be escaped.

use skillrun_model::codes::Code;
use skillrun_model::interaction::Pending;

use super::row::Row;

/// Maximum number of characters of a search text; longer ones are truncated.
pub const TEXT_MAX: usize = 200;

/// Number of characters of a question that are searched.
const PROMPT_MAX: usize = 4_000;

/// The separator of words. A search text that contains it finds nothing.
const BETWEEN: char = '\u{1f}';

/// All words of a run.
pub(super) fn of(row: &Row, question: Option<&Pending>) -> String {
    let prompt: Option<String> = question.map(|question| question.prompt.chars().take(PROMPT_MAX).collect());
    let id = row.run_id.to_string();
    let codes = [row.reason_code, row.error_code].map(|code| code.map(Code::as_str));
    let names = [&row.skill, &row.title, &row.engine, &prompt, &row.error_message].map(Option::as_deref);
    let words = [Some(id.as_str())].into_iter().chain(names).chain(codes);
    let mut all = String::new();
    for word in words.flatten() {
        // The separator occurs only between words, and never twice in a row.
        let before = all.len();
        all.extend(word.to_lowercase().chars().filter(|character| !is_apart(*character)));
        if all.len() > before {
            all.push(BETWEEN);
        }
    }
    all
}

/// A search text in the form of the stored words.
pub(super) fn wanted(text: &str) -> String {
    let text = text.chars().take(TEXT_MAX).collect::<String>().to_lowercase();
    // Two separators in a row occur nowhere.
    text.chars().flat_map(|c| if is_apart(c) { vec![BETWEEN, BETWEEN] } else { vec![c] }).collect()
}

/// SQLite may treat a NUL as the end of a text.
fn is_apart(character: char) -> bool {
    matches!(character, BETWEEN | '\0')
}
