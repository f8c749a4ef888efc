//! Texts for engines, as the command line has them.

use std::ffi::OsStr;
use std::io::{self, Read};

use skillrun_model::ErrorClass;
use skillrun_runs::prompt::{self, PROMPT_MAX, PromptFault};

use crate::failure::Failure;

/// A text that begins a turn: the word itself, or stdin if it is `-`.
pub(crate) fn prompt(word: &OsStr) -> Result<String, Failure> {
    let text = text(word)?;
    prompt::check(&text).map_err(refused)?;
    Ok(text)
}

/// The same for a text that may be an answer. What is accepted depends on the question.
pub(crate) fn text(word: &OsStr) -> Result<String, Failure> {
    let bytes = if word == "-" { stdin()? } else { word.as_encoded_bytes().to_vec() };
    prompt::decode(bytes).map_err(refused)
}

fn refused(fault: PromptFault) -> Failure {
    Failure::of_class(ErrorClass::Usage, fault)
}

/// Without the line breaks at its end.
fn stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let failed = |error: io::Error| Failure::Input(format!("stdin: {error}"));
    // One byte more than the limit, so that a longer text is refused and not cut.
    io::stdin().lock().take(PROMPT_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    while bytes.len() <= PROMPT_MAX && bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
    Ok(bytes)
}
