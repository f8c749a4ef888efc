//! `skillrun ask`: sends one prompt to an engine and prints the answer.

use std::process::ExitCode;

use super::prompt_text;
use super::run::follow::Style;
use super::run::{request, submit};
use crate::args::{Ask, Global, Wait, WorkspaceWait};
use crate::failure::Failure;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: &Ask) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let new = request::of_prompt(&settings, prompt_text::prompt(&args.prompt)?, &args.request)?;
    submit(global, &settings, new, Wait::default(), Style::answer(args.json), WorkspaceWait::default(), false)
}
