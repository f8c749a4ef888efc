//! `skillrun ask`: sends one prompt to an engine and prints the answer.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::ExitCode;

use skillrun_model::ErrorClass;
use skillrun_runs::prompt::{self, PROMPT_MAX};

use super::run::follow::Style;
use super::run::{request, submit};
use crate::args::{Ask, Global, Wait, WorkspaceWait};
use crate::failure::Failure;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: &Ask) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let new = request::of_prompt(&settings, text(&args.prompt)?, &args.request)?;
    submit(global, &settings, new, Wait::default(), Style::answer(args.json), WorkspaceWait::default(), false)
}

/// The prompt: the word itself, or stdin without the line breaks at its end.
fn text(word: &OsStr) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if word == "-" {
        let failed = |error: io::Error| Failure::Input(format!("stdin: {error}"));
        // One byte more than the limit, so that a longer text is refused and not cut.
        io::stdin().lock().take(PROMPT_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
    } else {
        bytes.extend_from_slice(word.as_encoded_bytes());
    }
    prompt::read(bytes).map_err(|fault| Failure::of_class(ErrorClass::Usage, fault))
}
